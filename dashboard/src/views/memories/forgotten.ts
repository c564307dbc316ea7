// Forgets memories so that it can be undone: for a moment before the server is asked, and for a while after it by writing
// the contents back.

import { signal } from "@preact/signals";
import { call, type ApiError, type Result, type Schemas } from "../../api";
import { toastAction, toastError, undoable } from "../../parts";
import { invalidate } from "../../request";
import { bodyOf } from "../memory/rewrite";

/** Seconds to wait for the end of a write. */
const WAIT = "10s";

/** Memories that are forgotten, or will be in a moment. Lists leave them out. */
const hidden = signal<ReadonlySet<string>>(new Set());

function isForgotten(namespace: string, path: string): boolean {
  return hidden.value.has(`${namespace} ${path}`);
}

/** Returns the memories without the forgotten ones. It is the same array if none is forgotten. */
export function withoutForgotten<T extends { path: string }>(namespace: string, memories: readonly T[]): readonly T[] {
  if (hidden.value.size === 0) return memories;
  return memories.filter(({ path }) => !isForgotten(namespace, path));
}

/** Forgets memories. `title` is the title of a single one. */
export function forget(namespace: string, paths: readonly string[], title?: string): void {
  const name = paths.length === 1 ? `“${title ?? paths[0]}”` : `${paths.length} memories`;
  hide(namespace, paths, true);
  undoable(
    `Forgot ${name}`,
    () => forgetNow(namespace, paths, name),
    () => hide(namespace, paths, false),
  );
}

async function forgetNow(namespace: string, paths: readonly string[], name: string): Promise<Result<null>> {
  const former: Schemas["Hit"][] = [];
  let failed: ApiError | null = null;
  for (const path of paths) {
    const read = await call("get", "/v1/memories/{path}", { path: { path }, query: { namespace, detail: "full" } });
    // The last write of all is waited for, and writes of a namespace are processed in their order.
    const wait = path === paths.at(-1) ? { wait: WAIT } : {};
    const done = await call("delete", "/v1/memories/{path}", { path: { path }, query: { namespace, ...wait } });
    if (!done.ok) failed ??= done.error;
    else if (read.ok) former.push(read.value);
  }
  hide(namespace, paths, false);
  invalidate();
  if (failed) return { ok: false, error: failed };
  toastAction(`${name} ${paths.length === 1 ? "is" : "are"} forgotten`, "Write back", () => {
    void writeBack(namespace, former);
  });
  return { ok: true, value: null };
}

/** Writes the contents back, with their tags, cues, times and metadata. */
async function writeBack(namespace: string, former: readonly Schemas["Hit"][]): Promise<void> {
  for (const memory of former) {
    const written = await call("post", "/v1/memories/{path}", {
      path: { path: memory.path },
      body: bodyOf(namespace, memory),
    });
    if (!written.ok) {
      toastError(`${memory.path} was not written back: ${written.error.message}`);
      break;
    }
  }
  invalidate();
}

function hide(namespace: string, paths: readonly string[], isHidden: boolean): void {
  const next = new Set(hidden.value);
  for (const path of paths) {
    if (isHidden) next.add(`${namespace} ${path}`);
    else next.delete(`${namespace} ${path}`);
  }
  hidden.value = next;
}
