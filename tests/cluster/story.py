"""Synthetic runs for the tests of the checker: a server that does everything right, and methods to break it.

Each operation takes one second of an imaginary clock, unless a test sets its times. Afterwards a test may change the
history, the namespace, the statuses and the usage directly.
"""

from __future__ import annotations

import dataclasses

from checker import check
from checks.model import Violation
from final_state import Change, Commit, FinalState, Space
from history import FaultRecord, Kind, Operation, Outcome, Recorded

ACCOUNT = "first"
NAMESPACE = "alpha"
SPACE = f"{ACCOUNT}/{NAMESPACE}"
PATH = "facts/p.md"


class Story:
    """A run with one account. All its namespaces behave like the first one."""

    def __init__(self) -> None:
        self.now = 0.0
        self.recorded = Recorded()
        self.spaces = {SPACE: Space()}
        self.statuses: dict[str, str] = {}
        self.used = {"writes": 0, "reads": 0}

    @property
    def space(self) -> Space:
        """The first namespace."""
        return self.spaces[SPACE]

    def violations(self) -> list[Violation]:
        """Returns what the checker finds."""
        state = FinalState(spaces=self.spaces, writes={ACCOUNT: self.statuses}, usage={ACCOUNT: self.used})
        return check(self.recorded, state)

    def rules(self) -> list[str]:
        """Returns the rules that are violated, each once."""
        return sorted({violation.rule for violation in self.violations()})

    def record(
        self,
        kind: Kind,
        token: str = "",
        target: str = "",
        outcome: Outcome = Outcome.OK,
        client: str = "c1",
        **result: object,
    ) -> Operation:
        """Adds an operation that takes the next second."""
        status = {Outcome.OK: 200, Outcome.FAILED: 503, Outcome.UNKNOWN: 0}[outcome]
        operation = Operation(
            client, kind, ACCOUNT, NAMESPACE, target, token, self.now, self.now + 1, outcome, status, dict(result)
        )
        self.now += 2
        self.recorded.operations.append(operation)
        return operation

    def commit(self, change: Change, message: str = "") -> str:
        """Adds a commit, also to files, memories and head, and returns its id."""
        space = self.space
        id = f"commit{len(space.commits)}"
        parents = (space.commits[-1].id,) if space.commits else ()
        space.commits.append(Commit(id, parents, message, (change,)))
        if change.is_removed:
            space.files.pop(change.path, None)
        else:
            space.files[change.path] = f"# Note {change.token}"
        space.memories = dict(space.files)
        space.head = id
        return id

    def write(self, token: str, path: str = PATH, client: str = "c1") -> Operation:
        """A direct write that succeeds."""
        commit = self.commit(Change(path, False, token))
        self.used["writes"] += 1
        return self.record(Kind.WRITE, token, path, client=client, commit=commit)

    def lost_answer(self, token: str, path: str = PATH) -> Operation:
        """A direct write that is stored, and whose response is lost."""
        self.commit(Change(path, False, token))
        self.used["writes"] += 1
        return self.record(Kind.WRITE, token, path, Outcome.UNKNOWN)

    def accept(self, token: str, id: str) -> Operation:
        """A conversation that is accepted, and not ingested yet."""
        if id not in self.statuses:
            self.statuses[id] = "queued"
            self.used["writes"] += 1
        return self.record(Kind.INGEST, token, id=id)

    def ingest(self, token: str, id: str) -> str:
        """Ingests an accepted conversation and returns the path of its memory."""
        path = f"facts/{token}.md"
        self.commit(Change(path, False, token), message=id)
        self.statuses[id] = "ingested"
        return path

    def report(self, token: str, id: str) -> Operation:
        """A client asks for the state of a conversation."""
        return self.record(Kind.STATUS, token, id, status=self.statuses[id], made=[f"facts/{token}.md"])

    def forget(self, token: str, id: str, path: str = PATH) -> Operation:
        """A removal that is accepted and processed."""
        self.statuses[id] = "ingested"
        if path in self.space.files:
            self.commit(Change(path, True), message=id)
        return self.record(Kind.FORGET, token, path, id=id)

    def read(self, token: str | None, path: str = PATH, client: str = "c1") -> Operation:
        """A read that returns a content with a token, or that the path has no memory."""
        operation = self.record(Kind.READ, "", path, client=client)
        return self.replace(operation, result={"token": token})

    def retrieve(self, token: str, found: int) -> Operation:
        """A query for a token."""
        self.used["reads"] += 1
        return self.record(Kind.RETRIEVE, token, found=found, others=[])

    def see_head(self) -> Operation:
        """A client looks at the head."""
        return self.record(Kind.HEAD, head=self.space.head)

    def fault(self) -> None:
        """A fault that lasts for the next second."""
        self.recorded.faults.append(FaultRecord("kill", "n1", self.now, self.now + 1, self.now + 1))
        self.now += 2

    def replace(self, operation: Operation, **fields: object) -> Operation:
        """Changes fields of a recorded operation and returns the new one."""
        changed = dataclasses.replace(operation, **fields)  # type: ignore[arg-type]
        operations = self.recorded.operations
        operations[operations.index(operation)] = changed
        return changed

    def swap_commits(self, one: int, other: int) -> None:
        """Exchanges two commits and their ids' places, so that the branch stays linear."""
        commits = self.space.commits
        commits[one], commits[other] = commits[other], commits[one]
        for position, commit in enumerate(commits):
            parents = (commits[position - 1].id,) if position else ()
            commits[position] = dataclasses.replace(commit, parents=parents)
        self.space.head = commits[-1].id
