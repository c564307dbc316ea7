// One write in detail: its state, its attempts, what it changed, and the messages that became no memory.

import type { ComponentChildren } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Card, Empty, Skeleton, Table, Tag, Time, type Column } from "../../parts";
import { href, link, route, setQuery } from "../../router";
import type { Schemas } from "../../api";
import { useWrite, type Write } from "./poll";
import { SenderName } from "./sender";

type Dropped = Schemas["DroppedMessage"];

const INTERVAL_MS = 1000;

const STATES: Record<Write["status"], string> = {
    queued: "queued",
    ingesting: "being ingested",
    retrying: "waits for a retry",
    ingested: "ingested",
    dead: "failed",
    dropped: "dropped",
};

/** The state of a write. */
export function StateTag({ write }: { write: Write }) {
    const text = STATES[write.status];
    if (write.status === "ingested") return <Tag>{text}</Tag>;
    return <Tag tone={write.status === "dead" || write.status === "retrying" ? "warn" : "accent"}>{text}</Tag>;
}

/** A link that shows a write in detail. Its visible text is the id by default. */
export function WriteLink({ id, children }: { id: string; children?: ComponentChildren }) {
    const query = new URLSearchParams(route.value.query);
    query.set("write", id);
    return (
        <a href={href(route.value.view, route.value.namespace, "", query)} aria-label={`Show the write ${id}`}>
            {children ?? <code>{id}</code>}
        </a>
    );
}

/** A write in a card. `onLoad` is called once its details are shown. */
export function WriteDetails(props: { id: string; onLoad: (id: string) => void; onClose: () => void }) {
    const { id, onLoad, onClose } = props;
    const write = useWrite(id, INTERVAL_MS);
    const isLoaded = write !== undefined;
    useLayoutEffect(() => {
        if (isLoaded) onLoad(id);
    }, [isLoaded, id]);
    return (
        <Card title={`Write ${id}`}>
            {write === undefined && <Skeleton lines={2} />}
            {write === null && (
                <Empty title="This write is not known">
                    <p>Check the id. Writes are kept for 14 days after their acceptance.</p>
                </Empty>
            )}
            {write && <Details write={write} />}
            <div class="row">
                <button type="button" onClick={onClose}>
                    Close
                </button>
            </div>
        </Card>
    );
}

const LISTS = [
    ["New", "made"],
    ["New text", "rewritten"],
    ["Said the same already", "merged"],
    ["No longer valid", "ended"],
] as const;

function Details({ write }: { write: Write }) {
    const lists = LISTS.filter(([, field]) => write[field].length > 0);
    return (
        <div class="stack" aria-live="polite">
            <dl class="facts">
                <dt>State</dt>
                <dd>
                    <StateTag write={write} />
                </dd>
                <dt>Namespace</dt>
                <dd>{write.namespace}</dd>
                {write.sender && (
                    <>
                        <dt>Sender</dt>
                        <dd>
                            <SenderName sender={write.sender} />
                        </dd>
                    </>
                )}
                <dt>Attempts</dt>
                <dd>{write.attempts}</dd>
                <dt>Accepted</dt>
                <dd>
                    <Time at={write.accepted_at} />
                </dd>
                <dt>Finished</dt>
                <dd>
                    <Time at={write.finished_at} />
                    {write.finished_at && ` after ${formatDuration(write)}`}
                </dd>
                {write.error && (
                    <>
                        <dt>Error</dt>
                        <dd class="bad">
                            <code>{write.error}</code>
                        </dd>
                    </>
                )}
            </dl>
            {lists.map(([title, field]) => (
                <section key={field}>
                    <h3>
                        {title} ({write[field].length})
                    </h3>
                    <ul>
                        {write[field].map((path) => (
                            <li key={path}>
                                <ChangedPath namespace={write.namespace} path={path} />
                            </li>
                        ))}
                    </ul>
                </section>
            ))}
            {write.status === "ingested" && lists.length === 0 && <p class="dim">The write changed no memory.</p>}
            {write.dropped.length > 0 && (
                <Table
                    caption="Messages that became no memory"
                    columns={DROPPED_COLUMNS}
                    rows={write.dropped}
                    rowKey={(dropped) => `${dropped.message} ${dropped.reason}`}
                />
            )}
        </div>
    );
}

const DROPPED_COLUMNS: readonly Column<Dropped>[] = [
    { title: "Message", cell: ({ message }) => (message === null ? "operation of the model" : message + 1) },
    { title: "Became no memory because", cell: ({ reason }) => <span dir="auto">{reason.replaceAll("_", " ")}</span> },
];

/** A link to a changed memory. Terms of the vocabulary have files, too. */
function ChangedPath({ namespace, path }: { namespace: string; path: string }) {
    if (path.startsWith("vocab/")) return <code>{path}</code>;
    return <a href={link.memory(namespace, path)}>{path}</a>;
}

/** Returns the time from the acceptance of a write to its end. */
export function formatDuration(write: Write): string {
    if (!write.finished_at) return "";
    const seconds = (Date.parse(write.finished_at) - Date.parse(write.accepted_at)) / 1000;
    return seconds < 10 ? `${seconds.toFixed(2)} s` : `${Math.round(seconds).toLocaleString()} s`;
}

/** Shows a write in detail. */
export function followWrite(id: string): void {
    setQuery({ write: id });
}
