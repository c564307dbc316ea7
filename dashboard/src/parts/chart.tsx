// A chart of values over time, or over another axis. The renderer (uPlot) is loaded when the first chart is shown. The
// same values are in a table, which also serves those who cannot see the picture.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Disclosure } from "./disclosure";
import { formatNumber } from "./text";
import { Table } from "./table";
import { direction, theme } from "../preferences";

const timeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

export interface Series {
    label: string;
    values: readonly (number | null)[];
}

/** A horizontal axis of other values than times. `format` gets a value and its index. */
export interface Axis {
    title: string;
    format: (value: number, index: number) => string;
}

export interface ChartProps {
    title: string;
    /** Times in milliseconds since 1970, ascending. With `axis`, values of that axis. */
    times: readonly number[];
    axis?: Axis;
    /** Distance of two times. The chart then has room for it on both sides, as a single bar needs. */
    step?: number;
    /** Upper end of the vertical axis. By default the largest value. */
    valueMax?: number;
    series: readonly Series[];
    formatValue?: (value: number) => string;
    /** Whether each value is a bar, such as a number for each day. Otherwise a line connects the values. */
    isBars?: boolean;
    /** Called with the index of a time that is clicked. The table needs the same action for the keyboard. */
    onPick?: (index: number) => void;
    /** The table of the values, in place of the one that the chart makes. */
    table?: ComponentChildren;
}

export function Chart(props: ChartProps) {
    const { title, times, axis, step, valueMax, series, formatValue = formatNumber, isBars = false } = props;
    const { onPick, table } = props;
    const place = useRef<HTMLDivElement>(null);
    const pick = useRef(onPick);
    pick.current = onPick;
    const content = JSON.stringify([times, series, isBars]);
    useEffect(() => {
        let remove = () => {};
        let isGone = false;
        void import("./plot").then(({ drawPlot }) => {
            if (!isGone && place.current)
                remove = drawPlot(place.current, times, series, {
                    formatValue,
                    isBars,
                    isTime: !axis,
                    step: step ?? 0,
                    valueMax: valueMax ?? null,
                    onPick: (index) => pick.current?.(index),
                });
        });
        return () => {
            isGone = true;
            remove();
        };
    }, [content, theme.value, direction.value]);

    const position = {
        title: axis?.title ?? "Time",
        cell: (index: number) => axis?.format(times[index]!, index) ?? timeFormat.format(times[index]),
    };
    const columns = series.map((one) => ({
        title: one.label,
        isNumber: true,
        cell: (index: number) => {
            const value = one.values[index];
            return value === null || value === undefined ? "—" : formatValue(value);
        },
    }));
    return (
        <figure class="chart">
            <figcaption>{title}</figcaption>
            <div ref={place} class={onPick ? "plot pickable" : "plot"} aria-hidden="true" />
            <Disclosure summary="Show as a table">
                {() =>
                    table ?? (
                        <Table
                            caption={title}
                            columns={[position, ...columns]}
                            rows={times.map((_, index) => index)}
                            rowKey={String}
                        />
                    )
                }
            </Disclosure>
        </figure>
    );
}
