// Memories as a list: filters, a timeline, pages of rows, and actions for the selected ones.

import { useEffect, useMemo, useState } from "preact/hooks";
import { namespaces } from "../../account";
import type { Schemas } from "../../api";
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
import { titleOf, useListing, type Hit } from "./listing";
import "./memories.css";
import { NewMemory } from "./new-memory";
import {
    FILTERS,
    filtersOf,
    readState,
    timeOf,
    type ListState,
    type ListingFilters,
    type Order,
    type TimeField,
} from "./params";
import { Rows } from "./rows";
import { SelectionBar } from "./selection";
import { Timeline } from "./timeline";

/** Rows of a page. */
const PAGE_ROWS = 50;
/** Most memories that are loaded to sort them in an order that the server does not have. */
const SORTED_MAX = 2000;

export default function Memories({ namespace, rest, query }: ViewProps) {
    const state = readState(rest, query);
    const topics = useRequest("get", "/v1/topics", { query: { namespace } });
    const [isWriting, setWriting] = useState(false);
    const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
    // Only a topic needs the topics: its directories are in several tiers.
    const known = topics.data?.topics;
    const filters = state.topic && !known ? null : filtersOf(state, known ?? []);
    const filterKey = JSON.stringify(filters);
    const wanted = state.order === "newest" ? state.page * PAGE_ROWS + 1 : SORTED_MAX;
    const listing = useListing(namespace, filters, wanted);
    useEffect(() => setSelected(new Set()), [namespace, filterKey]);
    useCommands(
        [
            { id: "new-memory", title: "New memory", group: "Memories", run: () => setWriting(true) },
            { id: "clear-list", title: "Clear the filters", group: "Memories", run: clearFilters },
        ],
        [],
    );

    const { order, field } = state;
    // The list grows in place, so its length says whether it has changed.
    const sorted = useMemo(
        () => sortBy(order, field, listing.memories),
        [order, field, listing.memories, listing.memories.length],
    );
    const shown = withoutForgotten(namespace, sorted);
    const total = totalOf(state, filters, namespace, known ?? []);
    return (
        <>
            <PageHeading title="Memories">
                {filters && <CopyAsCode request={codeOf(namespace, filters)} />}
                <button type="button" class="primary" onClick={() => setWriting(true)}>
                    New memory
                </button>
            </PageHeading>
            <Crumbs namespace={namespace} path={rest} />
            <Filters namespace={namespace} state={state} topics={known ?? []} memories={listing.memories} />
            {state.isTimeline && (
                <Timeline namespace={namespace} state={state} filters={filtersOf({ ...state, day: "" }, known ?? [])} />
            )}
            {listing.error ? (
                <ErrorState error={listing.error} onRetry={listing.retry} />
            ) : listing.isLoading && listing.memories.length === 0 ? (
                <Skeleton lines={2} count={6} />
            ) : shown.length === 0 ? (
                <Nothing namespace={namespace} isFiltered={isFiltered(state)} />
            ) : (
                <section class="stack" aria-label="List of memories">
                    {state.order !== "newest" && !listing.isComplete && !listing.isLoading && (
                        <p class="notice">
                            This order holds for the newest {formatNumber(listing.memories.length)} memories. Use the
                            filters to order others.
                        </p>
                    )}
                    {listing.isPartial && (
                        <p class="notice">
                            Memories are missing here, because more than 200 of one directory share one time. Choose
                            another time to list them.
                        </p>
                    )}
                    <SelectionBar
                        namespace={namespace}
                        selected={selected}
                        onChange={setSelected}
                        memories={shown}
                        filters={filters}
                        isAll={listing.isComplete}
                    />
                    <Page
                        namespace={namespace}
                        state={state}
                        memories={shown}
                        total={listing.isComplete ? shown.length : total}
                        isComplete={listing.isComplete}
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

/** One page of the list, with the buttons that turn pages. */
function Page(props: {
    namespace: string;
    state: ListState;
    memories: readonly Hit[];
    total: number | null;
    isComplete: boolean;
    selected: ReadonlySet<string>;
    onSelect: (selected: ReadonlySet<string>) => void;
}) {
    const { namespace, state, memories, total, isComplete, selected, onSelect } = props;
    const lastPage = Math.max(1, Math.ceil(memories.length / PAGE_ROWS));
    // A page beyond the end, as after a forgotten memory, is the last one.
    const page = isComplete ? Math.min(state.page, lastPage) : state.page;
    const start = (page - 1) * PAGE_ROWS;
    const rows = memories.slice(start, start + PAGE_ROWS);
    const hasNext = memories.length > start + PAGE_ROWS;
    function turn(next: number): void {
        setQuery({ page: next > 1 ? String(next) : null });
        document.querySelector("main h1")?.scrollIntoView();
    }
    const range = `${formatNumber(start + 1)}–${formatNumber(start + rows.length)}`;
    return (
        <>
            <p class="dim" role="status">
                {range} of {total === null ? "many" : formatNumber(total)} {total === 1 ? "memory" : "memories"}
            </p>
            {rows.length === 0 ? (
                <Skeleton lines={2} count={6} />
            ) : (
                <Rows
                    namespace={namespace}
                    memories={rows}
                    field={state.field}
                    selected={selected}
                    onSelect={onSelect}
                />
            )}
            {(page > 1 || hasNext) && (
                <nav class="row pages" aria-label="Pages">
                    <button type="button" disabled={page === 1} onClick={() => turn(page - 1)}>
                        Previous page
                    </button>
                    <span class="dim">Page {formatNumber(page)}</span>
                    <button type="button" disabled={!hasNext} onClick={() => turn(page + 1)}>
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

function sortBy(order: Order, field: TimeField, memories: readonly Hit[]): readonly Hit[] {
    if (order === "newest") return memories;
    const sorted = [...memories];
    if (order === "title") {
        const collator = new Intl.Collator(undefined, { numeric: true });
        return sorted.sort((a, b) => collator.compare(titleOf(a), titleOf(b)));
    }
    // Times of one form sort as texts.
    const time = (memory: Hit) => timeOf(memory, field) ?? "";
    return sorted.sort((a, b) => (time(a) < time(b) ? -1 : time(a) > time(b) ? 1 : 0));
}

/** Returns the number of memories of a list, where counts of the server say it; otherwise null. */
function totalOf(
    state: ListState,
    filters: ListingFilters | null,
    namespace: string,
    topics: readonly Schemas["Topic"][],
): number | null {
    const { tags, month, day, isCurrentOnly, directory, document, field } = state;
    if (!filters || tags.length > 0 || month || day || isCurrentOnly || document || field === "occurred") return null;
    if (!isFiltered(state) && !directory) {
        return namespaces.value.find((each) => each.name === namespace)?.memories ?? null;
    }
    if (directory.includes("/")) return null;
    let total = 0;
    for (const each of topics) {
        if (state.tiers.length > 0 && !state.tiers.includes(each.tier)) continue;
        if (state.topic && each.topic !== state.topic) continue;
        if (directory && each.tier !== directory) continue;
        total += each.memories;
    }
    return total;
}

function codeOf(namespace: string, filters: ListingFilters): CodeRequest {
    const options = { namespace, ...filters };
    return {
        method: "get",
        path: "/v1/retrieve",
        query: options,
        client: { method: "retrieve", positional: [], options },
    };
}
