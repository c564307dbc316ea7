// The requests of the ported views, on top of the typed client. An error is thrown as a Failure.

import { encodePath, send } from "../api";
import { decode } from "../router";
import { invalidate } from "../request";

/** An error response. */
export class Failure extends Error {
  constructor({ status, code, message }) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const encoded = encodePath;
export const decoded = decode;

function address(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, value);
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

async function call(method, path, { query, body } = {}) {
  const result = await send(method, address(path, query), body);
  if (!result.ok) throw new Failure(result.error);
  if (method !== "GET" && path.startsWith("/v1/")) invalidate();
  return result.value;
}

export const get = (path, query) => call("GET", path, { query });
export const post = (path, body, query) => call("POST", path, { body: body ?? {}, query });
export const patch = (path, body) => call("PATCH", path, { body });
export const remove = (path, query) => call("DELETE", path, { query });
