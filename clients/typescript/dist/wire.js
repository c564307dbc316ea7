/** Encoding of requests, decoding of responses, and the rules for retries. */
import { RateLimited, ServerError, Unavailable, Unreachable } from "./errors.js";
/** The first wait before a retry, doubled for each further retry, and the longest wait; milliseconds. */
export const BACKOFF_MS = 250;
export const BACKOFF_MAX_MS = 20_000;
// Response fields that contain times.
const TIMES = new Set([
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
const LISTS = ["sections", "matched", "user_tags", "tags", "supersedes", "superseded_by", "also"];
/** Converts a time to the form that the service accepts. */
export const time = (when) => (when instanceof Date ? when.toISOString() : when);
/** Returns a response with the fields in `times` as `Date`s. */
export function read(value, times = TIMES) {
    if (Array.isArray(value))
        return value.map((each) => read(each, times));
    if (typeof value !== "object" || value === null)
        return value;
    return Object.fromEntries(Object.entries(value).map(([name, held]) => {
        if (times.has(name))
            return [name, typeof held === "string" ? new Date(held) : null];
        // `content` and `metadata` may contain any fields and are not converted.
        return [name, name === "content" || name === "metadata" ? held : read(held, times)];
    }));
}
/** Sets absent fields of a memory to empty lists or `null`. */
export function memory(value) {
    const held = value;
    for (const name of LISTS)
        held[name] ??= [];
    for (const name of ["via", "occurred_precision", "occurred_source", "created", "updated"])
        held[name] ??= null;
    for (const name of ["occurred_until", "valid_from", "valid_until"])
        held[name] ??= null;
    held.current ??= true;
    held.metadata ??= {};
    return value;
}
/**
 * Encodes query parameters. Lists are comma-separated, except for `where`, whose values may hold commas. `undefined` and
 * `null` are omitted.
 */
export function query(values) {
    const written = new URLSearchParams();
    for (const [name, value] of Object.entries(values)) {
        if (value === undefined || value === null)
            continue;
        if (name === "where" && Array.isArray(value)) {
            for (const each of value)
                written.append(name, String(each));
            continue;
        }
        const text = Array.isArray(value) ? value.join(",") : String(time(value));
        if (text !== "")
            written.set(name, text);
    }
    const text = written.toString();
    return text === "" ? "" : `?${text}`;
}
/** Builds a request body. `undefined` and `null` are omitted, and times are converted. */
export function body(values) {
    const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
    return Object.fromEntries(given.map(([name, value]) => [name, value instanceof Date ? time(value) : value]));
}
/** Encodes the messages of a request. Throws a `TypeError` for anything but a text, a message, or a list of messages. */
export function messages(given) {
    if (typeof given === "string")
        return [{ role: "user", content: given }];
    if (!Array.isArray(given))
        return [message(given, "messages")];
    const list = given;
    return list.map((each, index) => message(each, `messages[${index}]`));
}
function message(given, place) {
    if (typeof given !== "object" || given === null || Array.isArray(given)) {
        const accepted = 'a text, a message such as { role: "user", content: "I like tea" }, or a list of such messages';
        throw new TypeError(`invalid ${place} of type ${typeName(given)}: the client accepts ${accepted}`);
    }
    return body({ ...given });
}
function typeName(value) {
    if (value === null)
        return "null";
    return Array.isArray(value) ? "array" : typeof value;
}
/** Returns the URL path of a memory, or of one section: `facts/a.md#Heading`. */
export const memoryPath = (path) => `/v1/memories/${path.split("/").map(encodeURIComponent).join("/")}`;
/** Returns the wait before a retry in milliseconds, or `undefined` if the request must not be retried. */
export function waitBeforeRetry(error, repeatable, attempt) {
    const busy = (error instanceof RateLimited || error instanceof Unavailable) && error.code !== "merchant_not_live";
    const unclear = error instanceof ServerError || error instanceof Unreachable;
    if (!busy && !(unclear && repeatable))
        return undefined;
    // Random jitter spreads the retries of clients that were refused at the same time.
    const jittered = Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
    return (error.retryAfter ?? 0) * 1000 + jittered;
}
/** Returns why `fetch` failed. Node puts the reason into the cause: `connect ECONNREFUSED 127.0.0.1:8080`. */
export function reason(failure) {
    if (!(failure instanceof Error))
        return String(failure);
    return failure.cause instanceof Error && failure.cause.message ? failure.cause.message : failure.message;
}
