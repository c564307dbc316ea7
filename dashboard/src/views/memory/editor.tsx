// The editor of a memory, with a preview. Changes that are not saved are kept until they are discarded.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type Schemas } from "../../api";
import { AreaField, Markdown, TextField, confirmAction, describeError, splitBy, splitTitle, toast } from "../../parts";
import { invalidate } from "../../request";
import { setLeaveGuard } from "../../router";
import { CUES_HINT } from "../memories/params";
import { bodyOf } from "./rewrite";

interface Draft {
    content: string;
    tags: string;
    cues: string;
}

const QUESTION = {
    title: "Leave without saving?",
    text: "The changes of this memory are not saved. They are lost if you leave.",
    action: "Discard the changes",
};

export function Editor(props: { namespace: string; memory: Schemas["Hit"]; onClose: () => void }) {
    const { namespace, memory, onClose } = props;
    const [saved] = useState<Draft>(() => ({
        content: memory.content,
        tags: memory.user_tags.join(", "),
        cues: (memory.cues ?? []).join("\n"),
    }));
    const [draft, setDraft] = useState(saved);
    const [isPreview, setPreview] = useState(false);
    const [isSaving, setSaving] = useState(false);
    const [problem, setProblem] = useState<string | null>(null);
    const content = useRef<HTMLTextAreaElement>(null);
    const isChanged = JSON.stringify(draft) !== JSON.stringify(saved);

    // A browser follows `autofocus` only while a page loads and in a dialog.
    useEffect(() => content.current?.focus(), [isPreview]);

    useEffect(() => {
        if (!isChanged) return undefined;
        function warn(event: BeforeUnloadEvent): void {
            event.preventDefault();
        }
        setLeaveGuard(() => confirmAction(QUESTION));
        window.addEventListener("beforeunload", warn);
        return () => {
            setLeaveGuard(null);
            window.removeEventListener("beforeunload", warn);
        };
    }, [isChanged]);

    async function save(event: Event): Promise<void> {
        event.preventDefault();
        if (isSaving) return;
        setSaving(true);
        const { content, tags, cues } = draft;
        const body = bodyOf(namespace, memory, { content, tags: splitBy(tags, ","), cues: splitBy(cues, "\n") });
        const written = await call("post", "/v1/memories/{path}", { path: { path: memory.path }, body });
        setSaving(false);
        if (!written.ok) {
            setProblem(describeError(written.error));
            return;
        }
        toast("Saved");
        invalidate();
        onClose();
    }
    async function cancel(): Promise<void> {
        if (!isChanged || (await confirmAction(QUESTION))) onClose();
    }
    const { title, body } = splitTitle(draft.content, memory.path);
    return (
        <form
            class="card editor"
            aria-label="Edit the memory"
            onSubmit={(event) => void save(event)}
            onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
            }}
        >
            {isPreview ? (
                <section class="preview" aria-label="Preview">
                    <h2 dir="auto">{title}</h2>
                    <Markdown text={body} namespace={namespace} path={memory.path} />
                </section>
            ) : (
                <AreaField
                    label="Content"
                    hint="Markdown, the title as the first heading. Ctrl Enter saves."
                    value={draft.content}
                    onInput={(value) => setDraft({ ...draft, content: value })}
                    rows={14}
                    area={content}
                    isRequired
                />
            )}
            <TextField
                label="Tags"
                hint="comma-separated"
                value={draft.tags}
                onInput={(value) => setDraft({ ...draft, tags: value })}
            />
            <AreaField
                label="Cues"
                hint={CUES_HINT}
                value={draft.cues}
                onInput={(value) => setDraft({ ...draft, cues: value })}
                rows={4}
            />
            {problem && (
                <p class="bad" role="alert" dir="auto">
                    {problem}
                </p>
            )}
            <div class="row end">
                <button type="button" aria-pressed={isPreview} onClick={() => setPreview(!isPreview)}>
                    Preview
                </button>
                <button type="button" onClick={() => void cancel()}>
                    Cancel
                </button>
                <button class="primary" disabled={!isChanged || !draft.content.trim()}>
                    Save
                </button>
            </div>
        </form>
    );
}
