"""A mixed load over the balancer: clients and probes, each a thread, that record everything they do.

A client ingests conversations, writes and forgets memories at paths, reads, retrieves and looks at heads. It repeats a
write with the same body until the write succeeds, is refused, or the time for it is up. Every write has a token, a word
that occurs in no other write. Some paths belong to one client, others are written by all clients of an account.

A probe writes and reads one path of one namespace in turns with a short time limit, so that the time without an answer
can be measured for every namespace.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from api import Api, Response
from history import History, Kind, Operation, Outcome

NAMESPACES = ("alpha", "beta", "gamma")
ACCOUNTS = ("first", "second")
#: The tokens of writes in a text.
TOKEN = re.compile(r"\btok\d+n\d+x\b")
#: Time limit of a client's request, seconds.
_TIMEOUT = 5.0
#: Time for all attempts of a write, seconds. Less than the five minutes in which a repeated body is the same write.
_PERSISTENCE = 90.0
_PAUSE_FIRST = 0.05
_PAUSE_MAX = 2.0
#: Paths that a client has for itself, and paths that all clients of a namespace share.
_OWN_PATHS = 4
_SHARED_PATHS = 3
#: Ingested conversations of a namespace that are looked for again.
_REMEMBERED = 50
#: Writes whose status is asked for at a time. Enough to keep up with the accepted ones.
_STATUSES_PER_LOOK = 2
#: One of this many conversations is long.
_LONG_EVERY = 12
_LONG_STATEMENTS = 20
#: One of this many direct writes is large. Its pack, which cannot be compressed further, is too large for a row.
_LARGE_EVERY = 25
_BALLAST_BYTES = 90_000


@dataclass(frozen=True)
class Accepted:
    """A conversation or a removal that was accepted, and the paths of its memories once it is ingested."""

    token: str
    id: str
    made: tuple[str, ...] = ()


class Board:
    """What the clients of one account know of each other's accepted writes, by namespace."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._accepted: dict[str, deque[Accepted]] = {name: deque() for name in NAMESPACES}
        self._ingested: dict[str, deque[Accepted]] = {name: deque(maxlen=_REMEMBERED) for name in NAMESPACES}

    def accept(self, namespace: str, write: Accepted) -> None:
        """Adds a write that is not known to be ingested."""
        with self._lock:
            self._accepted[namespace].append(write)

    def take_accepted(self, namespace: str) -> Accepted | None:
        """Takes the write that waits longest, if one waits."""
        with self._lock:
            waiting = self._accepted[namespace]
            return waiting.popleft() if waiting else None

    def ingest(self, namespace: str, write: Accepted) -> None:
        """Adds a conversation that is ingested."""
        with self._lock:
            self._ingested[namespace].append(write)

    def pick_ingested(self, namespace: str, choice: random.Random) -> Accepted | None:
        """Returns one of the last ingested conversations, if there are some."""
        with self._lock:
            known = self._ingested[namespace]
            return choice.choice(known) if known else None


class Worker(threading.Thread):
    """A thread that sends requests and records them until it is stopped."""

    def __init__(self, name: str, account: str, api: Api, history: History) -> None:
        super().__init__(name=name, daemon=True)
        self._account = account
        self._api = api
        self._history = history
        self._stopping = threading.Event()
        #: The exception that ended the thread, if one did.
        self.error: BaseException | None = None

    def stop(self) -> None:
        """Asks the thread to end after its current operation."""
        self._stopping.set()

    def run(self) -> None:
        """Repeats `step` until the thread is stopped."""
        try:
            while not self._stopping.is_set():
                self.step()
        except BaseException as error:
            self.error = error
            raise

    def step(self) -> None:
        """Sends one operation, with its repetitions."""
        raise NotImplementedError

    def _record(
        self,
        kind: Kind,
        namespace: str,
        target: str,
        token: str,
        send: Callable[[], Response],
        result_of: Callable[[Response], dict[str, Any]],
    ) -> Operation:
        """Sends a request and records it. A body without the expected fields fails the thread."""
        start = time.monotonic()
        response = send()
        end = time.monotonic()
        outcome = response.outcome
        if kind is Kind.READ and response.status == 404 and response.code == "not_found":
            outcome = Outcome.OK
        result = result_of(response) if outcome is Outcome.OK else {"code": response.code}
        operation = Operation(
            client=self.name,
            kind=kind,
            account=self._account,
            namespace=namespace,
            target=target,
            token=token,
            start=start,
            end=end,
            outcome=outcome,
            status=response.status,
            result=result,
        )
        self._history.add(operation)
        return operation

    def _write(self, namespace: str, path: str, token: str, timeout: float, ballast: str = "") -> Operation:
        body = {"namespace": namespace, "content": f"# Note {token}\n\nWritten by {self.name}.\n{ballast}"}
        return self._record(
            Kind.WRITE, namespace, path, token,
            lambda: self._api.request("POST", f"/v1/memories/{path}", timeout, body=body),
            lambda response: {"commit": response.body["commit"]},
        )

    def _read(self, namespace: str, path: str, token: str, timeout: float) -> Operation:
        return self._record(
            Kind.READ, namespace, path, token,
            lambda: self._api.request("GET", f"/v1/memories/{path}", timeout, {"namespace": namespace}),
            lambda response: {"token": token_of(response.body.get("content", ""))},
        )


class Client(Worker):
    """A client of one account that uses all its namespaces."""

    def __init__(self, number: int, account: str, api: Api, history: History, board: Board, seed: int) -> None:
        super().__init__(f"client-{number}", account, api, history)
        self._number = number
        self._board = board
        self._random = random.Random(f"{seed}-{number}")
        self._writes = 0
        #: Longest pause between two operations, seconds.
        self.pause_max = 0.2
        self._steps = [self._ingest, self._write_path, self._read_path, self._look_for, self._forget, self._see_head]
        self._weights = [24, 26, 20, 20, 5, 5]

    def step(self) -> None:
        """Sends an operation of a random kind to a random namespace, then pauses."""
        action = self._random.choices(self._steps, self._weights)[0]
        action(self._random.choice(NAMESPACES))
        self._stopping.wait(self._random.uniform(0, self.pause_max))

    def _token(self) -> str:
        self._writes += 1
        return f"tok{self._number}n{self._writes}x"

    def _persist(self, send: Callable[[], Operation]) -> Operation:
        """Repeats a request until it succeeds or is refused, or the time is up."""
        deadline = time.monotonic() + _PERSISTENCE
        pause = _PAUSE_FIRST
        while True:
            operation = send()
            is_refused = 400 <= operation.status < 500 and operation.status != 429
            if operation.outcome is Outcome.OK or is_refused or time.monotonic() > deadline:
                return operation
            time.sleep(pause * self._random.uniform(0.5, 1.5))
            pause = min(pause * 2, _PAUSE_MAX)

    def _ingest(self, namespace: str) -> None:
        token = self._token()
        statements = [f"Ledger entry {token} was signed by the harbour master"]
        if self._writes % _LONG_EVERY == 0:
            for number in range(_LONG_STATEMENTS):
                statements.append(f"Drawer {number} of desk {self._writes} holds letter number {number * 3}")
        messages = [{"role": "user", "content": statement} for statement in statements]
        body = {"namespace": namespace, "messages": messages}
        operation = self._persist(lambda: self._record(
            Kind.INGEST, namespace, "", token,
            lambda: self._api.request("POST", "/v1/memories", _TIMEOUT, body=body),
            lambda response: {"id": response.body["id"]},
        ))
        if operation.outcome is Outcome.OK:
            self._board.accept(namespace, Accepted(token, operation.result["id"]))

    def _path(self) -> str:
        if self._random.random() < 0.5:
            return f"facts/own-{self._number}/{self._random.randrange(_OWN_PATHS)}.md"
        return f"facts/shared/{self._random.randrange(_SHARED_PATHS)}.md"

    def _write_path(self, namespace: str) -> None:
        path, token = self._path(), self._token()
        ballast = self._random.randbytes(_BALLAST_BYTES).hex() if self._writes % _LARGE_EVERY == 0 else ""
        self._persist(lambda: self._write(namespace, path, token, _TIMEOUT, ballast))

    def _forget(self, namespace: str) -> None:
        path, token = self._path(), self._token()
        operation = self._persist(lambda: self._record(
            Kind.FORGET, namespace, path, token,
            lambda: self._api.request("DELETE", f"/v1/memories/{path}", _TIMEOUT, {"namespace": namespace}),
            lambda response: {"id": response.body["id"]},
        ))
        if operation.outcome is Outcome.OK:
            self._board.accept(namespace, Accepted(token, operation.result["id"]))

    def _read_path(self, namespace: str) -> None:
        self._read(namespace, self._path(), "", _TIMEOUT)

    def _look_for(self, namespace: str) -> None:
        """Asks whether some writes are ingested, and looks for a conversation that is: by query, and at its path."""
        taken = [self._board.take_accepted(namespace) for _ in range(_STATUSES_PER_LOOK)]
        for waiting in taken:
            if waiting is not None:
                self._see_status(namespace, waiting)
        known = self._board.pick_ingested(namespace, self._random)
        if known is None:
            return
        query = {"namespace": namespace, "q": known.token, "limit": 5}
        self._record(
            Kind.RETRIEVE, namespace, "", known.token,
            lambda: self._api.request("GET", "/v1/retrieve", _TIMEOUT, query),
            lambda response: _hits(response.body.get("hits", []), known.token),
        )
        self._read(namespace, known.made[0], known.token, _TIMEOUT)

    def _see_status(self, namespace: str, waiting: Accepted) -> None:
        operation = self._record(
            Kind.STATUS, namespace, waiting.id, waiting.token,
            lambda: self._api.request("GET", f"/v1/writes/{waiting.id}", _TIMEOUT),
            lambda response: {"status": response.body["status"], "made": response.body["made"]},
        )
        if operation.outcome is Outcome.OK and operation.result["status"] == "ingested":
            # The path of a memory is made from its statement, so it has the token. A removal makes no memory.
            made = tuple(path for path in operation.result["made"] if waiting.token in path)
            if made:
                self._board.ingest(namespace, Accepted(waiting.token, waiting.id, made))
        else:
            self._board.accept(namespace, waiting)

    def _see_head(self, namespace: str) -> None:
        self._record(
            Kind.HEAD, namespace, "", "",
            lambda: self._api.request("GET", "/v1/namespaces", _TIMEOUT),
            lambda response: {"head": _head(response.body["namespaces"], namespace)},
        )


class Probe(Worker):
    """Writes and reads one path of a namespace in turns."""

    def __init__(self, number: int, account: str, namespace: str, api: Api, history: History) -> None:
        super().__init__(f"probe-{number}", account, api, history)
        self._number = number
        self._namespace = namespace
        self._turns = 0
        #: Time limit of a request and pause between two requests, seconds.
        self.timeout = 1.0
        self.pause = 0.2

    def step(self) -> None:
        """Sends a write or a read, then pauses."""
        self._send()
        self._stopping.wait(self.pause)

    @property
    def target(self) -> str:
        """The namespace and the address, for messages."""
        return f"{self._account}/{self._namespace} at {self._api.address[0]}"

    def answers(self) -> bool:
        """Returns whether a write and a read succeed now. For a probe that does not run as a thread."""
        first, second = self._send(), self._send()
        return first.outcome is Outcome.OK and second.outcome is Outcome.OK

    def _send(self) -> Operation:
        self._turns += 1
        path = f"facts/probe/{self._number}.md"
        if self._turns % 2 == 1:
            return self._write(self._namespace, path, f"tok{self._number}n{self._turns}x", self.timeout)
        return self._read(self._namespace, path, "", self.timeout)


def token_of(text: str) -> str | None:
    """Returns the first token of a text; `None` if it has none."""
    found = TOKEN.search(text)
    return found.group(0) if found else None


def _hits(hits: list[dict[str, Any]], token: str) -> dict[str, Any]:
    """Returns how many hits have a token, and the tokens of the other hits."""
    tokens = [token_of(hit["content"]) for hit in hits]
    others = sorted({other for other in tokens if other is not None and other != token})
    return {"found": tokens.count(token), "others": others}


def _head(namespaces: list[dict[str, Any]], name: str) -> str | None:
    for listed in namespaces:
        if listed["name"] == name:
            head: str | None = listed["head"]
            return head
    raise KeyError(name)
