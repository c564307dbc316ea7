// Finds a node of the graph, or a node at which another graph starts.

import { useState } from "preact/hooks";
import { Empty, Loaded, Skeleton } from "../../parts";
import { useRequest } from "../../request";
import { link } from "../../router";
import { titleOf } from "./about";

const HITS_MAX = 8;

interface FindProps {
    namespace: string;
    text: string;
    /** Ids of the nodes that contain the text; null without a text. */
    matches: readonly string[] | null;
    total: number;
    onText: (text: string) => void;
    onFind: (id: string) => void;
}

/** Enter goes from match to match. Without a match it searches the memories of the namespace. */
export function FindNode({ namespace, text, matches, total, onText, onFind }: FindProps) {
    const [position, setPosition] = useState(0);
    const [asked, setAsked] = useState("");
    function change(value: string): void {
        onText(value);
        setPosition(0);
        setAsked("");
    }
    function submit(event: SubmitEvent): void {
        event.preventDefault();
        if (!matches) return;
        if (matches.length === 0) return setAsked(text.trim());
        onFind(matches[position % matches.length]!);
        setPosition(position + 1);
    }
    const status = matches ? `${matches.length} of ${total} nodes match` : `${total} nodes`;
    return (
        <>
            <form class="row" role="search" aria-label="Graph" onSubmit={submit}>
                <input
                    type="search"
                    aria-label="Find a node"
                    placeholder="Find a node"
                    autocomplete="off"
                    dir="auto"
                    value={text}
                    onInput={(event) => change(event.currentTarget.value)}
                />
                <button>{matches?.length === 0 ? "Search all memories" : "Find"}</button>
                <span class="dim" role="status">
                    {status}
                </span>
            </form>
            {asked && <OtherStarts namespace={namespace} q={asked} />}
        </>
    );
}

/** Memories that match a query, each with the graph around it. */
export function OtherStarts({ namespace, q }: { namespace: string; q: string }) {
    const found = useRequest("get", "/v1/retrieve", { query: { namespace: [namespace], q, limit: HITS_MAX } });
    return (
        <Loaded request={found} skeleton={<Skeleton lines={3} />}>
            {({ hits = [] }) =>
                hits.length === 0 ? (
                    <Empty title="No memory matches" />
                ) : (
                    <nav aria-label="Graphs around memories">
                        <ul class="bare">
                            {hits.map((hit) => (
                                <li key={hit.path}>
                                    <a href={link.graph(namespace, hit.path)} dir="auto">
                                        {titleOf(hit.content, hit.path)}
                                    </a>
                                </li>
                            ))}
                        </ul>
                    </nav>
                )
            }
        </Loaded>
    );
}
