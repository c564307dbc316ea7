/** What a client uses when its caller passes no `url` or no `key`: the variables `CUEBASE_URL` and `CUEBASE_KEY`. */
/** Returns the address of the server, without a slash at its end. Throws a `TypeError` when it is not an HTTP address. */
export declare function serverUrl(given: string | undefined): string;
/** Returns the credential. Throws `MissingKey` when there is none. */
export declare function credential(given: string | undefined): string;
