"""The history of a run: what each client sent, when, and what it learned. One line of JSON per record.

An operation is one HTTP request. A client that repeats a request writes an operation for each attempt, with the same
token. Times are seconds of the monotonic clock of the harness, which all clients share.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


class Outcome(enum.StrEnum):
    """What the client knows about the effect of an operation."""

    #: The server reported success.
    OK = "ok"
    #: The operation surely had no effect.
    FAILED = "failed"
    #: The operation may have had its effect, or may have it later.
    UNKNOWN = "unknown"


class Kind(enum.StrEnum):
    """What an operation does."""

    #: `POST /v1/memories`: a conversation with the token. The result has `id`.
    INGEST = "ingest"
    #: `POST /v1/memories/{target}`: a memory with the token. The result has `commit`.
    WRITE = "write"
    #: `DELETE /v1/memories/{target}`. The result has `id`.
    FORGET = "forget"
    #: `GET /v1/memories/{target}`. The result has `token`: that of the content, or null if the path has no memory.
    READ = "read"
    #: `GET /v1/retrieve` with the token as the query. The result has `found`, the number of hits with the token, and
    #: `others`, the tokens of the other hits.
    RETRIEVE = "retrieve"
    #: `GET /v1/writes/{target}`. The result has `status` and `made`.
    STATUS = "status"
    #: `GET /v1/namespaces`. The result has `head`, a commit or null.
    HEAD = "head"


@dataclass(frozen=True)
class Operation:
    """One request of a client."""

    client: str
    kind: Kind
    account: str
    namespace: str
    #: Path of a memory, or id of a write.
    target: str
    #: The unique word of the write that the operation sends, repeats or looks for.
    token: str
    start: float
    end: float
    outcome: Outcome
    #: HTTP status; 0 without a response.
    status: int = 0
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def space(self) -> str:
        """The namespace with its account, as a key."""
        return f"{self.account}/{self.namespace}"


@dataclass(frozen=True)
class FaultRecord:
    """A fault as it was carried out."""

    kind: str
    #: What was hit, for the report.
    target: str
    injected: float
    healed: float
    #: When every namespace answered again.
    answered: float


@dataclass
class Recorded:
    """The records of a history."""

    operations: list[Operation] = field(default_factory=list)
    faults: list[FaultRecord] = field(default_factory=list)


class History:
    """A history that is being written. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w")
        self._lock = threading.Lock()
        self._recorded = Recorded()

    def add(self, operation: Operation) -> None:
        """Records an operation."""
        with self._lock:
            self._recorded.operations.append(operation)
            self._write("operation", dataclasses.asdict(operation))

    def add_fault(self, fault: FaultRecord) -> None:
        """Records a fault."""
        with self._lock:
            self._recorded.faults.append(fault)
            self._write("fault", dataclasses.asdict(fault))

    def _write(self, record: str, fields: dict[str, Any]) -> None:
        self._file.write(json.dumps({"record": record, **fields}) + "\n")

    def recorded(self) -> Recorded:
        """Returns a copy of the records so far."""
        with self._lock:
            return Recorded(list(self._recorded.operations), list(self._recorded.faults))

    def recent(self, count: int) -> Recorded:
        """Returns a copy of the faults and of the last operations."""
        with self._lock:
            return Recorded(self._recorded.operations[-count:], list(self._recorded.faults))

    def close(self) -> None:
        """Completes the file."""
        self._file.close()


def load(path: Path) -> Recorded:
    """Reads a history from its file."""
    recorded = Recorded()
    with path.open() as lines:
        for line in lines:
            fields = json.loads(line)
            if fields.pop("record") == "fault":
                recorded.faults.append(FaultRecord(**fields))
                continue
            fields["kind"], fields["outcome"] = Kind(fields["kind"]), Outcome(fields["outcome"])
            recorded.operations.append(Operation(**fields))
    return recorded
