// Recent writes: those that this tab has sent and the newest conversations of the namespace, each with its progress.

import { useState } from "preact/hooks";
import { Bar, Card, Empty, Field, Table, Tag, Time, formatNumber, type Column } from "../../parts";
import { recentWrites } from "../../recent-writes";
import { usePolled, useWrites } from "./poll";
import { StateTag, WriteLink, followWrite, formatDuration, type Write } from "./write-details";

const SOURCES_MAX = 20;
const SOURCES_INTERVAL_MS = 4000;
const WRITES_INTERVAL_MS = 1500;

const COLUMNS: readonly Column<Write>[] = [
    { title: "Write", cell: (write) => <WriteLink id={write.id} /> },
    { title: "State", cell: (write) => <StateTag write={write} /> },
    { title: "Namespace", cell: (write) => write.namespace },
    { title: "Accepted", cell: (write) => <Time at={write.accepted_at} /> },
    { title: "Took", isNumber: true, cell: (write) => formatDuration(write) || "—" },
    { title: "Attempts", isNumber: true, cell: (write) => formatNumber(write.attempts) },
    { title: "Result", cell: (write) => <Changes write={write} /> },
];

export function RecentWrites({ namespace }: { namespace: string }) {
    const sources = usePolled("/v1/sources", { query: { namespace, limit: SOURCES_MAX } }, SOURCES_INTERVAL_MS);
    const ids = [...recentWrites.value];
    for (const source of sources.data?.sources ?? []) if (!ids.includes(source.id)) ids.push(source.id);
    const { writes } = useWrites(ids, WRITES_INTERVAL_MS);
    const rows: Write[] = [];
    for (const id of ids) {
        const write = writes.get(id);
        if (write) rows.push(write);
    }
    rows.sort((a, b) => (a.id < b.id ? 1 : -1));
    return (
        <Card title="Recent writes">
            <p class="dim">
                Writes of this tab, and the newest conversations of “{namespace}”. Paste the id of any other write to
                follow it.
            </p>
            <FollowForm />
            <Progress rows={rows} />
            {rows.length > 0 ? (
                <Table caption="Recent writes" columns={COLUMNS} rows={rows} rowKey={(write) => write.id} />
            ) : (
                <Empty title="No write yet">
                    <p>A conversation that is sent to “{namespace}” appears here.</p>
                </Empty>
            )}
        </Card>
    );
}

/** How many of the listed writes have ended. Shown while one has not. */
function Progress({ rows }: { rows: readonly Write[] }) {
    const done = rows.filter((write) => ["ingested", "dead", "dropped"].includes(write.status)).length;
    if (rows.length === 0 || done === rows.length) return null;
    const label = `${done} of ${rows.length} recent writes have ended`;
    return (
        <div class="meter">
            <span>In progress</span>
            <Bar share={done / rows.length} label={label} />
            <span class="dim">{label}</span>
        </div>
    );
}

function Changes({ write }: { write: Write }) {
    if (write.error) return <code class="bad">{write.error}</code>;
    const counts = [
        [write.made.length, "new"],
        [write.rewritten.length, "changed"],
        [write.merged.length, "known"],
        [write.ended.length, "ended"],
        [write.dropped.length, "dropped"],
    ] as const;
    const shown = counts.filter(([count]) => count > 0);
    if (shown.length === 0) return <span class="dim">{write.finished_at ? "no change" : "—"}</span>;
    return (
        <span class="row">
            {shown.map(([count, name]) => (
                <Tag key={name}>
                    {formatNumber(count)} {name}
                </Tag>
            ))}
        </span>
    );
}

function FollowForm() {
    const [id, setId] = useState("");
    function submit(event: Event): void {
        event.preventDefault();
        if (id.trim()) followWrite(id.trim().toUpperCase());
    }
    return (
        <form class="row follow" onSubmit={submit}>
            <Field label="Id of a write">
                {(field) => (
                    <input
                        {...field}
                        autocomplete="off"
                        spellcheck={false}
                        value={id}
                        onInput={(event) => setId(event.currentTarget.value)}
                    />
                )}
            </Field>
            <button>Follow</button>
        </form>
    );
}
