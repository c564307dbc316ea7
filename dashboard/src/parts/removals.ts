// Deletions of list entries that can be undone for a moment. An entry disappears at once; it comes back after Undo and
// after a failed deletion.

import { signal } from "@preact/signals";
import type { Result } from "../api";
import { invalidate } from "../request";
import { undoable } from "./toasts";

export interface Removals {
  /** Returns whether the entry of a key is hidden. */
  has: (key: string) => boolean;
  /** Hides an entry, and deletes it with `act` unless the user undoes that. */
  remove: (key: string, text: string, act: () => Promise<Result<unknown>>) => void;
  /** Shows an entry again. A pending deletion does not run. */
  keep: (key: string) => void;
  /** Forgets the deleted entries that a list with these keys no longer has. Call it after each load. */
  settle: (keys: readonly string[]) => void;
}

export function createRemovals(): Removals {
  const hidden = signal<ReadonlySet<string>>(new Set());
  const deleted = new Set<string>();

  function keep(key: string): void {
    const next = new Set(hidden.peek());
    if (!next.delete(key)) return;
    deleted.delete(key);
    hidden.value = next;
  }
  function remove(key: string, text: string, act: () => Promise<Result<unknown>>): void {
    hidden.value = new Set(hidden.peek()).add(key);
    async function run(): Promise<Result<unknown>> {
      if (!hidden.peek().has(key)) return { ok: true, value: null };
      const result = await act();
      if (!result.ok) return result;
      deleted.add(key);
      invalidate();
      return result;
    }
    undoable(text, run, () => keep(key));
  }
  function settle(keys: readonly string[]): void {
    for (const key of [...deleted]) if (!keys.includes(key)) keep(key);
  }
  return { has: (key) => hidden.value.has(key), remove, keep, settle };
}
