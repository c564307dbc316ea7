// Labelled fields for text, and the lists that are written in them.

import type { Ref } from "preact";
import { Field } from "./layout";

interface TextProps {
    label: string;
    value: string;
    onInput: (value: string) => void;
    hint?: string;
    isRequired?: boolean;
}

/** A line of text. `isCode` is for paths and names, which are not prose. */
export function TextField(props: TextProps & { isFocused?: boolean; isCode?: boolean }) {
    const { label, value, onInput, hint, isRequired = false, isFocused = false, isCode = false } = props;
    return (
        <Field label={label} {...(hint && { hint })}>
            {(field) => (
                <input
                    {...field}
                    {...(isCode ? { spellcheck: false } : { dir: "auto" as const })}
                    required={isRequired}
                    autoFocus={isFocused}
                    autocomplete="off"
                    value={value}
                    onInput={(event) => onInput(event.currentTarget.value)}
                />
            )}
        </Field>
    );
}

/** Several lines of text. */
export function AreaField(props: TextProps & { rows: number; area?: Ref<HTMLTextAreaElement> }) {
    const { label, value, onInput, hint, isRequired = false, rows, area = null } = props;
    return (
        <Field label={label} {...(hint && { hint })}>
            {(field) => (
                <textarea
                    {...field}
                    ref={area}
                    required={isRequired}
                    rows={rows}
                    dir="auto"
                    value={value}
                    onInput={(event) => onInput(event.currentTarget.value)}
                />
            )}
        </Field>
    );
}

/** Splits a text into its parts between separators, without spaces around them. */
export function splitBy(text: string, separator: string): string[] {
    const parts = text.split(separator).map((part) => part.trim());
    return parts.filter(Boolean);
}
