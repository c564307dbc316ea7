// Search, the home page: a query with filters in the address, and hits that explain themselves. The same query shows an
// answer or the context for a prompt.

import { useEffect, useState } from "preact/hooks";
import { namespaces } from "../../account";
import { useCommands } from "../../frame/commands";
import { CopyAsCode, Empty, Gradual, Loaded, PageHeading, Skeleton, type CodeRequest } from "../../parts";
import { useRequest } from "../../request";
import { setQuery } from "../../router";
import type { ViewProps } from "..";
import { Answer } from "./answer";
import { CompareButton, Comparison, isComparing } from "./compare";
import { Context, contextCode, readBudget } from "./context";
import { FilterForm } from "./filters";
import { HitCard } from "./hit";
import { FILTERS, MODES, canList, readFilters, readMode, type Filters, type Mode, type Retrieved } from "./params";
import "./search.css";
import { Start } from "./start";
import { Welcome } from "./welcome";
import { WhyNot } from "./why-not";

/** Hits that are shown at a time. */
const HITS_STEP = 50;

export default function Search({ namespace, query }: ViewProps) {
    const q = query.get("q") ?? "";
    const filters = readFilters(query);
    const mode = q ? readMode(query) : "hits";
    const isSearch = q !== "" || canList(filters);
    const memories = namespaces.value.find((each) => each.name === namespace)?.memories;
    const result = useRequest(
        "get",
        "/v1/retrieve",
        isSearch && mode !== "context" ? { query: { namespace: [namespace], q, ...filters, explain: q !== "" } } : null,
    );
    useCommands([{ id: "clear-filters", title: "Clear the filters", group: "Search", run: clearFilters }], []);

    return (
        <>
            <PageHeading title="Search">
                {q && mode !== "context" && <CompareButton query={query} />}
                {isSearch && (
                    <CopyAsCode
                        request={
                            mode === "context"
                                ? contextCode(namespace, q, filters, readBudget(query))
                                : codeOf(namespace, q, filters)
                        }
                    />
                )}
            </PageHeading>
            <QueryForm q={q} query={query} mode={mode} />
            {mode === "answer" && <Answer namespace={namespace} q={q} filters={filters} />}
            {mode === "context" ? (
                <Context namespace={namespace} q={q} filters={filters} budget={readBudget(query)} />
            ) : isComparing(query) ? (
                <Comparison namespace={namespace} query={query} result={result} />
            ) : isSearch ? (
                <Loaded request={result} skeleton={<Skeleton lines={4} count={4} />}>
                    {(found) => <Results found={found} namespace={namespace} q={q} filters={filters} />}
                </Loaded>
            ) : memories === 0 ? (
                <Welcome namespace={namespace} />
            ) : (
                <Start namespace={namespace} />
            )}
        </>
    );
}

function clearFilters(): void {
    setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])));
}

/** The query, what it shows, and the filters. The query is sent on Enter; a filter applies at once. */
function QueryForm({ q, query, mode }: { q: string; query: URLSearchParams; mode: Mode }) {
    const [text, setText] = useState(q);
    useEffect(() => setText(q), [q]);

    function submit(event: SubmitEvent): void {
        event.preventDefault();
        // Enter, and the button Search, keep what the query shows.
        const next = (event.submitter as HTMLButtonElement | null)?.value || mode;
        const isHits = next === "hits" || !text.trim();
        setQuery({ q: text.trim(), mode: isHits ? null : next, ...(next === "context" && { compare: null }) });
    }
    return (
        <form class="card search-form" role="search" onSubmit={submit}>
            <div class="row">
                <input
                    type="search"
                    aria-label="Query"
                    placeholder="What should come to mind?"
                    autocomplete="off"
                    dir="auto"
                    value={text}
                    onInput={(event) => setText(event.currentTarget.value)}
                />
                <button class="primary">Search</button>
            </div>
            <div class="row" role="group" aria-label="Show">
                {(Object.keys(MODES) as Mode[]).map((each) => (
                    <button key={each} value={each} aria-pressed={each === mode}>
                        {MODES[each]}
                    </button>
                ))}
            </div>
            <FilterForm query={query} />
        </form>
    );
}

function Results(props: { found: Retrieved; namespace: string; q: string; filters: Filters }) {
    const { found, namespace, q, filters } = props;
    const hits = found.hits ?? [];
    const arms = [
        ["vector", found.vector_ms],
        ["lexical", found.lexical_ms],
        ["graph", found.graph_ms],
    ] as const;
    return (
        <section class="stack" aria-label="Results">
            <p class="dim" role="status">
                {hits.length} {hits.length === 1 ? "hit" : "hits"}
                {q && arms.map(([arm, ms]) => ` · ${arm} ${ms.toFixed(1)} ms`)}
                {found.cold_start && " · the namespace was opened for this search"}
            </p>
            {found.defined && (
                <dl class="card">
                    {found.defined.map((each) => (
                        <div key={each.term}>
                            <dt dir="auto">{[each.term, ...(each.aliases ?? [])].join(", ")}</dt>
                            <dd dir="auto">{each.definition}</dd>
                        </div>
                    ))}
                </dl>
            )}
            {hits.length === 0 && (
                <Empty title="No memory matches">
                    <p>Try other words or fewer filters. Below, ask why a memory that you expect is missing.</p>
                </Empty>
            )}
            <Gradual items={hits} step={HITS_STEP} noun="hits">
                {(shown) => (
                    <ol class="hits">
                        {shown.map((hit, index) => (
                            <li key={hit.path}>
                                <HitCard hit={hit} rank={index + 1} namespace={namespace} isScored={q !== ""} />
                            </li>
                        ))}
                    </ol>
                )}
            </Gradual>
            {q && <WhyNot namespace={namespace} q={q} filters={filters} />}
        </section>
    );
}

function codeOf(namespace: string, q: string, filters: Filters): CodeRequest {
    const options = { namespace, ...filters };
    const query = q ? { q, ...options } : options;
    return {
        method: "get",
        path: "/v1/retrieve",
        query,
        client: { method: "retrieve", positional: q ? [q] : [], options },
    };
}
