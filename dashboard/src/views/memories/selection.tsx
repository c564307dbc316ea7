// What can be done with the selected memories: forget, tag and export. Without a selection, the whole list is exported.

import { useRef, useState } from "preact/hooks";
import { call, type ApiError, type Result } from "../../api";
import { FormDialog, TextField, formatNumber, splitBy, toast, toastError } from "../../parts";
import { invalidate } from "../../request";
import { bodyOf } from "../memory/rewrite";
import { exportMemories, type ExportFormat } from "./export";
import { forget } from "./forgotten";
import type { Hit } from "./listing";
import type { ListingFilters } from "./params";

interface SelectionProps {
    namespace: string;
    selected: ReadonlySet<string>;
    onChange: (selected: ReadonlySet<string>) => void;
    /** The memories of the page. */
    memories: readonly Hit[];
    filters: ListingFilters | null;
}

export function SelectionBar({ namespace, selected, onChange, memories, filters }: SelectionProps) {
    const [isTagging, setTagging] = useState(false);
    const [progress, setProgress] = useState<string | null>(null);
    const count = selected.size;
    const paths = [...selected];

    function forgetSelected(): void {
        const memory = memories.find((each) => each.path === paths[0]);
        const title = count === 1 && memory ? memory.content.split("\n")[0]!.replace(/^#+\s*/, "") : undefined;
        forget(namespace, paths, title);
        onChange(new Set());
    }
    async function save(format: ExportFormat): Promise<void> {
        setProgress("Reading memories");
        const source = count > 0 ? { paths } : { filters: filters! };
        const show = (done: number) => setProgress(`Read ${formatNumber(done)} memories`);
        const error = await exportMemories(namespace, source, format, show);
        setProgress(null);
        if (error) toastError(error.message);
    }
    return (
        <div class="selection" role="group" aria-label="Selected memories">
            <span role="status">
                {progress ??
                    (count > 0 ? `${formatNumber(count)} selected` : "Export the whole list, or select memories")}
            </span>
            <div class="row">
                {count > 0 && (
                    <>
                        <button type="button" class="danger" onClick={forgetSelected}>
                            Forget
                        </button>
                        <button type="button" onClick={() => setTagging(true)}>
                            Tag
                        </button>
                        <button type="button" onClick={() => onChange(new Set())}>
                            Select none
                        </button>
                    </>
                )}
                <button type="button" disabled={progress !== null} onClick={() => void save("jsonl")}>
                    Export JSON Lines
                </button>
                <button type="button" disabled={progress !== null} onClick={() => void save("markdown")}>
                    Export Markdown
                </button>
            </div>
            {isTagging && <TagDialog namespace={namespace} paths={paths} onClose={() => setTagging(false)} />}
        </div>
    );
}

function TagDialog({ namespace, paths, onClose }: { namespace: string; paths: string[]; onClose: () => void }) {
    const [added, setAdded] = useState("");
    const [removed, setRemoved] = useState("");
    const hasSent = useRef(false);

    function submit(): Promise<Result<null>> {
        hasSent.current = true;
        return retag(namespace, paths, splitBy(added, ","), splitBy(removed, ","));
    }
    /** Some memories may be changed even if another one failed. The dialog with the error stays until it is closed. */
    function close(): void {
        if (hasSent.current) invalidate();
        onClose();
    }
    function done(): void {
        toast(paths.length === 1 ? "Tagged 1 memory" : `Tagged ${formatNumber(paths.length)} memories`);
        close();
    }
    return (
        <FormDialog
            title={paths.length === 1 ? "Tag 1 memory" : `Tag ${paths.length} memories`}
            action="Save tags"
            isReady={Boolean(added.trim() || removed.trim())}
            submit={submit}
            onDone={done}
            onClose={close}
        >
            <TextField label="Add tags" hint="comma-separated" value={added} onInput={setAdded} />
            <TextField
                label="Remove tags"
                hint="comma-separated; tags that extraction added stay"
                value={removed}
                onInput={setRemoved}
            />
        </FormDialog>
    );
}

/** Changes the tags of memories one after the other. Returns the first problem, which stops it. */
async function retag(
    namespace: string,
    paths: readonly string[],
    added: readonly string[],
    removed: readonly string[],
): Promise<Result<null>> {
    for (const path of paths) {
        const query = { namespace, detail: "full" };
        const read = await call("get", "/v1/memories/{path}", { path: { path }, query });
        if (!read.ok) return named(path, read.error);
        const kept = read.value.user_tags.filter((tag) => !removed.includes(tag) && !added.includes(tag));
        const body = bodyOf(namespace, read.value, { tags: [...kept, ...added] });
        const written = await call("post", "/v1/memories/{path}", { path: { path }, body });
        if (!written.ok) return named(path, written.error);
    }
    return { ok: true, value: null };
}

/** Returns an error that names the memory. */
function named(path: string, error: ApiError): Result<null> {
    return { ok: false, error: { ...error, message: `${path}: ${error.message}` } };
}
