// The rows of a page: title, snippet, tags, time, tier and validity, with a box to select each.

import { useMemo, useRef } from "preact/hooks";
import { Day, Tag, Tags, Time, plainText, shorten, splitTitle } from "../../parts";
import { link } from "../../router";
import { titleOf, type Hit } from "./listing";
import { timeOf, type TimeField } from "./params";

const SNIPPET_CHARACTERS = 200;
const TAGS_SHOWN = 6;

interface RowsProps {
    namespace: string;
    memories: readonly Hit[];
    field: TimeField;
    selected: ReadonlySet<string>;
    onSelect: (selected: ReadonlySet<string>) => void;
}

export function Rows({ namespace, memories, field, selected, onSelect }: RowsProps) {
    const last = useRef<number | null>(null);
    const hasAll = memories.every((memory) => selected.has(memory.path));

    /** Selects a row; with Shift, all rows from the last one that was clicked. */
    function toggle(index: number, isSelected: boolean, isRange: boolean): void {
        const start = isRange && last.current !== null ? last.current : index;
        const next = new Set(selected);
        for (const { path } of memories.slice(Math.min(start, index), Math.max(start, index) + 1)) {
            if (isSelected) next.add(path);
            else next.delete(path);
        }
        last.current = index;
        onSelect(next);
    }
    function toggleAll(isSelected: boolean): void {
        const next = new Set(selected);
        for (const { path } of memories) {
            if (isSelected) next.add(path);
            else next.delete(path);
        }
        onSelect(next);
    }
    return (
        <div class="card memory-list">
            <label class="check">
                <input type="checkbox" checked={hasAll} onChange={(event) => toggleAll(event.currentTarget.checked)} />
                Select this page
            </label>
            <ul>
                {memories.map((memory, index) => (
                    <Row
                        key={memory.path}
                        namespace={namespace}
                        memory={memory}
                        field={field}
                        isSelected={selected.has(memory.path)}
                        onToggle={(isSelected, isRange) => toggle(index, isSelected, isRange)}
                    />
                ))}
            </ul>
        </div>
    );
}

function Row(props: {
    namespace: string;
    memory: Hit;
    field: TimeField;
    isSelected: boolean;
    onToggle: (isSelected: boolean, isRange: boolean) => void;
}) {
    const { namespace, memory, field, isSelected, onToggle } = props;
    const title = titleOf(memory);
    // A selection renders all rows again. The texts are kept, since Preact skips nodes that are the same.
    const text = useMemo(() => <Text namespace={namespace} memory={memory} />, [namespace, memory]);
    const time = timeOf(memory, field);
    return (
        <li class={isSelected ? "memory-row selected" : "memory-row"}>
            <input
                type="checkbox"
                aria-label={`Select ${title}`}
                checked={isSelected}
                onClick={(event) => onToggle(event.currentTarget.checked, event.shiftKey)}
            />
            {text}
            <span class="dim memory-time">{field === "occurred" ? <Day at={time} /> : <Time at={time} />}</span>
        </li>
    );
}

/** The title, the snippet and the facts of a row. */
function Text({ namespace, memory }: { namespace: string; memory: Hit }) {
    const { title, body } = splitTitle(memory.content, memory.path);
    const snippet = snippetOf(body, title);
    const hidden = memory.tags.length - TAGS_SHOWN;
    return (
        <div class="memory-text">
            <a href={link.memory(namespace, memory.path)} dir="auto">
                {title}
            </a>
            {snippet && (
                <p class="dim" dir="auto">
                    {snippet}
                </p>
            )}
            <p class="memory-facts">
                <Tag>{memory.path.split("/")[0]}</Tag>
                {!memory.current && <Tag tone="warn">no longer holds</Tag>}
                {memory.expires_at && (
                    <span class="dim">
                        expires <Time at={memory.expires_at} />
                    </span>
                )}
                <Tags values={memory.tags.slice(0, TAGS_SHOWN)} />
                {hidden > 0 && <span class="dim">and {hidden} more tags</span>}
            </p>
        </div>
    );
}

/** Returns the start of a body as plain text, without the line that is the title. */
function snippetOf(body: string, title: string): string {
    const lines: string[] = [];
    let length = 0;
    for (const line of body.split("\n")) {
        const text = plainText(line);
        if (!text || text === title) continue;
        lines.push(text);
        length += text.length;
        if (length > SNIPPET_CHARACTERS) break;
    }
    const text = lines.join(" ");
    // A title that is cut is the start of the body.
    const start = title.endsWith("…") && text.startsWith(title.slice(0, -1)) ? title.length - 1 : 0;
    return shorten(text.slice(start).trim(), SNIPPET_CHARACTERS);
}
