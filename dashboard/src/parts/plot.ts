// Draws a chart with uPlot. Only `chart.tsx` loads this file, when the first chart is shown.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "./chart";

const HEIGHT = 220;
/** Custom properties of the lines' colours, in the order of the series. */
const COLOURS = ["--facts", "--incidents", "--rules", "--skills", "--bad"];

export interface PlotOptions {
  formatValue: (value: number) => string;
  isBars: boolean;
  /** Called with the index of the clicked time. */
  onPick: (index: number) => void;
}

/** Draws into an element, and follows its width. Returns a function that removes the drawing. */
export function drawPlot(
  place: HTMLElement,
  times: readonly number[],
  series: readonly Series[],
  { formatValue, isBars, onPick }: PlotOptions,
): () => void {
  const axis = { stroke: colour(place, "--dim"), grid: { stroke: colour(place, "--line") } };
  const options: uPlot.Options = {
    width: place.clientWidth,
    height: HEIGHT,
    legend: { live: false },
    axes: [axis, { ...axis, size: 60, values: (_, ticks) => ticks.map(formatValue) }],
    series: [{}, ...series.map((one, index) => line(place, one.label, COLOURS[index % COLOURS.length]!, isBars))],
  };
  const data = [times.map((time) => time / 1000), ...series.map((one) => [...one.values])] as uPlot.AlignedData;
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
