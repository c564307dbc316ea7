/** Defaults for `url` and `key`: the environment variables `CUEBASE_URL` and `CUEBASE_KEY`. */
/** Returns the address of the server, without a trailing slash. Throws a `TypeError` for anything but an HTTP URL. */
export declare function serverUrl(given: string | undefined): string;
/** Returns the credential. Throws `MissingKey` when there is none. */
export declare function credential(given: string | undefined): string;
