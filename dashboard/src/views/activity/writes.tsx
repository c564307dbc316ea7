// The list of writes: those of the namespace or of the account, newest first, filtered by their state, in pages. The
// filters and the page are in the address.

import { useState } from "preact/hooks";
import { Bar, Card, Empty, Field, Table, Tag, Time, formatNumber, type Column } from "../../parts";
import { setQuery } from "../../router";
import { session } from "../../session";
import { Polled } from "./parts";
import { usePolled, type Write } from "./poll";
import { SenderName } from "./sender";
import { StateTag, WriteLink, followWrite, formatDuration } from "./write-details";

const PAGE_ROWS = 50;
const INTERVAL_MS = 2000;
/** Older pages hardly change. */
const OLDER_INTERVAL_MS = 10_000;

/** The states that can be chosen, as the API takes them. */
const STATUSES = {
    "": "all states",
    dead: "failed",
    "queued,ingesting,retrying": "waiting",
    ingested: "ingested",
    dropped: "dropped",
};

const SENDER: Column<Write> = { title: "Sender", cell: (write) => <SenderName sender={write.sender} /> };

const NAMESPACE: Column<Write> = { title: "Namespace", cell: (write) => write.namespace };

/** The columns. The server shows the senders to sessions only. */
function columnsFor(hasSenders: boolean, isAccount: boolean): Column<Write>[] {
    return [
        {
            title: "Accepted",
            cell: (write) => (
                <WriteLink id={write.id}>
                    <Time at={write.accepted_at} />
                </WriteLink>
            ),
        },
        { title: "State", cell: (write) => <StateTag write={write} /> },
        ...(isAccount ? [NAMESPACE] : []),
        ...(hasSenders ? [SENDER] : []),
        { title: "Result", cell: (write) => <Changes write={write} /> },
        { title: "Took", isNumber: true, cell: (write) => formatDuration(write) || "—" },
        { title: "Attempts", isNumber: true, cell: (write) => formatNumber(write.attempts) },
        { title: "Id", cell: (write) => <code>{write.id}</code> },
    ];
}

export function WriteList({ namespace, query }: { namespace: string; query: URLSearchParams }) {
    const isAccount = query.get("of") === "account";
    const status = query.get("status") ?? "";
    const before = query.get("before");
    const options = {
        limit: PAGE_ROWS,
        ...(!isAccount && { namespace }),
        // The server checks the states of an edited address.
        ...(status && { status: status.split(",") as Write["status"][] }),
        ...(before && { before }),
    };
    const hasSenders = session.value?.kind === "jwt";
    const writes = usePolled("/v1/writes", { query: options }, before ? OLDER_INTERVAL_MS : INTERVAL_MS);
    return (
        <Card title="Writes">
            <ListFilters namespace={namespace} isAccount={isAccount} status={status} />
            <Polled request={writes}>
                {({ writes: rows, next }) => (
                    <>
                        <Progress rows={rows} />
                        {rows.length > 0 ? (
                            <Table
                                caption="Writes"
                                columns={columnsFor(hasSenders, isAccount)}
                                rows={rows}
                                rowKey={(write) => write.id}
                            />
                        ) : (
                            <Nothing isFiltered={status !== ""} hasOlder={next !== null} />
                        )}
                        <Pages before={before} next={next} />
                        {!hasSenders && <p class="dim">Sign in with a link to see who sent each write.</p>}
                    </>
                )}
            </Polled>
        </Card>
    );
}

/** Changes the filters, and goes back to the newest writes. */
function change(changes: Record<string, string | null>): void {
    setQuery({ ...changes, before: null });
}

function ListFilters(props: { namespace: string; isAccount: boolean; status: string }) {
    const { namespace, isAccount, status } = props;
    const statuses = Object.entries(STATUSES);
    // An address may name other states than those that are offered.
    if (!(status in STATUSES)) statuses.push([status, status.replaceAll(",", ", ")]);
    return (
        <div class="row write-filters">
            <Field label="Writes of">
                {(field) => (
                    <select
                        {...field}
                        value={isAccount ? "account" : ""}
                        onChange={(event) => change({ of: event.currentTarget.value })}
                    >
                        <option value="">namespace {namespace}</option>
                        <option value="account">the whole account</option>
                    </select>
                )}
            </Field>
            <Field label="State">
                {(field) => (
                    <select
                        {...field}
                        value={status}
                        onChange={(event) => change({ status: event.currentTarget.value })}
                    >
                        {statuses.map(([value, name]) => (
                            <option key={value} value={value}>
                                {name}
                            </option>
                        ))}
                    </select>
                )}
            </Field>
            <FollowForm />
        </div>
    );
}

/** How many of the listed writes have ended. Shown while one has not. */
function Progress({ rows }: { rows: readonly Write[] }) {
    const done = rows.filter((write) => ["ingested", "dead", "dropped"].includes(write.status)).length;
    if (done === rows.length) return null;
    const label = `${done} of ${rows.length} listed writes have ended`;
    return (
        <div class="meter">
            <span>In progress</span>
            <Bar share={done / rows.length} label={label} />
            <span class="dim">{label}</span>
        </div>
    );
}

function Nothing({ isFiltered, hasOlder }: { isFiltered: boolean; hasOlder: boolean }) {
    if (hasOlder) {
        return (
            <Empty title="None of these writes has this state">
                <p>Older ones may have it.</p>
            </Empty>
        );
    }
    if (isFiltered) return <Empty title="No write of the last 14 days has this state" />;
    return (
        <Empty title="No write in the last 14 days">
            <p>A conversation, a skill or a term that is sent to the server appears here.</p>
        </Empty>
    );
}

function Pages({ before, next }: { before: string | null; next: string | null | undefined }) {
    if (!before && !next) return null;
    return (
        <nav class="row" aria-label="Pages">
            <button type="button" disabled={!before} onClick={() => setQuery({ before: null })}>
                Newest writes
            </button>
            <button type="button" disabled={!next} onClick={() => setQuery({ before: next ?? null })}>
                Older writes
            </button>
        </nav>
    );
}

function Changes({ write }: { write: Write }) {
    if (write.error) return <code class="bad">{write.error}</code>;
    const counts = [
        [write.made.length, "new"],
        [write.rewritten.length, "changed"],
        [write.merged.length, "known"],
        [write.ended.length, "ended"],
        [write.forgotten.length, "forgotten"],
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
