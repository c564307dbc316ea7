// Skills: procedures that are found by a task. They are created, edited with a preview, and deleted with an undo.

import { useEffect, useState } from "preact/hooks";
import { call, checkWrite, type Schemas } from "../../api";
import { useCommands } from "../../frame/commands";
import { Bar, Card, Empty, Gradual, Loaded, Markdown, PageHeading, Skeleton, Tags, createRemovals } from "../../parts";
import { useRequest } from "../../request";
import { link, setQuery } from "../../router";
import type { ViewProps } from "..";
import { SkillDialog } from "./skill-dialog";
import "./skills.css";

type Skill = Schemas["Skill"];

const SKILLS_MAX = 200;
/** Skills that are shown at a time. */
const SKILLS_STEP = 50;
/** Longest wait for a change, so that the list shows it. */
const WAIT = "10s";

const removals = createRemovals();

export default function Skills({ namespace, query }: ViewProps) {
    const q = query.get("q") ?? "";
    const request = useRequest("get", "/v1/skills", { query: { namespace, q, limit: SKILLS_MAX } });
    const [edited, setEdited] = useState<Skill | "new" | null>(null);
    const skills = request.data?.skills;
    useEffect(() => {
        if (skills) removals.settle(skills.map((skill) => keyOf(namespace, skill.path)));
    }, [skills]);
    const create = () => setEdited("new");
    useCommands([{ id: "new-skill", title: "New skill", group: "Skills", run: create }], []);

    function finish(paths: readonly string[]): void {
        setEdited(null);
        for (const path of paths) removals.keep(keyOf(namespace, path));
    }
    return (
        <>
            <PageHeading title="Skills">
                <button type="button" class="primary" onClick={create}>
                    New skill
                </button>
            </PageHeading>
            <FindForm q={q} />
            <Loaded request={request} skeleton={<Skeleton count={3} />}>
                {(found) => <SkillList skills={found.skills} namespace={namespace} q={q} onEdit={setEdited} />}
            </Loaded>
            {edited && (
                <SkillDialog
                    namespace={namespace}
                    skill={edited === "new" ? null : edited}
                    onDone={finish}
                    onClose={() => setEdited(null)}
                />
            )}
        </>
    );
}

function FindForm({ q }: { q: string }) {
    const [text, setText] = useState(q);
    useEffect(() => setText(q), [q]);
    function submit(event: Event): void {
        event.preventDefault();
        setQuery({ q: text.trim() });
    }
    return (
        <form class="row skill-search" role="search" onSubmit={submit}>
            <input
                type="search"
                aria-label="Task"
                placeholder="What is to be done?"
                dir="auto"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
            />
            <button>Find</button>
        </form>
    );
}

function SkillList(props: { skills: readonly Skill[]; namespace: string; q: string; onEdit: (skill: Skill) => void }) {
    const { skills, namespace, q, onEdit } = props;
    const shown = skills.filter((skill) => !removals.has(keyOf(namespace, skill.path)));
    if (shown.length === 0 && q) return <Empty title="No skill for that." />;
    if (shown.length === 0) {
        return (
            <Empty title="No skills yet">
                <p>Numbered steps in a conversation become a skill. You can also write one here.</p>
            </Empty>
        );
    }
    return (
        <Gradual key={q} items={shown} step={SKILLS_STEP} noun="skills">
            {(some) =>
                some.map((skill) => (
                    <SkillCard key={skill.path} skill={skill} namespace={namespace} onEdit={() => onEdit(skill)} />
                ))
            }
        </Gradual>
    );
}

function SkillCard({ skill, namespace, onEdit }: { skill: Skill; namespace: string; onEdit: () => void }) {
    const [isOpen, setOpen] = useState(false);
    return (
        <Card>
            <header class="skill-heading">
                <h2 dir="auto">
                    <a href={link.memory(namespace, skill.path)}>{skill.name}</a>
                </h2>
                {skill.score !== undefined && (
                    <div class="score">
                        <Bar share={skill.score} label={`score ${skill.score.toFixed(2)}`} />
                        <strong>{skill.score.toFixed(2)}</strong>
                    </div>
                )}
            </header>
            {skill.description && <p dir="auto">{skill.description}</p>}
            <p class="row dim">
                <code>{skill.path}</code> <Tags values={skill.tags} />
            </p>
            <details onToggle={(event) => setOpen(event.currentTarget.open)}>
                <summary>Show</summary>
                {isOpen && (
                    <div class="stack">
                        <Markdown text={skill.content} namespace={namespace} path={skill.path} />
                        {skill.triggers.length > 0 && (
                            <section>
                                <h3>Cues</h3>
                                <ul>
                                    {skill.triggers.map((cue) => (
                                        <li key={cue} dir="auto">
                                            {cue}
                                        </li>
                                    ))}
                                </ul>
                            </section>
                        )}
                    </div>
                )}
            </details>
            <div class="row">
                <button type="button" aria-label={`Edit ${skill.name}`} onClick={onEdit}>
                    Edit
                </button>
                <button
                    type="button"
                    class="danger"
                    aria-label={`Delete ${skill.name}`}
                    onClick={() => forget(namespace, skill)}
                >
                    Delete
                </button>
            </div>
        </Card>
    );
}

function forget(namespace: string, skill: Skill): void {
    const options = { path: { path: skill.path }, query: { namespace, wait: WAIT } };
    async function act() {
        return checkWrite(await call("delete", "/v1/memories/{path}", options));
    }
    removals.remove(keyOf(namespace, skill.path), `“${skill.name}” is deleted`, act);
}

function keyOf(namespace: string, path: string): string {
    return `${namespace} ${path}`;
}
