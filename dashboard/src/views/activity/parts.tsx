// Parts of the tabs: tiles with a figure, data that are loaded at an interval, and texts for milliseconds and shares.

import type { ComponentChildren } from "preact";
import { ErrorState, Skeleton } from "../../parts";
import type { RequestState } from "../../request";

/** Shows data that are loaded at an interval. After a failure the last data stay, with a note. */
export function Polled<T>(props: { request: RequestState<T>; children: (data: T) => ComponentChildren }) {
    const { data, error, reload } = props.request;
    if (data === undefined) {
        if (error) return <ErrorState error={error} onRetry={reload} />;
        return <Skeleton />;
    }
    return (
        <>
            {error && (
                <p class="bad" role="alert">
                    The last update failed: {error.message}
                </p>
            )}
            {props.children(data)}
        </>
    );
}

export function Tiles({ children }: { children: ComponentChildren }) {
    return <dl class="tiles">{children}</dl>;
}

/** A figure with its name and a remark. */
export function Tile(props: { name: string; figure: string; isBad?: boolean; children?: ComponentChildren }) {
    return (
        <div class="card tile">
            <dt>{props.name}</dt>
            <dd class={props.isBad ? "figure bad" : "figure"}>{props.figure}</dd>
            {props.children && <dd class="dim">{props.children}</dd>}
        </div>
    );
}

/** Returns a duration in milliseconds, or in seconds from one second on. */
export function formatMs(ms: number | null): string {
    if (ms === null) return "—";
    if (ms >= 1000) return `${(ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 2 })} s`;
    return `${ms.toLocaleString(undefined, { maximumFractionDigits: ms < 10 ? 1 : 0 })} ms`;
}

export function formatShare(share: number): string {
    return share.toLocaleString(undefined, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 });
}
