// The graph around a node: loading, expansion, and everything next to the picture.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ApiError } from "../../api";
import { Disclosure, ErrorState, Skeleton, Table, Tag, toast, toastError } from "../../parts";
import { link, navigate } from "../../router";
import { FindNode } from "./graph-find";
import {
    EMPTY_GRAPH,
    NODES_MAX,
    linksOf,
    loadNeighbours,
    withNeighbours,
    type Graph,
    type GraphNode,
} from "./graph-data";
import { placeNodes, type Point } from "./graph-layout";
import { Picture } from "./graph-picture";

interface State {
    graph: Graph;
    places: Map<string, Point>;
}

const EMPTY: State = { graph: EMPTY_GRAPH, places: new Map() };

/** The graph around a node, which is the centre until another one is chosen. */
export function EntityGraph({ namespace, centre }: { namespace: string; centre: GraphNode }) {
    const [state, setState] = useState(EMPTY);
    const [error, setError] = useState<ApiError | null>(null);
    const [attempt, setAttempt] = useState(0);
    const [selected, setSelected] = useState(centre.id);
    const [text, setText] = useState("");
    const [loading, setLoading] = useState<string | null>(null);
    /** The latest state, since several expansions may be in flight. */
    const latest = useRef(EMPTY);
    const inFlight = useRef(new Set<string>());

    function show(next: State): void {
        latest.current = next;
        setState(next);
    }
    /** Shows a graph once its nodes have places, unless another graph takes its place in the meantime. */
    async function place(graph: Graph): Promise<void> {
        const { places } = latest.current;
        latest.current = { graph, places };
        const placed = await placeNodes(graph, centre.id, places);
        if (latest.current.graph === graph) show({ graph, places: placed });
    }
    useEffect(() => {
        const abort = new AbortController();
        show(EMPTY);
        setError(null);
        setSelected(centre.id);
        void loadNeighbours(namespace, centre, abort.signal).then((result) => {
            if (abort.signal.aborted) return;
            if (!result.ok) return setError(result.error);
            void place(withNeighbours(EMPTY_GRAPH, centre.id, result.value) ?? EMPTY_GRAPH);
        });
        return () => {
            abort.abort();
            latest.current = EMPTY;
        };
    }, [namespace, centre.id, attempt]);

    async function expand(node: GraphNode): Promise<void> {
        if (latest.current.graph.expanded.has(node.id) || inFlight.current.has(node.id)) return;
        inFlight.current.add(node.id);
        setLoading(node.id);
        const result = await loadNeighbours(namespace, node);
        inFlight.current.delete(node.id);
        setLoading(null);
        // The graph of another centre may be shown by now.
        const before = latest.current.graph;
        if (!before.nodes.has(node.id)) return;
        if (!result.ok) return toastError(result.error.message);
        const graph = withNeighbours(before, node.id, result.value);
        if (!graph) return toastError(`The graph shows up to ${NODES_MAX} nodes. Center it on this node to go on.`);
        const added = graph.nodes.size - before.nodes.size;
        await place(graph);
        if (!latest.current.graph.expanded.has(node.id)) return;
        toast(added === 1 ? "1 node was added" : `${added} nodes were added`);
    }
    function activate(id: string): void {
        const node = state.graph.nodes.get(id);
        if (node && id === selected) void expand(node);
        else setSelected(id);
    }

    const matches = useMemo(() => findMatches(state.graph, text), [state.graph, text]);
    if (error) return <ErrorState error={error} onRetry={() => setAttempt(attempt + 1)} />;
    if (state.graph.nodes.size === 0) return <Skeleton lines={6} />;
    const node = state.graph.nodes.get(selected) ?? centre;
    return (
        <div class="stack graph">
            <FindNode
                namespace={namespace}
                text={text}
                matches={text.trim() ? matches : null}
                total={state.graph.nodes.size}
                onText={setText}
                onFind={setSelected}
            />
            <div class="graph-columns">
                <Picture
                    graph={state.graph}
                    places={state.places}
                    centre={centre.id}
                    selected={node.id}
                    matches={text.trim() ? new Set(matches) : null}
                    onActivate={activate}
                />
                <Details
                    namespace={namespace}
                    graph={state.graph}
                    node={node}
                    isCentre={node.id === centre.id}
                    isLoading={loading === node.id}
                    onExpand={() => void expand(node)}
                    onSelect={setSelected}
                />
            </div>
            <GraphTable namespace={namespace} graph={state.graph} onExpand={(each) => void expand(each)} />
        </div>
    );
}

/** Returns the ids of the nodes whose titles or names contain a text. */
function findMatches(graph: Graph, text: string): string[] {
    const wanted = text.trim().toLowerCase();
    const found: string[] = [];
    for (const node of graph.nodes.values()) {
        if (`${node.title}\n${node.name}`.toLowerCase().includes(wanted)) found.push(node.id);
    }
    return found;
}

interface DetailsProps {
    namespace: string;
    graph: Graph;
    node: GraphNode;
    isCentre: boolean;
    isLoading: boolean;
    onExpand: () => void;
    onSelect: (id: string) => void;
}

/** What the selected node is, what can be done with it, and its relations. */
function Details({ namespace, graph, node, isCentre, isLoading, onExpand, onSelect }: DetailsProps) {
    const links = linksOf(graph, node.id);
    const isExpanded = graph.expanded.has(node.id);
    return (
        <section class="graph-details stack" aria-label="Selected node" aria-live="polite">
            <h3 dir="auto">{node.title}</h3>
            <p class="row">
                {node.kind === "subject" ? <Tag tone="accent">subject</Tag> : <Tag>{node.tier}</Tag>}
                {node.kind === "memory" && <code>{node.name}</code>}
            </p>
            <div class="row">
                <button type="button" disabled={isExpanded || isLoading} onClick={onExpand}>
                    {isExpanded ? "Expanded" : "Expand"}
                </button>
                <a class="button" href={pageOf(namespace, node)}>
                    {node.kind === "subject" ? "Profile" : "Read"}
                </a>
                {!isCentre && (
                    <button type="button" onClick={() => navigate(graphOf(namespace, node))}>
                        Center here
                    </button>
                )}
            </div>
            {graph.truncated.has(node.id) && <p class="dim">It has more neighbours than are shown.</p>}
            <ul class="graph-links">
                {links.map(({ link: each, other }) => (
                    <li key={`${each.from} ${each.to}`}>
                        <span class="dim" dir="auto">
                            {each.kinds.join(", ")}
                        </span>{" "}
                        <button type="button" class="plain" dir="auto" onClick={() => onSelect(other.id)}>
                            {other.title}
                        </button>
                    </li>
                ))}
            </ul>
        </section>
    );
}

/** The same as the picture, for those who cannot see it. */
function GraphTable(props: { namespace: string; graph: Graph; onExpand: (node: GraphNode) => void }) {
    const { namespace, graph, onExpand } = props;
    return (
        <Disclosure summary="Show as a table">
            {() => (
                <Table
                    caption="Nodes of the graph and their relations"
                    rows={[...graph.nodes.values()]}
                    rowKey={(node) => node.id}
                    columns={[
                        {
                            title: "Node",
                            cell: (node) => (
                                <a href={pageOf(namespace, node)} dir="auto">
                                    {node.title}
                                </a>
                            ),
                        },
                        { title: "Type", cell: (node) => node.tier || "subject" },
                        {
                            title: "Relations",
                            cell: (node) => (
                                <ul class="bare">
                                    {linksOf(graph, node.id).map(({ link: each, other }) => (
                                        <li key={`${each.from} ${each.to}`} dir="auto">
                                            {each.kinds.join(", ")}: {other.title}
                                        </li>
                                    ))}
                                </ul>
                            ),
                        },
                        {
                            title: "Neighbours",
                            cell: (node) =>
                                graph.expanded.has(node.id) ? (
                                    "shown"
                                ) : (
                                    <button
                                        type="button"
                                        aria-label={`Expand ${node.title}`}
                                        onClick={() => onExpand(node)}
                                    >
                                        Expand
                                    </button>
                                ),
                        },
                    ]}
                />
            )}
        </Disclosure>
    );
}

function pageOf(namespace: string, node: GraphNode): string {
    return node.kind === "subject" ? link.subject(namespace, node.name) : link.memory(namespace, node.name);
}

function graphOf(namespace: string, node: GraphNode): string {
    return node.kind === "subject" ? link.subject(namespace, node.name) : link.graph(namespace, node.name);
}
