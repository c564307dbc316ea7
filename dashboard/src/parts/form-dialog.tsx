// A dialog with a form: the error of a failed submission is shown in the dialog, which stays open.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Result } from "../api";
import { Dialog } from "./dialog";
import { describeError } from "./layout";

/** `submit` returns the result of the request. The dialog calls `onDone` with the value of a successful one. */
export function FormDialog<T>(props: {
    title: string;
    /** The name of the action, such as "Create". */
    action: string;
    class?: string;
    /** Whether the action destroys something. */
    isDanger?: boolean;
    /** Whether the fields allow the action. */
    isReady?: boolean;
    submit: () => Promise<Result<T>>;
    onDone: (value: T) => void;
    onClose: () => void;
    children: ComponentChildren;
}) {
    const { title, action, isDanger = false, isReady = true, submit, onDone, onClose } = props;
    const [isSending, setSending] = useState(false);
    const [message, setMessage] = useState("");

    async function send(event: Event): Promise<void> {
        event.preventDefault();
        if (isSending || !isReady) return;
        setSending(true);
        setMessage("");
        const result = await submit();
        setSending(false);
        if (result.ok) onDone(result.value);
        else setMessage(describeError(result.error));
    }
    const attributes = props.class === undefined ? {} : { class: props.class };
    return (
        <Dialog title={title} onClose={onClose} {...attributes}>
            <form class="stack" onSubmit={(event) => void send(event)}>
                {props.children}
                {message && (
                    <p class="bad" role="alert" dir="auto">
                        {message}
                    </p>
                )}
                <div class="row end">
                    <button type="button" onClick={onClose}>
                        Cancel
                    </button>
                    <button class={isDanger ? "danger" : "primary"} disabled={!isReady}>
                        {action}
                    </button>
                </div>
            </form>
        </Dialog>
    );
}
