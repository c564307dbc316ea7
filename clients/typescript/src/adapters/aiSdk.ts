/**
 * Adapter for the AI SDK (package `ai`): a middleware that gives a language model long-term memory, and tools with which a
 * model reads and writes memories itself.
 */

import { type LanguageModelMiddleware, type Tool, tool } from "ai";
import { AgentMemory, type AgentMemoryOptions, type Turn, isComplete } from "./agentMemory.js";
import * as tools from "./agentTools.js";

export type { AgentMemoryOptions, MemoryScope, MemoryWarning } from "./agentMemory.js";
export type { ForgetInput, RecallInput, RememberInput } from "./agentTools.js";

type CallOptions = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"];
type Prompt = CallOptions["prompt"];
type StreamResult = Awaited<ReturnType<NonNullable<LanguageModelMiddleware["wrapStream"]>>>;
type StreamPart = StreamResult["stream"] extends ReadableStream<infer Part> ? Part : never;

// Marks the part of the prompt with the memories, so that it is not stored as words of the user. Providers read only the
// options under their own names.
const MARK = { cuebase: { memories: true } };

/**
 * Returns a middleware for `wrapLanguageModel`. It puts relevant memories into the last message of the user before each
 * model call, and stores each complete turn in the background.
 *
 * One middleware belongs to one scope: create it for each conversation.
 */
export function cuebaseMiddleware(options: AgentMemoryOptions = {}): LanguageModelMiddleware {
  const memory = new AgentMemory(options);
  let latest = { query: "", memories: "" };

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const query = userText(params.prompt);
      // Later steps of a turn end with tool results. They show the same memories, so that the prefix stays cacheable.
      const isFirstStep = params.prompt.at(-1)?.role === "user";
      if (isFirstStep || query !== latest.query) latest = { query, memories: await memory.recall(query, options) };
      return withMemories(params, latest.memories);
    },

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      let generated = "";
      for (const part of result.content) {
        if (part.type === "text") generated += part.text;
      }
      if (isComplete(result.finishReason.unified)) memory.store(turnOf(params, generated), options);
      return result;
    },

    async wrapStream({ doStream, params }) {
      const result = await doStream();
      let generated = "";
      const observer = new TransformStream<StreamPart, StreamPart>({
        transform(part, controller) {
          controller.enqueue(part);
          if (part.type === "text-delta") generated += part.delta;
          if (part.type === "finish" && isComplete(part.finishReason.unified)) {
            memory.store(turnOf(params, generated), options);
          }
        },
      });
      return { ...result, stream: result.stream.pipeThrough(observer) };
    },
  };
}

/** The tools of `cuebaseTools`. A type alias, because an interface is not assignable to the index signature of a tool set. */
export type CuebaseTools = {
  recall: Tool<tools.RecallInput, string>;
  remember: Tool<tools.RememberInput, string>;
  forget: Tool<tools.ForgetInput, string>;
};

/**
 * Returns tools for `generateText` and `streamText`. A tool that fails throws a `CuebaseError`, which the AI SDK passes to
 * the model as the result of the tool.
 */
export function cuebaseTools(options: AgentMemoryOptions = {}): CuebaseTools {
  const memory = new AgentMemory(options);
  return {
    recall: tool({
      description: tools.RECALL_DESCRIPTION,
      inputSchema: tools.recallInput,
      execute: (input) => tools.recall(memory, input, options),
    }),
    remember: tool({
      description: tools.REMEMBER_DESCRIPTION,
      inputSchema: tools.rememberInput,
      execute: (input) => tools.remember(memory, input, options),
    }),
    forget: tool({
      description: tools.FORGET_DESCRIPTION,
      inputSchema: tools.forgetInput,
      execute: (input) => tools.forget(memory, input, options),
    }),
  };
}

function lastUserIndex(prompt: Prompt): number {
  for (let index = prompt.length - 1; index >= 0; index--) {
    if (prompt[index]?.role === "user") return index;
  }
  return -1;
}

/** Returns what the user said last: the text of the last messages of the user that follow each other. */
function userText(prompt: Prompt): string {
  const texts: string[] = [];
  for (let index = lastUserIndex(prompt); index >= 0; index--) {
    const message = prompt[index];
    if (message?.role !== "user") break;
    const spoken: string[] = [];
    for (const part of message.content) {
      if (part.type === "text" && part.providerOptions?.["cuebase"] === undefined) spoken.push(part.text);
    }
    texts.unshift(...spoken);
  }
  return texts.join("\n");
}

function withMemories(params: CallOptions, memories: string): CallOptions {
  const index = lastUserIndex(params.prompt);
  const message = params.prompt[index];
  if (memories === "" || message?.role !== "user") return params;
  const prompt = [...params.prompt];
  prompt[index] = { ...message, content: [{ type: "text", text: memories, providerOptions: MARK }, ...message.content] };
  return { ...params, prompt };
}

/** Returns the turn that ends with the generated text. Texts of earlier steps of the turn are in the prompt. */
function turnOf(params: CallOptions, generated: string): Turn {
  const said: string[] = [];
  for (const message of params.prompt.slice(lastUserIndex(params.prompt) + 1)) {
    if (message.role !== "assistant") continue;
    for (const part of message.content) {
      if (part.type === "text") said.push(part.text);
    }
  }
  said.push(generated);
  return { user: userText(params.prompt), assistant: said.join("\n").trim() };
}
