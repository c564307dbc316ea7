import { credential, serverUrl } from "./environment.js";
import { CuebaseError, NotFound, NotIngested, Unreachable, fromAnswer } from "./errors.js";
import * as wire from "./wire.js";
const NAMESPACES_PAGE = 200;
const CONVERSATIONS_PAGE = 200;
const SOURCES_PAGE = 200;
const DOCUMENTS_PAGE = 200;
/** Memories in a page: the largest one. */
const MEMORIES_PAGE = 200;
// Shortest timeout of the upload of a document. Before the server responds, it reads a PDF for up to a minute.
const DOCUMENT_TIMEOUT_MIN_MS = 120_000;
// `occurred_at` of a kept conversation stays text, because a calendar date has no time of day.
const SOURCE_TIMES = new Set(["accepted_at"]);
// Characters of a query that are sent in the address.
const QUERY_CHARS_IN_ADDRESS_MAX = 2000;
// First and longest pause between two polls for an ingested write, and the memories that are read after it.
const POLL_MS = 50;
const POLL_MAX_MS = 1000;
const AWAITED_MAX = 200;
// States of a write that do not change.
const ENDED = new Set(["ingested", "dead", "dropped"]);
/**
 * A client for one server with one credential.
 *
 * Requests that fail because the server is busy or unreachable are retried. The waits grow, have random jitter, and are
 * never shorter than the `retry-after` of the server.
 */
export class Client {
    #url;
    #key;
    #namespace;
    #timeoutMs;
    #maxRetries;
    #fetch;
    #sleep;
    constructor(options = {}) {
        this.#url = serverUrl(options.url);
        this.#key = credential(options.key);
        this.#namespace = options.namespace;
        this.#timeoutMs = options.timeoutMs ?? 30_000;
        this.#maxRetries = options.maxRetries ?? 3;
        this.#fetch = options.fetch ?? fetch;
        this.#sleep = options.sleep ?? ((milliseconds) => new Promise((done) => setTimeout(done, milliseconds)));
    }
    async #do(method, path, request = {}) {
        for (let attempt = 0;; attempt++) {
            try {
                return (await this.#once(method, path, request));
            }
            catch (error) {
                if (!(error instanceof CuebaseError) || attempt >= this.#maxRetries)
                    throw error;
                const wait = wire.waitBeforeRetry(error, request.repeatable ?? true, attempt);
                if (wait === undefined)
                    throw error;
                await this.#sleep(wait);
            }
        }
    }
    /** Sends a query. A long one goes into a body, because servers and proxies limit the length of an address. */
    #ask(path, sent) {
        if (typeof sent["q"] === "string" && sent["q"].length > QUERY_CHARS_IN_ADDRESS_MAX) {
            return this.#do("POST", path, { body: wire.body(sent) });
        }
        return this.#do("GET", path, { query: sent });
    }
    async #once(method, path, request) {
        const { query, body, content, contentType, times, timeoutMinMs = 0 } = request;
        const headers = new Headers({ authorization: `Bearer ${this.#key}` });
        if (body)
            headers.set("content-type", "application/json");
        if (contentType)
            headers.set("content-type", contentType);
        const init = { method, headers, signal: AbortSignal.timeout(Math.max(this.#timeoutMs, timeoutMinMs)) };
        if (body)
            init.body = JSON.stringify(body);
        if (content)
            init.body = content;
        let response;
        let text;
        try {
            response = await this.#fetch(`${this.#url}${path}${wire.query(query ?? {})}`, init);
            text = await response.text();
        }
        catch (cause) {
            throw new Unreachable(`no response from ${this.#url}: ${wire.reason(cause)}`, { code: "unreachable", cause });
        }
        let answer;
        try {
            answer = JSON.parse(text);
        }
        catch {
            answer = undefined;
        }
        if (!response.ok)
            throw fromAnswer(response.status, answer, response.headers);
        return wire.read(answer, times);
    }
    #in(namespace) {
        return namespace ?? this.#namespace;
    }
    /** Returns the namespaces of a search, separated by commas. */
    #inAll(namespaces) {
        if (namespaces === undefined || typeof namespaces === "string")
            return this.#in(namespaces);
        if (namespaces.length === 0) {
            throw new TypeError("namespace is an empty list: name at least one namespace, or leave it out");
        }
        return namespaces.join(",");
    }
    /** Returns the version of the server. */
    async health() {
        return (await this.#do("GET", "/health")).version;
    }
    /** Returns the account and the kind of the credential. */
    whoami() {
        return this.#do("GET", "/v1/whoami");
    }
    /** Creates an API key, limited to `namespace` if given. Only this response contains the complete key. */
    async createKey(options = {}) {
        const made = await this.#do("POST", "/v1/keys", { body: wire.body(options), repeatable: false });
        return { ...made, namespace: made.namespace || null };
    }
    /** Returns all API keys. Requires a dashboard session. */
    async keys() {
        const { keys } = await this.#do("GET", "/v1/keys");
        return keys.map((key) => ({ ...key, namespace: key.namespace || null }));
    }
    /** Revokes a key permanently. The key may work for up to 30 more seconds. Requires a dashboard session. */
    async revokeKey(id) {
        await this.#do("DELETE", `/v1/keys/${encodeURIComponent(id)}`);
    }
    /** Creates a namespace, or returns the existing one with this name. */
    async createNamespace(name) {
        const made = await this.#do("POST", "/v1/namespaces", { body: { name } });
        return { ...made, updated_at: made.updated_at ?? null, memories: made.memories ?? null, head: made.head ?? null };
    }
    /** Iterates over all namespaces, sorted by name. Reads page after page. */
    async *namespaces() {
        for (let after;;) {
            const query = { after };
            const { namespaces } = await this.#do("GET", "/v1/namespaces", { query });
            yield* namespaces;
            if (namespaces.length < NAMESPACES_PAGE)
                return;
            after = namespaces.at(-1)?.name;
        }
    }
    /** Deletes a namespace and all its contents permanently. Requires a dashboard session. */
    async deleteNamespace(name) {
        await this.#do("DELETE", `/v1/namespaces/${encodeURIComponent(name)}`);
    }
    /**
     * Stores a conversation: a list of messages, one message, or a text, which becomes one message of the user. When this
     * resolves, the write is durable. It can be retrieved a moment later.
     */
    async remember(messages, options = {}) {
        const body = { ...options, namespace: this.#in(options.namespace), messages: wire.messages(messages) };
        return this.#accept("POST", "/v1/memories", { body: wire.body(body) });
    }
    async #accept(method, path, request) {
        const { id, namespace, paths, warnings } = await this.#do(method, path, request);
        return { id, namespace, paths: paths ?? [], ...(warnings && { warnings }) };
    }
    /**
     * Returns the memories that match a query, best first. Without a query, lists what passes the filters, newest first. With
     * `explain: true`, each hit of a query has an `explanation` of its score.
     */
    async retrieve(query, filters = {}) {
        const { tiers, paths, tags, tags_all, where, since, until } = filters;
        const filtered = [tiers, paths, tags, tags_all, where].some((list) => list?.length) || since !== undefined || until !== undefined;
        if (!query?.trim() && !filtered) {
            throw new TypeError("retrieve needs a query, or a filter to list by: tiers, paths, tags, tags_all, where, since, until");
        }
        const sent = { q: query, ...filters, namespace: this.#inAll(filters.namespace) };
        const found = await this.#ask("/v1/retrieve", sent);
        return { ...found, hits: (found.hits ?? []).map(wire.memory), defined: found.defined ?? [] };
    }
    /**
     * Iterates over the memories of a namespace that pass the filters, newest first. Reads page after page. Writes during the
     * iteration move the later pages, so a memory may be left out or be returned twice.
     */
    async *memories(filters = {}) {
        for (let offset = 0;; offset += MEMORIES_PAGE) {
            const query = { ...filters, namespace: this.#in(filters.namespace), limit: MEMORIES_PAGE, offset };
            const { memories } = await this.#do("GET", "/v1/memories", { query });
            yield* memories.map(wire.memory);
            if (memories.length < MEMORIES_PAGE)
                return;
        }
    }
    /**
     * Explains why a query returns the memory at a path, or why it does not. Takes one namespace, and the filters of
     * `retrieve`. A path without a memory is not an error: `excluded_by` is then `["unknown_path"]`.
     */
    explain(query, path, filters = {}) {
        const body = wire.body({ ...filters, q: query, path, namespace: this.#in(filters.namespace) });
        return this.#do("POST", "/v1/explain", { body });
    }
    /**
     * Returns the state of a write of the last 14 days, and what it changed. `id` is that of an `Accepted`.
     *
     * With `waitMs`, the client polls for up to `waitMs` milliseconds until the write is `ingested`, `dead` or `dropped`. If
     * the time is up before, the result is the present state.
     */
    async writeState(id, { waitMs = 0 } = {}) {
        const deadline = Date.now() + waitMs;
        for (let pause = POLL_MS;; pause = Math.min(POLL_MAX_MS, pause * 1.5)) {
            const state = await this.#do("GET", `/v1/writes/${encodeURIComponent(id)}`);
            const remaining = deadline - Date.now();
            if (ENDED.has(state.status) || remaining <= 0)
                return state;
            await this.#sleep(Math.min(pause, remaining));
        }
    }
    /**
     * Waits until a write can be retrieved, and resolves to the memories that it made or changed; the first 200 of them.
     *
     * The result is empty if the write made no memory. Throws `NotIngested` if the write is not ingested within `timeoutMs`,
     * and as soon as it has failed permanently.
     */
    async waitUntilIngested(accepted, { timeoutMs = 60_000 } = {}) {
        const { id, namespace } = accepted;
        const state = await this.writeState(id, { waitMs: timeoutMs });
        if (state.status === "dead" || state.status === "dropped") {
            throw new NotIngested(`write ${id} is ${state.status}: ${state.error}`, { code: "not_ingested" });
        }
        if (state.status !== "ingested") {
            throw new NotIngested(`write ${id} was not ingested within ${timeoutMs} ms`, { code: "not_ingested" });
        }
        const made = [];
        for (const path of [...state.made, ...state.rewritten, ...state.merged].slice(0, AWAITED_MAX)) {
            try {
                made.push(await this.get(path, { namespace, detail: "full" }));
            }
            catch (error) {
                // A term of the vocabulary, or a memory that was forgotten since.
                if (!(error instanceof NotFound))
                    throw error;
            }
        }
        return made;
    }
    /** Answers a question from the memories, with citations. Throws `NotFound` if they contain no answer. */
    async answer(question, filters = {}) {
        const body = wire.body({ ...filters, q: question, namespace: this.#inAll(filters.namespace) });
        const answer = await this.#do("POST", "/v1/answer", { body });
        return { ...answer, citations: answer.citations ?? [], hits: (answer.hits ?? []).map(wire.memory) };
    }
    /**
     * Returns text for a prompt: what the memories hold about a query, which may ask for several things. `text` is empty if
     * nothing is relevant. A request ("suggest a recipe") begins with the standing facts that it touches, such as an
     * allergy; `standing` leaves them out or shows all.
     */
    async context(query, options = {}) {
        const sent = { q: query, ...options, namespace: this.#inAll(options.namespace) };
        const context = await this.#ask("/v1/context", sent);
        return { ...context, citations: context.citations ?? [] };
    }
    /** Returns what the memories claim about a subject; by default about `user`, or the only person who speaks. */
    profile(options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return this.#do("GET", "/v1/profile", { query });
    }
    /** Returns a memory by path. `facts/a.md#Heading` or `section` selects one section. */
    async get(path, options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return wire.memory(await this.#do("GET", wire.memoryPath(path), { query }));
    }
    /** Writes a memory at a path that ends in `.md`. Each write is one commit, and the next read sees it. */
    write(path, content, options = {}) {
        const body = wire.body({ ...options, content, namespace: this.#in(options.namespace) });
        return this.#do("POST", wire.memoryPath(path), { body });
    }
    /** Deletes a memory. Earlier revisions stay in the git history. */
    forget(path, options = {}) {
        return this.#accept("DELETE", wire.memoryPath(path), { query: { namespace: this.#in(options.namespace) } });
    }
    /** Returns the entries directly below a directory. */
    async tree(path = "", options = {}) {
        const query = { path, namespace: this.#in(options.namespace) };
        const { entries } = await this.#do("GET", "/v1/tree", { query });
        return entries.map((entry) => ({ ...entry, memories: entry.memories ?? null }));
    }
    /** Returns all topics with their numbers of memories. */
    async topics(options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        return (await this.#do("GET", "/v1/topics", { query })).topics;
    }
    /** Returns the relations around a memory, or those of the whole namespace. */
    graph(options = {}) {
        return this.#do("GET", "/v1/graph", { query: { ...options, namespace: this.#in(options.namespace) } });
    }
    /** Stores terms. A known term is replaced. */
    teach(terms, options = {}) {
        return this.#accept("POST", "/v1/vocab", { body: wire.body({ terms, namespace: this.#in(options.namespace) }) });
    }
    /** Returns the terms, or only those whose name contains `like`. */
    async vocabulary(options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return (await this.#do("GET", "/v1/vocab", { query })).terms;
    }
    /** Returns the term with the name or alias `word`, or `null`. */
    async resolve(word, options = {}) {
        const query = { word, namespace: this.#in(options.namespace) };
        return (await this.#do("GET", "/v1/vocab", { query })).term ?? null;
    }
    /** Deletes terms by their canonical names. */
    forgetTerms(terms, options = {}) {
        return this.#accept("DELETE", "/v1/vocab", { query: { term: terms, namespace: this.#in(options.namespace) } });
    }
    /** Stores procedures. The result contains the paths at which they will be stored. */
    storeSkills(skills, options = {}) {
        return this.#accept("POST", "/v1/skills", { body: wire.body({ skills, namespace: this.#in(options.namespace) }) });
    }
    /** Returns the skills for a task, best first. Without a task, returns all skills. */
    async skills(task, options = {}) {
        const query = { q: task, ...options, namespace: this.#in(options.namespace) };
        const { skills } = await this.#do("GET", "/v1/skills", { query });
        const absent = { score: null, matched: null, metadata: {} };
        return skills.map((skill) => ({ ...absent, ...skill }));
    }
    /** Creates a managed conversation. */
    createConversation(options = {}) {
        const body = wire.body({ ...options, namespace: this.#in(options.namespace) });
        return this.#do("POST", "/v1/conversations", { body, repeatable: false });
    }
    /** Iterates over all conversations, newest first. Reads page after page. */
    async *conversations(options = {}) {
        for (let before;;) {
            const query = { namespace: this.#in(options.namespace), before, limit: CONVERSATIONS_PAGE };
            const page = await this.#do("GET", "/v1/conversations", { query });
            yield* page.conversations;
            if (page.conversations.length < CONVERSATIONS_PAGE)
                return;
            before = page.conversations.at(-1)?.id;
        }
    }
    /** Returns a conversation with the messages of a branch. Default: the active branch. */
    conversation(id, options = {}) {
        return this.#do("GET", at(id), { query: options });
    }
    /** Sets the title, or selects the active branch. */
    updateConversation(id, change) {
        return this.#do("PATCH", at(id), { body: wire.body(change) });
    }
    /** Deletes a conversation. The memories made from it stay. */
    async deleteConversation(id) {
        await this.#do("DELETE", at(id));
    }
    /** Appends messages and returns their ids. The messages are also remembered. A text is one message of the user. */
    async append(id, messages, options = {}) {
        const body = wire.body({ ...options, messages: wire.messages(messages) });
        return (await this.#do("POST", `${at(id)}/messages`, { body, repeatable: false })).ids;
    }
    /** Ends the active branch at a message. Later messages stay on a separate branch. */
    rewind(id, to) {
        return this.#do("POST", `${at(id)}/rewind`, { body: { to }, repeatable: false });
    }
    /** Replaces the content of a message. */
    editInPlace(id, messageId, content) {
        return this.#do("PATCH", `${at(id)}/messages/${encodeURIComponent(messageId)}`, { body: { content } });
    }
    /** Adds the changed message on a new branch that forks before it. Returns the name of the branch. */
    async edit(id, messageId, content) {
        const path = `${at(id)}/messages/${encodeURIComponent(messageId)}/edit`;
        return (await this.#do("POST", path, { body: { content }, repeatable: false })).branch;
    }
    /** Returns the branches of a conversation. */
    async branches(id) {
        return (await this.#do("GET", `${at(id)}/branches`)).branches;
    }
    /** Uploads a file of at most 32 MiB. */
    upload(content, contentType, options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return this.#do("POST", "/v1/media", { query, content, contentType });
    }
    /** Returns a URL that opens a file without a credential, and the expiry of the URL. */
    mediaUrl(id) {
        return this.#do("GET", `/v1/media/${encodeURIComponent(id)}`);
    }
    /**
     * Stores a file of at most 32 MiB as memories, one per passage: PDF, DOCX, HTML, Markdown, plain text or source code. A
     * file replaces the document with the same id.
     *
     * When this resolves, the document is durable. `writeState` returns whether it can be retrieved. The timeout of the
     * request is at least 120 seconds, because the server reads the file before it responds.
     */
    async uploadDocument(content, options = {}) {
        const { content_type: contentType = "application/octet-stream", metadata, ...sent } = options;
        const query = { ...sent, metadata: metadata && JSON.stringify(metadata), namespace: this.#in(options.namespace) };
        const request = { query, content, contentType, timeoutMinMs: DOCUMENT_TIMEOUT_MIN_MS };
        const accepted = await this.#do("POST", "/v1/documents", request);
        const { id, namespace, document_id, passages, warnings } = accepted;
        return { id, namespace, paths: [], document_id, passages, ...(warnings && { warnings }) };
    }
    /** Iterates over all documents, sorted by id. Reads page after page. */
    async *documents(options = {}) {
        for (let after;;) {
            const query = { namespace: this.#in(options.namespace), after, limit: DOCUMENTS_PAGE };
            const { documents } = await this.#do("GET", "/v1/documents", { query });
            yield* documents;
            if (documents.length < DOCUMENTS_PAGE)
                return;
            after = documents.at(-1)?.document_id;
        }
    }
    /** Returns a document with its passages in order. Throws `NotFound` until the document is ingested. */
    document(id, options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        return this.#do("GET", `/v1/documents/${encodeURIComponent(id)}`, { query });
    }
    /** Deletes a document with the memories of its passages. Earlier revisions stay in the git history. */
    forgetDocument(id, options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        return this.#accept("DELETE", `/v1/documents/${encodeURIComponent(id)}`, { query });
    }
    /** Iterates over kept conversations, newest first. `session_id` limits them to one session. */
    async *sources(options = {}) {
        for (let before;;) {
            const query = { ...options, namespace: this.#in(options.namespace), before, limit: SOURCES_PAGE };
            const { sources } = await this.#do("GET", "/v1/sources", { query, times: SOURCE_TIMES });
            yield* sources;
            if (sources.length < SOURCES_PAGE)
                return;
            before = sources.at(-1)?.id;
        }
    }
    /**
     * Returns a kept conversation as it was accepted, with the paths of the memories made from it.
     *
     * `id` is the id of the write: `id` of the result of `remember`, or `write` of a memory's source. Throws `NotFound`
     * until the write is ingested.
     */
    async source(id, options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        const path = `/v1/sources/${encodeURIComponent(id)}`;
        const kept = await this.#do("GET", path, { query, times: SOURCE_TIMES });
        const { session_id = null, tags = [], metadata = {}, occurred_at = null, timezone = null } = kept;
        return { ...kept, session_id, tags, metadata, occurred_at, timezone };
    }
    /** Deletes a kept conversation. The memories made from it stay. */
    async deleteSource(id, options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        await this.#do("DELETE", `/v1/sources/${encodeURIComponent(id)}`, { query });
    }
    /** Returns the state of the ingestion queue and a page of dead letters. */
    async queue(options = {}) {
        const queue = await this.#do("GET", "/v1/queue", { query: options });
        return { ...queue, model_unavailable_since: queue.model_unavailable_since ?? null };
    }
    /** Returns the usage and the limits of this month. */
    usage() {
        return this.#do("GET", "/v1/usage");
    }
    /** Returns the plan, the wallet and its transactions. */
    billing() {
        return this.#do("GET", "/v1/billing");
    }
    /** Returns the URL of a payment page, and the id of the payment. Requires a dashboard session. */
    recharge(amountPaise) {
        return this.#do("POST", "/v1/billing/recharge", { body: { amount_paise: amountPaise }, repeatable: false });
    }
    /** Returns the URL of a page that subscribes to a plan. Requires a dashboard session. */
    async subscribe(plan) {
        const request = { body: { plan }, repeatable: false };
        return (await this.#do("POST", "/v1/billing/subscribe", request)).payment_link;
    }
}
const at = (id) => `/v1/conversations/${encodeURIComponent(id)}`;
