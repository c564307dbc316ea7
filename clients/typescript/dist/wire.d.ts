/** Encoding of requests, decoding of responses, and the rules for retries. */
import { type CuebaseError } from "./errors.js";
import type { Messages, When } from "./types.js";
/** The first wait before a retry, doubled for each further retry, and the longest wait; milliseconds. */
export declare const BACKOFF_MS = 250;
export declare const BACKOFF_MAX_MS = 20000;
/** Converts a time to the form that the service accepts. */
export declare const time: (when: When) => string | number;
/** Returns a response with the fields in `times` as `Date`s. */
export declare function read(value: unknown, times?: ReadonlySet<string>): unknown;
/** Sets absent fields of a memory to empty lists or `null`. */
export declare function memory<T>(value: T): T;
/**
 * Encodes query parameters. Lists are comma-separated, except for `where`, whose values may hold commas. `undefined` and
 * `null` are omitted.
 */
export declare function query(values: Record<string, unknown>): string;
/** Builds a request body. `undefined` and `null` are omitted, and times are converted. */
export declare function body(values: Record<string, unknown>): Record<string, unknown>;
/** Encodes the messages of a request. Throws a `TypeError` for anything but a text, a message, or a list of messages. */
export declare function messages(given: Messages): Record<string, unknown>[];
/** Returns the URL path of a memory, or of one section: `facts/a.md#Heading`. */
export declare const memoryPath: (path: string) => string;
/** Returns the wait before a retry in milliseconds, or `undefined` if the request must not be retried. */
export declare function waitBeforeRetry(error: CuebaseError, repeatable: boolean, attempt: number): number | undefined;
/** Returns why `fetch` failed. Node puts the reason into the cause: `connect ECONNREFUSED 127.0.0.1:8080`. */
export declare function reason(failure: unknown): string;
