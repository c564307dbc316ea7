// The relations of a memory in both directions: what it links to, and what links to it.

import type { Schemas } from "../../api";
import { Tag } from "../../parts";
import { useRequest } from "../../request";
import { link } from "../../router";

interface Related {
    kind: string;
    path: string;
    snippet: string;
}

export function Relations({ namespace, memory }: { namespace: string; memory: Schemas["Hit"] }) {
    const { path } = memory;
    // The graph has the other direction, and the titles.
    const graph = useRequest("get", "/v1/graph", { query: { namespace, path, depth: 1 } });
    const titles = new Map((graph.data?.nodes ?? []).map((node) => [node.path, node.title]));
    const outgoing: Related[] = [...(memory.relations ?? [])];
    const replaced = memory.supersedes.map((each) => ({ kind: "replaces", path: each, snippet: "" }));
    const incoming: Related[] = [];
    for (const edge of graph.data?.edges ?? []) {
        if (edge.to === path && edge.from !== path) {
            incoming.push({ kind: edge.kind, path: edge.from, snippet: edge.snippet });
        }
    }
    const successors = memory.superseded_by.map((each) => ({ kind: "replaced by", path: each, snippet: "" }));
    return (
        <>
            <h3>From this memory</h3>
            <List namespace={namespace} related={[...replaced, ...outgoing]} titles={titles} />
            <h3>To this memory</h3>
            {graph.error ? (
                <p class="bad" role="alert">
                    {graph.error.message}
                </p>
            ) : (
                <List namespace={namespace} related={[...successors, ...incoming]} titles={titles} />
            )}
        </>
    );
}

function List(props: { namespace: string; related: readonly Related[]; titles: ReadonlyMap<string, string> }) {
    const { namespace, related, titles } = props;
    if (related.length === 0) return <p class="dim">None.</p>;
    return (
        <ul class="related">
            {related.map((each) => (
                <li key={`${each.kind} ${each.path}`}>
                    <Tag>{each.kind}</Tag>{" "}
                    <a href={link.memory(namespace, each.path)} dir="auto">
                        {titles.get(each.path) ?? each.path}
                    </a>
                    {each.snippet && (
                        <p class="dim" dir="auto">
                            {each.snippet}
                        </p>
                    )}
                </li>
            ))}
        </ul>
    );
}
