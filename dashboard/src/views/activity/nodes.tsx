// The nodes of a cluster: servers that share the data, with the namespaces of the account that each owns.

import type { Schemas } from "../../api";
import { Card, Table, Tag, formatNumber, type Column } from "../../parts";

type ClusterNode = Schemas["Node"];

const COLUMNS: readonly Column<ClusterNode>[] = [
    {
        title: "Node",
        cell: (node) => (
            <>
                <code>{node.id}</code> {node.this && <Tag>this node</Tag>}
            </>
        ),
    },
    { title: "Version", cell: (node) => node.version },
    {
        title: "Namespaces",
        isNumber: true,
        cell: ({ namespaces }) => (namespaces === null ? <Tag tone="warn">no answer</Tag> : formatNumber(namespaces)),
    },
];

export function Nodes({ nodes }: { nodes: readonly ClusterNode[] }) {
    return (
        <Card title="Nodes">
            <Table caption="Nodes" columns={COLUMNS} rows={nodes} rowKey={(node) => node.id} />
            <p class="dim">
                These servers share the data. The namespaces are those of this account: one of the nodes owns each of
                them and answers its requests. <code>cuebase nodes</code> shows the operator their addresses. A
                namespace is claimed with its next request after its owner has ended.
            </p>
        </Card>
    );
}
