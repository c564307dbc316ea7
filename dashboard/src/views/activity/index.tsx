// Activity: what the server is doing. The queue and its dead letters, recent writes, background jobs, and usage. The view
// updates itself while it is visible.

import type { ComponentChildren } from "preact";
import { useCommands } from "../../frame/commands";
import { Card, ErrorState, PageHeading, Skeleton, Time, formatNumber } from "../../parts";
import { setQuery } from "../../router";
import type { ResponseOf } from "../../api";
import type { RequestState } from "../../request";
import type { ViewProps } from "..";
import "./activity.css";
import { DeadLetters } from "./dead-letters";
import { Jobs } from "./jobs";
import { isPaused, usePolled } from "./poll";
import { UsageMeters } from "./usage";
import { WriteDetails } from "./write-details";
import { RecentWrites } from "./writes";

const QUEUE_INTERVAL_MS = 2000;
const USAGE_INTERVAL_MS = 10_000;

export type Queue = ResponseOf<"get", "/v1/queue">;
type Health = ResponseOf<"get", "/health">;

export default function Activity({ namespace, query }: ViewProps) {
    const queue = usePolled("/v1/queue", {}, QUEUE_INTERVAL_MS);
    const health = usePolled("/health", {}, USAGE_INTERVAL_MS);
    const usage = usePolled("/v1/usage", {}, USAGE_INTERVAL_MS);
    const followed = query.get("write");

    function refresh(): void {
        for (const each of [queue, health, usage]) each.reload();
    }
    function pause(): void {
        isPaused.value = !isPaused.value;
    }
    const pauseTitle = isPaused.value ? "Resume updates" : "Pause updates";
    useCommands([{ id: "pause-updates", title: pauseTitle, group: "Activity", run: pause }], [isPaused.value]);

    return (
        <>
            <PageHeading title="Activity">
                <button type="button" onClick={pause}>
                    {pauseTitle}
                </button>
                <button type="button" onClick={refresh}>
                    Refresh
                </button>
            </PageHeading>
            <p class="dim">
                {isPaused.value ? "Updates are paused." : "The view updates itself while this tab is visible."}
            </p>
            {queue.data?.model_unavailable_since && <ModelNotice since={queue.data.model_unavailable_since} />}
            <Polled request={queue}>{(data) => <Tiles queue={data} health={health} />}</Polled>
            {queue.data && <DeadLetters queue={queue.data} reload={queue.reload} />}
            {followed && <WriteDetails id={followed} onClose={() => setQuery({ write: null })} />}
            <RecentWrites namespace={namespace} />
            {queue.data && <Jobs jobs={queue.data.jobs} />}
            <Card title={usage.data ? `Used in ${usage.data.period}` : "Usage"}>
                <Polled request={usage}>{(data) => <UsageMeters usage={data} />}</Polled>
            </Card>
        </>
    );
}

/** Shows data that are loaded at an interval. After a failure the last data stay, with a note. */
function Polled<T>(props: { request: RequestState<T>; children: (data: T) => ComponentChildren }) {
    const { data, error, reload } = props.request;
    if (data === undefined) {
        if (error) return <ErrorState error={error} onRetry={reload} />;
        return <Skeleton />;
    }
    return (
        <>
            {error && (
                <p class="bad" role="alert">
                    The last update failed: {error.message}
                </p>
            )}
            {props.children(data)}
        </>
    );
}

function ModelNotice({ since }: { since: string }) {
    return (
        <section class="card notice" role="alert">
            <h2>The chat model does not answer</h2>
            <p>
                Conversations have waited for the chat model since <Time at={since} />. They are ingested once the model
                answers; nothing is lost.
            </p>
        </section>
    );
}

function Tiles({ queue, health }: { queue: Queue; health: RequestState<Health> }) {
    const dead = queue.dead_letters.length;
    const failing = queue.jobs.filter((job) => job.state !== "active").length;
    return (
        <dl class="tiles">
            <Tile name="Waiting writes" figure={formatNumber(queue.waiting)}>
                {queue.waiting_since ? (
                    <>
                        the oldest one since <Time at={queue.waiting_since} />
                    </>
                ) : (
                    "everything is ingested"
                )}
            </Tile>
            <Tile name="Dead letters" figure={formatNumber(dead) + (queue.next ? "+" : "")} isBad={dead > 0}>
                {dead > 0 ? "failed permanently" : "nothing failed"}
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
            <Tile
                name="Server"
                figure={health.data ? "running" : health.error ? "not reachable" : "…"}
                isBad={health.error !== undefined || health.data?.damaged_namespaces !== undefined}
            >
                {health.data?.damaged_namespaces
                    ? `${health.data.damaged_namespaces} damaged namespaces, see: cuebase doctor`
                    : health.data && `version ${health.data.version}`}
            </Tile>
        </dl>
    );
}

function Tile(props: { name: string; figure: string; isBad?: boolean; children: ComponentChildren }) {
    return (
        <div class="card tile">
            <dt>{props.name}</dt>
            <dd class={props.isBad ? "figure bad" : "figure"}>{props.figure}</dd>
            <dd class="dim">{props.children}</dd>
        </div>
    );
}
