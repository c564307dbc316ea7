// Small texts: times, numbers, tags and bars.

import type { ComponentChildren } from "preact";

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const UNITS = [
    ["year", 31_536_000],
    ["month", 2_592_000],
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
] as const;

/** A time relative to now, such as "2 hours ago"; its title is the exact time. */
export function Time({ at }: { at: string | number | null | undefined }) {
    if (at === null || at === undefined) return <span class="dim">—</span>;
    const time = new Date(at);
    return (
        <time dateTime={time.toISOString()} title={absolute.format(time)}>
            {formatRelative(time)}
        </time>
    );
}

/** A day, for times that are precise to the day. */
export function Day({ at }: { at: string | null | undefined }) {
    if (!at) return <span class="dim">—</span>;
    return <time dateTime={at}>{formatDay(at)}</time>;
}

export function formatDay(at: string): string {
    return date.format(new Date(at));
}

export function formatNumber(value: number): string {
    return value.toLocaleString();
}

export function formatRelative(time: Date): string {
    const seconds = (time.getTime() - Date.now()) / 1000;
    for (const [unit, length] of UNITS) {
        if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
    }
    return "just now";
}

export function Tag({ tone, children }: { tone?: "accent" | "warn"; children: ComponentChildren }) {
    return <span class={tone ? `tag ${tone}` : "tag"}>{children}</span>;
}

/** Tags of a memory. Their direction follows their text. */
export function Tags({ values }: { values: readonly string[] }) {
    return (
        <>
            {values.map((value) => (
                <Tag key={value}>
                    <bdi>{value}</bdi>
                </Tag>
            ))}
        </>
    );
}

/** A bar for a share from 0 to 1; `label` is for screen readers. */
export function Bar({ share, label }: { share: number; label: string }) {
    return (
        <span class="bar" role="img" aria-label={label}>
            <span style={{ inlineSize: `${Math.max(0, Math.min(1, share)) * 100}%` }} />
        </span>
    );
}
