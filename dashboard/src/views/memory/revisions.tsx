// The revisions of a memory. Each shows what it changed: the text first, the front matter folded.

import { useState } from "preact/hooks";
import type { Schemas } from "../../api";
import { Loaded, Skeleton, Time } from "../../parts";
import { useRequest } from "../../request";
import { href } from "../../router";
import { diffLines, frontMatterChanges, type DiffLine } from "./diff";

/** Unchanged lines that are shown around a change. */
const CONTEXT_LINES = 2;

interface RevisionsProps {
    namespace: string;
    path: string;
    revisions: readonly Schemas["Revision"][];
    /** The revision that is shown in full; null for the current version. */
    shown: string | null;
}

export function Revisions({ namespace, path, revisions, shown }: RevisionsProps) {
    // The change that led to the current version is shown at once, if it is not the first version.
    const [open, setOpen] = useState<string | null>(revisions.length > 1 && !shown ? revisions[0]!.commit : null);
    if (revisions.length === 0) return <p class="dim">No revision is recorded.</p>;
    return (
        <ol class="revisions">
            {revisions.map((revision, index) => {
                const query = new URLSearchParams({ revision: revision.commit });
                const isOpen = open === revision.commit;
                return (
                    <li key={revision.commit} aria-current={shown === revision.commit ? "true" : undefined}>
                        <div class="row">
                            <span dir="auto">{revision.message.split("\n")[0]}</span>
                            <span class="dim">
                                <Time at={revision.at} />
                            </span>
                            <code>{revision.commit.slice(0, 8)}</code>
                            <button
                                type="button"
                                aria-expanded={isOpen}
                                onClick={() => setOpen(isOpen ? null : revision.commit)}
                            >
                                Diff
                            </button>
                            <a href={href("memory", namespace, path, query)}>Show</a>
                        </div>
                        {isOpen && (
                            <RevisionDiff
                                namespace={namespace}
                                path={path}
                                commit={revision.commit}
                                former={revisions[index + 1]?.commit ?? null}
                            />
                        )}
                    </li>
                );
            })}
        </ol>
    );
}

function RevisionDiff(props: { namespace: string; path: string; commit: string; former: string | null }) {
    const { namespace, path, commit, former } = props;
    const after = useRequest("get", "/v1/memories/{path}", {
        path: { path },
        query: { namespace, revision: commit, detail: "full" },
    });
    const before = useRequest(
        "get",
        "/v1/memories/{path}",
        former ? { path: { path }, query: { namespace, revision: former } } : null,
    );
    const skeleton = <Skeleton lines={3} />;
    // A revision that forgets the memory has no content.
    if (after.error?.status === 404) return <p class="dim">This revision forgot the memory.</p>;
    const isFormerForgotten = before.error?.status === 404;
    if (former && !before.data && !isFormerForgotten)
        return <Loaded request={before} skeleton={skeleton} children={() => null} />;
    return (
        <Loaded request={after} skeleton={skeleton}>
            {(revision) => {
                const unified = revision.last_diff ?? "";
                // Older revisions than the listed ones exist if the diff of the last one does not create the file.
                const isUnknown = !former && unified !== "" && !/^@@ -0,0 /m.test(unified);
                if (isUnknown) return <UnifiedDiff text={unified} />;
                const old = before.data?.content ?? "";
                const front = frontMatterChanges(unified, old, revision.content);
                return (
                    <>
                        <Diff lines={withContext(diffLines(old, revision.content))} />
                        {front.length > 0 && (
                            <details>
                                <summary>Front matter: {front.length} changed lines</summary>
                                <Diff lines={front} isCode />
                            </details>
                        )}
                    </>
                );
            }}
        </Loaded>
    );
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;
const NAMES = { same: "", added: "added: ", removed: "removed: " } as const;

function Diff({ lines, isCode = false }: { lines: readonly (DiffLine | null)[]; isCode?: boolean }) {
    if (lines.every((line) => line === null || line.kind === "same")) {
        return <p class="dim">The text did not change.</p>;
    }
    return (
        <div class={isCode ? "diff code" : "diff"}>
            {lines.map((line, index) =>
                line === null ? (
                    <p key={index} class="gap dim">
                        …
                    </p>
                ) : (
                    <p key={index} class={line.kind} dir="auto">
                        <span class="sign" aria-hidden="true">
                            {SIGNS[line.kind]}
                        </span>
                        <span class="visually-hidden">{NAMES[line.kind]}</span>
                        <span>
                            {line.spans.map((span, position) =>
                                span.isChanged ? <strong key={position}>{span.text}</strong> : span.text,
                            )}
                        </span>
                    </p>
                ),
            )}
        </div>
    );
}

/** Leaves out unchanged lines that are far from changes; null stands for them. */
function withContext(lines: readonly DiffLine[]): (DiffLine | null)[] {
    const isNear = lines.map(() => false);
    lines.forEach((line, index) => {
        if (line.kind === "same") return;
        for (let near = index - CONTEXT_LINES; near <= index + CONTEXT_LINES; near += 1) {
            if (near in isNear) isNear[near] = true;
        }
    });
    const shown: (DiffLine | null)[] = [];
    lines.forEach((line, index) => {
        if (isNear[index]) shown.push(line);
        else if (shown.at(-1) !== null) shown.push(null);
    });
    return shown;
}

function UnifiedDiff({ text }: { text: string }) {
    return (
        <pre tabIndex={0} dir="ltr">
            {text}
        </pre>
    );
}
