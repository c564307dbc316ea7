// The list of ingested and of managed conversations, newest first, by session and by page.

import { useEffect, useState } from "preact/hooks";
import type { Schemas } from "../../api";
import { Empty, Loaded, PageHeading, Skeleton, Table, Tag, Time, formatDay } from "../../parts";
import { useRequest } from "../../request";
import { link, setQuery } from "../../router";
import { Reextract } from "./reextract";

const PAGE_SIZE = 50;
/** Largest page of the API. More managed conversations are loaded, so that writes show the titles of theirs. */
const PAGE_SIZE_MAX = 200;

/** An ingested conversation, or a managed one with the number of its writes on the page. */
type Entry =
    | { kind: "source"; id: string; source: Schemas["Source"]; part: Schemas["Conversation"] | undefined }
    | { kind: "managed"; id: string; conversation: Schemas["Conversation"]; writes: number };

export function List({ namespace, query }: { namespace: string; query: URLSearchParams }) {
    const session = query.get("session") ?? "";
    const before = query.get("before") ?? "";
    const start = { namespace, ...(before && { before }) };
    const sources = useRequest("get", "/v1/sources", {
        query: { ...start, limit: PAGE_SIZE, ...(session && { session_id: session }) },
    });
    const managed = useRequest("get", "/v1/conversations", { query: { ...start, limit: PAGE_SIZE_MAX } });
    return (
        <>
            <PageHeading title="Conversations">
                <Reextract namespace={namespace} session={session} />
            </PageHeading>
            <SessionFilter session={session} />
            <Loaded request={sources} skeleton={<Skeleton lines={8} />}>
                {(ingested) => (
                    <Loaded request={managed} skeleton={<Skeleton lines={8} />}>
                        {({ conversations }) => {
                            const page = mergeEntries(ingested.sources, conversations, session);
                            return <Page namespace={namespace} {...page} session={session} before={before} />;
                        }}
                    </Loaded>
                )}
            </Loaded>
        </>
    );
}

function SessionFilter({ session }: { session: string }) {
    const [text, setText] = useState(session);
    useEffect(() => setText(session), [session]);
    function submit(event: SubmitEvent): void {
        event.preventDefault();
        setQuery({ session: text.trim(), before: null });
    }
    return (
        <form class="card row session-filter" role="search" onSubmit={submit}>
            <input
                type="search"
                aria-label="Session ID"
                placeholder="Session ID"
                autocomplete="off"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
            />
            <button>Filter</button>
            {session && (
                <button type="button" onClick={() => setQuery({ session: null, before: null })}>
                    All sessions
                </button>
            )}
        </form>
    );
}

/**
 * Merges both lists by their ids, which sort by time. A write of a managed conversation is counted in its entry, if that
 * is on the same page.
 */
function mergeEntries(
    sources: readonly Schemas["Source"][],
    conversations: readonly Schemas["Conversation"][],
    session: string,
): { entries: Entry[]; next: string | null } {
    const byId = new Map(conversations.map((each) => [each.id, each]));
    const all: Entry[] = sources.map((source) => {
        return { kind: "source", id: source.id, source, part: byId.get(source.session_id ?? "") };
    });
    for (const conversation of conversations) {
        if (session && conversation.id !== session) continue;
        all.push({ kind: "managed", id: conversation.id, conversation, writes: 0 });
    }
    all.sort((a, b) => (a.id < b.id ? 1 : -1));
    const page = all.slice(0, PAGE_SIZE);
    const entries: Entry[] = [];
    for (const entry of page) {
        const own = entry.kind === "source" ? page.find((each) => each.id === entry.source.session_id) : undefined;
        if (own?.kind === "managed") own.writes += 1;
        else entries.push(entry);
    }
    return { entries, next: page.length === PAGE_SIZE ? page.at(-1)!.id : null };
}

interface PageProps {
    namespace: string;
    entries: readonly Entry[];
    /** Id at which the next page starts; null on the last page. */
    next: string | null;
    session: string;
    before: string;
}

function Page({ namespace, entries, next, session, before }: PageProps) {
    if (entries.length === 0) {
        return (
            <Empty title={session ? "No conversation of this session" : "No conversations"}>
                <p>
                    Conversations appear here after <code>POST /v1/memories</code> or{" "}
                    <code>POST /v1/conversations</code>. Ingested ones are kept unless{" "}
                    <code>ingestion.keep_sources</code> is false.
                </p>
            </Empty>
        );
    }
    return (
        <>
            <section class="card" aria-label="Conversations">
                <Table
                    caption="Conversations"
                    rows={entries}
                    rowKey={(entry) => entry.id}
                    columns={[
                        { title: "Conversation", cell: (entry) => <Title namespace={namespace} entry={entry} /> },
                        { title: "Session", cell: (entry) => <Session entry={entry} /> },
                        {
                            title: "Messages",
                            isNumber: true,
                            cell: (entry) => (entry.kind === "source" ? entry.source.messages : "—"),
                        },
                        { title: "Accepted", cell: (entry) => <Time at={acceptedAt(entry)} /> },
                    ]}
                />
            </section>
            <nav class="row" aria-label="Pages">
                {before && (
                    <button type="button" onClick={() => setQuery({ before: null })}>
                        Newest
                    </button>
                )}
                {next && (
                    <button type="button" onClick={() => setQuery({ before: next })}>
                        Older
                    </button>
                )}
            </nav>
        </>
    );
}

function Title({ namespace, entry }: { namespace: string; entry: Entry }) {
    if (entry.kind === "managed") {
        return (
            <>
                <a href={link.conversation(namespace, entry.id)} dir="auto">
                    {entry.conversation.title || "Untitled"}
                </a>{" "}
                <Tag tone="accent">managed</Tag>{" "}
                {entry.writes > 0 && (
                    <span class="dim">{entry.writes === 1 ? "1 write" : `${entry.writes} writes`}</span>
                )}
            </>
        );
    }
    const { source, part } = entry;
    const title = source.occurred_at ? `Conversation of ${formatDay(source.occurred_at)}` : "Conversation";
    return (
        <>
            <a href={link.source(namespace, source.id)}>{title}</a>{" "}
            {part && (
                <span class="dim">
                    part of{" "}
                    <a href={link.conversation(namespace, part.id)} dir="auto">
                        {part.title || "Untitled"}
                    </a>
                </span>
            )}
        </>
    );
}

function Session({ entry }: { entry: Entry }) {
    const session = entry.kind === "source" ? entry.source.session_id : null;
    if (!session) return <span class="dim">—</span>;
    return (
        <button
            type="button"
            class="plain"
            aria-label={`Only session ${session}`}
            dir="auto"
            onClick={() => setQuery({ session, before: null })}
        >
            {session}
        </button>
    );
}

function acceptedAt(entry: Entry): string {
    return entry.kind === "source" ? entry.source.accepted_at : entry.conversation.created_at;
}
