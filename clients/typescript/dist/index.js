/** Client for the Cuebase memory service. Errors are subclasses of `CuebaseError`. */
export { Client } from "./client.js";
export * from "./errorCodes.js";
export * from "./errors.js";
