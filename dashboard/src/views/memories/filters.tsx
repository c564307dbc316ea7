// The filters and the order of the list. Each change goes to the address at once, and back to the first page.

import type { Schemas } from "../../api";
import { Field, formatNumber } from "../../parts";
import { useRequest } from "../../request";
import { setQuery } from "../../router";
import { useFacets } from "./listing";
import { DOCUMENTS, FILTERS, ORDERS, TIERS, TIME_FIELDS, TIME_NAMES, filtersOf, type ListState } from "./params";

/** Tags that are offered as buttons. */
const TAGS_SHOWN = 12;

const ORDER_NAMES = { newest: "newest first", oldest: "oldest first", title: "by title" } as const;

interface FiltersProps {
    namespace: string;
    state: ListState;
    topics: readonly Schemas["Topic"][];
}

/** Changes filters, and goes back to the first page. */
export function change(changes: Record<string, string | null>): void {
    setQuery({ ...changes, page: null });
}

export function Filters({ namespace, state, topics }: FiltersProps) {
    const used = usedCount(state);
    return (
        <section class="card list-filters" aria-label="Filters">
            <div class="row">
                <Tiers state={state} topics={topics} />
                <label class="check">
                    <input
                        type="checkbox"
                        checked={state.isCurrentOnly}
                        onChange={(event) => change({ current: event.currentTarget.checked ? "only" : null })}
                    />
                    Only what holds
                </label>
                <label class="check">
                    <input
                        type="checkbox"
                        checked={state.isTimeline}
                        onChange={(event) => setQuery({ timeline: event.currentTarget.checked ? "1" : null })}
                    />
                    Timeline
                </label>
            </div>
            <div class="fields">
                {!state.directory && <Topic state={state} topics={topics} />}
                {!state.directory && <Document namespace={namespace} state={state} topics={topics} />}
                <Field label="Month">
                    {(field) => (
                        <input
                            {...field}
                            type="month"
                            placeholder="2026-05"
                            value={state.month}
                            onChange={(event) => change({ month: event.currentTarget.value, day: null })}
                        />
                    )}
                </Field>
                <TagField state={state} />
                <Field label="Time">
                    {(field) => (
                        <select
                            {...field}
                            value={state.field}
                            onChange={({ currentTarget: { value } }) =>
                                change({ by: value === "updated" ? null : value })
                            }
                        >
                            {TIME_FIELDS.map((each) => (
                                <option key={each} value={each}>
                                    when they {TIME_NAMES[each]}
                                </option>
                            ))}
                        </select>
                    )}
                </Field>
                <Field label="Order">
                    {(field) => (
                        <select
                            {...field}
                            value={state.order}
                            onChange={({ currentTarget: { value } }) =>
                                change({ order: value === "newest" ? null : value })
                            }
                        >
                            {ORDERS.map((each) => (
                                <option key={each} value={each}>
                                    {ORDER_NAMES[each]}
                                </option>
                            ))}
                        </select>
                    )}
                </Field>
            </div>
            <TagFacet namespace={namespace} state={state} topics={topics} />
            {used > 0 && (
                <div class="row">
                    {state.day && (
                        <button type="button" onClick={() => change({ day: null })}>
                            Day {state.day} ✕
                        </button>
                    )}
                    <button
                        type="button"
                        onClick={() => change(Object.fromEntries(FILTERS.map((name) => [name, null])))}
                    >
                        Clear the filters
                    </button>
                </div>
            )}
        </section>
    );
}

function usedCount(state: ListState): number {
    const { tiers, topic, document, month, day, tags, isCurrentOnly } = state;
    return [tiers.length > 0, topic, document, month, day, tags.length > 0, isCurrentOnly].filter(Boolean).length;
}

function Tiers({ state, topics }: { state: ListState; topics: readonly Schemas["Topic"][] }) {
    if (state.directory) return null;
    function toggle(tier: string, isChosen: boolean): void {
        const next = TIERS.filter((each) => (each === tier ? isChosen : state.tiers.includes(each)));
        change({ tiers: next.join(",") });
    }
    return (
        <fieldset class="row">
            <legend class="visually-hidden">Tiers</legend>
            {TIERS.map((tier) => {
                const count = countOf(topics, (each) => each.tier === tier);
                return (
                    <label key={tier} class="check">
                        <input
                            type="checkbox"
                            checked={state.tiers.includes(tier)}
                            onChange={(event) => toggle(tier, event.currentTarget.checked)}
                        />
                        {tier} <span class="dim">{formatNumber(count)}</span>
                    </label>
                );
            })}
        </fieldset>
    );
}

function countOf(topics: readonly Schemas["Topic"][], isCounted: (topic: Schemas["Topic"]) => boolean): number {
    let count = 0;
    for (const each of topics) if (isCounted(each)) count += each.memories;
    return count;
}

function Topic({ state, topics }: { state: ListState; topics: readonly Schemas["Topic"][] }) {
    const counts = new Map<string, number>();
    for (const { tier, topic, memories } of topics) {
        if (!topic || (state.tiers.length > 0 && !state.tiers.includes(tier))) continue;
        counts.set(topic, (counts.get(topic) ?? 0) + memories);
    }
    if (state.topic && !counts.has(state.topic)) counts.set(state.topic, 0);
    return (
        <Field label="Topic">
            {(field) => (
                <select
                    {...field}
                    value={state.topic}
                    onChange={(event) => change({ topic: event.currentTarget.value, document: null })}
                >
                    <option value="">all topics</option>
                    {[...counts].map(([topic, count]) => (
                        <option key={topic} value={topic}>
                            {topic} ({formatNumber(count)})
                        </option>
                    ))}
                </select>
            )}
        </Field>
    );
}

/** The documents, which have a directory each. Nothing is shown without documents. */
function Document(props: { namespace: string; state: ListState; topics: readonly Schemas["Topic"][] }) {
    const { namespace, state, topics } = props;
    const hasDocuments = topics.some(({ tier, topic }) => `${tier}/${topic}` === DOCUMENTS);
    const tree = useRequest("get", "/v1/tree", hasDocuments ? { query: { namespace, path: DOCUMENTS } } : null);
    const ids = (tree.data?.entries ?? []).filter((entry) => entry.kind === "directory");
    if (ids.length === 0 && !state.document) return null;
    const name = (path: string) => path.split("/").at(-1)!;
    return (
        <Field label="Document">
            {(field) => (
                <select
                    {...field}
                    value={state.document}
                    onChange={(event) => change({ document: event.currentTarget.value, topic: null })}
                >
                    <option value="">all memories</option>
                    {state.document && !ids.some((each) => name(each.path) === state.document) && (
                        <option value={state.document}>{state.document}</option>
                    )}
                    {ids.map((each) => (
                        <option key={each.path} value={name(each.path)}>
                            {name(each.path)} ({formatNumber(each.memories ?? 0)})
                        </option>
                    ))}
                </select>
            )}
        </Field>
    );
}

function TagField({ state }: { state: ListState }) {
    return (
        <Field label="Any of these tags">
            {(field) => (
                <input
                    {...field}
                    dir="auto"
                    autocomplete="off"
                    placeholder="comma-separated"
                    value={state.tags.join(", ")}
                    onChange={(event) => change({ tags: event.currentTarget.value.trim() })}
                />
            )}
        </Field>
    );
}

/** The most frequent tags of the memories that meet the other filters. */
function TagFacet({ namespace, state, topics }: FiltersProps) {
    const { data } = useFacets(namespace, filtersOf({ ...state, tags: [] }, topics));
    const counts = data?.tags.slice(0, TAGS_SHOWN) ?? [];
    if (counts.length === 0) return null;
    function toggle(tag: string): void {
        const next = state.tags.includes(tag) ? state.tags.filter((each) => each !== tag) : [...state.tags, tag];
        change({ tags: next.join(",") });
    }
    return (
        <div class="row" role="group" aria-label="Frequent tags">
            {counts.map(({ tag, memories }) => (
                <button
                    key={tag}
                    type="button"
                    class="chip"
                    aria-pressed={state.tags.includes(tag)}
                    onClick={() => toggle(tag)}
                >
                    <bdi>{tag}</bdi> <span class="dim">{formatNumber(memories)}</span>
                </button>
            ))}
        </div>
    );
}
