import type * as t from "./types.js";
export interface ClientOptions {
    /** Address of the server. Default: the environment variable `CUEBASE_URL`, otherwise `http://127.0.0.1:8080`. */
    url?: string | undefined;
    /** An API key, or a dashboard session. Default: the environment variable `CUEBASE_KEY`. */
    key?: string | undefined;
    /** The namespace that is meant where a call names none. */
    namespace?: string;
    /** How long an answer is waited for, milliseconds; 30,000 by default. */
    timeoutMs?: number;
    /** How often something is tried again; 3 by default. */
    maxRetries?: number;
    /** Another `fetch`. */
    fetch?: typeof fetch;
    /** Another way to wait. */
    sleep?: (milliseconds: number) => Promise<void>;
}
/**
 * A client of one server, with one credential.
 *
 * What fails because the server is busy or cannot be reached is tried again, after waits that grow, are spread at random,
 * and are never shorter than the server asked for.
 */
export declare class Client {
    #private;
    constructor(options?: ClientOptions);
    /** The server's version, if it answers. */
    health(): Promise<string>;
    /** What the credential is. */
    whoami(): Promise<t.Who>;
    /** Makes a key, confined to a namespace where one is named. The whole key is told this once. */
    createKey(options?: {
        name?: string;
        env?: t.Environment;
        namespace?: string;
    }): Promise<t.NewKey>;
    /** All keys (dashboard session). */
    keys(): Promise<t.Key[]>;
    /** Revokes a key for good (dashboard session). It may keep working for up to 30 seconds. */
    revokeKey(id: string): Promise<void>;
    /** Makes a namespace; one that exists is told as it is. */
    createNamespace(name: string): Promise<t.Namespace>;
    /** Every namespace, by name, however many there are. */
    namespaces(): AsyncGenerator<t.Namespace, void, undefined>;
    /** Removes a namespace with everything in it, for good (dashboard session). */
    deleteNamespace(name: string): Promise<void>;
    /**
     * Stores a conversation: a list of messages, one message, or a text, which is one message of the user. The write is
     * durable when this resolves, and retrievable a moment later.
     */
    remember(messages: t.Messages, options?: {
        namespace?: string;
        session_id?: string;
        tags?: string[];
        occurred_at?: t.When;
        timezone?: string;
    }): Promise<t.Accepted>;
    /** What a query brings to mind, best first; without one, what the filters let through, newest first. */
    retrieve(query: string | null, filters?: t.Filters & {
        detail?: "full";
    }): Promise<t.Retrieved>;
    /**
     * Waits until a write can be retrieved, and resolves to the memories that it made or changed.
     *
     * The service tells this by retrieval alone: a memory's history names the write that it came from. A write that made no
     * memory (nothing in it was worth keeping) cannot be told from one that is still to come: `NotIngested` in the end.
     */
    waitUntilIngested(accepted: t.Accepted, { timeoutMs }?: {
        timeoutMs?: number | undefined;
    }): Promise<t.Memory[]>;
    /** Answers a question from the memories, with citations. `NotFound` where they hold no answer. */
    answer(question: string, filters?: t.Filters): Promise<t.Answer>;
    /** One memory by its path; `facts/a.md#Heading`, or `section`, is one section of it. */
    get(path: string, options?: {
        namespace?: string;
        section?: string;
        revision?: string;
        detail?: "full";
    }): Promise<t.Memory>;
    /** Writes a memory at a path that ends in `.md`: one commit, and the next read sees it. */
    write(path: string, content: string, options?: {
        namespace?: string;
        tags?: string[];
        cues?: string[];
        occurred_at?: t.When;
        expires_at?: t.When;
        timezone?: string;
    }): Promise<t.Written>;
    /** Has a memory forgotten; earlier revisions stay in git history. */
    forget(path: string, options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** What is right below a directory. */
    tree(path?: string, options?: {
        namespace?: string;
    }): Promise<t.TreeEntry[]>;
    /** Every topic with the number of its memories. */
    topics(options?: {
        namespace?: string;
    }): Promise<t.Topic[]>;
    /** The relations around a memory, or of the whole namespace. */
    graph(options?: {
        path?: string;
        depth?: 1 | 2 | 3;
        limit?: number;
        namespace?: string;
    }): Promise<t.Graph>;
    /** Teaches terms; a known one is rewritten. */
    teach(terms: readonly t.NewTerm[], options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** The terms, those whose name holds `like`. */
    vocabulary(options?: {
        like?: string;
        limit?: number;
        namespace?: string;
    }): Promise<t.Term[]>;
    /** The term that a word is a name of. */
    resolve(word: string, options?: {
        namespace?: string;
    }): Promise<t.Term | null>;
    /** Forgets terms by their canonical names. */
    forgetTerms(terms: readonly string[], options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** Stores procedures; the answer names the paths at which they will be. */
    storeSkills(skills: readonly t.NewSkill[], options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** The skills for a task, best first; without one, all of them. */
    skills(task?: string, options?: {
        paths?: string[];
        tags?: string[];
        limit?: number;
        namespace?: string;
    }): Promise<t.Skill[]>;
    /** Begins a managed conversation. */
    createConversation(options?: {
        title?: string;
        namespace?: string;
    }): Promise<t.Conversation>;
    /** Every conversation, newest first, however many there are. */
    conversations(options?: {
        namespace?: string;
    }): AsyncGenerator<t.Conversation, void, undefined>;
    /** A conversation with the messages of a branch, by default the active one. */
    conversation(id: string, options?: {
        branch?: string;
    }): Promise<t.Conversation>;
    /** Sets the title, or makes a branch the active one. */
    updateConversation(id: string, change: {
        title?: string;
        branch?: string;
    }): Promise<t.Conversation>;
    /** Deletes a conversation; the memories made from it stay. */
    deleteConversation(id: string): Promise<void>;
    /** Appends messages, which are also remembered; resolves to their ids. A text is one message of the user. */
    append(id: string, messages: t.Messages, options?: {
        branch?: string;
    }): Promise<string[]>;
    /** Ends the active branch at a message; what came after stays, on a branch of its own. */
    rewind(id: string, to: string): Promise<t.Conversation>;
    /** Puts other content in a message's place. */
    editInPlace(id: string, messageId: string, content: t.Message["content"]): Promise<t.ConversationMessage>;
    /** Other content on a new branch that forks before the message; resolves to the branch's name. */
    edit(id: string, messageId: string, content: t.Message["content"]): Promise<string>;
    /** The branches of a conversation. */
    branches(id: string): Promise<t.Branch[]>;
    /** Uploads a file of at most 32 MiB. */
    upload(content: Uint8Array, contentType: string, options?: {
        filename?: string;
        namespace?: string;
    }): Promise<t.Media>;
    /** An address that opens a file without a credential, and until when it does. */
    mediaUrl(id: string): Promise<{
        url: string;
        expires_at: Date;
    }>;
    /** Every kept conversation, newest first; with `session_id`, only those of that session. */
    sources(options?: {
        session_id?: string;
        namespace?: string;
    }): AsyncGenerator<t.SourceEntry, void, undefined>;
    /**
     * A kept conversation as it was accepted, and the paths of the memories made from it.
     *
     * The id is that of the write: `id` of what `remember` resolved to, or `write` of a memory's source. `NotFound` before
     * the write is ingested.
     */
    source(id: string, options?: {
        namespace?: string;
    }): Promise<t.SourceConversation>;
    /** Deletes a kept conversation; the memories made from it stay. */
    deleteSource(id: string, options?: {
        namespace?: string;
    }): Promise<void>;
    /** What waits to be ingested, and a page of what failed for good. */
    queue(options?: {
        limit?: number;
        after?: string;
    }): Promise<t.Queue>;
    /** What was used this month, and what may be. */
    usage(): Promise<t.Usage>;
    /** The wallet. */
    billing(): Promise<t.Billing>;
    /** A page to pay at, and the payment's id (dashboard session). */
    recharge(amountPaise: number): Promise<{
        payment_link: string;
        payment_id: string;
    }>;
    /** A page to subscribe to a plan at (dashboard session). */
    subscribe(plan: t.Plan): Promise<string>;
}
