// A memory: its content, claims, relations, sources and revisions, and the actions edit, forget and copy as code.

import { useEffect, useRef, useState } from "preact/hooks";
import { encodePath, type ResponseOf } from "../../api";
import { useCommands } from "../../frame/commands";
import { Card, CopyAsCode, Loaded, Markdown, PageHeading, Skeleton, splitTitle, type CodeRequest } from "../../parts";
import { useRequest } from "../../request";
import { link, navigate } from "../../router";
import type { ViewProps } from "..";
import { PathNavigation } from "../memories/crumbs";
import { forget } from "../memories/forgotten";
import "../memories/memories.css";
import { About, Claims, DocumentCard, Validity, type Memory } from "./about";
import { Editor } from "./editor";
import "./memory.css";
import { Relations } from "./relations";
import { Revisions } from "./revisions";
import { Sources } from "./sources";

export default function MemoryView({ namespace, rest: path, query }: ViewProps) {
    const revision = query.get("revision");
    const [isEditing, setEditing] = useState(false);
    const edit = useRef<HTMLButtonElement>(null);
    const wasEditing = useRef(false);
    const request = useRequest("get", "/v1/memories/{path}", {
        path: { path },
        query: { namespace, detail: "full", ...(revision && { revision }) },
    });
    const timeline = useRequest("get", "/v1/timeline", revision ? null : { query: { namespace, path } });
    const memory: Memory | undefined = request.data;
    const { title, body } = memory ? splitTitle(memory.content, path) : { title: "Memory", body: "" };
    const canChange = memory !== undefined && !revision;

    // The editor that had the focus is closed.
    useEffect(() => {
        if (wasEditing.current && !isEditing) edit.current?.focus();
        wasEditing.current = isEditing;
    }, [isEditing]);

    function forgetThis(): void {
        forget(namespace, [path], title);
        navigate(link.memories(namespace));
    }
    useCommands(
        canChange
            ? [
                  { id: "edit", title: "Edit this memory", group: "Memory", run: () => setEditing(true) },
                  { id: "forget", title: "Forget this memory", group: "Memory", run: forgetThis },
              ]
            : [],
        [namespace, path, title, canChange],
    );
    return (
        <>
            <PageHeading title={title}>
                {memory && <CopyAsCode request={codeOf(namespace, path, revision)} />}
                {revision && (
                    <a class="button" href={link.memory(namespace, path)}>
                        Current version
                    </a>
                )}
                {canChange && (
                    <>
                        <a class="button" href={link.graph(namespace, path)}>
                            Graph
                        </a>
                        <button ref={edit} type="button" disabled={isEditing} onClick={() => setEditing(true)}>
                            Edit
                        </button>
                        <button type="button" class="danger" onClick={forgetThis}>
                            Forget
                        </button>
                    </>
                )}
            </PageHeading>
            <PathNavigation namespace={namespace} path={path} />
            {revision && (
                <p class="notice">
                    Version <code>{revision.slice(0, 8)}</code>
                </p>
            )}
            <Loaded request={request} skeleton={<Skeleton lines={5} count={2} />}>
                {(loaded) => (
                    <>
                        {!revision && <Validity namespace={namespace} memory={loaded} />}
                        {isEditing ? (
                            <Editor namespace={namespace} memory={loaded} onClose={() => setEditing(false)} />
                        ) : (
                            <Content
                                namespace={namespace}
                                memory={loaded}
                                body={body}
                                revision={revision}
                                timelines={timeline.data?.timelines ?? []}
                            />
                        )}
                    </>
                )}
            </Loaded>
        </>
    );
}

function Content(props: {
    namespace: string;
    memory: Memory;
    body: string;
    revision: string | null;
    timelines: ResponseOf<"get", "/v1/timeline">["timelines"];
}) {
    const { namespace, memory, body, revision, timelines } = props;
    const { path, cues = [], sources = [], revisions = [] } = memory;
    return (
        <div class="memory-columns">
            <div class="stack">
                <Card>
                    <Markdown text={body} namespace={namespace} path={path} />
                </Card>
                <Card title="Revisions">
                    <Revisions
                        // A change brings a new first revision, which is then the open one.
                        key={`${revisions[0]?.commit} ${revision}`}
                        namespace={namespace}
                        path={path}
                        revisions={revisions}
                        shown={revision}
                    />
                </Card>
            </div>
            <div class="stack">
                {memory.document && <DocumentCard namespace={namespace} document={memory.document} />}
                <Card title="About it">
                    <About memory={memory} />
                </Card>
                {!revision && (
                    <Card title="Claims">
                        <Claims namespace={namespace} path={path} timelines={timelines} />
                    </Card>
                )}
                <Card title="Sources">
                    {sources.length > 0 ? (
                        <Sources namespace={namespace} sources={sources} />
                    ) : (
                        <p class="dim">This memory was written, not extracted from a conversation.</p>
                    )}
                </Card>
                <Card title="Cues">
                    {cues.length > 0 ? (
                        <ul>
                            {cues.map((cue) => (
                                <li key={cue} dir="auto">
                                    {cue}
                                </li>
                            ))}
                        </ul>
                    ) : (
                        <p class="dim">No explicit cues.</p>
                    )}
                </Card>
                {!revision && (
                    <Card title="Relations">
                        <Relations namespace={namespace} memory={memory} />
                    </Card>
                )}
            </div>
        </div>
    );
}

function codeOf(namespace: string, path: string, revision: string | null): CodeRequest {
    const options = { namespace, detail: "full", ...(revision && { revision }) };
    return {
        method: "get",
        path: `/v1/memories/${encodePath(path)}`,
        query: options,
        client: { method: "get", positional: [path], options },
    };
}
