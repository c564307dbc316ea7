// Writes that this tab has sent: their ids, newest first, and the errors of those that failed permanently. The view
// `activity` follows them, since the API has no list of all accepted writes.

import { signal } from "@preact/signals";
import type { Result } from "./api";

const STORED = "writes";
const KEPT_MAX = 20;
const STATUSES = ["accepted", "queued", "ingesting", "retrying", "ingested", "dead"];

export const recentWrites = signal<readonly string[]>(readStored());

/** Records the write of a response. Responses of other kinds are ignored. */
export function recordWrite(answer: unknown): void {
  const { id, status } = (answer ?? {}) as { id?: unknown; status?: unknown };
  if (typeof id !== "string" || typeof status !== "string" || !STATUSES.includes(status)) return;
  const others = recentWrites.value.filter((each) => each !== id);
  recentWrites.value = [id, ...others].slice(0, KEPT_MAX);
  sessionStorage.setItem(STORED, JSON.stringify(recentWrites.value));
}

function readStored(): string[] {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(stored) ? stored.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

/** Turns the response of a request that waited for its write into an error, if the write failed permanently. */
export function checkWrite<T>(result: Result<T>): Result<T> {
  if (!result.ok) return result;
  const { status, error } = (result.value ?? {}) as { status?: string; error?: string | null };
  if (status !== "dead") return result;
  const code = error ?? "unknown";
  const message = `The write failed permanently: ${code}. It is listed under Activity, where it can be retried.`;
  return { ok: false, error: { status: 0, code, message } };
}
