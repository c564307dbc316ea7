/**
 * Adapter for the AI SDK (package `ai`): a middleware that gives a language model long-term memory, and tools with which a
 * model reads and writes memories itself.
 */
import { type LanguageModelMiddleware, type Tool } from "ai";
import { type AgentMemoryOptions } from "./agentMemory.js";
import * as tools from "./agentTools.js";
export type { AgentMemoryOptions, MemoryScope, MemoryWarning } from "./agentMemory.js";
export type { ForgetInput, RecallInput, RememberInput } from "./agentTools.js";
/**
 * Returns a middleware for `wrapLanguageModel`. It puts relevant memories into the last message of the user before each
 * model call, and stores each complete turn in the background.
 *
 * One middleware belongs to one scope: create it for each conversation.
 */
export declare function cuebaseMiddleware(options?: AgentMemoryOptions): LanguageModelMiddleware;
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
export declare function cuebaseTools(options?: AgentMemoryOptions): CuebaseTools;
