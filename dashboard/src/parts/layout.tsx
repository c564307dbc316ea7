// Parts that structure a view: heading, card, field, and the states of data that is loading, empty or not available.

import type { ComponentChildren } from "preact";
import { useEffect, useId } from "preact/hooks";
import type { ApiError } from "../api";
import type { RequestState } from "../request";

/** The heading of a view, with actions next to it. It names the browser's tab. */
export function PageHeading({ title, children }: { title: string; children?: ComponentChildren }) {
    useEffect(() => {
        document.title = `${title} · Cuebase`;
    }, [title]);
    return (
        <header class="page-heading">
            <h1 tabIndex={-1} dir="auto">
                {title}
            </h1>
            <div class="row">{children}</div>
        </header>
    );
}

export function Card({ title, children }: { title?: string; children: ComponentChildren }) {
    return (
        <section class="card">
            {title && <h2>{title}</h2>}
            {children}
        </section>
    );
}

/** Attributes that connect an input to its label and its hint. */
export interface FieldProps {
    id: string;
    "aria-describedby"?: string;
}

/** A labelled input. `children` gets the attributes for the input. */
export function Field(props: { label: string; hint?: string; children: (props: FieldProps) => ComponentChildren }) {
    const id = useId();
    const given: FieldProps = { id };
    if (props.hint) given["aria-describedby"] = `${id}-hint`;
    return (
        <div class="field">
            <label for={id}>{props.label}</label>
            {props.children(given)}
            {props.hint && <small id={`${id}-hint`}>{props.hint}</small>}
        </div>
    );
}

/** Placeholders of the size of the content that is loading. */
export function Skeleton({ lines = 3, count = 1 }: { lines?: number; count?: number }) {
    const line = (_: unknown, index: number) => <span key={index} class="skeleton-line" />;
    return (
        <div class="stack" role="status" aria-busy="true" aria-label="Loading">
            {Array.from({ length: count }, (_, index) => (
                <div key={index} class="card skeleton" aria-hidden="true">
                    {Array.from({ length: lines }, line)}
                </div>
            ))}
        </div>
    );
}

/** An empty result: what it means, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
    return (
        <div class="empty">
            <p class="empty-title">{title}</p>
            {children}
        </div>
    );
}

interface KnownError {
    title: string;
    /** In place of the message of the server, which may speak of the API. */
    message?: string;
    remedy?: string;
}

/** Titles and remedies for errors that need more than their message. */
const KNOWN_ERRORS: Record<string, KnownError> = {
    unreachable: { title: "The server does not respond", remedy: "Start it with: cuebase serve" },
    dashboard_only: {
        title: "This needs a session",
        remedy: "Sign out, and sign in with a link: cuebase token --link",
    },
    scoped_key: { title: "This key is restricted to a namespace", remedy: "Sign in with a link or another key." },
    forbidden_namespace: { title: "This key may not use this namespace", remedy: "Choose the namespace of the key." },
    namespace_not_found: {
        title: "This namespace does not exist",
        message: "It was deleted or never created.",
        remedy: "Choose another one in the navigation, or create it under Namespaces.",
    },
    namespace_damaged: {
        title: "This namespace is damaged",
        message: "Its repository is missing, or differs from its records. Other namespaces keep working.",
        remedy: "Stop the server, then run: cuebase doctor",
    },
    not_found: {
        title: "Nothing is stored at this address",
        remedy: "It may have been deleted or moved. Search for it, or choose another entry in the navigation.",
    },
    storage_unavailable: { title: "The disk of the server is full or read-only" },
    rate_limited: { title: "Too many requests", remedy: "Wait a moment, then try again." },
};

/** Returns an error in one line, for a form or a message. */
export function describeError({ code, message }: ApiError): string {
    const known = KNOWN_ERRORS[code];
    return known?.message ? `${known.title}. ${known.message}` : message;
}

/** An error in place of content. `retryTitle` is the name of another action than a second attempt. */
export function ErrorState(props: { error: ApiError; onRetry?: () => void; retryTitle?: string }) {
    const { error, onRetry, retryTitle = "Try again" } = props;
    const known = KNOWN_ERRORS[error.code];
    return (
        <div class="empty error" role="alert">
            <p class="empty-title">{known?.title ?? "This could not be loaded"}</p>
            <p dir="auto">{known?.message ?? error.message}</p>
            {known?.remedy && <p>{known.remedy}</p>}
            {onRetry && (
                <button type="button" onClick={onRetry}>
                    {retryTitle}
                </button>
            )}
        </div>
    );
}

/** Shows loaded data, or a skeleton, or an error. */
export function Loaded<T>(props: {
    request: RequestState<T>;
    skeleton?: ComponentChildren;
    children: (data: T) => ComponentChildren;
}) {
    const { data, error, reload } = props.request;
    if (error) return <ErrorState error={error} onRetry={reload} />;
    if (data === undefined) return <>{props.skeleton ?? <Skeleton />}</>;
    return <>{props.children(data)}</>;
}
