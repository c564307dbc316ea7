/** The tools that every adapter offers to a model: their descriptions, their input schemas, and what they do. */
import { z } from "zod";
import { type AgentMemory, type MemoryScope } from "./agentMemory.js";
export interface RecallInput {
    query: string;
}
export interface RememberInput {
    text: string;
}
export interface ForgetInput {
    path: string;
}
export declare const RECALL_DESCRIPTION: string;
export declare const REMEMBER_DESCRIPTION: string;
export declare const FORGET_DESCRIPTION = "Deletes one memory by its path, when the user asks for that or the memory is wrong.";
export declare const recallInput: z.ZodType<RecallInput>;
export declare const rememberInput: z.ZodType<RememberInput>;
export declare const forgetInput: z.ZodType<ForgetInput>;
/** Every tool returns a text. */
export declare const toolOutput: z.ZodType<string>;
/** Returns the memories about a query as one text. Throws `CuebaseError`. */
export declare function recall(memory: AgentMemory, input: RecallInput, scope: MemoryScope): Promise<string>;
/** Stores a text as a message of the user. Throws `CuebaseError`. */
export declare function remember(memory: AgentMemory, input: RememberInput, scope: MemoryScope): Promise<string>;
/** Deletes a memory. Throws `CuebaseError`. */
export declare function forget(memory: AgentMemory, input: ForgetInput, scope: MemoryScope): Promise<string>;
