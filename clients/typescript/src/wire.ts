/** What goes over the wire: how requests are written, how answers are read, and what is tried again. */

import { type CuebaseError, RateLimited, ServerError, Unavailable, Unreachable } from "./errors.js";
import type { Messages, When } from "./types.js";

/** The first wait before trying again, doubled each time, and the longest; milliseconds. */
export const BACKOFF_MS = 250;
export const BACKOFF_MAX_MS = 20_000;

// The fields of answers that hold times.
const TIMES: ReadonlySet<string> = new Set([
  "created_at",
  "updated_at",
  "occurred_at",
  "expires_at",
  "edited_at",
  "accepted_at",
  "died_at",
  "waiting_since",
  "model_unavailable_since",
  "at",
]);

// The fields of a memory that are absent rather than empty.
const LISTS = ["sections", "matched", "user_tags", "tags"] as const;

/** A time as the service reads it. */
export const time = (when: When): string | number => (when instanceof Date ? when.toISOString() : when);

/** An answer with the fields named in `times` as `Date`s. */
export function read(value: unknown, times: ReadonlySet<string> = TIMES): unknown {
  if (Array.isArray(value)) return value.map((each) => read(each, times));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, held]) => {
      if (times.has(name)) return [name, typeof held === "string" ? new Date(held) : null];
      // A diff, a definition, a message: texts stay as they are.
      return [name, name === "content" ? held : read(held, times)];
    }),
  );
}

/** A memory with every field that it always has. */
export function memory<T>(value: T): T {
  const held = value as Record<string, unknown>;
  for (const name of LISTS) held[name] ??= [];
  for (const name of ["via", "occurred_precision", "occurred_source", "created", "updated"]) held[name] ??= null;
  return value;
}

/** A query: lists comma-separated, what is not given left out. */
export function query(values: Record<string, unknown>): string {
  const written = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null) continue;
    const text = Array.isArray(value) ? value.join(",") : String(time(value as When));
    if (text !== "") written.set(name, text);
  }
  const text = written.toString();
  return text === "" ? "" : `?${text}`;
}

/** A body: what is not given left out, times as the service reads them. */
export function body(values: Record<string, unknown>): Record<string, unknown> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(given.map(([name, value]) => [name, value instanceof Date ? time(value) : value]));
}

/** The messages of a request. Throws a `TypeError` for anything but a text, a message, or a list of messages. */
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

/** The address of a memory, or of a section of it: `facts/a.md#Heading`. */
export const memoryPath = (path: string): string => `/v1/memories/${path.split("/").map(encodeURIComponent).join("/")}`;

/** How long to wait before a request is tried again, in milliseconds; none where it should not be. */
export function waitBeforeRetry(error: CuebaseError, repeatable: boolean, attempt: number): number | undefined {
  const busy = (error instanceof RateLimited || error instanceof Unavailable) && error.code !== "merchant_not_live";
  const unclear = error instanceof ServerError || error instanceof Unreachable;
  if (!busy && !(unclear && repeatable)) return undefined;
  // All that were refused at the same time do not come back at the same time.
  const jittered = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
  return (error.retryAfter ?? 0) * 1000 + jittered;
}

/** Why `fetch` failed. Node says it in the cause of the error alone: `connect ECONNREFUSED 127.0.0.1:8080`. */
export function reason(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure);
  return failure.cause instanceof Error && failure.cause.message ? failure.cause.message : failure.message;
}

// A message id is a ULID: 48 bits of milliseconds in Crockford's base 32 come first.
const BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** When a write was accepted, by the server's clock. */
export const acceptedAt = (messageId: string): Date =>
  new Date([...messageId.slice(0, 10)].reduce((sum, character) => sum * 32 + BASE32.indexOf(character), 0));
