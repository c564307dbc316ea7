/**
 * Adapter for Mastra (package `@mastra/core`): a processor that gives an agent long-term memory, and tools with which an
 * agent reads and writes memories itself.
 */

import { type MastraDBMessage, parseMemoryRequestContext } from "@mastra/core/memory";
import type { ProcessInputArgs, ProcessOutputResultArgs, Processor } from "@mastra/core/processors";
import type { RequestContext } from "@mastra/core/request-context";
import { type Tool, createTool } from "@mastra/core/tools";
import { AgentMemory, type AgentMemoryOptions, type MemoryScope, isComplete } from "./agentMemory.js";
import * as tools from "./agentTools.js";

export type { AgentMemoryOptions, MemoryScope, MemoryWarning } from "./agentMemory.js";
export type { ForgetInput, RecallInput, RememberInput } from "./agentTools.js";

export interface CuebaseOptions extends AgentMemoryOptions {
  /**
   * Returns the scope of a request. Its fields take precedence over those of the options. An error of this function stops
   * the run, so that a request without a tenant cannot read the memories of another.
   */
  scope?: ((context: RequestContext | undefined) => MemoryScope) | undefined;
}

type MessageList = ProcessInputArgs["messageList"];

/**
 * A processor for both `inputProcessors` and `outputProcessors` of an agent. It adds relevant memories as a system message
 * before the model is called, and stores each complete turn in the background.
 *
 * Without a `session_id`, the turn is stored under the id of the agent's memory thread, if there is one.
 */
export class CuebaseProcessor implements Processor<"cuebase"> {
  readonly id = "cuebase";
  readonly name = "Cuebase";
  readonly #memory: AgentMemory;
  readonly #options: CuebaseOptions;

  constructor(options: CuebaseOptions = {}) {
    this.#memory = new AgentMemory(options);
    this.#options = options;
  }

  async processInput({ messages, messageList, requestContext }: ProcessInputArgs): Promise<MessageList> {
    const memories = await this.#memory.recall(userText(messages), scopeOf(this.#options, requestContext));
    if (memories !== "") messageList.addSystem(memories, this.id);
    return messageList;
  }

  processOutputResult({ messages, messageList, requestContext, result }: ProcessOutputResultArgs): MessageList {
    if (isComplete(result.finishReason)) {
      const user = userText(messageList.get.input.db());
      const assistant = messages.map(textOf).join("\n").trim();
      this.#memory.store({ user, assistant }, scopeOf(this.#options, requestContext));
    }
    return messageList;
  }
}

/** The tools of `cuebaseTools`. A type alias, because an interface is not assignable to the index signature of a tool set. */
export type CuebaseTools = {
  recall: Tool<tools.RecallInput, string>;
  remember: Tool<tools.RememberInput, string>;
  forget: Tool<tools.ForgetInput, string>;
};

/** Returns tools for an agent. A tool that fails throws a `CuebaseError`, which Mastra passes to the model. */
export function cuebaseTools(options: CuebaseOptions = {}): CuebaseTools {
  const memory = new AgentMemory(options);
  return {
    recall: createTool({
      id: "recall",
      description: tools.RECALL_DESCRIPTION,
      inputSchema: tools.recallInput,
      outputSchema: tools.toolOutput,
      execute: (input, context) => tools.recall(memory, input, scopeOf(options, context.requestContext)),
    }),
    remember: createTool({
      id: "remember",
      description: tools.REMEMBER_DESCRIPTION,
      inputSchema: tools.rememberInput,
      outputSchema: tools.toolOutput,
      execute: (input, context) => tools.remember(memory, input, scopeOf(options, context.requestContext)),
    }),
    forget: createTool({
      id: "forget",
      description: tools.FORGET_DESCRIPTION,
      inputSchema: tools.forgetInput,
      outputSchema: tools.toolOutput,
      execute: (input, context) => tools.forget(memory, input, scopeOf(options, context.requestContext)),
    }),
  };
}

function scopeOf(options: CuebaseOptions, context: RequestContext | undefined): MemoryScope {
  const request = options.scope?.(context) ?? {};
  return {
    namespace: request.namespace ?? options.namespace,
    session_id: request.session_id ?? options.session_id ?? parseMemoryRequestContext(context)?.thread?.id,
    user_name: request.user_name ?? options.user_name,
  };
}

/** Returns what the user said last: the text of the last messages of the user that follow each other. */
function userText(messages: readonly MastraDBMessage[]): string {
  const texts: string[] = [];
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index];
    if (message && isFromUser(message)) texts.unshift(textOf(message));
    else if (texts.length > 0) break;
  }
  return texts.join("\n");
}

/** Returns whether the user wrote a message. Messages that reach a running agent are stored as signals. */
function isFromUser(message: MastraDBMessage): boolean {
  if (message.role === "user") return true;
  const signal = message.content.metadata?.["signal"];
  if (message.role !== "signal" || typeof signal !== "object" || signal === null || !("type" in signal)) return false;
  return signal.type === "user" || signal.type === "user-message";
}

function textOf(message: MastraDBMessage): string {
  const texts: string[] = [];
  for (const part of message.content.parts) {
    if (part.type === "text") texts.push(part.text);
  }
  return texts.length > 0 ? texts.join("\n") : (message.content.content ?? "");
}
