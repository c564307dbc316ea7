// The statistics of the account's requests: how they are loaded, and the period that they cover.

import type { ResponseOf } from "../../api";
import { Time } from "../../parts";
import type { RequestState } from "../../request";
import { usePolled } from "./poll";

const INTERVAL_MS = 10_000;

export type Statistics = ResponseOf<"get", "/v1/statistics">;

export function useStatistics(): RequestState<Statistics> {
    return usePolled("/v1/statistics", {}, INTERVAL_MS);
}

/** Says which requests are counted. */
export function Period({ statistics }: { statistics: Statistics }) {
    return (
        <p class="dim">
            Requests of this account since <Time at={statistics.since} />. The server keeps the figures of the last 24
            hours in memory, so they begin again after a restart.
        </p>
    );
}

/** Returns the starts of the intervals, in milliseconds since 1970. */
export function startsOf({ intervals }: Statistics): number[] {
    return intervals.map((interval) => Date.parse(interval.at));
}

/** Returns the length of an interval, such as "15 minutes". */
export function nameInterval({ interval_seconds }: Statistics): string {
    const minutes = interval_seconds / 60;
    return minutes === 1 ? "minute" : `${minutes.toLocaleString()} minutes`;
}
