// The form for a new memory.

import { useState } from "preact/hooks";
import { call } from "../../api";
import { Dialog, Field } from "../../parts";
import { invalidate } from "../../request";
import { link, navigate } from "../../router";
import { splitList } from "./params";

export function NewMemory(props: { namespace: string; directory: string; onClose: () => void }) {
    const { namespace, directory, onClose } = props;
    const [path, setPath] = useState(`${directory}/`);
    const [content, setContent] = useState("");
    const [tags, setTags] = useState("");
    const [cues, setCues] = useState("");
    const [isSaving, setSaving] = useState(false);
    const [problem, setProblem] = useState<string | null>(null);

    async function save(event: Event): Promise<void> {
        event.preventDefault();
        setSaving(true);
        const body = { namespace, content, tags: splitList(tags), cues: splitLines(cues) };
        const written = await call("post", "/v1/memories/{path}", { path: { path: path.trim() }, body });
        setSaving(false);
        if (!written.ok) {
            setProblem(written.error.message);
            return;
        }
        invalidate();
        onClose();
        navigate(link.memory(namespace, written.value.path));
    }
    return (
        <Dialog title="Write a memory" class="wide" onClose={onClose}>
            <form class="stack" onSubmit={(event) => void save(event)}>
                <Field label="Path" hint="facts/, incidents/, rules/ or skills/, ending in .md">
                    {(field) => (
                        <input
                            {...field}
                            required
                            spellcheck={false}
                            autocomplete="off"
                            value={path}
                            onInput={(event) => setPath(event.currentTarget.value)}
                        />
                    )}
                </Field>
                <Field label="Content" hint="Markdown, the title as the first heading">
                    {(field) => (
                        <textarea
                            {...field}
                            required
                            rows={8}
                            dir="auto"
                            value={content}
                            onInput={(event) => setContent(event.currentTarget.value)}
                        />
                    )}
                </Field>
                <Field label="Tags" hint="comma-separated">
                    {(field) => (
                        <input
                            {...field}
                            dir="auto"
                            autocomplete="off"
                            value={tags}
                            onInput={(event) => setTags(event.currentTarget.value)}
                        />
                    )}
                </Field>
                <Field label="Cues" hint="questions that should find this memory, one per line">
                    {(field) => (
                        <textarea
                            {...field}
                            rows={3}
                            dir="auto"
                            value={cues}
                            onInput={(event) => setCues(event.currentTarget.value)}
                        />
                    )}
                </Field>
                {problem && (
                    <p class="bad" role="alert" dir="auto">
                        {problem}
                    </p>
                )}
                <div class="row end">
                    <button type="button" onClick={onClose}>
                        Cancel
                    </button>
                    <button class="primary" disabled={isSaving}>
                        Write
                    </button>
                </div>
            </form>
        </Dialog>
    );
}

/** Splits a text into its lines without spaces around them. */
export function splitLines(text: string): string[] {
    const lines = text.split("\n").map((line) => line.trim());
    return lines.filter(Boolean);
}
