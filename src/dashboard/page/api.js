// A client of the public API: session as bearer token, JSON bodies, and errors with a code.

const KEPT = "session";
let token = sessionStorage.getItem(KEPT);
let ended = () => {};

/** An error response. */
export class Failure extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Returns the claims of the session; null without a session or after it has expired. */
export function session() {
  if (!token) return null;
  try {
    const part = token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(part), (c) => c.charCodeAt(0))));
    if (claims.exp * 1000 > Date.now()) return claims;
  } catch {
    // The text is not a token.
  }
  close();
  return null;
}

/** Keeps a session until the tab is closed. */
export function open(text) {
  token = text;
  sessionStorage.setItem(KEPT, text);
}

/** Removes the session. */
export function close() {
  token = null;
  sessionStorage.removeItem(KEPT);
}

/** Sets what to do when the server rejects the session. */
export function onEnd(act) {
  ended = act;
}

/** Encodes each part of a path. */
export const encoded = (path) => path.split("/").map(encodeURIComponent).join("/");

/** Decodes a text. Returns it unchanged if it is not encoded correctly, since links in memories are not trusted. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function address(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, value);
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

/** Sends a request. Returns the body of the response, or throws a Failure. */
export async function call(method, path, { query, body } = {}) {
  const headers = {};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(address(path, query), { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch {
    throw new Failure(0, "unreachable", "The server cannot be reached.");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  // Only a rejected credential has this status without an error code.
  if ((response.status === 401 || response.status === 403) && !answer.error) {
    close();
    ended();
    throw new Failure(response.status, "unauthorized", "This session is over. Sign in again.");
  }
  const error = typeof answer.error === "object" ? answer.error : { code: answer.error, message: answer.message };
  throw new Failure(response.status, error.code ?? "unknown", error.message ?? `The server responded with ${response.status}.`);
}

export const get = (path, query) => call("GET", path, { query });
export const post = (path, body, query) => call("POST", path, { body: body ?? {}, query });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path, query) => call("DELETE", path, { query });
