/** Types of arguments and responses. Times in responses are `Date`s, or `null` when unknown. */
export type Tier = "facts" | "incidents" | "rules" | "skills";
export type TimeField = "occurred" | "created" | "updated";
/** What becomes of memories that no longer hold: ranked behind their successors, left out, or ranked like all others. */
export type Current = "first" | "only" | "any";
export type Admission = "all" | "recall" | "balanced" | "strict";
export type Reading = "auto" | "always" | "off";
/** A way of finding a memory: by the words of the query, by a cue near it, or by a relation to one of the best hits. */
export type Arm = "lexical" | "cue" | "graph";
/** What keeps a memory out of the hits. `filter` includes memories that are later than `as_of`. */
export type ExcludedBy = "filter" | "expired" | "superseded" | "no_arm" | "min_score" | "limit" | "admit" | "unknown_path";
/** State of a write. `dead` after the last failed attempt; `dropped` with its namespace, or as a dead letter. */
export type WriteStatus = "queued" | "ingesting" | "retrying" | "ingested" | "dead" | "dropped";
export type Environment = "live" | "test";
/** A plan with a subscription. */
export type Plan = "starter" | "growth" | "scale" | "max";
/** A time argument: a `Date`, seconds since the epoch, or text such as `2026-05-01`. */
export type When = Date | number | string;
/** Values to filter by with `where`, by key. */
export type Metadata = Record<string, string | number | boolean>;
export type ContentPart = {
    type: string;
    [field: string]: unknown;
};
/** A message to remember. */
export interface Message {
    role: "user" | "assistant" | "system" | "tool";
    content: string | ContentPart[];
    name?: string;
    occurred_at?: When;
    /** With `false`, the message is only read to understand the others: no memory has its text. */
    store?: boolean;
}
/** Argument of `remember` and `append`: a list of messages, one message, or a text, which is one message of the user. */
export type Messages = string | Message | readonly Message[];
export interface Who {
    account: string;
    auth: "api_key" | "jwt";
    env: Environment | "";
}
/** A new API key. Only this response contains `key`. */
export interface NewKey {
    id: string;
    env: Environment;
    name: string;
    key: string;
    namespace: string | null;
    note: string;
}
export interface Key {
    id: string;
    env: Environment;
    name: string;
    namespace: string | null;
    revoked: boolean;
    created_at: Date;
}
export interface Namespace {
    name: string;
    created_at: Date;
    updated_at: Date | null;
    memories: number | null;
    head: string | null;
}
/** An accepted, durable write. `id` is the id of the write, not of a memory. */
export interface Accepted {
    id: string;
    namespace: string;
    paths: string[];
    /** Parts of the request that the server ignored, such as unknown fields; absent if none. */
    warnings?: string[];
}
/** A message that became no memory. */
export interface DroppedMessage {
    /** The position of the message in its conversation, from 0. `null` for a refused operation of a chat model. */
    message: number | null;
    /** `small_talk`, `question`, `adds_nothing`, `asked_not_to`, `system`, `no_text`, `too_long`, or why an operation of a chat model was refused. */
    reason: string;
}
/** Progress of the ingestion of a document. */
export interface WriteProgress {
    /** Number of passages that are embedded. */
    done: number;
    /** Number of all passages. */
    total: number;
}
/** The state of an accepted write, and what the write changed. */
export interface WriteState {
    id: string;
    namespace: string;
    status: WriteStatus;
    /** Number of attempts, including a current one. */
    attempts: number;
    accepted_at: Date;
    /** Time at which the write was ingested or failed permanently. */
    finished_at: Date | null;
    /** Code of the last failure of a write that failed permanently. */
    error: string | null;
    /** Paths of new memories, skills or terms. */
    made: string[];
    /** Paths of existing ones with a new text. */
    rewritten: string[];
    /** Paths of existing memories that already said the same. */
    merged: string[];
    /** Paths of existing memories that are no longer valid. */
    ended: string[];
    /** Paths of memories that the user asked to forget in the conversation. */
    forgotten: string[];
    /** Messages of the conversation that became no memory; the first 500 of them. */
    dropped: DroppedMessage[];
    /** Progress of a document while `status` is `ingesting`; absent otherwise. */
    progress?: WriteProgress;
    /** Whether the memories have their vectors; absent unless these follow in the background, and in lists. */
    vectors?: "pending" | "done";
}
export interface Revision {
    commit: string;
    at: Date;
    message: string;
}
export interface Relation {
    path: string;
    kind: string;
    snippet: string | null;
}
/** A message that a memory was made from. */
export interface Source {
    session_id: string | null;
    /** The position of the message in its conversation, from 0. */
    message: number;
    /** The id of the write that contained the message, as `source` takes it; absent if unknown. */
    write?: string;
}
/** An arm that found a memory. */
export interface ArmRank {
    arm: Arm;
    /** Rank in the arm, from 1; for `graph`, the rank of the hit that it started from. */
    rank: number | null;
    /** BM25 for `lexical`, the cosine for `cue`, `null` for `graph`. */
    score: number | null;
}
export interface NearestCue {
    /** `null` if some cues of the memory have no vector. */
    text: string | null;
    cosine: number;
}
/** A part of the query that a memory holds, and its part of the BM25 score. */
export interface TermMatch {
    term: string;
    bm25: number;
}
/** The relation by which the graph arm reached a memory. */
export interface FollowedRelation {
    /** Path of the hit that the arm started from. */
    from: string;
    kind: string;
}
/** What a group of features, such as `words` or `meaning`, adds to the log-odds. */
export interface Contribution {
    feature: string;
    log_odds: number;
}
/** What a score was made from. `base_log_odds` and all `contributions` sum to the log-odds of the score. */
export interface Explanation {
    /** The arms that found the memory. */
    arms: ArmRank[];
    /** The cue of the memory that is nearest to the query. */
    cue: NearestCue | null;
    /** Words of the query that the memory holds, the rarest first. */
    terms: TermMatch[];
    relation: FollowedRelation | null;
    base_log_odds: number;
    contributions: Contribution[];
}
/** Why a query returns the memory at a path, or why it does not. */
export interface PathExplanation {
    path: string;
    /** Whether the query returns the memory as a hit. */
    found: boolean;
    /** What keeps the memory out of the hits. Empty for a hit, and for a repetition of one. */
    excluded_by: ExcludedBy[];
    /** For a repetition: path of the hit that says the same. */
    repeats: string | null;
    /** Rank among all memories that the query ranks, from 1. `null` for an unknown path. */
    rank: number | null;
    /** Probability that the memory answers the query. `null` for an unknown path. */
    score: number | null;
    /** `null` for an unknown path. */
    explanation: Explanation | null;
    /** Paths of the memories that rank higher, best first, up to 24. */
    outranked_by: string[];
    /** Parts of the request that the server ignored, such as unknown fields; absent if none. */
    warnings?: string[];
}
/** The place of a memory in the document that it is a passage of. */
export interface DocumentPlace {
    /** Id of the document. */
    id: string;
    /** Name of the document, such as the name of its file. */
    name: string;
    /** Headings above the passage, outermost first. */
    titles: string[];
    /** Position of the passage in the document, from 0. */
    position: number;
    /** First page of the passage, from 1. `null` if the document has no pages. */
    page: number | null;
    /** First line of the passage, from 1. `null` if the document has no lines. */
    line: number | null;
}
/** A memory. The fields from `revisions` to `sources` are set with `detail: "full"`. */
export interface Memory {
    path: string;
    content: string;
    sections: string[];
    score: number;
    matched: string[];
    via: string | null;
    created_at: Date | null;
    updated_at: Date | null;
    occurred_at: Date | null;
    expires_at: Date | null;
    occurred_precision: "day" | "instant" | null;
    occurred_source: "user" | "extracted" | "said" | "written" | null;
    /** End of the month or year that begins at `occurred_at`, exclusive. */
    occurred_until: Date | null;
    user_tags: string[];
    tags: string[];
    metadata: Metadata;
    /** Whether the memory holds: now, or at the time of `as_of`. */
    current: boolean;
    valid_from: Date | null;
    valid_until: Date | null;
    /** Paths of the memories that this one ended. */
    supersedes: string[];
    /** Paths of the memories that ended this one. */
    superseded_by: string[];
    /** Paths of memories that say the same and are not hits of their own. */
    also: string[];
    /** @deprecated `created_at`, as text. */
    created: string | null;
    /** @deprecated `updated_at`, as text. */
    updated: string | null;
    revisions?: Revision[];
    last_diff?: string | null;
    relations?: Relation[];
    cues?: string[];
    sources?: Source[];
    /** The namespace of a hit, if several namespaces were searched. */
    namespace?: string;
    /** What the score was made from, if `retrieve` was called with `explain: true` and a query. */
    explanation?: Explanation;
    /** The place in a document; absent unless the memory is a passage of one. */
    document?: DocumentPlace;
}
export interface Term {
    term: string;
    aliases: string[];
    definition: string | null;
    path: string | null;
}
/** Results of a query, best first, with the time of each search method and the definitions of terms in the query. */
export interface Retrieved {
    hits: Memory[];
    defined: Term[];
    vector_ms: number;
    lexical_ms: number;
    graph_ms: number;
    cold_start: boolean;
    /** How many candidates were read together with the query. Absent from a server that does not do so. */
    read?: number;
    /** Parts of the request that the server ignored, such as unknown fields; absent if none. */
    warnings?: string[];
}
export interface Citation {
    path: string;
    section: string | null;
    quote: string;
    /** The namespace of the memory, if several namespaces were searched. */
    namespace?: string;
}
export interface Answer {
    answer: string;
    model: string;
    citations: Citation[];
    hits: Memory[];
}
export interface ContextCitation {
    path: string;
    /** Heading of the section that the text has in place of a long memory. */
    section: string | null;
    score: number;
    /** Present if the memory is a standing fact or rule that the request touches. */
    standing?: true;
    /** The namespace of the memory, if several namespaces were searched. */
    namespace?: string;
}
export interface Context {
    /** Text for a prompt. Empty if nothing is relevant. */
    text: string;
    tokens: number;
    /** The memories that the text is made from, best first. */
    citations: ContextCitation[];
    /** The namespace, or several separated by commas. */
    namespace: string;
}
export interface ProfileClaim {
    attribute: string;
    value: string;
    /** Path of the memory that claims it. */
    path: string;
    valid_from: Date | null;
    /** `null` while the claim holds. */
    valid_until: Date | null;
    current: boolean;
}
export interface Profile {
    subject: string;
    /** By attribute, current ones first, then the newest. */
    claims: ProfileClaim[];
    /** The other subjects with claims. */
    subjects: string[];
}
export interface Written {
    path: string;
    namespace: string;
    commit: string;
    /** Parts of the request that the server ignored, such as unknown fields; absent if none. */
    warnings?: string[];
}
export interface TreeEntry {
    path: string;
    kind: "directory" | "memory";
    memories: number | null;
    updated_at: Date | null;
}
export interface Topic {
    tier: Tier;
    topic: string;
    memories: number;
    updated_at: Date | null;
}
export interface Graph {
    nodes: {
        path: string;
        title: string;
        tier: Tier;
    }[];
    edges: {
        from: string;
        to: string;
        kind: string;
        snippet: string | null;
    }[];
}
export interface NewTerm {
    term: string;
    aliases: string[];
    definition: string;
}
/** A procedure to store. `description` or `content` is required. */
export interface NewSkill {
    name: string;
    description?: string;
    content?: string;
    topic?: string;
    path?: string;
    tags?: string[];
    triggers?: string[];
    metadata?: Metadata;
    confidence?: number;
    date?: string;
}
export interface Skill {
    path: string;
    topic: string;
    name: string;
    description: string;
    content: string;
    tags: string[];
    metadata: Metadata;
    triggers: string[];
    score: number | null;
    matched: string[] | null;
}
export interface ConversationMessage {
    id: string;
    parent: string | null;
    role: string;
    content: string | ContentPart[];
    created_at: Date;
    edited_at: Date | null;
}
/** A managed conversation. `messages`, if requested, are the messages of `branch`. */
export interface Conversation {
    id: string;
    namespace: string;
    title: string | null;
    branch: string;
    created_at: Date;
    messages?: ConversationMessage[];
}
export interface Branch {
    name: string;
    head: string | null;
    messages: number;
    active: boolean;
    forked_from: string | null;
}
export interface Media {
    id: string;
    namespace: string;
    content_type: string;
    bytes: number;
    sha256: string;
}
/** An accepted document. `id` is the id of the write. */
export interface AcceptedDocument extends Accepted {
    document_id: string;
    /** Number of passages. Each is a memory. */
    passages: number;
}
/** A document in the listing of `documents`. */
export interface Document {
    document_id: string;
    /** Name of the document, such as the name of its file. */
    name: string;
    /** Number of passages. Each is a memory. */
    passages: number;
    /** Last page with text. `null` if the document has no pages. */
    pages: number | null;
    tags: string[];
    /** Time at which the first passage was written. */
    created_at: Date | null;
    /** Time at which a passage was last written. */
    updated_at: Date | null;
}
/** A passage of a document. */
export interface Passage {
    /** Path of the memory. */
    path: string;
    /** Headings above the passage, outermost first. */
    titles: string[];
    /** First page of the passage, from 1. `null` if the document has no pages. */
    page: number | null;
    /** First line of the passage, from 1. `null` if the document has no lines. */
    line: number | null;
}
/** A document and its passages, in the order of the document. */
export interface DocumentPassages extends Document {
    namespace: string;
    memories: Passage[];
}
/** A kept conversation in the listing of `sources`. `messages` is the number of messages. */
export interface SourceEntry {
    id: string;
    namespace: string;
    session_id: string | null;
    messages: number;
    /** RFC 3339 or a calendar date, as `remember` takes it. */
    occurred_at: string | null;
    accepted_at: Date;
}
/** A message of a kept conversation. Text parts are joined. */
export interface SourceMessage extends Message {
    /** RFC 3339 or a calendar date, as `remember` takes it. */
    occurred_at?: string;
}
/** A memory of a kept conversation. */
export interface ExtractedMemory {
    path: string;
    title: string;
    /** Positions of the messages that the memory comes from, from 0. */
    messages: number[];
    /** Whether the memory holds at present. */
    current: boolean;
}
/** A kept conversation as it was accepted. `id` is the id of the write that contained it. */
export interface SourceConversation {
    id: string;
    namespace: string;
    messages: SourceMessage[];
    session_id: string | null;
    tags: string[];
    metadata: Metadata;
    /** RFC 3339 or a calendar date, as `remember` takes it. */
    occurred_at: string | null;
    timezone: string | null;
    accepted_at: Date;
    /** Paths of the existing memories made from the conversation, at most 200. */
    memories: string[];
    /** The same memories with the messages that they come from. */
    extracted: ExtractedMemory[];
}
export interface DeadLetter {
    id: string;
    namespace: string;
    accepted_at: Date;
    died_at: Date;
    failures: number;
    reason: string;
}
/** A background job of the server. */
export interface Job {
    name: string;
    /** `backing_off` after a failure. */
    state: "active" | "backing_off";
    last_run_at: Date | null;
    failures: number;
    last_error: string | null;
}
/** The ingestion queue, the dead letters and the background jobs. */
export interface Queue {
    waiting: number;
    /** Memories that wait for their vectors; absent unless these follow in the background. */
    vectors_waiting?: number;
    waiting_since: Date | null;
    /** Start of the current outage of the chat model; `null` while the model answers. */
    model_unavailable_since: Date | null;
    dead_letters: DeadLetter[];
    jobs: Job[];
    /** The `after` of the next page; absent on the last page of dead letters. */
    next?: string;
}
export type Meters = Record<"writes" | "reads" | "memories" | "chats" | "media_bytes", number>;
export interface Usage {
    period: string;
    plan: string;
    used: Meters;
    limits: Meters;
    exceeded: boolean;
}
export interface Billing {
    plan: string;
    currency: string;
    ledger: string;
    balance_paise: number;
    min_recharge_paise: number;
    rates_paise: Record<string, number>;
    transactions: {
        amount_paise: number;
        note: string;
        at: Date;
    }[];
}
/** Filters of `retrieve`, `answer`, `context` and, with one namespace, `explain`. */
export interface Filters {
    /** Name of the person who asks, for whom "I" stands. Default: the only person who speaks in the namespace. */
    user?: string;
    /** One namespace, or several, whose hits are merged. `limit` counts the hits of all. */
    namespace?: string | readonly string[];
    tiers?: Tier[];
    paths?: string[];
    tags?: string[];
    tags_all?: string[];
    /** Conditions on the metadata, such as `team:blue` and `priority>=3`. A memory must meet all of them. */
    where?: string[];
    since?: When;
    until?: When;
    time_field?: TimeField;
    timezone?: string;
    /** Answer as of this time: later memories are left out, and `current` is judged then. */
    as_of?: When;
    current?: Current;
    /** Which hits their scores admit, possibly none. Default: all; for a context `balanced`. */
    admit?: Admission;
    /**
     * How many of the best candidates a model of the server reads with the query: as many as it can in `read_budget_ms`, as many
     * as it ever does, or none. Default: auto.
     */
    read?: Reading;
    /** How long the reading may take with `read: "auto"`, milliseconds. Default: the setting of the server. */
    read_budget_ms?: number;
    min_score?: number;
    limit?: number;
}
/** Filters and order of `memories`. */
export interface MemoriesFilters extends Omit<Filters, "user" | "namespace" | "admit" | "read" | "read_budget_ms" | "min_score" | "limit"> {
    namespace?: string;
    /** Default: newest first. */
    order?: "newest" | "oldest" | "title";
    detail?: "full";
}
/** Fields of a memory that `write` stores. A write replaces all of them. */
export interface WriteOptions {
    namespace?: string;
    tags?: string[];
    cues?: string[];
    metadata?: Metadata;
    occurred_at?: When;
    expires_at?: When;
    valid_from?: When;
    valid_until?: When;
    /** Paths of the memories that no longer hold from `valid_from` on. */
    supersedes?: string[];
    timezone?: string;
}
/** What `uploadDocument` stores with the passages of a file. */
export interface DocumentOptions {
    /** Name of the file. Required without `document_id`. */
    filename?: string;
    /** Media type of the file. Without it, the ending of `filename` decides the kind. */
    content_type?: string;
    /** Id of the document, which a later file with the same id replaces. Default: made of `filename`. */
    document_id?: string;
    namespace?: string;
    /** Tags of every passage. */
    tags?: string[];
    /** Metadata of every passage. */
    metadata?: Metadata;
    /** Time that the document is about. */
    occurred_at?: When;
}
