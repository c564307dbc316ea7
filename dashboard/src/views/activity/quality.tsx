// Retrieval quality: how well the best hits of the queries score, and how many queries have no admitted hit.

import { Chart, Empty, formatNumber } from "../../parts";
import { href } from "../../router";
import { Polled, Tile, Tiles, formatShare } from "./parts";
import { Period, nameInterval, startsOf, useStatistics, type Statistics } from "./statistics";

export function Quality({ namespace }: { namespace: string }) {
    const statistics = useStatistics();
    return (
        <Polled request={statistics}>
            {(data) => (
                <>
                    <Period statistics={data} />
                    {data.retrieval.count === 0 ? (
                        <Empty title="No query yet">
                            <p>
                                <a href={href("search", namespace)}>Search</a>, or let an agent ask. The scores of the
                                best hits appear here.
                            </p>
                        </Empty>
                    ) : (
                        <>
                            <Totals retrieval={data.retrieval} />
                            <Advice namespace={namespace} />
                            <Scores retrieval={data.retrieval} />
                            <EmptyShare statistics={data} />
                        </>
                    )}
                </>
            )}
        </Polled>
    );
}

type Retrieval = Statistics["retrieval"];

function Totals({ retrieval }: { retrieval: Retrieval }) {
    const { count, empty } = retrieval;
    return (
        <Tiles>
            <Tile name="Queries" figure={formatNumber(count)} />
            <Tile name="Without an admitted hit" figure={formatShare(empty / count)}>
                {formatNumber(empty)} of {formatNumber(count)} queries
            </Tile>
            <Tile name="Median of the top scores" figure={medianOf(retrieval) ?? "—"}>
                1 is a certain answer
            </Tile>
        </Tiles>
    );
}

function Advice({ namespace }: { namespace: string }) {
    return (
        <p>
            Low top scores, or queries without an admitted hit, mean that the memories do not say what is asked or say
            it in other words: <a href={href("search", namespace)}>search</a> for such a query, open “Why not …?”, then
            add the memory or <a href={href("vocabulary", namespace)}>teach the term</a>. <code>docs/concepts.md</code>{" "}
            explains the levels under Admission.
        </p>
    );
}

/** Returns the bin that has the median of the top scores, as "0.40–0.45"; null without scores. */
function medianOf({ top_scores }: Retrieval): string | null {
    let total = 0;
    for (const bin of top_scores) total += bin.count;
    let counted = 0;
    for (const bin of top_scores) {
        counted += bin.count;
        if (counted > 0 && counted * 2 >= total) return nameBin(bin);
    }
    return null;
}

function nameBin({ from, to }: { from: number; to: number }): string {
    return `${from.toFixed(2)}–${to.toFixed(2)}`;
}

function Scores({ retrieval }: { retrieval: Retrieval }) {
    const bins = retrieval.top_scores;
    const middles = bins.map(({ from, to }) => (from + to) / 2);
    return (
        <section class="card" aria-label="Top scores">
            <Chart
                title="Queries by the score of their best hit"
                times={middles}
                step={bins[0] ? bins[0].to - bins[0].from : 1}
                axis={{ title: "Score", format: (_, index) => nameBin(bins[index]!) }}
                series={[{ label: "queries", values: bins.map((bin) => bin.count) }]}
                isBars
            />
        </section>
    );
}

function EmptyShare({ statistics }: { statistics: Statistics }) {
    const shares = statistics.intervals.map(({ retrievals, empty }) => (retrievals > 0 ? empty / retrievals : null));
    return (
        <section class="card" aria-label="Queries without a hit">
            <Chart
                title={`Share of queries without an admitted hit, per ${nameInterval(statistics)}`}
                times={startsOf(statistics)}
                step={statistics.interval_seconds * 1000}
                series={[{ label: "without an admitted hit", values: shares }]}
                formatValue={formatShare}
                valueMax={1}
            />
        </section>
    );
}
