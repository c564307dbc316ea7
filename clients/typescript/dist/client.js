import { credential, serverUrl } from "./environment.js";
import { CuebaseError, NotIngested, Unreachable, fromAnswer } from "./errors.js";
import * as wire from "./wire.js";
const NAMESPACES_PAGE = 200;
const CONVERSATIONS_PAGE = 200;
const SOURCES_PAGE = 200;
// `occurred_at` of a kept conversation is text: a calendar date does not become a time of day.
const SOURCE_TIMES = new Set(["accepted_at"]);
// Between two looks at whether a write was ingested, and what one look reads.
const LOOK_MS = 50;
const LOOK_MAX_MS = 1000;
const LOOK_LIMIT = 200;
/**
 * A client of one server, with one credential.
 *
 * What fails because the server is busy or cannot be reached is tried again, after waits that grow, are spread at random,
 * and are never shorter than the server asked for.
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
    async #once(method, path, request) {
        const { query, body, content, contentType, times } = request;
        const headers = new Headers({ authorization: `Bearer ${this.#key}` });
        if (body)
            headers.set("content-type", "application/json");
        if (contentType)
            headers.set("content-type", contentType);
        const init = { method, headers, signal: AbortSignal.timeout(this.#timeoutMs) };
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
    /** The server's version, if it answers. */
    async health() {
        return (await this.#do("GET", "/health")).version;
    }
    /** What the credential is. */
    whoami() {
        return this.#do("GET", "/v1/whoami");
    }
    /** Makes a key, confined to a namespace where one is named. The whole key is told this once. */
    async createKey(options = {}) {
        const made = await this.#do("POST", "/v1/keys", { body: wire.body(options), repeatable: false });
        return { ...made, namespace: made.namespace || null };
    }
    /** All keys (dashboard session). */
    async keys() {
        const { keys } = await this.#do("GET", "/v1/keys");
        return keys.map((key) => ({ ...key, namespace: key.namespace || null }));
    }
    /** Revokes a key for good (dashboard session). It may keep working for up to 30 seconds. */
    async revokeKey(id) {
        await this.#do("DELETE", `/v1/keys/${encodeURIComponent(id)}`);
    }
    /** Makes a namespace; one that exists is told as it is. */
    async createNamespace(name) {
        const made = await this.#do("POST", "/v1/namespaces", { body: { name } });
        return { ...made, updated_at: made.updated_at ?? null, memories: made.memories ?? null, head: made.head ?? null };
    }
    /** Every namespace, by name, however many there are. */
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
    /** Removes a namespace with everything in it, for good (dashboard session). */
    async deleteNamespace(name) {
        await this.#do("DELETE", `/v1/namespaces/${encodeURIComponent(name)}`);
    }
    /**
     * Stores a conversation: a list of messages, one message, or a text, which is one message of the user. The write is
     * durable when this resolves, and retrievable a moment later.
     */
    async remember(messages, options = {}) {
        const body = { ...options, namespace: this.#in(options.namespace), messages: wire.messages(messages) };
        return this.#accept("POST", "/v1/memories", { body: wire.body(body) });
    }
    async #accept(method, path, request) {
        const { id, namespace, paths, warnings } = await this.#do(method, path, request);
        return { id, namespace, paths: paths ?? [], ...(warnings && { warnings }) };
    }
    /** What a query brings to mind, best first; without one, what the filters let through, newest first. */
    async retrieve(query, filters = {}) {
        const { tiers, paths, tags, tags_all, since, until } = filters;
        const filtered = [tiers, paths, tags, tags_all].some((list) => list?.length) || since !== undefined || until !== undefined;
        if (!query?.trim() && !filtered) {
            throw new TypeError("retrieve needs a query, or a filter to list by: tiers, paths, tags, tags_all, since, until");
        }
        const sent = { q: query, ...filters, namespace: this.#in(filters.namespace) };
        const found = await this.#do("GET", "/v1/retrieve", { query: sent });
        return { ...found, hits: (found.hits ?? []).map(wire.memory), defined: found.defined ?? [] };
    }
    /**
     * Waits until a write can be retrieved, and resolves to the memories that it made or changed.
     *
     * The service tells this by retrieval alone: a memory's history names the write that it came from. A write that made no
     * memory (nothing in it was worth keeping) cannot be told from one that is still to come: `NotIngested` in the end.
     */
    async waitUntilIngested(accepted, { timeoutMs = 60_000 } = {}) {
        const deadline = Date.now() + timeoutMs;
        const mark = `Cuebase-Message: ${accepted.id}`;
        const since = wire.acceptedAt(accepted.id);
        for (let pause = LOOK_MS;; pause = Math.min(LOOK_MAX_MS, pause * 1.5)) {
            const { namespace } = accepted;
            const { hits } = await this.retrieve(null, { namespace, since, time_field: "updated", limit: LOOK_LIMIT, detail: "full" });
            const made = hits.filter((hit) => hit.revisions?.some((revision) => revision.message.includes(mark)));
            if (made.length)
                return made;
            if (Date.now() + pause > deadline) {
                throw new NotIngested(`write ${accepted.id} was not retrievable within ${timeoutMs} ms`, { code: "not_ingested" });
            }
            await this.#sleep(pause);
        }
    }
    /** Answers a question from the memories, with citations. `NotFound` where they hold no answer. */
    async answer(question, filters = {}) {
        const body = wire.body({ ...filters, q: question, namespace: this.#in(filters.namespace) });
        const answer = await this.#do("POST", "/v1/answer", { body });
        return { ...answer, citations: answer.citations ?? [], hits: (answer.hits ?? []).map(wire.memory) };
    }
    /** One memory by its path; `facts/a.md#Heading`, or `section`, is one section of it. */
    async get(path, options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return wire.memory(await this.#do("GET", wire.memoryPath(path), { query }));
    }
    /** Writes a memory at a path that ends in `.md`: one commit, and the next read sees it. */
    write(path, content, options = {}) {
        const body = wire.body({ ...options, content, namespace: this.#in(options.namespace) });
        return this.#do("POST", wire.memoryPath(path), { body });
    }
    /** Has a memory forgotten; earlier revisions stay in git history. */
    forget(path, options = {}) {
        return this.#accept("DELETE", wire.memoryPath(path), { query: { namespace: this.#in(options.namespace) } });
    }
    /** What is right below a directory. */
    async tree(path = "", options = {}) {
        const query = { path, namespace: this.#in(options.namespace) };
        const { entries } = await this.#do("GET", "/v1/tree", { query });
        return entries.map((entry) => ({ ...entry, memories: entry.memories ?? null }));
    }
    /** Every topic with the number of its memories. */
    async topics(options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        return (await this.#do("GET", "/v1/topics", { query })).topics;
    }
    /** The relations around a memory, or of the whole namespace. */
    graph(options = {}) {
        return this.#do("GET", "/v1/graph", { query: { ...options, namespace: this.#in(options.namespace) } });
    }
    /** Teaches terms; a known one is rewritten. */
    teach(terms, options = {}) {
        return this.#accept("POST", "/v1/vocab", { body: wire.body({ terms, namespace: this.#in(options.namespace) }) });
    }
    /** The terms, those whose name holds `like`. */
    async vocabulary(options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return (await this.#do("GET", "/v1/vocab", { query })).terms;
    }
    /** The term that a word is a name of. */
    async resolve(word, options = {}) {
        const query = { word, namespace: this.#in(options.namespace) };
        return (await this.#do("GET", "/v1/vocab", { query })).term ?? null;
    }
    /** Forgets terms by their canonical names. */
    forgetTerms(terms, options = {}) {
        return this.#accept("DELETE", "/v1/vocab", { query: { term: terms, namespace: this.#in(options.namespace) } });
    }
    /** Stores procedures; the answer names the paths at which they will be. */
    storeSkills(skills, options = {}) {
        return this.#accept("POST", "/v1/skills", { body: wire.body({ skills, namespace: this.#in(options.namespace) }) });
    }
    /** The skills for a task, best first; without one, all of them. */
    async skills(task, options = {}) {
        const query = { q: task, ...options, namespace: this.#in(options.namespace) };
        const { skills } = await this.#do("GET", "/v1/skills", { query });
        return skills.map((skill) => ({ ...skill, score: skill.score ?? null, matched: skill.matched ?? null }));
    }
    /** Begins a managed conversation. */
    createConversation(options = {}) {
        const body = wire.body({ ...options, namespace: this.#in(options.namespace) });
        return this.#do("POST", "/v1/conversations", { body, repeatable: false });
    }
    /** Every conversation, newest first, however many there are. */
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
    /** A conversation with the messages of a branch, by default the active one. */
    conversation(id, options = {}) {
        return this.#do("GET", at(id), { query: options });
    }
    /** Sets the title, or makes a branch the active one. */
    updateConversation(id, change) {
        return this.#do("PATCH", at(id), { body: wire.body(change) });
    }
    /** Deletes a conversation; the memories made from it stay. */
    async deleteConversation(id) {
        await this.#do("DELETE", at(id));
    }
    /** Appends messages, which are also remembered; resolves to their ids. A text is one message of the user. */
    async append(id, messages, options = {}) {
        const body = wire.body({ ...options, messages: wire.messages(messages) });
        return (await this.#do("POST", `${at(id)}/messages`, { body, repeatable: false })).ids;
    }
    /** Ends the active branch at a message; what came after stays, on a branch of its own. */
    rewind(id, to) {
        return this.#do("POST", `${at(id)}/rewind`, { body: { to }, repeatable: false });
    }
    /** Puts other content in a message's place. */
    editInPlace(id, messageId, content) {
        return this.#do("PATCH", `${at(id)}/messages/${encodeURIComponent(messageId)}`, { body: { content } });
    }
    /** Other content on a new branch that forks before the message; resolves to the branch's name. */
    async edit(id, messageId, content) {
        const path = `${at(id)}/messages/${encodeURIComponent(messageId)}/edit`;
        return (await this.#do("POST", path, { body: { content }, repeatable: false })).branch;
    }
    /** The branches of a conversation. */
    async branches(id) {
        return (await this.#do("GET", `${at(id)}/branches`)).branches;
    }
    /** Uploads a file of at most 32 MiB. */
    upload(content, contentType, options = {}) {
        const query = { ...options, namespace: this.#in(options.namespace) };
        return this.#do("POST", "/v1/media", { query, content, contentType });
    }
    /** An address that opens a file without a credential, and until when it does. */
    mediaUrl(id) {
        return this.#do("GET", `/v1/media/${encodeURIComponent(id)}`);
    }
    /** Every kept conversation, newest first; with `session_id`, only those of that session. */
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
     * A kept conversation as it was accepted, and the paths of the memories made from it.
     *
     * The id is that of the write: `id` of what `remember` resolved to, or `write` of a memory's source. `NotFound` before
     * the write is ingested.
     */
    async source(id, options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        const path = `/v1/sources/${encodeURIComponent(id)}`;
        const kept = await this.#do("GET", path, { query, times: SOURCE_TIMES });
        const { session_id = null, tags = [], occurred_at = null, timezone = null } = kept;
        return { ...kept, session_id, tags, occurred_at, timezone };
    }
    /** Deletes a kept conversation; the memories made from it stay. */
    async deleteSource(id, options = {}) {
        const query = { namespace: this.#in(options.namespace) };
        await this.#do("DELETE", `/v1/sources/${encodeURIComponent(id)}`, { query });
    }
    /** What waits to be ingested, and a page of what failed for good. */
    async queue(options = {}) {
        const queue = await this.#do("GET", "/v1/queue", { query: options });
        return { ...queue, model_unavailable_since: queue.model_unavailable_since ?? null };
    }
    /** What was used this month, and what may be. */
    usage() {
        return this.#do("GET", "/v1/usage");
    }
    /** The wallet. */
    billing() {
        return this.#do("GET", "/v1/billing");
    }
    /** A page to pay at, and the payment's id (dashboard session). */
    recharge(amountPaise) {
        return this.#do("POST", "/v1/billing/recharge", { body: { amount_paise: amountPaise }, repeatable: false });
    }
    /** A page to subscribe to a plan at (dashboard session). */
    async subscribe(plan) {
        const request = { body: { plan }, repeatable: false };
        return (await this.#do("POST", "/v1/billing/subscribe", request)).payment_link;
    }
}
const at = (id) => `/v1/conversations/${encodeURIComponent(id)}`;
