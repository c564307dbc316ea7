"""Percentiles and medians, and the figures of all rounds: what was measured, and what could not be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from statistics import median


class Place(Enum):
    """What is measured, in the order of the table's columns."""

    SINGLE = "single box"
    ONE = "one node"
    THREE = "three nodes"


class Unit(Enum):
    """The unit of a metric."""

    MILLISECONDS = "ms"
    PER_SECOND = "/s"
    SECONDS = "s"


@dataclass(frozen=True)
class Latency:
    """The percentiles of one round, or medians of those of several rounds. `count` is the number of all requests."""

    p50: float
    p99: float
    count: int


@dataclass(frozen=True)
class Metric:
    """One row of the table."""

    key: str
    title: str
    unit: Unit
    places: tuple[Place, ...] = (Place.SINGLE, Place.ONE, Place.THREE)
    #: Key of the metric of the single box that the ratio refers to, if it is not the same metric.
    compared_with: str = ""


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least a share of the values do not exceed. `share` is above 0, at most 1."""
    if not values:
        raise ValueError("no values")
    if not 0 < share <= 1:
        raise ValueError(f"share {share}: expected a number above 0 and at most 1")
    rank = math.ceil(share * len(values))
    return sorted(values)[rank - 1]


def latency_of(values: Sequence[float]) -> Latency:
    """Returns the percentiles of one round."""
    return Latency(percentile(values, 0.5), percentile(values, 0.99), len(values))


def median_latency(rounds: Sequence[Latency]) -> Latency:
    """Returns the medians of the percentiles of several rounds."""
    p50 = median([each.p50 for each in rounds])
    p99 = median([each.p99 for each in rounds])
    return Latency(p50, p99, sum(each.count for each in rounds))


def ratio(value: float | None, base: float | None) -> float | None:
    """Returns how many times `base` the value is, or `None` if one of them was not measured or the base is zero."""
    if value is None or base is None or base == 0:
        return None
    return value / base


@dataclass
class Results:
    """The figures of all rounds."""

    latencies: dict[tuple[str, Place], list[Latency]] = field(default_factory=dict)
    #: Rates and durations.
    numbers: dict[tuple[str, Place], list[float]] = field(default_factory=dict)
    #: Cores that each process used during the retrievals over several namespaces.
    cores: dict[tuple[Place, str], list[float]] = field(default_factory=dict)
    #: Statements and commits of one request, by kind of request.
    statements: dict[tuple[str, Place], tuple[float, float]] = field(default_factory=dict)
    #: What could not be measured, with the reason.
    failures: list[str] = field(default_factory=list)

    def add_latencies(self, key: str, place: Place, values: Sequence[float]) -> None:
        """Adds the milliseconds of the requests of one round."""
        self.latencies.setdefault((key, place), []).append(latency_of(values))

    def add_number(self, key: str, place: Place, value: float) -> None:
        """Adds a rate or a duration of one round."""
        self.numbers.setdefault((key, place), []).append(value)

    def add_cores(self, place: Place, process: str, value: float) -> None:
        """Adds the cores that a process used in one round."""
        self.cores.setdefault((place, process), []).append(value)

    def fail(self, place: Place, work: str, reason: object) -> None:
        """Records that something could not be measured."""
        self.failures.append(f"{place.value}, {work}: {reason}")

    def latency(self, key: str, place: Place) -> Latency | None:
        """Returns the medians over rounds, or `None` if nothing was measured."""
        rounds = self.latencies.get((key, place))
        return median_latency(rounds) if rounds else None

    def number(self, key: str, place: Place) -> float | None:
        """Returns the median over rounds, or `None` if nothing was measured."""
        rounds = self.numbers.get((key, place))
        return median(rounds) if rounds else None

    def typical(self, key: str, place: Place) -> float | None:
        """Returns the value that ratios compare: the p50 of a latency, or the number."""
        latency = self.latency(key, place)
        return self.number(key, place) if latency is None else latency.p50

    def missing(self, metrics: Sequence[Metric]) -> list[str]:
        """Returns the figures that the table should have and has not."""
        found = []
        for metric in metrics:
            for place in metric.places:
                if self.typical(metric.key, place) is None:
                    found.append(f"{place.value}: {metric.title}")
        return found
