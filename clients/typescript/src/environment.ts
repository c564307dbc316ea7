/** Defaults for `url` and `key`: the environment variables `CUEBASE_URL` and `CUEBASE_KEY`. */

import { MissingKey } from "./errors.js";

const DEFAULT_URL = "http://127.0.0.1:8080";
// An invalid URL may be a key passed by mistake, so an error shows only its first characters.
const SHOWN_CHARACTERS = 9;

// Browsers have no `process`.
declare const process: { env: Record<string, string | undefined> } | undefined;

function variable(name: string): string | undefined {
  return typeof process === "undefined" ? undefined : process.env[name];
}

/** Returns the address of the server, without a trailing slash. Throws a `TypeError` for anything but an HTTP URL. */
export function serverUrl(given: string | undefined): string {
  const url = given || variable("CUEBASE_URL") || DEFAULT_URL;
  if (!/^https?:\/\/[^/]/.test(url)) {
    const shown = url.slice(0, SHOWN_CHARACTERS);
    throw new TypeError(`invalid url "${shown}…": expected http:// or https:// and a host, for example ${DEFAULT_URL}`);
  }
  return url.replace(/\/+$/, "");
}

/** Returns the credential. Throws `MissingKey` when there is none. */
export function credential(given: string | undefined): string {
  const key = given || variable("CUEBASE_KEY");
  if (!key) {
    const remedy = "The first start of the server prints a key; `cuebase keys create` makes another.";
    throw new MissingKey(`no API key: pass "key", or set the environment variable CUEBASE_KEY. ${remedy}`, {
      code: "missing_key",
    });
  }
  return key;
}
