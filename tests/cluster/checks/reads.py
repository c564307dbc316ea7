"""Reads return stored contents, never an older one than the client, or any client, could know.

The states of a path are the commits that changed it, in order. A read fits if its content is a state that is not older
than the last acknowledged write before the read began, and not older than what the same client read before. Of several
fitting states the oldest one is taken, which leaves the most room for the client's later reads.

Retrieval sees a conversation from the moment at which its ingestion was reported, and does not lose it again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass

from checks.model import Index, PathState, Violation
from history import Kind, Operation, Outcome

STORED = "reads_are_stored"
FRESH = "read_your_writes"
MONOTONIC = "monotonic_reads"


def check(index: Index) -> list[Violation]:
    """Returns reads and retrievals that contradict the history."""
    found = []
    for name in index.spaces:
        if not index.state.spaces[name].damage:
            found += _check_paths(index, name)
    found += check_retrievals(index)
    return found


@dataclass(frozen=True)
class _Known:
    """A state of a path that must be visible to every read that begins after a time."""

    since: float
    state: int
    operation: Operation


class _Floor:
    """The newest state that a read which begins at some time must see."""

    def __init__(self, known: list[_Known]) -> None:
        self._times: list[float] = []
        self._best: list[_Known] = []
        for entry in sorted(known, key=lambda entry: entry.since):
            is_newer = not self._best or entry.state > self._best[-1].state
            self._times.append(entry.since)
            self._best.append(entry if is_newer else self._best[-1])

    def before(self, time: float) -> _Known | None:
        """Returns the newest state that was known before a time."""
        count = bisect_left(self._times, time)
        return self._best[count - 1] if count else None


def _check_paths(index: Index, name: str) -> list[Violation]:
    reads: dict[str, list[Operation]] = defaultdict(list)
    for operation in index.by_space[name]:
        if operation.kind is Kind.READ and operation.outcome is Outcome.OK:
            reads[operation.target].append(operation)
    known = _known_states(index, name)
    found = []
    for path, operations in reads.items():
        states = index.spaces[name].paths[path]
        found += _check_path(name, states, _Floor(known[path]), operations)
    return found


def _known_states(index: Index, name: str) -> dict[str, list[_Known]]:
    """Returns, by path, the states that acknowledged direct writes and reported ingestions made known."""
    known: dict[str, list[_Known]] = defaultdict(list)
    space = index.spaces[name]
    for write in index.writes_of(name, Kind.WRITE):
        for attempt in write.acknowledged:
            position = space.positions.get(attempt.result["commit"], -1)
            number = space.state_numbers.get((write.path, position))
            if number is not None:
                known[write.path].append(_Known(attempt.end, number, attempt))
    for token, report in index.ingested_at().items():
        for position, path in space.introduced[token][:1]:
            known[path].append(_Known(report.end, space.state_numbers[path, position], report))
        # The commit of a removal introduces nothing, so it is found by the id of the write.
        path = index.writes[token].path if token in index.writes else ""
        for position in space.messages[report.target][:1]:
            number = space.state_numbers.get((path, position))
            if number is not None:
                known[path].append(_Known(report.end, number, report))
    return known


def _check_path(name: str, states: list[PathState], floor: _Floor, reads: list[Operation]) -> list[Violation]:
    found = []
    seen: dict[str, tuple[int, Operation]] = {}
    for read in reads:
        token = read.result["token"]
        at_least = floor.before(read.start)
        before = seen.get(read.client)
        lowest = max(at_least.state if at_least else 0, before[0] if before else 0)
        fitting = _first_state(states, token, lowest)
        if fitting is not None:
            seen[read.client] = (fitting, read)
        elif _first_state(states, token, 0) is None:
            message = f"{read.target} had {token}, which is in no commit"
            found.append(Violation(STORED, name, message, (read,)))
        elif at_least is not None and _first_state(states, token, at_least.state) is None:
            message = f"{read.target} had {token} after {at_least.operation.token} was known to be stored"
            found.append(Violation(FRESH, name, message, (at_least.operation, read)))
        else:
            assert before is not None, "without an earlier read, a floor excludes the state"
            message = f"{read.target} had {token} after the client had read {before[1].result['token']}"
            found.append(Violation(MONOTONIC, name, message, (before[1], read)))
    return found


def _first_state(states: list[PathState], token: str | None, lowest: int) -> int | None:
    """Returns the oldest state with a content, at or after an index."""
    for number in range(lowest, len(states)):
        if states[number].token == token:
            return number
    return None


def check_retrievals(index: Index) -> list[Violation]:
    """Returns queries that missed what was ingested or found before. Needs no final state."""
    found = []
    reported = index.ingested_at()
    first: dict[str, Operation] = {}
    retrievals = [operation for operation in index.recorded.operations if _is_answered_retrieval(operation)]
    for operation in sorted(retrievals, key=lambda operation: operation.end):
        if operation.result["found"] > 0:
            first.setdefault(operation.token, operation)
    for operation in retrievals:
        if operation.result["found"] > 0:
            continue
        report, hit = reported.get(operation.token), first.get(operation.token)
        if report is not None and report.end < operation.start:
            message = f"{operation.token} was reported as ingested, and a later query did not find it"
            found.append(Violation(FRESH, operation.space, message, (report, operation)))
        elif hit is not None and hit.end < operation.start:
            message = f"{operation.token} was retrieved, and a later query did not find it"
            found.append(Violation(MONOTONIC, operation.space, message, (hit, operation)))
    return found


def _is_answered_retrieval(operation: Operation) -> bool:
    return operation.kind is Kind.RETRIEVE and operation.outcome is Outcome.OK
