// The form for a new memory.

import { useState } from "preact/hooks";
import { call, type ResponseOf } from "../../api";
import { AreaField, FormDialog, TextField, splitBy } from "../../parts";
import { invalidate } from "../../request";
import { link, navigate } from "../../router";
import { CUES_HINT } from "./params";

export function NewMemory(props: { namespace: string; directory: string; onClose: () => void }) {
    const { namespace, directory, onClose } = props;
    const [path, setPath] = useState(`${directory}/`);
    const [content, setContent] = useState("");
    const [tags, setTags] = useState("");
    const [cues, setCues] = useState("");

    function submit() {
        const body = { namespace, content, tags: splitBy(tags, ","), cues: splitBy(cues, "\n") };
        return call("post", "/v1/memories/{path}", { path: { path: path.trim() }, body });
    }
    function done(written: ResponseOf<"post", "/v1/memories/{path}">): void {
        invalidate();
        onClose();
        navigate(link.memory(namespace, written.path));
    }
    return (
        <FormDialog title="Write a memory" action="Write" class="wide" submit={submit} onDone={done} onClose={onClose}>
            <TextField
                label="Path"
                hint="facts/, incidents/, rules/ or skills/, ending in .md"
                value={path}
                onInput={setPath}
                isRequired
                isCode
            />
            <AreaField
                label="Content"
                hint="Markdown, the title as the first heading"
                value={content}
                onInput={setContent}
                rows={8}
                isRequired
            />
            <TextField label="Tags" hint="comma-separated" value={tags} onInput={setTags} />
            <AreaField label="Cues" hint={CUES_HINT} value={cues} onInput={setCues} rows={3} />
        </FormDialog>
    );
}
