// "Why not …?": why a query does not return the memory at a path.

import { useState } from "preact/hooks";
import type { ResponseOf, Schemas } from "../../api";
import { Field, Loaded, Skeleton } from "../../parts";
import { useRequest } from "../../request";
import { link, route, setQuery } from "../../router";
import type { Filters } from "./params";
import { Waterfall } from "./waterfall";

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
    const [path, setPath] = useState(asked);
    const request = asked ? { body: { namespace, q, path: asked, ...filters } } : null;
    const result = useRequest("post", "/v1/explain", request);
    function submit(event: Event): void {
        event.preventDefault();
        setQuery({ why_not: path.trim() });
    }
    return (
        <section class="card why-not">
            <h2>Why not …?</h2>
            <form class="stack" onSubmit={submit}>
                <Field label="Path of a memory that you expect" hint="such as facts/noor/2026-03/bees.md">
                    {(field) => (
                        <input
                            {...field}
                            autocomplete="off"
                            spellcheck={false}
                            value={path}
                            onInput={(event) => setPath(event.currentTarget.value)}
                        />
                    )}
                </Field>
                <div class="row">
                    <button>Explain</button>
                </div>
            </form>
            {asked && (
                <Loaded request={result} skeleton={<Skeleton lines={3} />}>
                    {(place) => <Place place={place} namespace={namespace} />}
                </Loaded>
            )}
        </section>
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
