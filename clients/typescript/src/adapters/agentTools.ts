/** The tools that every adapter offers to a model: their descriptions, their input schemas, and what they do. */

import { z } from "zod";
import type { Context } from "../types.js";
import { type AgentMemory, type MemoryScope, conversation, userMessage, within } from "./agentMemory.js";

export interface RecallInput {
  query: string;
}

export interface RememberInput {
  text: string;
}

export interface ForgetInput {
  path: string;
}

export const RECALL_DESCRIPTION =
  "Searches long-term memory. Use it before you answer whenever earlier conversations may matter. Each entry of the result " +
  "ends its first line with the path of the memory in brackets.";
export const REMEMBER_DESCRIPTION =
  "Stores something lasting for later conversations: a fact about the user, a preference, a decision, an event. Use it when " +
  "the user asks you to remember something.";
export const FORGET_DESCRIPTION = "Deletes one memory by its path, when the user asks for that or the memory is wrong.";

export const recallInput: z.ZodType<RecallInput> = z.object({
  query: z.string().min(1).describe("What to search for: a question or a topic."),
});
export const rememberInput: z.ZodType<RememberInput> = z.object({
  text: z.string().min(1).describe("One or more sentences in the words of the user, such as: I moved to Lisbon in May."),
});
export const forgetInput: z.ZodType<ForgetInput> = z.object({
  path: z.string().min(1).describe("Path of the memory, as recall returns it, such as facts/noor/seat.md."),
});

/** Every tool returns a text. */
export const toolOutput: z.ZodType<string> = z.string();

/** Returns the memories about a query as one text. Throws `CuebaseError`. */
export async function recall(memory: AgentMemory, input: RecallInput, scope: MemoryScope): Promise<string> {
  // A model that searches explicitly can judge more results than a prompt should contain unasked.
  const context = await memory.client.context(input.query, { ...within(scope.namespace), admit: "recall" });
  return context.text === "" ? "No memory matches this query." : withPaths(context);
}

/** Returns the text of a context with the path of each memory in place of the mark of its citation. */
function withPaths(context: Context): string {
  const lines: string[] = [];
  for (const line of context.text.split("\n")) {
    const mark = line.startsWith("- ") ? / \[(\d+)\]$/.exec(line) : null;
    const citation = mark === null ? undefined : context.citations[Number(mark[1]) - 1];
    lines.push(mark === null || citation === undefined ? line : `${line.slice(0, mark.index)} [${citation.path}]`);
  }
  return lines.join("\n");
}

/** Stores a text as a message of the user. Throws `CuebaseError`. */
export async function remember(memory: AgentMemory, input: RememberInput, scope: MemoryScope): Promise<string> {
  await memory.client.remember(userMessage(input.text, scope), conversation(scope));
  return "Stored. It can be recalled in a moment.";
}

/** Deletes a memory. Throws `CuebaseError`. */
export async function forget(memory: AgentMemory, input: ForgetInput, scope: MemoryScope): Promise<string> {
  await memory.client.forget(input.path, within(scope.namespace));
  return `Deleted ${input.path}.`;
}
