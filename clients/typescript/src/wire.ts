/** Encoding of requests, decoding of responses, and the rules for retries. */

import { type CuebaseError, RateLimited, ServerError, Unavailable, Unreachable } from "./errors.js";
import type { Messages, When } from "./types.js";

/** The first wait before a retry, doubled for each further retry, and the longest wait; milliseconds. */
export const BACKOFF_MS = 250;
export const BACKOFF_MAX_MS = 20_000;

// Response fields that contain times.
const TIMES: ReadonlySet<string> = new Set([
  "created_at",
  "updated_at",
  "occurred_at",
  "occurred_until",
  "expires_at",
  "valid_from",
  "valid_until",
  "edited_at",
  "accepted_at",
  "finished_at",
  "died_at",
  "waiting_since",
  "last_run_at",
  "model_unavailable_since",
  "at",
]);

// List fields of a memory that the service omits when they are empty.
const LISTS = ["sections", "matched", "user_tags", "tags", "supersedes", "superseded_by", "also"] as const;

/** Converts a time to the form that the service accepts. */
export const time = (when: When): string | number => (when instanceof Date ? when.toISOString() : when);

/** Returns a response with the fields in `times` as `Date`s. */
export function read(value: unknown, times: ReadonlySet<string> = TIMES): unknown {
  if (Array.isArray(value)) return value.map((each) => read(each, times));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => {
      if (times.has(name)) return [name, typeof held === "string" ? new Date(held) : null];
      // `content` and `metadata` may contain any fields and are not converted.
      return [name, name === "content" || name === "metadata" ? held : read(held, times)];
    }),
  );
}

/** Sets absent fields of a memory to empty lists or `null`. */
export function memory<T>(value: T): T {
  const held = value as Record<string, unknown>;
  for (const name of LISTS) held[name] ??= [];
  for (const name of ["via", "occurred_precision", "occurred_source", "created", "updated"]) held[name] ??= null;
  for (const name of ["occurred_until", "valid_from", "valid_until"]) held[name] ??= null;
  held.current ??= true;
  held.metadata ??= {};
  return value;
}

/**
 * Encodes query parameters. Lists are comma-separated, except for `where`, whose values may hold commas. `undefined` and
 * `null` are omitted.
 */
export function query(values: Record<string, unknown>): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    if (name === "where" && Array.isArray(value)) {
      for (const each of value) written.append(name, String(each));
      continue;
    }
    const text = Array.isArray(value) ? value.join(",") : String(time(value as When));
    if (text !== "") written.set(name, text);
  }
  const text = written.toString();
  return text === "" ? "" : `?${text}`;
}

/** Builds a request body. `undefined` and `null` are omitted, and times are converted. */
export function body(values: Record<string, unknown>): Record<string, unknown> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [name, value instanceof Date ? time(value) : value]));
}

/** Encodes the messages of a request. Throws a `TypeError` for anything but a text, a message, or a list of messages. */
export function messages(given: Messages): Record<string, unknown>[] {
  if (typeof given === "string") return [{ role: "user", content: given }];
  if (!Array.isArray(given)) return [message(given, "messages")];
  const list: unknown[] = given;
  return list.map((each, index) => message(each, `messages[${index}]`));
}

function message(given: unknown, place: string): Record<string, unknown> {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const accepted = 'a text, a message such as { role: "user", content: "I like tea" }, or a list of such messages';
    throw new TypeError(`invalid ${place} of type ${typeName(given)}: the client accepts ${accepted}`);
  }
  return body({ ...given });
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Returns the URL path of a memory, or of one section: `facts/a.md#Heading`. */
export const memoryPath = (path: string): string => `/v1/memories/${path.split("/").map(encodeURIComponent).join("/")}`;

/** Returns the wait before a retry in milliseconds, or `undefined` if the request must not be retried. */
export function waitBeforeRetry(error: CuebaseError, repeatable: boolean, attempt: number): number | undefined {
  const busy = (error instanceof RateLimited || error instanceof Unavailable) && error.code !== "merchant_not_live";
  const unclear = error instanceof ServerError || error instanceof Unreachable;
  if (!busy && !(unclear && repeatable)) return undefined;
  // Random jitter spreads the retries of clients that were refused at the same time.
  const jittered = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
  return (error.retryAfter ?? 0) * 1000 + jittered;
}

/** Returns why `fetch` failed. Node puts the reason into the cause: `connect ECONNREFUSED 127.0.0.1:8080`. */
export function reason(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  return failure.cause instanceof Error && failure.cause.message ? failure.cause.message : failure.message;
}
