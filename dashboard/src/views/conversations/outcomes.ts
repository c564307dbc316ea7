// What the messages of an ingested conversation became. The API has it in three places: the conversation lists its
// memories, each memory lists its messages, and the write lists what it changed and what it dropped.

import { call, type ApiError, type ResponseOf } from "../../api";
import { titleOf } from "../people/about";

/** Memories whose messages are loaded. Each is a request. */
const MEMORIES_MAX = 60;
/** Requests in flight at a time. */
const PARALLEL = 4;

type Write = ResponseOf<"get", "/v1/writes/{id}">;

/** A memory of a conversation. */
export interface OutcomeMemory {
  path: string;
  title: string;
  /** What the write did with the memory. */
  effect: "became" | "rewrote" | "merged into";
  isCurrent: boolean;
}

export interface Outcomes {
  /** Memories by the index of their message. */
  memories: ReadonlyMap<number, readonly OutcomeMemory[]>;
  /** Reasons of dropped messages by their index. */
  dropped: ReadonlyMap<number, string>;
  /** Reasons of refused operations of the chat model. */
  refused: readonly string[];
  /** Memories of the conversation whose messages are not known. */
  unassigned: readonly string[];
  /** The write; null if the server no longer has it. */
  write: Write | null;
  error: ApiError | null;
}

/** Loads the outcomes of a conversation with its memories. `signal` aborts the requests. */
export async function loadOutcomes(
  namespace: string,
  id: string,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const written = await call("get", "/v1/writes/{id}", { path: { id } }, signal);
  const write = written.ok ? written.value : null;
  const memories = new Map<number, OutcomeMemory[]>();
  const unassigned = paths.slice(MEMORIES_MAX);
  let error = written.ok || written.error.status === 404 ? null : written.error;

  async function assign(path: string): Promise<void> {
    const found = await call(
      "get",
      "/v1/memories/{path}",
      { path: { path }, query: { namespace, detail: "full" } },
      signal,
    );
    if (!found.ok) {
      unassigned.push(path);
      if (found.error.status !== 404) error = found.error;
      return;
    }
    const { content, current, sources = [] } = found.value;
    const memory = { path, title: titleOf(content, path), effect: effectOf(write, path), isCurrent: current };
    const own = sources.filter((source) => source.write === id);
    if (own.length === 0) unassigned.push(path);
    for (const { message } of own) memories.set(message, [...(memories.get(message) ?? []), memory]);
  }
  const queue = paths.slice(0, MEMORIES_MAX);
  async function work(): Promise<void> {
    for (let path = queue.shift(); path && !signal.aborted; path = queue.shift()) await assign(path);
  }
  await Promise.all(Array.from({ length: PARALLEL }, work));

  const dropped = new Map<number, string>();
  const refused: string[] = [];
  for (const { message, reason } of write?.dropped ?? []) {
    if (message === null || message === undefined) refused.push(reason);
    else dropped.set(message, reason);
  }
  return { memories, dropped, refused, unassigned, write, error };
}

function effectOf(write: Write | null, path: string): OutcomeMemory["effect"] {
  if (write?.merged.includes(path)) return "merged into";
  if (write?.rewritten.includes(path)) return "rewrote";
  return "became";
}

const REASONS: Record<string, string> = {
  small_talk: "small talk",
  system: "an instruction to the model",
  no_text: "no text",
};

/** Returns the words for the reason of a dropped message. */
export function describeReason(reason: string): string {
  return REASONS[reason] ?? reason;
}
