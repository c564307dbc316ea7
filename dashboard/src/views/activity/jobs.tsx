// The background jobs of the server, with their states.

import type { Schemas } from "../../api";
import { Card, Table, Tag, Time, formatNumber, type Column } from "../../parts";

type Job = Schemas["Job"];

const NAMES: Record<string, string> = {
    ingestion: "Ingestion",
    reembedding: "Re-embedding",
    sweep: "Sweep",
    expiry: "Expiry",
    settlement: "Settlement",
    index_snapshots: "Copies of indexes",
    call_notes: "Model calls and running time",
};

const COLUMNS: readonly Column<Job>[] = [
    { title: "Job", cell: (job) => NAMES[job.name] ?? job.name },
    {
        title: "State",
        cell: (job) => (job.state === "active" ? "active" : <Tag tone="warn">waits after a failure</Tag>),
    },
    { title: "Last run", cell: (job) => (job.last_run_at ? <Time at={job.last_run_at} /> : "not yet") },
    { title: "Failures", isNumber: true, cell: (job) => formatNumber(job.failures) },
    { title: "Last error", cell: (job) => (job.last_error ? <code>{job.last_error}</code> : "none") },
];

export function Jobs({ jobs }: { jobs: readonly Job[] }) {
    return (
        <Card title="Background jobs">
            <Table caption="Background jobs" columns={COLUMNS} rows={jobs} rowKey={(job) => job.name} />
        </Card>
    );
}
