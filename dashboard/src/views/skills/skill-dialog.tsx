// The form of a skill, with a preview of the memory that it becomes.

import { useState } from "preact/hooks";
import { call, checkWrite, type ResponseOf, type Schemas } from "../../api";
import { AreaField, FormDialog, Markdown, TextField, splitBy, toast } from "../../parts";
import { invalidate } from "../../request";

type Skill = Schemas["Skill"];

const WAIT = "10s";

/** `skill` is null for a new one. `onDone` gets the paths at which the server stores the skill. */
export function SkillDialog(props: {
    namespace: string;
    skill: Skill | null;
    onDone: (paths: readonly string[]) => void;
    onClose: () => void;
}) {
    const { namespace, skill, onDone, onClose } = props;
    const [name, setName] = useState(skill?.name ?? "");
    const [description, setDescription] = useState(skill?.description ?? "");
    const [topic, setTopic] = useState(skill?.topic ?? "");
    const [tags, setTags] = useState(skill?.tags.join(", ") ?? "");
    const [cues, setCues] = useState(skill?.triggers.join("\n") ?? "");
    const [steps, setSteps] = useState(skill ? readSteps(skill) : "");

    async function submit() {
        const draft = {
            name: name.trim(),
            description: description.trim(),
            content: steps.trim(),
            tags: splitBy(tags, ","),
            // Without cues of its own, a skill is found by its name and its description.
            triggers: cues.trim() ? splitBy(cues, "\n") : null,
            ...(skill ? { path: skill.path, metadata: skill.metadata } : { topic: topic.trim() || null }),
        };
        const body = { namespace, skills: [draft] };
        return checkWrite(await call("post", "/v1/skills", { query: { wait: WAIT }, body }));
    }
    function done(stored: ResponseOf<"post", "/v1/skills">): void {
        toast("Saved");
        invalidate();
        onDone("paths" in stored ? stored.paths : [...stored.made, ...stored.rewritten]);
    }
    return (
        <FormDialog
            title={skill ? `Edit “${skill.name}”` : "New skill"}
            action="Save"
            class="wide"
            submit={submit}
            onDone={done}
            onClose={onClose}
        >
            <div class="fields">
                <TextField label="Name" value={name} onInput={setName} isRequired isFocused />
                <TextField label="Description" value={description} onInput={setDescription} hint="what it is for" />
                {!skill && <TextField label="Topic" value={topic} onInput={setTopic} hint="directory, or “general”" />}
                <TextField label="Tags" value={tags} onInput={setTags} hint="comma-separated" />
            </div>
            <AreaField
                label="Content"
                value={steps}
                onInput={setSteps}
                rows={9}
                hint="markdown, such as numbered steps"
            />
            <AreaField
                label="Cues"
                value={cues}
                onInput={setCues}
                rows={3}
                hint="tasks that should find the skill, one per line; by default its name and description"
            />
            <section class="card" aria-label="Preview">
                <Markdown
                    text={preview(name.trim(), description.trim(), steps)}
                    namespace={namespace}
                    path={skill?.path ?? "skills/preview.md"}
                />
            </section>
        </FormDialog>
    );
}

/** Returns the text of the memory that the server stores for a skill. */
function preview(name: string, description: string, steps: string): string {
    const parts = [`# ${name || "…"}`, description, steps];
    return parts.filter(Boolean).join("\n\n");
}

/** Returns the content of a skill without its name and description, which have fields of their own. */
function readSteps(skill: Skill): string {
    let text = skill.content.trimStart();
    for (const part of [`# ${skill.name}`, skill.description]) {
        // A longer line that begins with the same words is part of the content.
        if (part && (text === part || text.startsWith(`${part}\n`))) text = text.slice(part.length).trimStart();
    }
    return text.trimEnd();
}
