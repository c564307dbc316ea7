// Performance: the number of requests, their errors and their response times, over the last day and for each route.

import { Card, Chart, Empty, Table, formatNumber, type Column } from "../../parts";
import { setQuery } from "../../router";
import { Polled, Tile, Tiles, formatMs, formatShare } from "./parts";
import { Period, nameInterval, startsOf, useStatistics, type Statistics } from "./statistics";

type Route = Statistics["routes"][number];
type Order = "count" | "p99" | "errors";

const ORDERS: Record<Order, string> = { count: "Most used", p99: "Slowest", errors: "Most errors" };

export function Performance({ query }: { query: URLSearchParams }) {
    const statistics = useStatistics();
    return (
        <Polled request={statistics}>
            {(data) => (
                <>
                    <Period statistics={data} />
                    <Totals statistics={data} />
                    {data.requests.count === 0 ? (
                        <Empty title="No request yet">
                            <p>Each request of this account to the API is counted here.</p>
                        </Empty>
                    ) : (
                        <>
                            <Charts statistics={data} />
                            <Routes routes={data.routes} order={readOrder(query)} />
                        </>
                    )}
                </>
            )}
        </Polled>
    );
}

function readOrder(query: URLSearchParams): Order {
    const order = query.get("sort");
    return order === "p99" || order === "errors" ? order : "count";
}

function Totals({ statistics }: { statistics: Statistics }) {
    const { count, errors, p50_ms, p99_ms } = statistics.requests;
    return (
        <Tiles>
            <Tile name="Requests" figure={formatNumber(count)} />
            <Tile name="Errors of the server" figure={formatNumber(errors)} isBad={errors > 0}>
                {count > 0 ? `${formatShare(errors / count)} of the requests (5xx)` : "5xx"}
            </Tile>
            <Tile name="Median (p50)" figure={formatMs(p50_ms)}>
                half of the requests are faster
            </Tile>
            <Tile name="p99" figure={formatMs(p99_ms)}>
                99 of 100 requests are faster
            </Tile>
        </Tiles>
    );
}

function Charts({ statistics }: { statistics: Statistics }) {
    const { intervals } = statistics;
    const times = startsOf(statistics);
    const step = statistics.interval_seconds * 1000;
    const each = nameInterval(statistics);
    return (
        <>
            <section class="card" aria-label="Requests over time">
                <Chart
                    title={`Requests per ${each}`}
                    times={times}
                    step={step}
                    series={[
                        { label: "requests", values: intervals.map((interval) => interval.requests) },
                        { label: "errors", values: intervals.map((interval) => interval.errors) },
                    ]}
                    isBars
                />
            </section>
            <section class="card" aria-label="Response time over time">
                <Chart
                    title={`Response time per ${each}`}
                    times={times}
                    step={step}
                    series={[
                        { label: "p50", values: intervals.map((interval) => interval.p50_ms) },
                        { label: "p99", values: intervals.map((interval) => interval.p99_ms) },
                    ]}
                    formatValue={formatMs}
                />
            </section>
        </>
    );
}

const COLUMNS: readonly Column<Route>[] = [
    {
        title: "Route",
        cell: ({ method, route }) => (
            <code dir="ltr">
                {method} {route}
            </code>
        ),
    },
    { title: "Requests", isNumber: true, cell: ({ count }) => formatNumber(count) },
    {
        title: "Errors",
        isNumber: true,
        cell: ({ errors }) => <span class={errors > 0 ? "bad" : undefined}>{formatNumber(errors)}</span>,
    },
    { title: "p50", isNumber: true, cell: ({ p50_ms }) => formatMs(p50_ms) },
    { title: "p99", isNumber: true, cell: ({ p99_ms }) => formatMs(p99_ms) },
];

function Routes({ routes, order }: { routes: readonly Route[]; order: Order }) {
    const sorted = [...routes].sort((a, b) => measure(b, order) - measure(a, order));
    return (
        <Card title="Routes">
            <div class="row" role="group" aria-label="Order of the routes">
                {(Object.keys(ORDERS) as Order[]).map((each) => (
                    <button
                        key={each}
                        type="button"
                        aria-pressed={each === order}
                        onClick={() => setQuery({ sort: each === "count" ? null : each })}
                    >
                        {ORDERS[each]}
                    </button>
                ))}
            </div>
            <Table
                caption="Routes"
                columns={COLUMNS}
                rows={sorted}
                rowKey={({ method, route }) => `${method} ${route}`}
            />
        </Card>
    );
}

function measure(route: Route, order: Order): number {
    if (order === "errors") return route.errors;
    return order === "p99" ? (route.p99_ms ?? 0) : route.count;
}
