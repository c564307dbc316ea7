"""What all checks share: violations, writes with their attempts, and the positions of commits.

A namespace's branch is its order of writes. The position of a commit in it is the only clock of the checks, next to the
start and end times of operations, which the clients measured.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from final_state import FinalState, Space
from history import Kind, Operation, Outcome, Recorded

#: Kinds of operations that change something.
WRITES = (Kind.INGEST, Kind.WRITE, Kind.FORGET)


@dataclass(frozen=True)
class Violation:
    """A property that does not hold, with the operations that show it."""

    rule: str
    space: str
    message: str
    operations: tuple[Operation, ...] = ()


@dataclass
class Write:
    """A write with all attempts of its client, in the order in which they were sent."""

    attempts: list[Operation] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        return self.attempts[0].kind

    @property
    def token(self) -> str:
        return self.attempts[0].token

    @property
    def path(self) -> str:
        return self.attempts[0].target

    @property
    def space(self) -> str:
        return self.attempts[0].space

    @property
    def start(self) -> float:
        """Start of the first attempt. The write has no effect before."""
        return self.attempts[0].start

    @property
    def acknowledged(self) -> list[Operation]:
        return [attempt for attempt in self.attempts if attempt.outcome is Outcome.OK]

    @property
    def unknown(self) -> list[Operation]:
        return [attempt for attempt in self.attempts if attempt.outcome is Outcome.UNKNOWN]

    def ids(self) -> list[str]:
        """Returns the different ids with which a queued write was acknowledged."""
        return sorted({attempt.result["id"] for attempt in self.acknowledged})

    def violation(self, rule: str, message: str) -> Violation:
        """Returns a violation that this write shows."""
        return Violation(rule, self.space, f"{self.kind.value} {self.token}: {message}", tuple(self.attempts))


@dataclass(frozen=True)
class PathState:
    """What a path holds from a commit on. Position -1 is before the first commit."""

    position: int
    token: str | None


class SpaceIndex:
    """The branch of a namespace by commit, by message, by token and by path."""

    def __init__(self, space: Space) -> None:
        #: Position of every commit.
        self.positions: dict[str, int] = {}
        #: Positions of the commits of every accepted write.
        self.messages: dict[str, list[int]] = defaultdict(list)
        #: Positions and paths of the commits that set a content with a token, also if the path had it before.
        self.written: dict[str, list[tuple[int, str]]] = defaultdict(list)
        #: The same, without the commits after which the token is where it was before.
        self.introduced: dict[str, list[tuple[int, str]]] = defaultdict(list)
        #: States of every path, oldest first, beginning with its absence.
        self.paths: dict[str, list[PathState]] = defaultdict(lambda: [PathState(-1, None)])
        #: Number of the state that a commit made, by path and position.
        self.state_numbers: dict[tuple[str, int], int] = {}
        for position, commit in enumerate(space.commits):
            self.positions[commit.id] = position
            if commit.message:
                self.messages[commit.message].append(position)
            for change in commit.changes:
                self._add_change(position, change.path, change.token)

    def _add_change(self, position: int, path: str, token: str | None) -> None:
        states = self.paths[path]
        if token is not None:
            self.written[token].append((position, path))
            if states[-1].token != token:
                self.introduced[token].append((position, path))
        self.state_numbers[path, position] = len(states)
        states.append(PathState(position, token))


class Index:
    """A history and a final state, ordered for the checks."""

    def __init__(self, recorded: Recorded, state: FinalState) -> None:
        self.recorded = recorded
        self.state = state
        #: Writes by token.
        self.writes: dict[str, Write] = {}
        self.by_space: dict[str, list[Operation]] = defaultdict(list)
        #: Direct writes by namespace and path.
        self.by_path: dict[tuple[str, str], list[Write]] = defaultdict(list)
        for operation in sorted(recorded.operations, key=lambda operation: operation.start):
            self.by_space[operation.space].append(operation)
            if operation.kind in WRITES:
                self.writes.setdefault(operation.token, Write()).attempts.append(operation)
        for write in self.writes.values():
            if write.kind is Kind.WRITE:
                self.by_path[write.space, write.path].append(write)
        self.spaces = {name: SpaceIndex(space) for name, space in state.spaces.items()}

    def writes_of(self, space: str, kind: Kind) -> list[Write]:
        """Returns the writes of a kind to a namespace."""
        return [write for write in self.writes.values() if write.space == space and write.kind is kind]

    def ingested_at(self) -> dict[str, Operation]:
        """Returns, by token, the first operation that reported a conversation as ingested."""
        found: dict[str, Operation] = {}
        for operation in self.recorded.operations:
            if operation.kind is not Kind.STATUS or operation.outcome is not Outcome.OK:
                continue
            if operation.result["status"] != "ingested":
                continue
            earlier = found.get(operation.token)
            if earlier is None or operation.end < earlier.end:
                found[operation.token] = operation
        return found
