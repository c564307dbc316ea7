/**
 * What the adapters for agent frameworks share: the recall of memories for a prompt, and the storage of a turn. Both fail
 * open: an error becomes a warning, and the model call continues. This file contains no code of a framework.
 */
import { Client } from "../client.js";
import type { Accepted, Message } from "../types.js";
/** Whose memories are read and written. */
export interface MemoryScope {
    /** Namespace of the memories. Default: that of the client. */
    namespace?: string | undefined;
    /** Name of the conversation, stored with each turn. */
    session_id?: string | undefined;
    /** Name of the user, stored with each message of the user. */
    user_name?: string | undefined;
}
export interface AgentMemoryOptions extends MemoryScope {
    /** Default: `new Client()`, which reads `CUEBASE_URL` and `CUEBASE_KEY`. */
    client?: Client | undefined;
    /** Maximum number of tokens of the recalled memories. Default: 1,500. */
    max_tokens?: number | undefined;
    /** Longest wait for memories, milliseconds. Then the model is called without them. Default: 2,000. */
    recallTimeoutMs?: number | undefined;
    /** Receives each failed recall and each failed write. Default: prints the message with `console.warn`. */
    onWarning?: ((warning: MemoryWarning) => void) | undefined;
    /**
     * Receives each write when it starts. The promise never rejects; it resolves to `undefined` if the write failed. A
     * serverless runtime needs it to stay alive until the write is durable.
     */
    waitUntil?: ((write: Promise<Accepted | undefined>) => void) | undefined;
}
/** A failure that did not stop the model call. */
export interface MemoryWarning {
    operation: "recall" | "store";
    message: string;
    cause: unknown;
}
/** What the user and the assistant said. The assistant's text may be empty. */
export interface Turn {
    user: string;
    assistant: string;
}
/** Returns whether a model call that finished for this reason ends the turn successfully. */
export declare const isComplete: (finishReason: string | undefined) => boolean;
/** Recalls memories for prompts and stores turns. */
export declare class AgentMemory {
    #private;
    readonly client: Client;
    constructor(options: AgentMemoryOptions);
    /** Returns a text for the prompt with the memories about `query`. Empty if nothing is relevant, and on failure. */
    recall(query: string, scope: MemoryScope): Promise<string>;
    /** Starts to store a turn, and returns at once. */
    store(turn: Turn, scope: MemoryScope): void;
}
/** Returns a message of the user, with the user's name if it is known. */
export declare function userMessage(content: string, scope: MemoryScope): Message;
/** Returns the options of `remember` for a scope. */
export declare function conversation(scope: MemoryScope): {
    namespace?: string;
    session_id?: string;
};
/** Returns the options of a request for a namespace. */
export declare function within(namespace: string | undefined): {
    namespace?: string;
};
