"""How long each namespace gave no successful answer while a fault lasted, from the history alone.

The time of a fault begins when it is injected and ends when every namespace answers again. The measure is the longest
time between two successful answers that touches it. A namespace always has a small value, the pause between two
requests: the value of the time without faults is in the report as well, to compare with.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from history import FaultRecord, Kind, Operation, Outcome, Recorded

#: Operations that only the owner of a namespace can carry out.
_WRITES = (Kind.INGEST, Kind.WRITE, Kind.FORGET)
CALM = "without a fault"


@dataclass(frozen=True)
class Distribution:
    """Times in seconds, of one kind of fault."""

    count: int
    median: float
    p99: float
    longest: float


def _answers(operations: Iterable[Operation]) -> dict[str, list[float]]:
    """Returns the times of successful answers by namespace, in ascending order."""
    times: dict[str, list[float]] = defaultdict(list)
    for operation in operations:
        if operation.outcome is Outcome.OK:
            times[operation.space].append(operation.end)
    for ends in times.values():
        ends.sort()
    return times


def longest_gap(times: list[float], begin: float, end: float) -> float:
    """Returns the longest time between two answers, of those that touch the time from `begin` to `end`."""
    first = max(0, bisect_right(times, begin) - 1)
    last = min(len(times) - 1, bisect_left(times, end))
    longest = 0.0
    for number in range(first, last):
        longest = max(longest, times[number + 1] - times[number])
    return longest


def longest_gap_within(times: list[float], begin: float, end: float) -> float:
    """Returns the longest time between two answers that are both between `begin` and `end`."""
    inside = times[bisect_left(times, begin) : bisect_right(times, end)]
    longest = 0.0
    for earlier, later in zip(inside[:-1], inside[1:], strict=True):
        longest = max(longest, later - earlier)
    return longest


def distribution(values: list[float]) -> Distribution:
    """Returns the distribution of at least one value. The percentiles are values that occurred."""
    ordered = sorted(values)

    def at(share: float) -> float:
        return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 3)

    return Distribution(len(ordered), at(0.5), at(0.99), at(1.0))


def by_fault(recorded: Recorded, faults: Sequence[FaultRecord]) -> list[dict[str, float]]:
    """Returns, for each fault, the longest time without an answer of each namespace."""
    times = sorted(_answers(recorded.operations).items())
    found = []
    for fault in faults:
        found.append({space: round(longest_gap(ends, fault.injected, fault.answered), 3) for space, ends in times})
    return found


def by_kind(recorded: Recorded) -> dict[str, dict[str, Distribution]]:
    """Returns, by kind of fault, the distributions for all answers and for answers to writes."""
    everything = _answers(recorded.operations)
    written = _answers(operation for operation in recorded.operations if operation.kind in _WRITES)
    found: dict[str, dict[str, Distribution]] = {}
    for kind, spans in _spans(recorded).items():
        found[kind] = {}
        measure = longest_gap_within if kind == CALM else longest_gap
        for name, times in (("answers", everything), ("writes", written)):
            gaps = [measure(ends, *span) for ends in times.values() for span in spans]
            if gaps:
                found[kind][name] = distribution(gaps)
    return found


def _spans(recorded: Recorded) -> dict[str, list[tuple[float, float]]]:
    """Returns the times of the faults by kind, and the times between two faults."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    healthy_since: float | None = None
    for fault in sorted(recorded.faults, key=lambda fault: fault.injected):
        spans[fault.kind].append((fault.injected, fault.answered))
        if healthy_since is not None:
            spans[CALM].append((healthy_since, fault.injected))
        healthy_since = fault.answered
    return spans
