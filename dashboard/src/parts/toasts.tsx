// Toasts: short messages, and actions that can be undone for a moment.

import { signal } from "@preact/signals";
import type { Result } from "../api";
import { shortcut } from "./keys";
import { describeError } from "./layout";

const SHOWN_MS = 4000;
const ERROR_SHOWN_MS = 9000;
const ACTION_SHOWN_MS = 20_000;
/** Time in which an action can be undone. */
const UNDO_MS = 7000;

interface Toast {
    id: number;
    text: string;
    isError: boolean;
    action?: { label: string; run: () => void; key?: string };
}

const toasts = signal<Toast[]>([]);
let lastId = 0;
/** Actions that have not run yet. They run at once when the page is closed. */
const pending = new Map<number, () => void>();
window.addEventListener("pagehide", () => {
    for (const run of pending.values()) run();
});

export function toast(text: string): void {
    show({ id: ++lastId, text, isError: false }, SHOWN_MS);
}

export function toastError(text: string): void {
    show({ id: ++lastId, text, isError: true }, ERROR_SHOWN_MS);
}

/** Shows a message with a button for an action, such as one that takes back what the message says. */
export function toastAction(text: string, label: string, act: () => void): void {
    const id = ++lastId;
    function run(): void {
        dismiss(id);
        act();
    }
    show({ id, text, isError: false, action: { label, run } }, ACTION_SHOWN_MS);
}

/**
 * Runs an action after a moment in which the user can undo it. The view shows the effect at once, and `revert` takes it
 * back: after Undo, and if the action fails.
 */
export function undoable(text: string, act: () => Promise<Result<unknown>>, revert: () => void): void {
    const id = ++lastId;
    const timer = window.setTimeout(run, UNDO_MS);
    function run(): void {
        window.clearTimeout(timer);
        pending.delete(id);
        dismiss(id);
        void act().then((result) => {
            if (result.ok) return;
            revert();
            toastError(describeError(result.error));
        });
    }
    function undo(): void {
        window.clearTimeout(timer);
        pending.delete(id);
        dismiss(id);
        revert();
    }
    pending.set(id, run);
    const action = { label: "Undo", run: undo, key: shortcut("Z") };
    toasts.value = [...toasts.value, { id, text, isError: false, action }];
}

/** Takes back the last action that can still be undone. Returns whether there was one. */
export function undoLast(): boolean {
    const last = toasts.value.findLast((each) => pending.has(each.id));
    last?.action?.run();
    return last !== undefined;
}

function show(shown: Toast, duration: number): void {
    toasts.value = [...toasts.value, shown];
    window.setTimeout(() => dismiss(shown.id), duration);
}

function dismiss(id: number): void {
    toasts.value = toasts.value.filter((each) => each.id !== id);
}

export function Toasts() {
    return (
        <div class="toasts" role="status" aria-live="polite">
            {toasts.value.map((each) => (
                <div key={each.id} class={each.isError ? "toast error" : "toast"}>
                    <span dir="auto">{each.text}</span>
                    {each.action && (
                        <button
                            type="button"
                            aria-keyshortcuts={each.action.key && "Control+Z Meta+Z"}
                            onClick={each.action.run}
                        >
                            {each.action.label}
                            {each.action.key && <kbd aria-hidden="true">{each.action.key}</kbd>}
                        </button>
                    )}
                </div>
            ))}
        </div>
    );
}
