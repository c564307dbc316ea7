// The navigation: the namespace with its views, the views of the account, and the session.

import { currentNamespace, namespaces } from "../account";
import { Icon, shortcut } from "../parts";
import { THEMES, theme } from "../preferences";
import { href, navigate, route } from "../router";
import { session, signOut } from "../session";
import { findView, listViews, type View } from "../views";
import { isPaletteOpen } from "./commands";

export function Navigation({ isOpen }: { isOpen: boolean }) {
    const namespace = currentNamespace.value;
    const views = listViews();
    return (
        <nav id="nav" class={isOpen ? "open" : undefined} aria-label="Main">
            <button type="button" class="palette-button" onClick={() => (isPaletteOpen.value = true)}>
                <Icon name="search" />
                <span>Commands</span>
                <kbd>{shortcut("K")}</kbd>
            </button>
            <NamespaceSwitch />
            <ul>{views.filter((view) => view.scope === "namespace").map((view) => entry(view, namespace))}</ul>
            <ul class="account-views">
                {views.filter((view) => view.scope === "account").map((view) => entry(view, null))}
            </ul>
            <SessionFoot />
        </nav>
    );
}

function entry(view: View, namespace: string | null) {
    const shown = findView(route.value.view);
    const isCurrent = shown.name === view.name || shown.parent === view.name;
    return (
        <li key={view.name}>
            <a href={href(view.name, namespace)} aria-current={isCurrent ? "page" : undefined}>
                <Icon name={view.icon} />
                {view.title}
            </a>
        </li>
    );
}

function NamespaceSwitch() {
    const current = currentNamespace.value;
    const names = namespaces.value.map((each) => each.name);
    // A namespace in the address may not exist; the view reports it.
    if (!names.includes(current)) names.unshift(current);
    function choose(name: string): void {
        const view = findView(route.value.view);
        navigate(href(view.scope === "namespace" && !view.parent ? view.name : "search", name));
    }
    return (
        <label class="namespace-switch">
            <span class="dim">Namespace</span>
            <select value={current} onChange={(event) => choose(event.currentTarget.value)}>
                {names.map((name) => (
                    <option key={name} value={name}>
                        {name}
                    </option>
                ))}
            </select>
        </label>
    );
}

function SessionFoot() {
    const current = session.value;
    if (!current) return null;
    const expires = new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(current.expires);
    const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
    return (
        <div class="session">
            <p title={current.email}>
                <strong>{current.account}</strong>
                <span class="dim">
                    {current.kind === "jwt" ? "Session" : "API key"} until <time>{expires}</time>
                </span>
            </p>
            <div class="row">
                <button type="button" onClick={() => (theme.value = next)}>
                    Theme: {theme.value}
                </button>
                <button type="button" onClick={() => signOut()}>
                    Sign out
                </button>
            </div>
        </div>
    );
}
