// Activity: what the server is doing, in four tabs. Writes with their senders, performance, retrieval quality, and the
// state of the server. The tab is in the address. The view updates itself while it is visible.

import { useRef, useState } from "preact/hooks";
import { useCommands } from "../../frame/commands";
import { PageHeading, Tag, Time, formatNumber } from "../../parts";
import { href, navigate, route, setQuery } from "../../router";
import type { ResponseOf } from "../../api";
import type { RequestState } from "../../request";
import type { ViewProps } from "..";
import "./activity.css";
import { DeadLetters } from "./dead-letters";
import { Polled, Tile, Tiles } from "./parts";
import { Performance } from "./performance";
import { isPaused, refreshAll, usePolled } from "./poll";
import { Quality } from "./quality";
import { Server } from "./server";
import { WriteDetails } from "./write-details";
import { WriteList } from "./writes";

const QUEUE_INTERVAL_MS = 2000;

const TABS = { writes: "Writes", performance: "Performance", quality: "Retrieval quality", server: "Server" };
type Tab = keyof typeof TABS;

export type Queue = ResponseOf<"get", "/v1/queue">;

export default function Activity({ namespace, query }: ViewProps) {
    const queue = usePolled("/v1/queue", {}, QUEUE_INTERVAL_MS);
    const tab = readTab(query);

    function pause(): void {
        isPaused.value = !isPaused.value;
    }
    const pauseTitle = isPaused.value ? "Resume updates" : "Pause updates";
    useCommands([{ id: "pause-updates", title: pauseTitle, group: "Activity", run: pause }], [isPaused.value]);
    useTabCommands();

    return (
        <>
            <PageHeading title="Activity">
                <button type="button" onClick={pause}>
                    {pauseTitle}
                </button>
                <button type="button" onClick={refreshAll}>
                    Refresh
                </button>
            </PageHeading>
            <p class="dim">
                {isPaused.value ? "Updates are paused." : "The view updates itself while this tab is visible."}
            </p>
            {queue.data?.model_unavailable_since && <ModelNotice since={queue.data.model_unavailable_since} />}
            <TabLinks current={tab} queue={queue.data} />
            {tab === "writes" && <Writes namespace={namespace} query={query} queue={queue} />}
            {tab === "performance" && <Performance query={query} />}
            {tab === "quality" && <Quality namespace={namespace} />}
            {tab === "server" && <Server queue={queue} />}
        </>
    );
}

function readTab(query: URLSearchParams): Tab {
    const name = query.get("tab") ?? "";
    return name in TABS ? (name as Tab) : "writes";
}

/** Returns the address of a tab. The state of another tab is not carried over. */
function tabAddress(tab: Tab): string {
    return href("activity", route.value.namespace, "", new URLSearchParams({ tab }));
}

function useTabCommands(): void {
    const tabs = Object.keys(TABS) as Tab[];
    const commands = tabs.map((tab) => ({
        id: `activity-${tab}`,
        title: `Show: ${TABS[tab]}`,
        group: "Activity",
        run: () => navigate(tabAddress(tab)),
    }));
    useCommands(commands, []);
}

/** The tabs as links. Those with a problem have a note. */
function TabLinks({ current, queue }: { current: Tab; queue: Queue | undefined }) {
    const dead = queue?.dead_letters.length ?? 0;
    const failing = queue?.jobs.filter((job) => job.state !== "active").length ?? 0;
    const notes: Partial<Record<Tab, string | false>> = {
        writes: dead > 0 && `${formatNumber(dead)}${queue?.next ? "+" : ""} failed`,
        server: failing > 0 && `${formatNumber(failing)} failing`,
    };
    return (
        <nav class="tabs" aria-label="Parts of the activity">
            {(Object.keys(TABS) as Tab[]).map((tab) => (
                <a key={tab} href={tabAddress(tab)} aria-current={tab === current ? "page" : undefined}>
                    {TABS[tab]} {notes[tab] && <Tag tone="warn">{notes[tab]}</Tag>}
                </a>
            ))}
        </nav>
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

function Writes(props: { namespace: string; query: URLSearchParams; queue: RequestState<Queue> }) {
    const { namespace, query, queue } = props;
    const followed = query.get("write");
    const [loaded, setLoaded] = useState<string | null>(null);
    // Each part appears once those above it are loaded, so that nothing moves. The list then stays.
    const isReady = queue.data !== undefined || queue.error !== undefined;
    const hasList = useRef(false);
    if (isReady && (!followed || loaded === followed)) hasList.current = true;
    return (
        <>
            <Polled request={queue}>{(data) => <QueueTiles queue={data} />}</Polled>
            {queue.data && <DeadLetters queue={queue.data} reload={refreshAll} />}
            {followed && isReady && (
                <WriteDetails id={followed} onLoad={setLoaded} onClose={() => setQuery({ write: null })} />
            )}
            {hasList.current && <WriteList namespace={namespace} query={query} />}
        </>
    );
}

function QueueTiles({ queue }: { queue: Queue }) {
    const dead = queue.dead_letters.length;
    return (
        <Tiles>
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
        </Tiles>
    );
}
