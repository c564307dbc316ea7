// Two searches side by side: the search of the view, and another one with its own query and filters. Hits that differ are
// marked. The second search is in the address under names that begin with `b_`.

import { useEffect, useState } from "preact/hooks";
import { useCommands } from "../../frame/commands";
import { Bar, Empty, Field, Loaded, Skeleton, Tag, splitTitle } from "../../parts";
import { useRequest, type RequestState } from "../../request";
import { link, setQuery } from "../../router";
import "./compare.css";
import { FilterForm, FilterTarget } from "./filters";
import { HitCard } from "./hit";
import { FILTERS, readFilters, type Hit, type Retrieved } from "./params";

const PREFIX = "b_";
/** Names of the second search in the address, without their prefix. */
const NAMES = ["q", ...FILTERS] as const;

/** Returns whether the address compares two searches. */
export function isComparing(query: URLSearchParams): boolean {
    return query.get("compare") === "1" && Boolean(query.get("q"));
}

/** Starts a comparison with a copy of the search, so that the first change makes the difference, or ends it. */
function toggle(query: URLSearchParams): void {
    const starts = !isComparing(query);
    const changes: Record<string, string | null> = { compare: starts ? "1" : null, mode: null };
    for (const name of NAMES) changes[PREFIX + name] = starts ? query.get(name) : null;
    setQuery(changes);
}

export function CompareButton({ query }: { query: URLSearchParams }) {
    const title = isComparing(query) ? "End the comparison" : "Compare";
    const run = () => toggle(query);
    useCommands([{ id: "compare", title, group: "Search", run }], [query]);
    return (
        <button type="button" onClick={run}>
            {title}
        </button>
    );
}

/** Returns the parameters of the second search without their prefix. */
function readSecond(query: URLSearchParams): URLSearchParams {
    const second = new URLSearchParams();
    for (const name of NAMES) {
        const value = query.get(PREFIX + name);
        if (value) second.set(name, value);
    }
    return second;
}

function setSecond(changes: Record<string, string | null>): void {
    const prefixed: Record<string, string | null> = {};
    for (const [name, value] of Object.entries(changes)) prefixed[PREFIX + name] = value;
    setQuery(prefixed);
}

export function Comparison(props: { namespace: string; query: URLSearchParams; result: RequestState<Retrieved> }) {
    const { namespace, query, result } = props;
    const second = readSecond(query);
    const q = second.get("q") || query.get("q")!;
    const filters = readFilters(second);
    const other = useRequest("get", "/v1/retrieve", {
        query: { namespace: [namespace], q, ...filters, explain: true },
    });
    const left = result.data?.hits ?? [];
    const right = other.data?.hits ?? [];
    const isComplete = result.data !== undefined && other.data !== undefined;
    return (
        <section class="stack" aria-label="Comparison">
            <FilterTarget.Provider value={setSecond}>
                <SecondForm q={q} second={second} />
            </FilterTarget.Provider>
            {isComplete && <Summary left={left} right={right} />}
            <div class="comparison">
                <Column
                    name="First search"
                    query={query.get("q")!}
                    result={result}
                    others={isComplete ? right : null}
                    namespace={namespace}
                />
                <Column
                    name="Second search"
                    query={q}
                    result={other}
                    others={isComplete ? left : null}
                    namespace={namespace}
                />
            </div>
        </section>
    );
}

function SecondForm({ q, second }: { q: string; second: URLSearchParams }) {
    const [text, setText] = useState(q);
    useEffect(() => setText(q), [q]);
    function submit(event: Event): void {
        event.preventDefault();
        setSecond({ q: text.trim() });
    }
    return (
        <form class="card search-form" aria-label="Second search" onSubmit={submit}>
            <Field label="Second query">
                {(field) => (
                    <input
                        {...field}
                        autocomplete="off"
                        dir="auto"
                        value={text}
                        onInput={(event) => setText(event.currentTarget.value)}
                    />
                )}
            </Field>
            <div class="row">
                <button class="primary">Search again</button>
            </div>
            <FilterForm query={second} />
        </form>
    );
}

function Summary({ left, right }: { left: readonly Hit[]; right: readonly Hit[] }) {
    const shared = left.filter((hit) => rankOf(right, hit) !== null);
    const moved = shared.filter((hit) => rankOf(right, hit) !== rankOf(left, hit)).length;
    const isSame = shared.length === left.length && left.length === right.length && moved === 0;
    return (
        <p class="dim" role="status">
            {isSame
                ? "Both searches return the same hits in the same order."
                : `${shared.length} in both, ${moved} of them at another rank · ` +
                  `${left.length - shared.length} only in the first · ${right.length - shared.length} only in the second`}
        </p>
    );
}

function Column(props: {
    name: string;
    query: string;
    result: RequestState<Retrieved>;
    /** The hits of the other search; null while one of them is loading. */
    others: readonly Hit[] | null;
    namespace: string;
}) {
    const { name, query, result, others, namespace } = props;
    return (
        <section class="stack" aria-label={name}>
            <h2>
                {name}: <span dir="auto">{query}</span>
            </h2>
            <Loaded request={result} skeleton={<Skeleton lines={2} count={4} />}>
                {({ hits = [] }) =>
                    hits.length === 0 ? (
                        <Empty title="No memory matches" />
                    ) : (
                        <ol class="hits">
                            {hits.map((hit, index) => (
                                <ComparedHit
                                    key={hit.path}
                                    hit={hit}
                                    rank={index + 1}
                                    others={others}
                                    namespace={namespace}
                                />
                            ))}
                        </ol>
                    )
                }
            </Loaded>
        </section>
    );
}

/** A hit in one line, with its difference from the other search; in full on request. */
function ComparedHit(props: { hit: Hit; rank: number; others: readonly Hit[] | null; namespace: string }) {
    const { hit, rank, others, namespace } = props;
    const [isOpen, setOpen] = useState(false);
    const { title } = splitTitle(hit.content, hit.path);
    const otherRank = others && rankOf(others, hit);
    const isOnly = others !== null && otherRank === null;
    return (
        <li class={isOnly ? "compared only" : "compared"} data-path={hit.path}>
            <div class="compared-line">
                <span class="number dim">{rank}</span>
                <a href={link.memory(namespace, hit.path)} dir="auto">
                    {title}
                </a>
                <Bar share={hit.score} label={`score ${hit.score.toFixed(2)}`} />
                <strong>{hit.score.toFixed(2)}</strong>
            </div>
            <p class="row">
                {isOnly && <Tag tone="warn">only here</Tag>}
                {others !== null && otherRank !== null && otherRank !== rank && (
                    <Tag tone="accent">rank {otherRank} in the other</Tag>
                )}
            </p>
            <details onToggle={(event) => setOpen(event.currentTarget.open)}>
                <summary>Show</summary>
                {isOpen && <HitCard hit={hit} rank={rank} namespace={namespace} isScored />}
            </details>
        </li>
    );
}

/** Returns the rank of the hit with the same path, from 1; null if none has it. */
function rankOf(hits: readonly Hit[], hit: Hit): number | null {
    const index = hits.findIndex((each) => each.path === hit.path);
    return index < 0 ? null : index + 1;
}
