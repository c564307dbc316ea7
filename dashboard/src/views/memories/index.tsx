// Memories as a list: filters, a timeline, pages of rows, and actions for the selected ones.

import { useEffect, useState } from "preact/hooks";
import { useCommands } from "../../frame/commands";
import {
    CopyAsCode,
    Empty,
    ErrorState,
    PageHeading,
    Skeleton,
    Snippet,
    formatNumber,
    type CodeRequest,
} from "../../parts";
import { useRequest } from "../../request";
import { setQuery } from "../../router";
import type { ViewProps } from "..";
import { Crumbs } from "./crumbs";
import { Filters } from "./filters";
import { withoutForgotten } from "./forgotten";
import { usePage, type Hit } from "./listing";
import "./memories.css";
import { NewMemory } from "./new-memory";
import { FILTERS, filtersOf, readState, type ListState, type ListingFilters, type Order } from "./params";
import { Rows } from "./rows";
import { SelectionBar } from "./selection";
import { Timeline } from "./timeline";

/** Rows of a page. */
const PAGE_ROWS = 50;
export default function Memories({ namespace, rest, query }: ViewProps) {
    const state = readState(rest, query);
    const topics = useRequest("get", "/v1/topics", { query: { namespace } });
    const [isWriting, setWriting] = useState(false);
    const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
    // Only a topic needs the topics: its directories are in several tiers.
    const known = topics.data?.topics;
    const filters = state.topic && !known ? null : filtersOf(state, known ?? []);
    const filterKey = JSON.stringify(filters);
    const { order, page } = state;
    const listing = usePage(namespace, filters, { order, page, rows: PAGE_ROWS });
    useEffect(() => setSelected(new Set()), [namespace, filterKey]);
    useCommands(
        [
            { id: "new-memory", title: "New memory", group: "Memories", run: () => setWriting(true) },
            { id: "clear-list", title: "Clear the filters", group: "Memories", run: clearFilters },
        ],
        [],
    );

    const total = listing.data?.total ?? 0;
    const shown = withoutForgotten(namespace, listing.data?.memories ?? []);
    // A page beyond the end, as after a forgotten memory, becomes the last one.
    const lastPage = Math.max(1, Math.ceil(total / PAGE_ROWS));
    useEffect(() => {
        if (listing.data && !listing.isLoading && page > lastPage) turnTo(lastPage);
    });
    return (
        <>
            <PageHeading title="Memories">
                {filters && <CopyAsCode request={codeOf(namespace, filters, order)} />}
                <button type="button" class="primary" onClick={() => setWriting(true)}>
                    New memory
                </button>
            </PageHeading>
            <Crumbs namespace={namespace} path={rest} />
            <Filters namespace={namespace} state={state} topics={known ?? []} />
            {state.isTimeline && (
                <Timeline namespace={namespace} state={state} filters={filtersOf({ ...state, day: "" }, known ?? [])} />
            )}
            {listing.error ? (
                <ErrorState error={listing.error} onRetry={listing.reload} />
            ) : !listing.data ? (
                <Skeleton lines={2} count={6} />
            ) : total === 0 ? (
                <Nothing namespace={namespace} isFiltered={isFiltered(state)} />
            ) : (
                <section class="stack" aria-label="List of memories" aria-busy={listing.isLoading}>
                    <SelectionBar
                        namespace={namespace}
                        selected={selected}
                        onChange={setSelected}
                        memories={shown}
                        filters={filters}
                    />
                    <Page
                        namespace={namespace}
                        state={state}
                        memories={shown}
                        total={total}
                        lastPage={lastPage}
                        selected={selected}
                        onSelect={setSelected}
                    />
                </section>
            )}
            {isWriting && (
                <NewMemory namespace={namespace} directory={rest || "facts"} onClose={() => setWriting(false)} />
            )}
        </>
    );
}

function clearFilters(): void {
    setQuery({ ...Object.fromEntries(FILTERS.map((name) => [name, null])), page: null });
}

function turnTo(page: number): void {
    setQuery({ page: page > 1 ? String(page) : null });
}

/** One page of the list, with the buttons that turn pages. */
function Page(props: {
    namespace: string;
    state: ListState;
    memories: readonly Hit[];
    total: number;
    lastPage: number;
    selected: ReadonlySet<string>;
    onSelect: (selected: ReadonlySet<string>) => void;
}) {
    const { namespace, state, memories, total, lastPage, selected, onSelect } = props;
    const page = Math.min(state.page, lastPage);
    const start = (page - 1) * PAGE_ROWS;
    function turn(next: number): void {
        turnTo(next);
        document.querySelector("main h1")?.scrollIntoView();
    }
    const range = `${formatNumber(start + 1)}–${formatNumber(start + memories.length)}`;
    return (
        <>
            <p class="dim" role="status">
                {range} of {formatNumber(total)} {total === 1 ? "memory" : "memories"}
            </p>
            {memories.length === 0 ? (
                <Skeleton lines={2} count={6} />
            ) : (
                <Rows
                    namespace={namespace}
                    memories={memories}
                    field={state.field}
                    selected={selected}
                    onSelect={onSelect}
                />
            )}
            {lastPage > 1 && (
                <nav class="row pages" aria-label="Pages">
                    <button type="button" disabled={page === 1} onClick={() => turn(page - 1)}>
                        Previous page
                    </button>
                    <span class="dim">
                        Page {formatNumber(page)} of {formatNumber(lastPage)}
                    </span>
                    <button type="button" disabled={page >= lastPage} onClick={() => turn(page + 1)}>
                        Next page
                    </button>
                </nav>
            )}
        </>
    );
}

function Nothing({ namespace, isFiltered }: { namespace: string; isFiltered: boolean }) {
    if (isFiltered) {
        return (
            <Empty title="No memory matches these filters">
                <button type="button" onClick={clearFilters}>
                    Clear the filters
                </button>
            </Empty>
        );
    }
    const body = JSON.stringify({
        namespace,
        messages: [{ role: "user", name: "Noor", content: "I moved to Lisbon last week." }],
    });
    const code = `curl -H "authorization: Bearer $CUEBASE_KEY" \\\n  -d '${body}' \\\n  ${location.origin}/v1/memories`;
    return (
        <Empty title="Nothing is remembered here yet">
            <p>Post a conversation. Its memories appear a moment later.</p>
            <Snippet title="curl" code={code} />
        </Empty>
    );
}

function isFiltered(state: ListState): boolean {
    const { tiers, topic, document, month, day, tags, isCurrentOnly } = state;
    return tiers.length > 0 || tags.length > 0 || isCurrentOnly || Boolean(topic || document || month || day);
}

function codeOf(namespace: string, filters: ListingFilters, order: Order): CodeRequest {
    const options = { namespace, ...filters, order };
    return {
        method: "get",
        path: "/v1/memories",
        query: options,
        client: { method: "memories", positional: [], options, isList: true },
    };
}
