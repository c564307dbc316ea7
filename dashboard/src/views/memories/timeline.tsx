// The timeline: how many memories each day has, as a chart and as a table. A day filters the list.

import { useMemo } from "preact/hooks";
import type { Schemas } from "../../api";
import { Chart, ErrorState, Gradual, Skeleton, Table, formatNumber } from "../../parts";
import { change } from "./filters";
import { useFacets } from "./listing";
import { TIME_NAMES, dayOf, type ListState, type ListingFilters } from "./params";

/** Most days of the chart. Earlier ones are in the table. */
const CHART_DAYS_MAX = 1500;
/** Rows that are added to the table at a time. */
const TABLE_STEP = 31;
const DAY_MS = 86_400_000;

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeZone: "UTC" });

type DayFacet = Schemas["DayFacet"];

export function Timeline(props: { namespace: string; state: ListState; filters: ListingFilters }) {
    const { namespace, state, filters } = props;
    const { data, error, reload } = useFacets(namespace, filters);
    const days = data?.days;
    const { times, values } = useMemo(() => fillDays(days ?? []), [days]);
    if (error) return <ErrorState error={error} onRetry={reload} />;
    if (!days) return <Skeleton lines={6} />;
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
        </section>
    );
}

/** Filters the list by a day, or ends the filter if the day is chosen already. */
function pick(day: string, chosen: string): void {
    change({ day: day === chosen ? null : day });
}

function DayTable({ title, days, day }: { title: string; days: readonly DayFacet[]; day: string }) {
    const columns = [
        {
            title: "Day",
            cell: (each: DayFacet) => (
                <button type="button" aria-pressed={each.day === day} onClick={() => pick(each.day, day)}>
                    {dayFormat.format(new Date(each.day))}
                </button>
            ),
        },
        { title: "Memories", isNumber: true, cell: (each: DayFacet) => formatNumber(each.memories) },
    ];
    return (
        <div class="stack">
            <Gradual items={days} step={TABLE_STEP} noun="days">
                {(shown) => <Table caption={title} columns={columns} rows={shown} rowKey={(each) => each.day} />}
            </Gradual>
        </div>
    );
}

/** Returns the days from the oldest to the newest one, with zero for those without memories. */
function fillDays(days: readonly DayFacet[]): { times: number[]; values: number[] } {
    const counts = new Map(days.map((each) => [each.day, each.memories]));
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
