// The command palette (Ctrl K or ⌘ K): all commands, filtered by their words, and a search for what was typed.

import { useEffect, useRef, useState } from "preact/hooks";
import { currentNamespace } from "../account";
import { Dialog } from "../parts";
import { link, navigate } from "../router";
import { isPaletteOpen, listCommands, type Command } from "./commands";

export function Palette() {
    const [text, setText] = useState("");
    const [position, setPosition] = useState(0);
    const list = useRef<HTMLUListElement>(null);
    const found = findCommands(text);
    const selected = Math.min(position, found.length - 1);

    useEffect(() => {
        list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
    }, [selected, text]);

    function close(): void {
        isPaletteOpen.value = false;
    }
    function run(command: Command): void {
        close();
        command.run();
    }
    function move(event: KeyboardEvent): void {
        if (event.key === "ArrowDown") setPosition((selected + 1) % found.length);
        else if (event.key === "ArrowUp") setPosition((selected - 1 + found.length) % found.length);
        else if (event.key === "Enter") run(found[selected]!);
        else return;
        event.preventDefault();
    }

    return (
        <Dialog title="Commands" class="palette" onClose={close}>
            <input
                type="search"
                role="combobox"
                list={undefined}
                aria-label="Command or search"
                aria-expanded="true"
                aria-controls="palette-list"
                aria-activedescendant={`palette-${selected}`}
                autocomplete="off"
                autoFocus
                placeholder="Search, or type a command"
                value={text}
                onInput={(event) => {
                    setText(event.currentTarget.value);
                    setPosition(0);
                }}
                onKeyDown={move}
            />
            <ul id="palette-list" ref={list} role="listbox" aria-label="Commands">
                {found.map((command, index) => (
                    <li
                        key={command.id}
                        id={`palette-${index}`}
                        role="option"
                        aria-selected={index === selected}
                        onClick={() => run(command)}
                    >
                        <span>{command.title}</span>
                        <span class="dim">{command.group}</span>
                    </li>
                ))}
            </ul>
        </Dialog>
    );
}

/** Returns the commands that contain all words of a text, those with the whole text first, and a search for the text. */
function findCommands(text: string): Command[] {
    const query = text.trim();
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const whole: Command[] = [];
    const others: Command[] = [];
    for (const command of listCommands()) {
        const described = `${command.group} ${command.title}`.toLowerCase();
        if (described.includes(query.toLowerCase())) whole.push(command);
        else if (words.every((word) => described.includes(word))) others.push(command);
    }
    const found = [...whole, ...others];
    if (!query) return found;
    const search = () => navigate(link.search(currentNamespace.value, query));
    return [...found, { id: "search-text", title: `Search for “${query}”`, group: "Search", run: search }];
}
