/**
 * Adapter for Mastra (package `@mastra/core`): a processor that gives an agent long-term memory, and tools with which an
 * agent reads and writes memories itself.
 */
import type { ProcessInputArgs, ProcessOutputResultArgs, Processor } from "@mastra/core/processors";
import type { RequestContext } from "@mastra/core/request-context";
import { type Tool } from "@mastra/core/tools";
import { type AgentMemoryOptions, type MemoryScope } from "./agentMemory.js";
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
export declare class CuebaseProcessor implements Processor<"cuebase"> {
    #private;
    readonly id = "cuebase";
    readonly name = "Cuebase";
    constructor(options?: CuebaseOptions);
    processInput({ messages, messageList, requestContext }: ProcessInputArgs): Promise<MessageList>;
    processOutputResult({ messages, messageList, requestContext, result }: ProcessOutputResultArgs): MessageList;
}
/** The tools of `cuebaseTools`. A type alias, because an interface is not assignable to the index signature of a tool set. */
export type CuebaseTools = {
    recall: Tool<tools.RecallInput, string>;
    remember: Tool<tools.RememberInput, string>;
    forget: Tool<tools.ForgetInput, string>;
};
/** Returns tools for an agent. A tool that fails throws a `CuebaseError`, which Mastra passes to the model. */
export declare function cuebaseTools(options?: CuebaseOptions): CuebaseTools;
