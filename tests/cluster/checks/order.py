"""Commits follow the order of the writes, as far as clients could observe it.

Two writes are ordered if one was complete before the other began. Complete means, for a direct write, acknowledged. For
an accepted write it means reported as ingested, and towards other accepted writes of the same namespace acknowledged,
because the queue of a namespace is processed in the order of acceptance. Writes that overlapped may come in any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from checks.model import Index, Violation
from history import Kind, Operation

RULE = "order"


@dataclass(frozen=True)
class _Placed:
    """A commit with the time before which its write cannot, and the time after which it must, have its place."""

    position: int
    earliest: float
    latest: float
    operation: Operation


def check(index: Index) -> list[Violation]:
    """Returns pairs of writes whose commits are in the wrong order."""
    found = []
    for name in index.spaces:
        found += _check_sequence(name, _all_writes(index, name))
        found += _check_sequence(name, _accepted_writes(index, name))
    return found


def _all_writes(index: Index, name: str) -> list[_Placed]:
    """Returns direct writes from request to response, and accepted ones from request to the report of ingestion."""
    placed = []
    space = index.spaces[name]
    for write in index.writes_of(name, Kind.WRITE):
        for attempt in write.acknowledged:
            position = space.positions.get(attempt.result["commit"])
            if position is not None:
                placed.append(_Placed(position, attempt.start, attempt.end, attempt))
    ingested = index.ingested_at()
    for entry in _accepted_writes(index, name):
        report = ingested.get(entry.operation.token)
        latest = math.inf if report is None else report.end
        placed.append(_Placed(entry.position, entry.earliest, latest, entry.operation))
    return placed


def _accepted_writes(index: Index, name: str) -> list[_Placed]:
    """Returns conversations and removals from the first request to the acknowledgement."""
    placed = []
    space = index.spaces[name]
    for kind in (Kind.INGEST, Kind.FORGET):
        for write in index.writes_of(name, kind):
            # A removal is not repeated under the same id, so each id has its own attempt.
            for attempt in write.acknowledged:
                start = write.start if kind is Kind.INGEST else attempt.start
                for position in space.messages[attempt.result["id"]][:1]:
                    placed.append(_Placed(position, start, attempt.end, attempt))
    return placed


def _check_sequence(name: str, placed: list[_Placed]) -> list[Violation]:
    """Walks the branch and compares each commit with the write before it that began last."""
    found = []
    last: _Placed | None = None
    for entry in sorted(placed, key=lambda entry: entry.position):
        if last is not None and entry.latest < last.earliest:
            message = (
                f"{entry.operation.token} was complete before {last.operation.token} began, and its commit "
                f"{entry.position} is after commit {last.position}"
            )
            found.append(Violation(RULE, name, message, (entry.operation, last.operation)))
        if last is None or entry.earliest > last.earliest:
            last = entry
    return found
