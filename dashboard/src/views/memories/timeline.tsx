// The timeline: how many memories each day has, as a chart and as a table. A day filters the list.

import { useMemo, useState } from "preact/hooks";
import { Chart, ErrorState, Gradual, Skeleton, Table, formatNumber } from "../../parts";
import { change } from "./filters";
import { useListing, type Hit } from "./listing";
import { TIME_NAMES, dayOf, timeOf, type ListState, type ListingFilters, type TimeField } from "./params";

/** Memories that are counted at a time. */
const COUNTED_STEP = 2000;
/** Most days of the chart. Earlier ones are in the table. */
const CHART_DAYS_MAX = 1500;
/** Rows that are added to the table at a time. */
const TABLE_STEP = 31;
const DAY_MS = 86_400_000;

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeZone: "UTC" });

export function Timeline(props: { namespace: string; state: ListState; filters: ListingFilters }) {
    const { namespace, state, filters } = props;
    const [counted, setCounted] = useState(COUNTED_STEP);
    const listing = useListing(namespace, filters, counted);
    const { memories } = listing;
    const days = useMemo(() => countDays(memories, state.field), [memories, memories.length, state.field]);
    const { times, values } = useMemo(() => fillDays(days), [days]);
    if (listing.error) return <ErrorState error={listing.error} onRetry={listing.retry} />;
    if (listing.isLoading) return <Skeleton lines={6} />;
    if (days.length === 0) return null;
    const title = `Memories by the day they ${TIME_NAMES[state.field]}`;
    return (
        <section class="card timeline-card" aria-label="Timeline">
            <Chart
                title={title}
                times={times}
                series={[{ label: "memories", values }]}
                isBars
                onPick={(index) => pick(dayOf(new Date(times[index]!).toISOString()), state.day)}
                table={<DayTable title={title} days={days} day={state.day} />}
            />
            {!listing.isComplete && (
                <div class="row">
                    <p class="dim">The newest {formatNumber(memories.length)} memories are counted.</p>
                    <button type="button" onClick={() => setCounted(counted + COUNTED_STEP)}>
                        Count older ones
                    </button>
                </div>
            )}
        </section>
    );
}

interface DayCount {
    day: string;
    count: number;
}

/** Filters the list by a day, or ends the filter if the day is chosen already. */
function pick(day: string, chosen: string): void {
    change({ day: day === chosen ? null : day });
}

function DayTable({ title, days, day }: { title: string; days: readonly DayCount[]; day: string }) {
    const columns = [
        {
            title: "Day",
            cell: (each: DayCount) => (
                <button type="button" aria-pressed={each.day === day} onClick={() => pick(each.day, day)}>
                    {dayFormat.format(new Date(each.day))}
                </button>
            ),
        },
        { title: "Memories", isNumber: true, cell: (each: DayCount) => formatNumber(each.count) },
    ];
    return (
        <div class="stack">
            <Gradual items={days} step={TABLE_STEP} noun="days">
                {(shown) => <Table caption={title} columns={columns} rows={shown} rowKey={(each) => each.day} />}
            </Gradual>
        </div>
    );
}

/** Counts the memories of each local day, newest first. Memories without the time are left out. */
export function countDays(memories: readonly Hit[], field: TimeField): DayCount[] {
    const counts = new Map<string, number>();
    for (const memory of memories) {
        const time = timeOf(memory, field);
        if (!time) continue;
        const day = dayOf(time);
        counts.set(day, (counts.get(day) ?? 0) + 1);
    }
    const days = [...counts].map(([day, count]) => ({ day, count }));
    return days.sort((a, b) => b.day.localeCompare(a.day));
}

/** Returns the days from the oldest to the newest one, with zero for those without memories. */
function fillDays(days: readonly DayCount[]): { times: number[]; values: number[] } {
    const counts = new Map(days.map((each) => [each.day, each.count]));
    if (days.length === 0) return { times: [], values: [] };
    const newest = Date.parse(days[0]!.day);
    const oldest = Math.max(Date.parse(days.at(-1)!.day), newest - (CHART_DAYS_MAX - 1) * DAY_MS);
    const times: number[] = [];
    const values: number[] = [];
    // A day before and after the others, so that a single bar does not fill the chart.
    for (let time = oldest - DAY_MS; time <= newest + DAY_MS; time += DAY_MS) {
        const day = new Date(time).toISOString().slice(0, 10);
        times.push(new Date(`${day}T00:00:00`).getTime());
        values.push(counts.get(day) ?? 0);
    }
    return { times, values };
}
