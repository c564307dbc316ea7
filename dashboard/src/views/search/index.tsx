// Search, the home page: a query with filters in the address, and hits that explain themselves.

import { useEffect, useState } from "preact/hooks";
import { namespaces } from "../../account";
import { useCommands } from "../../frame/commands";
import { CopyAsCode, Empty, Loaded, PageHeading, Skeleton, type CodeRequest } from "../../parts";
import { useRequest } from "../../request";
import { setQuery } from "../../router";
import type { ViewProps } from "..";
import { Answer } from "./answer";
import { CompareButton, Comparison, isComparing } from "./compare";
import { FilterForm } from "./filters";
import { HitCard } from "./hit";
import { FILTERS, canList, readFilters, type Filters, type Retrieved } from "./params";
import "./search.css";
import { Welcome } from "./welcome";
import { WhyNot } from "./why-not";

export default function Search({ namespace, query }: ViewProps) {
    const q = query.get("q") ?? "";
    const filters = readFilters(query);
    const isAnswer = query.get("answer") === "1" && q !== "";
    const isSearch = q !== "" || canList(filters);
    const memories = namespaces.value.find((each) => each.name === namespace)?.memories;
    const result = useRequest(
        "get",
        "/v1/retrieve",
        isSearch ? { query: { namespace: [namespace], q, ...filters, explain: q !== "" } } : null,
    );
    useCommands([{ id: "clear-filters", title: "Clear the filters", group: "Search", run: clearFilters }], []);

    return (
        <>
            <PageHeading title="Search">
                {q && <CompareButton query={query} />}
                {isSearch && <CopyAsCode request={codeOf(namespace, q, filters)} />}
            </PageHeading>
            <QueryForm q={q} query={query} />
            {isAnswer && <Answer namespace={namespace} q={q} filters={filters} />}
            {isComparing(query) ? (
                <Comparison namespace={namespace} query={query} result={result} />
            ) : isSearch ? (
                <Loaded request={result} skeleton={<Skeleton lines={4} count={4} />}>
                    {(found) => <Results found={found} namespace={namespace} q={q} filters={filters} />}
                </Loaded>
            ) : memories === 0 ? (
                <Welcome namespace={namespace} />
            ) : (
                <Empty title="What should come to mind?">
                    <p>
                        Ask in plain words, such as “What is Noor allergic to?”, or open the filters to list memories.
                    </p>
                </Empty>
            )}
        </>
    );
}

function clearFilters(): void {
    setQuery(Object.fromEntries(FILTERS.map((name) => [name, null])));
}

/** The query and the filters. The query is sent on Enter; a filter applies at once. */
function QueryForm({ q, query }: { q: string; query: URLSearchParams }) {
    const [text, setText] = useState(q);
    useEffect(() => setText(q), [q]);

    function submit(event: SubmitEvent): void {
        event.preventDefault();
        const isAnswer = (event.submitter as HTMLButtonElement | null)?.value === "answer";
        setQuery({ q: text.trim(), answer: isAnswer ? "1" : null });
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
                <button value="answer">Answer</button>
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
            <ol class="hits">
                {hits.map((hit, index) => (
                    <li key={hit.path}>
                        <HitCard hit={hit} rank={index + 1} namespace={namespace} isScored={q !== ""} />
                    </li>
                ))}
            </ol>
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
