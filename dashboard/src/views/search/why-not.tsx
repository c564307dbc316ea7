// "Why not …?": why a query does not return a memory, which is named by its path or found by its words.

import { useState } from "preact/hooks";
import type { ResponseOf, Schemas } from "../../api";
import { Field, Loaded, Skeleton, splitTitle } from "../../parts";
import { useRequest } from "../../request";
import { link, route, setQuery } from "../../router";
import type { Filters } from "./params";
import { Waterfall } from "./waterfall";

/** Memories that are offered for the words of one. */
const OFFERED_MAX = 5;

const REASONS: Record<Schemas["ExcludedBy"], string> = {
    filter: "A filter leaves it out, or it is later than the day of “As of”.",
    expired: "It has expired.",
    superseded: "It no longer holds, and the search returns only memories that do.",
    no_arm: "No arm found it among its best: neither its words, its cues nor its relations match.",
    min_score: "Its score is below the minimum score.",
    limit: "Hits of a higher rank take up the maximum number of hits.",
    admit: "Its score is too low for the admission.",
    unknown_path: "No memory is stored at this path.",
};

export function WhyNot({ namespace, q, filters }: { namespace: string; q: string; filters: Filters }) {
    const asked = route.value.query.get("why_not") ?? "";
    const words = route.value.query.get("expected") ?? "";
    const [text, setText] = useState(words || asked);
    const request = asked ? { body: { namespace, q, path: asked, ...filters } } : null;
    const result = useRequest("post", "/v1/explain", request);
    function submit(event: Event): void {
        event.preventDefault();
        const entered = text.trim();
        if (isPath(entered)) setQuery({ why_not: entered, expected: null });
        else setQuery({ why_not: null, expected: entered });
    }
    return (
        <section class="card why-not">
            <h2>Why not …?</h2>
            <form class="stack" onSubmit={submit}>
                <Field
                    label="Words or path of a memory that you expect"
                    hint="such as “Mara keeps bees” or facts/noor/2026-03/bees.md"
                >
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
                    <button>Explain</button>
                </div>
            </form>
            {words && <Offered namespace={namespace} words={words} asked={asked} />}
            {asked && (
                <>
                    {!words && (
                        <h3>
                            <a href={link.memory(namespace, asked)}>{asked}</a>
                        </h3>
                    )}
                    <Loaded request={result} skeleton={<Skeleton lines={3} />}>
                        {(place) => <Place place={place} namespace={namespace} />}
                    </Loaded>
                </>
            )}
        </section>
    );
}

/** Returns whether a text is the path of a memory. Words have spaces and no directory. */
function isPath(text: string): boolean {
    return text.includes("/") && text.endsWith(".md");
}

/** The memories that have the words best. One is chosen to be explained. */
function Offered({ namespace, words, asked }: { namespace: string; words: string; asked: string }) {
    const query = { namespace: [namespace], q: words, limit: OFFERED_MAX, current: "any" as const };
    const found = useRequest("get", "/v1/retrieve", { query });
    return (
        <Loaded request={found} skeleton={<Skeleton lines={3} />}>
            {({ hits = [] }) => (
                <div class="stack" role="group" aria-label="Which memory?">
                    {hits.length === 0 && <p>No memory has these words, so nothing can be missing.</p>}
                    {hits.map(({ path, content }) => (
                        <div key={path} class="row">
                            <button
                                type="button"
                                aria-pressed={path === asked}
                                onClick={() => setQuery({ why_not: path })}
                            >
                                <bdi>{splitTitle(content, path).title}</bdi>
                            </button>
                            <a href={link.memory(namespace, path)}>
                                <code>{path}</code>
                            </a>
                        </div>
                    ))}
                </div>
            )}
        </Loaded>
    );
}

function Place({ place, namespace }: { place: ResponseOf<"post", "/v1/explain">; namespace: string }) {
    const { found, rank, repeats, excluded_by, score, explanation, outranked_by } = place;
    return (
        <div class="stack" aria-live="polite">
            {found && <p>It is a hit, at rank {rank}.</p>}
            {repeats && (
                <p>
                    It repeats the hit <a href={link.memory(namespace, repeats)}>{repeats}</a>.
                </p>
            )}
            {excluded_by.length > 0 && (
                <ul>
                    {excluded_by.map((reason) => (
                        <li key={reason}>{REASONS[reason]}</li>
                    ))}
                </ul>
            )}
            {!found && rank !== null && <p class="dim">Its rank is {rank}.</p>}
            {score !== null && explanation && (
                <Waterfall score={score} explanation={explanation} namespace={namespace} />
            )}
            {outranked_by.length > 0 && (
                <details>
                    <summary>{outranked_by.length} memories rank higher</summary>
                    <ol>
                        {outranked_by.map((path) => (
                            <li key={path}>
                                <a href={link.memory(namespace, path)}>{path}</a>
                            </li>
                        ))}
                    </ol>
                </details>
            )}
        </div>
    );
}
