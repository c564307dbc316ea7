// The facts that a memory claims, with their values over time.

import type { Schemas } from "../api";
import { link } from "../router";
import { Day, Tag } from "./text";

/** The time in which a value holds. */
export function Period({ from, until }: { from: string | null | undefined; until: string | null | undefined }) {
    return (
        <>
            {from && (
                <>
                    from <Day at={from} />{" "}
                </>
            )}
            {until && (
                <>
                    until <Day at={until} />
                </>
            )}
            {!from && !until && "time unknown"}
        </>
    );
}

/** The values of each fact, oldest first. Those of the memory at `path` are marked. */
export function FactHistory(props: { namespace: string; path: string; timelines: readonly Schemas["Timeline"][] }) {
    const { namespace, path, timelines } = props;
    return (
        <>
            {timelines.map(({ subject, attribute, values }) => (
                <section key={`${subject} ${attribute}`}>
                    <h3 dir="auto">{subject ? `${subject}: ${attribute}` : attribute}</h3>
                    <ol class="timeline">
                        {values.map((value, index) => (
                            <li key={index} class={value.path === path ? "own" : undefined}>
                                <a href={link.memory(namespace, value.path)} dir="auto">
                                    {value.value}
                                </a>{" "}
                                <span class="dim">
                                    <Period from={value.valid_from} until={value.valid_until} />
                                </span>{" "}
                                {value.current && <Tag tone="accent">present</Tag>}
                                {value.path === path && <Tag>this memory</Tag>}
                            </li>
                        ))}
                    </ol>
                </section>
            ))}
        </>
    );
}
