// The frame around the views: skip link, navigation, keyboard shortcuts and the command palette.

import { useEffect, useRef, useState } from "preact/hooks";
import { accountState, currentNamespace, loadAccount } from "../account";
import { ErrorState, Icon, Skeleton, undoLast } from "../parts";
import { DIRECTIONS, THEMES, direction, theme } from "../preferences";
import { href, navigate, route } from "../router";
import { signOut } from "../session";
import { findView, listViews } from "../views";
import { isPaletteOpen, useCommands, type Command } from "./commands";
import { useKeptFocus } from "./focus";
import { Navigation } from "./navigation";
import { Palette } from "./palette";
import { ViewHost } from "./view-host";

export function Frame() {
    const [isMenuOpen, setMenuOpen] = useState(false);
    const menu = useRef<HTMLButtonElement>(null);
    const state = accountState.value;

    useEffect(() => {
        document.addEventListener("keydown", onKey);
        return () => document.removeEventListener("keydown", onKey);
    }, []);
    // A view in the drawer was chosen, so the drawer has done its work.
    useEffect(() => setMenuOpen(false), [route.value]);
    useFrameCommands();
    useKeptFocus();

    function closeMenu(event: KeyboardEvent): void {
        if (event.key !== "Escape" || !isMenuOpen) return;
        setMenuOpen(false);
        menu.current?.focus();
    }

    return (
        <div class="shell" onKeyDown={closeMenu}>
            <a class="skip" href="#main">
                Skip to content
            </a>
            <header class="top">
                <button
                    ref={menu}
                    type="button"
                    class="menu"
                    aria-expanded={isMenuOpen}
                    aria-controls="nav"
                    onClick={() => setMenuOpen(!isMenuOpen)}
                >
                    <Icon name="menu" />
                    Menu
                </button>
                <a class="brand" href="#/">
                    <img src="./icon.svg" alt="" width="24" height="24" />
                    Cuebase
                </a>
            </header>
            <Navigation isOpen={isMenuOpen} />
            {isMenuOpen && <div class="backdrop" onClick={() => setMenuOpen(false)} />}
            {typeof state === "object" ? (
                <main id="main" tabIndex={-1}>
                    <ErrorState error={state} onRetry={() => void loadAccount()} />
                </main>
            ) : state === "loading" ? (
                <main id="main" tabIndex={-1} aria-busy="true">
                    <Skeleton count={3} />
                </main>
            ) : (
                <ViewHost />
            )}
            {isPaletteOpen.value && <Palette />}
        </div>
    );
}

/** Fields in which these keys belong to the text. */
const TEXT_FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable]";

/** Ctrl K and ⌘ K open the palette, Ctrl Z and ⌘ Z undo the last deletion, and `/` goes to the search field. */
function onKey(event: KeyboardEvent): void {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        isPaletteOpen.value = !isPaletteOpen.value;
        return;
    }
    const isTyping = (event.target as Element | null)?.closest(TEXT_FIELDS);
    if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !isTyping) {
        if (undoLast()) event.preventDefault();
        return;
    }
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    const field = document.querySelector<HTMLInputElement>("main input[type=search]");
    if (field) field.focus();
    else navigate(href("search", currentNamespace.value));
}

function useFrameCommands(): void {
    const namespace = currentNamespace.value;
    const commands: Command[] = listViews().map((view) => ({
        id: `go-${view.name}`,
        title: view.title,
        group: "Go to",
        run: () => navigate(href(view.name, view.scope === "namespace" ? namespace : null)),
    }));
    for (const name of THEMES) {
        commands.push({
            id: `theme-${name}`,
            title: `Theme: ${name}`,
            group: "Appearance",
            run: () => (theme.value = name),
        });
    }
    for (const name of DIRECTIONS) {
        const title = name === "ltr" ? "Layout: left to right" : "Layout: right to left";
        commands.push({ id: `direction-${name}`, title, group: "Appearance", run: () => (direction.value = name) });
    }
    commands.push({ id: "sign-out", title: "Sign out", group: "Session", run: () => signOut() });
    useCommands(commands, [namespace, listViews().length, findView(route.value.view)?.name]);
}
