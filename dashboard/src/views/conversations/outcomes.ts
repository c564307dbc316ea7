// What the messages of an ingested conversation became. The conversation lists its memories with their messages, and the
// write lists what it changed and what it dropped.

import { call, type ApiError, type ResponseOf, type Schemas } from "../../api";

/** Memories that the API lists for a conversation, at most. */
const MEMORIES_MAX = 200;

type Write = ResponseOf<"get", "/v1/writes/{id}">;
type Extracted = Schemas["ExtractedMemory"];

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
  /** Whether the conversation has more memories than the API lists. */
  isPartial: boolean;
  /** The write; null if the server no longer has it. */
  write: Write | null;
  error: ApiError | null;
}

/** Loads the write of a conversation, and combines it with its memories. `signal` aborts the request. */
export async function loadOutcomes(
  id: string,
  extracted: readonly Extracted[],
  signal: AbortSignal,
): Promise<Outcomes> {
  const written = await call("get", "/v1/writes/{id}", { path: { id } }, signal);
  const write = written.ok ? written.value : null;
  const memories = new Map<number, OutcomeMemory[]>();
  for (const { path, title, messages, current } of extracted) {
    const memory = { path, title, effect: effectOf(write, path), isCurrent: current };
    for (const message of messages) memories.set(message, [...(memories.get(message) ?? []), memory]);
  }
  const dropped = new Map<number, string>();
  const refused: string[] = [];
  for (const { message, reason } of write?.dropped ?? []) {
    if (message === null || message === undefined) refused.push(reason);
    else dropped.set(message, reason);
  }
  const error = written.ok || written.error.status === 404 ? null : written.error;
  return { memories, dropped, refused, isPartial: extracted.length >= MEMORIES_MAX, write, error };
}

function effectOf(write: Write | null, path: string): OutcomeMemory["effect"] {
  if (write?.merged.includes(path)) return "merged into";
  if (write?.rewritten.includes(path)) return "rewrote";
  return "became";
}

const REASONS: Record<string, string> = {
  small_talk: "small talk",
  question: "a question that nobody answers",
  adds_nothing: "an assistant's message that adds nothing",
  asked_not_to: "the user asked not to remember it",
  system: "an instruction to the model",
  no_text: "no text",
};

/** Returns the words for the reason of a dropped message. */
export function describeReason(reason: string): string {
  return REASONS[reason] ?? reason;
}
