// Draws a chart with uPlot. Only `chart.tsx` loads this file, when the first chart is shown.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "./chart";

const HEIGHT = 220;
const DAY_SECONDS = 86_400;
/** Custom properties of the lines' colours, in the order of the series. */
const COLOURS = ["--facts", "--incidents", "--rules", "--skills", "--bad"];

export interface PlotOptions {
  formatValue: (value: number) => string;
  isBars: boolean;
  /** Whether the horizontal axis has times, in milliseconds since 1970. */
  isTime: boolean;
  /** Room on both sides of the horizontal axis. */
  step: number;
  /** Upper end of the vertical axis; null for the largest value. */
  valueMax: number | null;
  /** Called with the index of the clicked time. */
  onPick: (index: number) => void;
}

/** Draws into an element, and follows its width. Returns a function that removes the drawing. */
export function drawPlot(
  place: HTMLElement,
  times: readonly number[],
  series: readonly Series[],
  { formatValue, isBars, isTime, step, valueMax, onPick }: PlotOptions,
): () => void {
  const axis = { stroke: colour(place, "--dim"), grid: { stroke: colour(place, "--line") } };
  // uPlot has times in seconds.
  const unit = isTime ? 1000 : 1;
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { live: false },
    scales: {
      x: { time: isTime, ...(step > 0 && { range: (_, min, max) => [min - step / unit, max + step / unit] }) },
      ...((valueMax !== null || !isBars) && {
        y: { range: (_, __, max) => [0, valueMax ?? (max > 0 ? max * 1.1 : 1)] },
      }),
    },
    axes: [
      { ...axis, space: 80, ...(isTime && { values: formatTicks }) },
      { ...axis, size: 60, values: (_, ticks) => ticks.map(formatValue) },
    ],
    series: [{}, ...series.map((one, index) => line(place, one.label, COLOURS[index % COLOURS.length]!, isBars))],
  };
  const data = [times.map((time) => time / unit), ...series.map((one) => [...one.values])] as uPlot.AlignedData;
  const plot = new uPlot(options, data, place);
  const observer = new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: HEIGHT }));
  observer.observe(place);
  plot.over.addEventListener("click", () => {
    if (typeof plot.cursor.idx === "number") onPick(plot.cursor.idx);
  });
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}

/** Formats times of the horizontal axis, as far apart as they are. `step` is in seconds. */
function formatTicks(_plot: uPlot, ticks: number[], _axis: number, _space: number, step: number): string[] {
  const format = new Intl.DateTimeFormat(undefined, tickOptions(step));
  return ticks.map((tick) => format.format(tick * 1000));
}

function tickOptions(step: number): Intl.DateTimeFormatOptions {
  if (step >= 300 * DAY_SECONDS) return { year: "numeric" };
  if (step >= 28 * DAY_SECONDS) return { month: "short", year: "numeric" };
  if (step >= DAY_SECONDS) return { day: "numeric", month: "short" };
  return { hour: "2-digit", minute: "2-digit" };
}

function line(place: HTMLElement, label: string, property: string, isBars: boolean): uPlot.Series {
  const stroke = colour(place, property);
  if (!isBars) return { label, stroke, width: 2, points: { size: 5 } };
  const paths = uPlot.paths.bars!({ size: [0.8, 24, 2], align: 0 });
  return { label, stroke, fill: stroke, width: 0, paths, points: { show: false } };
}

/** Returns the value of a colour's custom property, which a canvas cannot read itself. */
function colour(place: HTMLElement, property: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${property})`;
  place.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
