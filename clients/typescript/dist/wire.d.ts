/** What goes over the wire: how requests are written, how answers are read, and what is tried again. */
import { type CuebaseError } from "./errors.js";
import type { Messages, When } from "./types.js";
/** The first wait before trying again, doubled each time, and the longest; milliseconds. */
export declare const BACKOFF_MS = 250;
export declare const BACKOFF_MAX_MS = 20000;
/** A time as the service reads it. */
export declare const time: (when: When) => string | number;
/** An answer with the fields named in `times` as `Date`s. */
export declare function read(value: unknown, times?: ReadonlySet<string>): unknown;
/** A memory with every field that it always has. */
export declare function memory<T>(value: T): T;
/** A query: lists comma-separated, what is not given left out. */
export declare function query(values: Record<string, unknown>): string;
/** A body: what is not given left out, times as the service reads them. */
export declare function body(values: Record<string, unknown>): Record<string, unknown>;
/** The messages of a request. Throws a `TypeError` for anything but a text, a message, or a list of messages. */
export declare function messages(given: Messages): Record<string, unknown>[];
/** The address of a memory, or of a section of it: `facts/a.md#Heading`. */
export declare const memoryPath: (path: string) => string;
/** How long to wait before a request is tried again, in milliseconds; none where it should not be. */
export declare function waitBeforeRetry(error: CuebaseError, repeatable: boolean, attempt: number): number | undefined;
/** Why `fetch` failed. Node says it in the cause of the error alone: `connect ECONNREFUSED 127.0.0.1:8080`. */
export declare function reason(failure: unknown): string;
/** When a write was accepted, by the server's clock. */
export declare const acceptedAt: (messageId: string) => Date;
