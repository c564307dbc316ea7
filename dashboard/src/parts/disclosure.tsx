// Content that is rendered on demand: behind a summary, or in steps.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { formatNumber } from "./text";

/** A summary with content behind it, which is rendered while it is open. */
export function Disclosure({ summary, children }: { summary: string; children: () => ComponentChildren }) {
    const [isOpen, setOpen] = useState(false);
    return (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>{summary}</summary>
            {isOpen && children()}
        </details>
    );
}

/** The start of a long list, with a button that shows as many items again. */
export function Gradual<T>(props: {
    items: readonly T[];
    /** Items that are shown first, and that the button adds. */
    step: number;
    /** What the button shows more of, such as "days". */
    noun: string;
    children: (shown: readonly T[]) => ComponentChildren;
}) {
    const { items, step, noun, children } = props;
    const [shown, setShown] = useState(step);
    return (
        <>
            {children(items.slice(0, shown))}
            {items.length > shown && (
                <div class="row">
                    <button type="button" onClick={() => setShown(shown + step)}>
                        Show more {noun}
                    </button>
                    <span class="dim">
                        {formatNumber(shown)} of {formatNumber(items.length)}
                    </span>
                </div>
            )}
        </>
    );
}
