/** Client for the Cuebase memory service. Errors are subclasses of `CuebaseError`. */
export { Client, type ClientOptions } from "./client.js";
export * from "./errorCodes.js";
export * from "./errors.js";
export type * from "./types.js";
