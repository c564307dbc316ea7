/** Client of the Cuebase memory service. Failures are subclasses of `CuebaseError`. */
export { Client } from "./client.js";
export * from "./errors.js";
