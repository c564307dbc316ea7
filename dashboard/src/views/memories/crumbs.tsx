// The directories above a path, and those below it with their numbers of memories.

import { formatNumber } from "../../parts";
import { useRequest } from "../../request";
import { link } from "../../router";

/** Directories that are shown before "all". */
const SHOWN_MAX = 24;

/** Links to the directories above a path. */
export function PathNavigation({ namespace, path }: { namespace: string; path: string }) {
    const parts = path.split("/").filter(Boolean);
    return (
        <nav class="crumbs" aria-label="Path">
            <ol>
                <li>
                    {parts.length > 0 ? (
                        <a href={link.memories(namespace)}>{namespace}</a>
                    ) : (
                        <span aria-current="page">{namespace}</span>
                    )}
                </li>
                {parts.map((part, index) => (
                    <li key={index} dir="auto">
                        {index < parts.length - 1 ? (
                            <a href={link.memories(namespace, parts.slice(0, index + 1).join("/"))}>{part}</a>
                        ) : (
                            <span aria-current="page">{part}</span>
                        )}
                    </li>
                ))}
            </ol>
        </nav>
    );
}

/** A row of the height of chips, so that nothing moves when they appear. */
function ChipsPlaceholder() {
    return (
        <ul class="chips directories" aria-hidden="true">
            <li>
                <span class="chip">&nbsp;</span>
            </li>
        </ul>
    );
}

export function Crumbs({ namespace, path }: { namespace: string; path: string }) {
    const tree = useRequest("get", "/v1/tree", { query: { namespace, path } });
    const directories = (tree.data?.entries ?? []).filter((entry) => entry.kind === "directory");
    const name = (each: string) => each.split("/").at(-1)!;
    const entry = (each: (typeof directories)[number]) => (
        <li key={each.path}>
            <a class="chip" href={link.memories(namespace, each.path)}>
                <bdi>{name(each.path)}</bdi> <span class="dim">{formatNumber(each.memories ?? 0)}</span>
            </a>
        </li>
    );
    return (
        <div class="stack">
            <PathNavigation namespace={namespace} path={path} />
            {!tree.data && !tree.error && <ChipsPlaceholder />}
            {directories.length > 0 && (
                <nav aria-label="Directories">
                    <ul class="chips directories">{directories.slice(0, SHOWN_MAX).map(entry)}</ul>
                    {directories.length > SHOWN_MAX && (
                        <details>
                            <summary>{formatNumber(directories.length - SHOWN_MAX)} more directories</summary>
                            <ul class="chips">{directories.slice(SHOWN_MAX, 500).map(entry)}</ul>
                        </details>
                    )}
                </nav>
            )}
        </div>
    );
}
