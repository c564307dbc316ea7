// The messages of a conversation as turns, each with what it became.

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Schemas } from "../../api";
import { Tag, Time } from "../../parts";
import { link } from "../../router";
import { SenderName } from "../activity/sender";
import { describeReason, loadOutcomes, type Outcomes } from "./outcomes";

export interface Turn {
    key: string;
    role: Schemas["Role"];
    name: string | undefined;
    content: Schemas["Content"];
    at: string | undefined;
    isEdited?: boolean;
    outcome: ComponentChildren;
    actions?: ComponentChildren;
}

export function Turns({ turns }: { turns: readonly Turn[] }) {
    return (
        <ol class="turns">
            {turns.map((turn) => (
                <li key={turn.key} class={`turn ${turn.role}`}>
                    <p class="dim">
                        <strong>
                            <bdi>{turn.name ?? turn.role}</bdi>
                        </strong>
                        {turn.name && ` · ${turn.role}`}
                        {turn.at && (
                            <>
                                {" · "}
                                <Time at={turn.at} />
                            </>
                        )}
                        {turn.isEdited && " · edited"}
                    </p>
                    <p class="turn-text" dir="auto">
                        {textOf(turn.content)}
                    </p>
                    <div class="outcome">{turn.outcome}</div>
                    {turn.actions && <div class="row">{turn.actions}</div>}
                </li>
            ))}
        </ol>
    );
}

/** Returns the text of a message; parts of other types by their type. */
export function textOf(content: Schemas["Content"]): string {
    if (typeof content === "string") return content;
    const parts = content as readonly { type: string; text?: string }[];
    return parts.map((part) => (part.type === "text" ? (part.text ?? "") : `[${part.type}]`)).join("\n");
}

/** Loads the outcomes of a conversation; null while they are loading. */
export function useOutcomes(id: string, extracted: readonly Schemas["ExtractedMemory"][] | undefined): Outcomes | null {
    const [outcomes, setOutcomes] = useState<Outcomes | null>(null);
    const key = JSON.stringify(extracted);
    useEffect(() => {
        if (!extracted) return undefined;
        const abort = new AbortController();
        setOutcomes(null);
        void loadOutcomes(id, extracted, abort.signal).then((loaded) => {
            if (!abort.signal.aborted) setOutcomes(loaded);
        });
        return () => abort.abort();
        // The key stands for the memories.
    }, [id, key]);
    return outcomes;
}

/** What one message became, was merged into, or why it was dropped. */
export function Outcome(props: { namespace: string; outcomes: Outcomes | null; index: number }) {
    const { namespace, outcomes, index } = props;
    if (!outcomes) return <span class="dim">Loading its memories…</span>;
    const memories = outcomes.memories.get(index) ?? [];
    const reason = outcomes.dropped.get(index);
    if (memories.length > 0) {
        return (
            <ul class="bare">
                {memories.map((memory) => (
                    <li key={memory.path}>
                        <span class="dim">{memory.effect}</span>{" "}
                        <a href={link.memory(namespace, memory.path)} dir="auto">
                            {memory.title}
                        </a>{" "}
                        {!memory.isCurrent && <Tag tone="warn">no longer holds</Tag>}
                    </li>
                ))}
            </ul>
        );
    }
    if (reason) {
        return (
            <span>
                <Tag tone="warn">dropped</Tag> <span class="dim">{describeReason(reason)}</span>
            </span>
        );
    }
    return <span class="dim">{explainNothing(outcomes)}</span>;
}

/** Says why a message has neither a memory nor a reason. */
function explainNothing({ write, isPartial }: Outcomes): string {
    if (write && write.status !== "ingested") return `No memory yet: the write is ${write.status}.`;
    if (isPartial) return "Not known: the conversation has more memories than are listed.";
    if (write) return "No memory exists. It was extracted and forgotten, or the model found nothing to remember.";
    return "No memory exists. The reason is kept for 14 days only.";
}

/** What the write did in addition to the outcomes of single messages. */
export function WriteSummary({ namespace, outcomes }: { namespace: string; outcomes: Outcomes | null }) {
    if (!outcomes) return null;
    const { write, refused, error } = outcomes;
    const ended = write?.ended ?? [];
    return (
        <section class="card" aria-label="Write">
            <p>
                {write ? (
                    <>
                        Write <Tag tone={write.status === "dead" ? "warn" : "accent"}>{write.status}</Tag>{" "}
                        {write.error && <code>{write.error}</code>} <Time at={write.finished_at ?? write.accepted_at} />
                        {write.sender && (
                            <>
                                {" "}
                                by <SenderName sender={write.sender} />
                            </>
                        )}
                    </>
                ) : (
                    <span class="dim">The server keeps details of a write for 14 days. This one is older.</span>
                )}
            </p>
            {error && (
                <p class="bad" role="alert">
                    {error.message}
                </p>
            )}
            <Paths namespace={namespace} title="Memories that no longer hold since this write" paths={ended} />
            {refused.length > 0 && (
                <>
                    <h3>Refused operations of the chat model</h3>
                    <ul>
                        {refused.map((reason, index) => (
                            <li key={index}>{describeReason(reason)}</li>
                        ))}
                    </ul>
                </>
            )}
        </section>
    );
}

function Paths({ namespace, title, paths }: { namespace: string; title: string; paths: readonly string[] }) {
    if (paths.length === 0) return null;
    return (
        <>
            <h3>{title}</h3>
            <ul class="bare">
                {paths.map((path) => (
                    <li key={path}>
                        <a href={link.memory(namespace, path)}>
                            <code>{path}</code>
                        </a>
                    </li>
                ))}
            </ul>
        </>
    );
}
