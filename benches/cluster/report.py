"""The report: tables in Markdown, and the same figures with all rounds as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from figures import Metric, Place, Results, ratio

_NOT_MEASURED = "not measured"
#: Metrics that follow a kill, and what happens then.
_KILLS = {"restart": "started again", "recovery": "another node"}


def markdown(results: Results, metrics: Sequence[Metric], conditions: Mapping[str, object]) -> str:
    """Returns the report in Markdown."""
    lines = [f"- {name}: {value}" for name, value in conditions.items()]
    lines += ["", *_figures(results, metrics), "", *_cores(results), "", *_statements(results), "", *_recovery(results)]
    if results.failures:
        lines += ["", "Not measured:", "", *(f"- {failure}" for failure in results.failures)]
    return "\n".join(lines) + "\n"


def _figures(results: Results, metrics: Sequence[Metric]) -> list[str]:
    places = " | ".join(place.value for place in Place)
    lines = [f"| measurement | {places} | one node / single box | three nodes / single box |", "| --- " * 6 + "|"]
    for metric in metrics:
        cells = [metric.title]
        cells += [_cell(results, metric, place) for place in Place]
        base = results.typical(metric.compared_with or metric.key, Place.SINGLE)
        for place in (Place.ONE, Place.THREE):
            value = results.typical(metric.key, place)
            cells.append(_factor(ratio(value, base)))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _cell(results: Results, metric: Metric, place: Place) -> str:
    if place not in metric.places:
        return ""
    latency = results.latency(metric.key, place)
    if latency is not None:
        return f"{number(latency.p50)} / {number(latency.p99)} {metric.unit.value}"
    value = results.number(metric.key, place)
    return _NOT_MEASURED if value is None else f"{number(value)} {metric.unit.value}"


def _factor(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def number(value: float) -> str:
    """Returns three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _cores(results: Results) -> list[str]:
    lines = ["| cores used during the retrievals over several namespaces | process | cores |", "| --- | --- | --- |"]
    for (place, process), rounds in results.cores.items():
        lines.append(f"| {place.value} | {process} | {median(rounds):.2f} |")
    return lines


def _statements(results: Results) -> list[str]:
    lines = ["| PostgreSQL, for each request | place | statements | of these commits |", "| --- " * 4 + "|"]
    for (kind, place), (statements, commits) in results.statements.items():
        lines.append(f"| {kind} | {place.value} | {statements:.1f} | {commits:.1f} |")
    return lines


def _recovery(results: Results) -> list[str]:
    lines = ["| `kill -9` until an answer | times | median | maximum |", "| --- " * 4 + "|"]
    for (key, place), rounds in results.numbers.items():
        if key in _KILLS:
            cells = f"{len(rounds)} | {median(rounds):.2f} s | {max(rounds):.2f} s"
            lines.append(f"| {place.value}, {_KILLS[key]} | {cells} |")
    return lines


def as_json(results: Results, metrics: Sequence[Metric], conditions: Mapping[str, object]) -> dict[str, Any]:
    """Returns all figures with their rounds."""
    figures = []
    for metric in metrics:
        for place in metric.places:
            figures.append(_figure(results, metric, place))
    cores = [
        {"place": place.value, "process": process, "cores": median(rounds), "rounds": rounds}
        for (place, process), rounds in results.cores.items()
    ]
    statements = [
        {"request": kind, "place": place.value, "statements": every, "commits": commits}
        for (kind, place), (every, commits) in results.statements.items()
    ]
    return {
        "conditions": dict(conditions),
        "figures": figures,
        "cores": cores,
        "statements": statements,
        "failures": results.failures,
    }


def _figure(results: Results, metric: Metric, place: Place) -> dict[str, Any]:
    figure: dict[str, Any] = {"metric": metric.key, "place": place.value, "unit": metric.unit.value}
    latency = results.latency(metric.key, place)
    if latency is not None:
        rounds = results.latencies[metric.key, place]
        figure |= {"p50": latency.p50, "p99": latency.p99, "count": latency.count}
        figure["rounds"] = [{"p50": each.p50, "p99": each.p99, "count": each.count} for each in rounds]
    figure["ratio_to_single_box"] = ratio(
        results.typical(metric.key, place), results.typical(metric.compared_with or metric.key, Place.SINGLE)
    )
    if latency is None:
        figure |= {"median": results.number(metric.key, place)}
        figure["rounds"] = results.numbers.get((metric.key, place), [])
    return figure
