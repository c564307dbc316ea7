// A typed client of the API. Errors are values with a code and a message; nothing here throws.
//
// The dashboard's listener serves the API under its own origin, so all addresses are paths. The types come from
// `docs/reference/openapi.json`.

import type { components, paths } from "./api-types";
import { credential, dropSession } from "./session";

export type Schemas = components["schemas"];

/** An error response, or the lack of a response (`status` 0). */
export interface ApiError {
  status: number;
  code: string;
  message: string;
}

export type Result<T> = { ok: true; value: T } | { ok: false; error: ApiError };

export type Method = "get" | "post" | "patch" | "delete";

/** The paths of the API that have a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];

type Operation<M extends Method, P extends PathOf<M>> = M extends keyof paths[P] ? paths[P][M] : never;
type PathParameters<O> = O extends { parameters: { path: infer T } } ? { path: T } : object;
type QueryOf<O> = O extends { parameters: { query?: infer T } } ? Partial<T> : never;
type BodyOf<O> = O extends { requestBody?: { content: { "application/json": infer T } } } ? T : never;
type Json<T> = T extends { content: { "application/json": infer V } } ? V : never;
type Success<R> = { [S in keyof R]: S extends 200 | 201 | 202 ? Json<R[S]> : never }[keyof R];

/** Parameters of a request. Each segment of a path parameter is encoded, so that `path` may contain slashes. */
export type Options<M extends Method, P extends PathOf<M>> = PathParameters<Operation<M, P>> & {
  query?: QueryOf<Operation<M, P>>;
  body?: BodyOf<Operation<M, P>>;
};

/** The body of a successful response. */
export type ResponseOf<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { responses: infer R } ? Success<R> : never;

/** Calls an operation of the API. `signal` aborts the request, which returns the code `aborted`. */
export function call<M extends Method, P extends PathOf<M>>(
  method: M,
  path: P,
  options: Options<M, P>,
  signal?: AbortSignal,
): Promise<Result<ResponseOf<M, P>>> {
  const { path: parameters, query, body } = options as { path?: object; query?: object; body?: unknown };
  return send(method, address(path as string, parameters, query), body, signal);
}

/** Returns the address of an operation, with its parameters. */
export function address(path: string, parameters: object = {}, query: object = {}): string {
  let filled = path;
  for (const [name, value] of Object.entries(parameters))
    filled = filled.replace(`{${name}}`, encodePath(String(value)));
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "") continue;
    // Conditions may contain commas, so each is a parameter of its own. Other lists are joined.
    if (name === "where" && Array.isArray(value)) for (const each of value) sent.append(name, String(each));
    else if (!Array.isArray(value) || value.length > 0) sent.set(name, String(value));
  }
  const text = sent.toString();
  return text ? `${filled}?${text}` : filled;
}

/** Encodes each segment of a path. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}

/** Sends a request to any route of this origin. Prefer `call`, which is typed. */
export async function send<T>(
  method: string,
  url: string,
  body?: unknown,
  signal?: AbortSignal,
  token: string | null = credential(),
): Promise<Result<T>> {
  const headers: Record<string, string> = {};
  if (token) headers["authorization"] = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  const request: RequestInit = { method: method.toUpperCase(), headers, signal: signal ?? null };
  if (body !== undefined) request.body = JSON.stringify(body);
  let response: Response;
  let answer: unknown;
  try {
    response = await fetch(url, request);
    // Also fails when the request is aborted or cut off while its body arrives.
    answer = parseJson(await response.text());
  } catch {
    if (signal?.aborted) return failure(0, "aborted", "The request was aborted.");
    return failure(0, "unreachable", "The server does not respond. Check that it is running, then try again.");
  }
  if (response.ok) return { ok: true, value: answer as T };
  return { ok: false, error: readError(response.status, answer, token) };
}

/** Turns the response of a request that waited for its write into an error, if the write failed permanently. */
export function checkWrite<T>(result: Result<T>): Result<T> {
  if (!result.ok) return result;
  const { status, error } = (result.value ?? {}) as { status?: string; error?: string | null };
  if (status !== "dead") return result;
  const code = error ?? "unknown";
  return failure(
    0,
    code,
    `The write failed permanently: ${code}. It is listed under Activity, where it can be retried.`,
  );
}

/** Returns the value of a JSON text; an empty object if it is none, as in the error page of a proxy. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function failure<T>(status: number, code: string, message: string): Result<T> {
  return { ok: false, error: { status, code, message } };
}

/** Reads the two forms of error bodies: `{error: {code, message}}`, and `{error, message}` of `/v1/retrieve`. */
function readError(status: number, answer: unknown, token: string | null): ApiError {
  const body = (answer ?? {}) as { error?: string | { code?: string; message?: string }; message?: string };
  // Only a rejected credential has this status without an error code.
  if ((status === 401 || status === 403) && !body.error) {
    const message = "The server rejects this credential: it has expired or is revoked. Sign in again.";
    if (token && token === credential()) dropSession("This session is over: its credential has expired or is revoked.");
    return { status, code: "unauthorized", message };
  }
  const error = typeof body.error === "object" ? body.error : { code: body.error, message: body.message };
  return { status, code: error.code ?? "unknown", message: error.message ?? `The server responded with ${status}.` };
}
