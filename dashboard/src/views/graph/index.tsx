// The graph around a memory. It belongs to the view of people and things.

import { useEffect } from "preact/hooks";
import { PageHeading, Skeleton } from "../../parts";
import { href, link, navigate } from "../../router";
import type { ViewProps } from "..";
import { titleOfPath } from "../people/about";
import { EntityGraph } from "../people/graph";
import { memoryNode } from "../people/graph-data";
import "../people/people.css";

export default function MemoryGraph({ namespace, rest: path }: ViewProps) {
    useEffect(() => {
        if (!path) navigate(href("people", namespace), true);
    }, [namespace, path]);
    if (!path) return <Skeleton count={2} />;
    return (
        <>
            <PageHeading title="Graph">
                <a class="button" href={link.memory(namespace, path)}>
                    Read the memory
                </a>
                <a class="button" href={href("people", namespace)}>
                    All people and things
                </a>
            </PageHeading>
            <section class="card" aria-label="Graph around a memory">
                <EntityGraph namespace={namespace} centre={memoryNode(path, titleOfPath(path))} />
            </section>
        </>
    );
}
