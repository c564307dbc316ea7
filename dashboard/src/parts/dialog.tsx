// Dialogs: a component, and a function that asks for confirmation.

import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

/** A modal dialog, shown while it is mounted. It takes the focus, closes with Escape, and returns the focus. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren; class?: string }) {
    const id = useId();
    const element = useRef<HTMLDialogElement>(null);
    // Before the frame is painted, so that the next key belongs to the dialog.
    useLayoutEffect(() => {
        const before = document.activeElement as HTMLElement | null;
        element.current?.showModal();
        return () => before?.focus();
    }, []);
    return (
        <dialog
            ref={element}
            class={props.class}
            aria-labelledby={id}
            onClose={props.onClose}
            onClick={(event) => event.target === element.current && props.onClose()}
        >
            <div class="dialog-body">
                <h2 id={id}>{props.title}</h2>
                {props.children}
            </div>
        </dialog>
    );
}

interface Question {
    title: string;
    text: string;
    /** The name of the action, such as "Forget". */
    action: string;
}

const question = signal<(Question & { answer: (isConfirmed: boolean) => void }) | null>(null);

/** Asks before an action that cannot be undone. If the action can be undone, offer `undoable` instead. */
export function confirmAction(asked: Question): Promise<boolean> {
    return new Promise((resolve) => {
        question.value = {
            ...asked,
            answer: (isConfirmed) => {
                question.value = null;
                resolve(isConfirmed);
            },
        };
    });
}

/** Shows the question of `confirmAction`. */
export function DialogHost() {
    const asked = question.value;
    if (!asked) return null;
    return (
        <Dialog title={asked.title} onClose={() => asked.answer(false)}>
            <p>{asked.text}</p>
            <div class="row end">
                <button type="button" onClick={() => asked.answer(false)}>
                    Cancel
                </button>
                <button type="button" class="danger" onClick={() => asked.answer(true)}>
                    {asked.action}
                </button>
            </div>
        </Dialog>
    );
}
