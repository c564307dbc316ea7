import type * as t from "./types.js";
export interface ClientOptions {
    /** Address of the server. Default: the environment variable `CUEBASE_URL`, otherwise `http://127.0.0.1:8080`. */
    url?: string | undefined;
    /** An API key, or a dashboard session. Default: the environment variable `CUEBASE_KEY`. */
    key?: string | undefined;
    /** Default namespace of calls that name none. */
    namespace?: string;
    /** Timeout of a request, milliseconds. Default: 30,000. */
    timeoutMs?: number;
    /** Maximum number of retries per request. Default: 3. */
    maxRetries?: number;
    /** Replacement for the global `fetch`. */
    fetch?: typeof fetch;
    /** Replacement for the wait before a retry or poll. */
    sleep?: (milliseconds: number) => Promise<void>;
}
/**
 * A client for one server with one credential.
 *
 * Requests that fail because the server is busy or unreachable are retried. The waits grow, have random jitter, and are
 * never shorter than the `retry-after` of the server.
 */
export declare class Client {
    #private;
    constructor(options?: ClientOptions);
    /** Returns the version of the server. */
    health(): Promise<string>;
    /** Returns the account and the kind of the credential. */
    whoami(): Promise<t.Who>;
    /** Creates an API key, limited to `namespace` if given. Only this response contains the complete key. */
    createKey(options?: {
        name?: string;
        env?: t.Environment;
        namespace?: string;
    }): Promise<t.NewKey>;
    /** Returns all API keys. Requires a dashboard session. */
    keys(): Promise<t.Key[]>;
    /** Revokes a key permanently. The key may work for up to 30 more seconds. Requires a dashboard session. */
    revokeKey(id: string): Promise<void>;
    /** Creates a namespace, or returns the existing one with this name. */
    createNamespace(name: string): Promise<t.Namespace>;
    /** Iterates over all namespaces, sorted by name. Reads page after page. */
    namespaces(): AsyncGenerator<t.Namespace, void, undefined>;
    /** Deletes a namespace and all its contents permanently. Requires a dashboard session. */
    deleteNamespace(name: string): Promise<void>;
    /**
     * Stores a conversation: a list of messages, one message, or a text, which becomes one message of the user. When this
     * resolves, the write is durable. It can be retrieved a moment later.
     */
    remember(messages: t.Messages, options?: {
        namespace?: string;
        session_id?: string;
        /** Name of the user, for messages of theirs without a name. */
        user?: string;
        tags?: string[];
        metadata?: t.Metadata;
        occurred_at?: t.When;
        timezone?: string;
    }): Promise<t.Accepted>;
    /**
     * Returns the memories that match a query, best first. Without a query, lists what passes the filters, newest first. With
     * `explain: true`, each hit of a query has an `explanation` of its score.
     */
    retrieve(query: string | null, filters?: t.Filters & {
        detail?: "full";
        explain?: boolean;
    }): Promise<t.Retrieved>;
    /**
     * Iterates over the memories of a namespace that pass the filters, newest first. Reads page after page. Writes during the
     * iteration move the later pages, so a memory may be left out or be returned twice.
     */
    memories(filters?: t.MemoriesFilters): AsyncGenerator<t.Memory, void, undefined>;
    /**
     * Explains why a query returns the memory at a path, or why it does not. Takes one namespace, and the filters of
     * `retrieve`. A path without a memory is not an error: `excluded_by` is then `["unknown_path"]`.
     */
    explain(query: string, path: string, filters?: Omit<t.Filters, "namespace"> & {
        namespace?: string;
    }): Promise<t.PathExplanation>;
    /**
     * Returns the state of a write of the last 14 days, and what it changed. `id` is that of an `Accepted`.
     *
     * With `waitMs`, the client polls for up to `waitMs` milliseconds until the write is `ingested`, `dead` or `dropped`. If
     * the time is up before, the result is the present state.
     */
    writeState(id: string, { waitMs }?: {
        waitMs?: number | undefined;
    }): Promise<t.WriteState>;
    /**
     * Waits until a write can be retrieved, and resolves to the memories that it made or changed; the first 200 of them.
     *
     * The result is empty if the write made no memory. Throws `NotIngested` if the write is not ingested within `timeoutMs`,
     * and as soon as it has failed permanently.
     */
    waitUntilIngested(accepted: t.Accepted, { timeoutMs }?: {
        timeoutMs?: number | undefined;
    }): Promise<t.Memory[]>;
    /** Answers a question from the memories, with citations. Throws `NotFound` if they contain no answer. */
    answer(question: string, filters?: t.Filters): Promise<t.Answer>;
    /**
     * Returns text for a prompt: what the memories hold about a query, which may ask for several things. `text` is empty if
     * nothing is relevant. A request ("suggest a recipe") begins with the standing facts that it touches, such as an
     * allergy; `standing` leaves them out or shows all.
     */
    context(query: string, options?: t.Filters & {
        max_tokens?: number;
        standing?: "auto" | "off" | "all";
    }): Promise<t.Context>;
    /** Returns what the memories claim about a subject; by default about `user`, or the only person who speaks. */
    profile(options?: {
        subject?: string;
        user?: string;
        namespace?: string;
        as_of?: t.When;
        timezone?: string;
    }): Promise<t.Profile>;
    /** Returns a memory by path. `facts/a.md#Heading` or `section` selects one section. */
    get(path: string, options?: {
        namespace?: string;
        section?: string;
        revision?: string;
        detail?: "full";
    }): Promise<t.Memory>;
    /** Writes a memory at a path that ends in `.md`. Each write is one commit, and the next read sees it. */
    write(path: string, content: string, options?: t.WriteOptions): Promise<t.Written>;
    /** Deletes a memory. Earlier revisions stay in the git history. */
    forget(path: string, options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** Returns the entries directly below a directory. */
    tree(path?: string, options?: {
        namespace?: string;
    }): Promise<t.TreeEntry[]>;
    /** Returns all topics with their numbers of memories. */
    topics(options?: {
        namespace?: string;
    }): Promise<t.Topic[]>;
    /** Returns the relations around a memory, or those of the whole namespace. */
    graph(options?: {
        path?: string;
        depth?: 1 | 2 | 3;
        limit?: number;
        namespace?: string;
    }): Promise<t.Graph>;
    /** Stores terms. A known term is replaced. */
    teach(terms: readonly t.NewTerm[], options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** Returns the terms, or only those whose name contains `like`. */
    vocabulary(options?: {
        like?: string;
        limit?: number;
        namespace?: string;
    }): Promise<t.Term[]>;
    /** Returns the term with the name or alias `word`, or `null`. */
    resolve(word: string, options?: {
        namespace?: string;
    }): Promise<t.Term | null>;
    /** Deletes terms by their canonical names. */
    forgetTerms(terms: readonly string[], options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** Stores procedures. The result contains the paths at which they will be stored. */
    storeSkills(skills: readonly t.NewSkill[], options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** Returns the skills for a task, best first. Without a task, returns all skills. */
    skills(task?: string, options?: {
        paths?: string[];
        tags?: string[];
        where?: string[];
        limit?: number;
        namespace?: string;
    }): Promise<t.Skill[]>;
    /** Creates a managed conversation. */
    createConversation(options?: {
        title?: string;
        namespace?: string;
    }): Promise<t.Conversation>;
    /** Iterates over all conversations, newest first. Reads page after page. */
    conversations(options?: {
        namespace?: string;
    }): AsyncGenerator<t.Conversation, void, undefined>;
    /** Returns a conversation with the messages of a branch. Default: the active branch. */
    conversation(id: string, options?: {
        branch?: string;
    }): Promise<t.Conversation>;
    /** Sets the title, or selects the active branch. */
    updateConversation(id: string, change: {
        title?: string;
        branch?: string;
    }): Promise<t.Conversation>;
    /** Deletes a conversation. The memories made from it stay. */
    deleteConversation(id: string): Promise<void>;
    /** Appends messages and returns their ids. The messages are also remembered. A text is one message of the user. */
    append(id: string, messages: t.Messages, options?: {
        branch?: string;
        metadata?: t.Metadata;
    }): Promise<string[]>;
    /** Ends the active branch at a message. Later messages stay on a separate branch. */
    rewind(id: string, to: string): Promise<t.Conversation>;
    /** Replaces the content of a message. */
    editInPlace(id: string, messageId: string, content: t.Message["content"]): Promise<t.ConversationMessage>;
    /** Adds the changed message on a new branch that forks before it. Returns the name of the branch. */
    edit(id: string, messageId: string, content: t.Message["content"]): Promise<string>;
    /** Returns the branches of a conversation. */
    branches(id: string): Promise<t.Branch[]>;
    /** Uploads a file of at most 32 MiB. */
    upload(content: Uint8Array, contentType: string, options?: {
        filename?: string;
        namespace?: string;
    }): Promise<t.Media>;
    /** Returns a URL that opens a file without a credential, and the expiry of the URL. */
    mediaUrl(id: string): Promise<{
        url: string;
        expires_at: Date;
    }>;
    /**
     * Stores a file of at most 32 MiB as memories, one per passage: PDF, DOCX, HTML, Markdown, plain text or source code. A
     * file replaces the document with the same id.
     *
     * When this resolves, the document is durable. `writeState` returns whether it can be retrieved. The timeout of the
     * request is at least 120 seconds, because the server reads the file before it responds.
     */
    uploadDocument(content: Uint8Array, options?: t.DocumentOptions): Promise<t.AcceptedDocument>;
    /** Iterates over all documents, sorted by id. Reads page after page. */
    documents(options?: {
        namespace?: string;
    }): AsyncGenerator<t.Document, void, undefined>;
    /** Returns a document with its passages in order. Throws `NotFound` until the document is ingested. */
    document(id: string, options?: {
        namespace?: string;
    }): Promise<t.DocumentPassages>;
    /** Deletes a document with the memories of its passages. Earlier revisions stay in the git history. */
    forgetDocument(id: string, options?: {
        namespace?: string;
    }): Promise<t.Accepted>;
    /** Iterates over kept conversations, newest first. `session_id` limits them to one session. */
    sources(options?: {
        session_id?: string;
        namespace?: string;
    }): AsyncGenerator<t.SourceEntry, void, undefined>;
    /**
     * Returns a kept conversation as it was accepted, with the paths of the memories made from it.
     *
     * `id` is the id of the write: `id` of the result of `remember`, or `write` of a memory's source. Throws `NotFound`
     * until the write is ingested.
     */
    source(id: string, options?: {
        namespace?: string;
    }): Promise<t.SourceConversation>;
    /** Deletes a kept conversation. The memories made from it stay. */
    deleteSource(id: string, options?: {
        namespace?: string;
    }): Promise<void>;
    /** Returns the state of the ingestion queue and a page of dead letters. */
    queue(options?: {
        limit?: number;
        after?: string;
    }): Promise<t.Queue>;
    /** Returns the usage and the limits of this month. */
    usage(): Promise<t.Usage>;
    /** Returns the plan, the wallet and its transactions. */
    billing(): Promise<t.Billing>;
    /** Returns the URL of a payment page, and the id of the payment. Requires a dashboard session. */
    recharge(amountPaise: number): Promise<{
        payment_link: string;
        payment_id: string;
    }>;
    /** Returns the URL of a page that subscribes to a plan. Requires a dashboard session. */
    subscribe(plan: t.Plan): Promise<string>;
}
