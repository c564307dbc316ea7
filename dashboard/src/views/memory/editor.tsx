// The editor of a memory, with a preview. Changes that are not saved are kept until they are discarded.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type Schemas } from "../../api";
import { Field, Markdown, confirmAction, splitTitle, toast } from "../../parts";
import { invalidate } from "../../request";
import { setLeaveGuard } from "../../router";
import { splitLines } from "../memories/new-memory";
import { splitList } from "../memories/params";
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
        setSaving(true);
        const { content, tags, cues } = draft;
        const body = bodyOf(namespace, memory, { content, tags: splitList(tags), cues: splitLines(cues) });
        const written = await call("post", "/v1/memories/{path}", { path: { path: memory.path }, body });
        setSaving(false);
        if (!written.ok) {
            setProblem(written.error.message);
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
                <Field label="Content" hint="Markdown, the title as the first heading. Ctrl Enter saves.">
                    {(field) => (
                        <textarea
                            {...field}
                            required
                            ref={content}
                            rows={14}
                            dir="auto"
                            value={draft.content}
                            onInput={({ currentTarget: { value } }) => setDraft({ ...draft, content: value })}
                        />
                    )}
                </Field>
            )}
            <Field label="Tags" hint="comma-separated">
                {(field) => (
                    <input
                        {...field}
                        dir="auto"
                        autocomplete="off"
                        value={draft.tags}
                        onInput={({ currentTarget: { value } }) => setDraft({ ...draft, tags: value })}
                    />
                )}
            </Field>
            <Field label="Cues" hint="questions that should find this memory, one per line">
                {(field) => (
                    <textarea
                        {...field}
                        rows={4}
                        dir="auto"
                        value={draft.cues}
                        onInput={({ currentTarget: { value } }) => setDraft({ ...draft, cues: value })}
                    />
                )}
            </Field>
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
                <button class="primary" disabled={isSaving || !isChanged || !draft.content.trim()}>
                    Save
                </button>
            </div>
        </form>
    );
}
