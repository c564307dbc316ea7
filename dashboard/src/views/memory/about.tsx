// What is known about a memory in addition to its text: its place in a document, its times, tags and metadata, and its claims.

import type { Schemas } from "../../api";
import { Day, FactHistory, Period, Tag, Tags, Time } from "../../parts";
import { href, link } from "../../router";

/** The place of a memory in the document that it is a passage of. Servers without documents do not send it. */
interface DocumentPlace {
    id: string;
    name: string;
    /** Headings above the passage, outermost first. */
    titles: readonly string[];
    page: number | null;
    line: number | null;
}

export type Memory = Schemas["Hit"] & { document?: DocumentPlace };

export function DocumentCard({ namespace, document }: { namespace: string; document: DocumentPlace }) {
    const query = new URLSearchParams({ document: document.id });
    return (
        <section class="card document-place">
            <h2>In a document</h2>
            <p>
                <a href={href("memories", namespace, "", query)} dir="auto">
                    {document.name}
                </a>
                {document.page !== null && <span class="dim">, page {document.page}</span>}
                {document.line !== null && <span class="dim">, line {document.line}</span>}
            </p>
            {document.titles.length > 0 && (
                <ol class="document-titles" aria-label="Headings">
                    {document.titles.map((title, index) => (
                        <li key={index} dir="auto">
                            {title}
                        </li>
                    ))}
                </ol>
            )}
        </section>
    );
}

/** Says that a memory no longer holds, and what replaced it. */
export function Validity({ namespace, memory }: { namespace: string; memory: Memory }) {
    if (memory.current) return null;
    return (
        <p class="notice" role="note">
            This no longer holds
            {memory.valid_until && (
                <>
                    {" "}
                    since <Day at={memory.valid_until} />
                </>
            )}
            .
            {memory.superseded_by.map((path) => (
                <span key={path}>
                    {" "}
                    Replaced by <a href={link.memory(namespace, path)}>{path}</a>.
                </span>
            ))}
        </p>
    );
}

export function About({ memory }: { memory: Memory }) {
    const { occurred_at, occurred_precision, created_at, updated_at, expires_at, valid_from, valid_until } = memory;
    const extracted = memory.tags.filter((tag) => !memory.user_tags.includes(tag));
    const metadata = Object.entries(memory.metadata);
    return (
        <dl class="facts-list">
            <dt>Tier</dt>
            <dd>
                <Tag>{memory.path.split("/")[0]}</Tag>
            </dd>
            {occurred_at && (
                <>
                    <dt>Happened</dt>
                    <dd>{occurred_precision === "day" ? <Day at={occurred_at} /> : <Time at={occurred_at} />}</dd>
                </>
            )}
            {(valid_from || valid_until) && (
                <>
                    <dt>Holds</dt>
                    <dd>
                        <Period from={valid_from} until={valid_until} />
                    </dd>
                </>
            )}
            <dt>Changed</dt>
            <dd>
                <Time at={updated_at} />
            </dd>
            <dt>Created</dt>
            <dd>
                <Time at={created_at} />
            </dd>
            {expires_at && (
                <>
                    <dt>Expires</dt>
                    <dd>
                        <Time at={expires_at} />
                    </dd>
                </>
            )}
            {memory.user_tags.length > 0 && (
                <>
                    <dt>Tags</dt>
                    <dd class="row">
                        <Tags values={memory.user_tags} />
                    </dd>
                </>
            )}
            {extracted.length > 0 && (
                <>
                    <dt>Extracted tags</dt>
                    <dd class="row">
                        <Tags values={extracted} />
                    </dd>
                </>
            )}
            {metadata.length > 0 && (
                <>
                    <dt>Metadata</dt>
                    <dd class="row">
                        <Tags values={metadata.map(([key, value]) => `${key}: ${String(value)}`)} />
                    </dd>
                </>
            )}
        </dl>
    );
}

/** The values over time of the facts that the memory claims, oldest first. */
export function Claims(props: { namespace: string; path: string; timelines: readonly Schemas["Timeline"][] }) {
    if (props.timelines.length === 0) return <p class="dim">This memory claims no fact.</p>;
    return <FactHistory {...props} />;
}
