// The server: its health, its storage, the nodes of a cluster, its models, its background jobs, and the usage of the
// account.

import type { ResponseOf } from "../../api";
import { Card, Table, Tag, formatNumber, type Column } from "../../parts";
import type { RequestState } from "../../request";
import { Jobs } from "./jobs";
import { Nodes } from "./nodes";
import { Polled, Tile, Tiles, formatShare } from "./parts";
import { usePolled } from "./poll";
import { useStatistics, type Statistics } from "./statistics";
import type { Queue } from "./index";
import { UsageMeters, formatBytes } from "./usage";

const INTERVAL_MS = 10_000;
/** Share of free space below which the disk is marked. */
const DISK_LOW = 0.1;

type Health = ResponseOf<"get", "/health">;
type Model = Statistics["models"][number];

export function Server({ queue }: { queue: RequestState<Queue> }) {
    const health = usePolled("/health", {}, INTERVAL_MS);
    const usage = usePolled("/v1/usage", {}, INTERVAL_MS);
    const statistics = useStatistics();
    const nodes = statistics.data?.nodes ?? [];
    return (
        <>
            <Polled request={queue}>{(data) => <State queue={data} health={health} />}</Polled>
            <Card title="Storage">
                <Polled request={statistics}>{({ storage }) => <Storage storage={storage} />}</Polled>
            </Card>
            {nodes.length > 1 && <Nodes nodes={nodes} />}
            <Card title="Models">
                <Polled request={statistics}>
                    {({ models }) => (
                        <Table caption="Models" columns={MODEL_COLUMNS} rows={models} rowKey={(model) => model.role} />
                    )}
                </Polled>
            </Card>
            {queue.data && <Jobs jobs={queue.data.jobs} />}
            <Card title={usage.data ? `Used in ${usage.data.period}` : "Usage"}>
                <Polled request={usage}>{(data) => <UsageMeters usage={data} />}</Polled>
            </Card>
        </>
    );
}

function State({ queue, health }: { queue: Queue; health: RequestState<Health> }) {
    const failing = queue.jobs.filter((job) => job.state !== "active").length;
    return (
        <Tiles>
            <Tile
                name="Server"
                figure={health.data ? "running" : health.error ? "not reachable" : "…"}
                isBad={health.error !== undefined}
            >
                {health.data && `version ${health.data.version}`}
            </Tile>
            <Tile name="Background jobs" figure={failing > 0 ? `${failing} failing` : "running"} isBad={failing > 0}>
                {formatNumber(queue.jobs.length)} jobs
            </Tile>
            <Tile
                name="Chat model"
                figure={queue.model_unavailable_since ? "no answer" : "no failure"}
                isBad={queue.model_unavailable_since !== undefined}
            >
                {queue.model_unavailable_since ? "conversations wait for it" : "no write waits for a model"}
            </Tile>
        </Tiles>
    );
}

function Storage({ storage }: { storage: Statistics["storage"] }) {
    const {
        disk_free_bytes: free,
        disk_total_bytes: total,
        namespaces,
        memories,
        damaged_namespaces: damaged,
    } = storage;
    const share = free !== null && total ? free / total : null;
    return (
        <Tiles>
            <Tile
                name="Free disk space"
                figure={free === null ? "not known" : formatBytes(free)}
                isBad={share !== null && share < DISK_LOW}
            >
                {share !== null && total !== null && `${formatShare(share)} of ${formatBytes(total)}`}
            </Tile>
            <Tile name="Memories" figure={formatNumber(memories)}>
                in {formatNumber(namespaces)} {namespaces === 1 ? "namespace" : "namespaces"}
            </Tile>
            <Tile name="Damaged namespaces" figure={formatNumber(damaged)} isBad={damaged > 0}>
                {damaged > 0 ? "stop the server, then run: cuebase doctor" : "all can be read"}
            </Tile>
        </Tiles>
    );
}

const ROLES: Record<Model["role"], string> = { embedding: "Embedding", chat: "Chat" };
const STATES: Record<Model["state"], string> = {
    ready: "ready",
    behind: "memories wait for vectors",
    unavailable: "does not answer",
    off: "not configured",
};

const MODEL_COLUMNS: readonly Column<Model>[] = [
    { title: "Role", cell: (model) => ROLES[model.role] },
    { title: "Model", cell: (model) => (model.name ? <code>{model.name}</code> : <span class="dim">none</span>) },
    {
        title: "State",
        cell: ({ state }) => {
            const isBad = state === "unavailable" || state === "behind";
            return isBad ? <Tag tone="warn">{STATES[state]}</Tag> : <Tag>{STATES[state]}</Tag>;
        },
    },
];
