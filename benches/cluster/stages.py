"""The stages of a run: filling, rounds in which the deployments take turns, statements, cold opening, recovery.

An error ends only the stage of one deployment. It is recorded, and what it leaves out is not in the report.
"""

from __future__ import annotations

import http.client
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import outages
import reads
import writes
from client import Client, RequestFailed
from corpus import Corpus
from deployments import Deployment, Machine
from figures import Metric, Place, Results, Unit
from node import NodeEnded
from process import NotReached
from usage import Statements, statements_of, times_of

_CLUSTER = (Place.THREE,)
_NAMESPACE_COUNT = 8
#: What a failed measurement can raise. Any other exception is an error of the benchmark.
FAILURES = (RequestFailed, NotReached, NodeEnded, RuntimeError, OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Sizes:
    """How much is measured. Counts are those of one round and one deployment."""

    rounds: int = 3
    requests: int = 40
    accepted_in_parallel: int = 120
    ingested: int = 500
    retrievals: int = 150
    seconds: float = 1.5
    #: Memories of the namespace of the retrievals.
    library: int = 2000
    #: Number of namespaces over which retrievals are spread, and the memories of each.
    shelves: int = 6
    shelf: int = 300
    #: Memories of the namespaces that are opened cold.
    cold: tuple[int, ...] = (200, 2000)
    cold_rounds: int = 3
    recoveries: int = 5


def metrics(sizes: Sizes) -> list[Metric]:
    """Returns the rows of the table. Kills and cold first retrievals are single values, without percentiles."""
    milliseconds, rate = Unit.MILLISECONDS, Unit.PER_SECOND
    rows = [
        Metric("accept", "`POST /v1/memories` to `202`", milliseconds),
        Metric("accept-forwarded", "the same, forwarded", milliseconds, _CLUSTER, "accept"),
        Metric("accept-parallel", "accepted, 8 clients", rate),
        Metric("fresh", "`202` to retrievable, polled", milliseconds),
        Metric("wait", "`POST /v1/memories?wait=`", milliseconds),
        Metric("direct", "`POST /v1/memories/{path}`", milliseconds),
        Metric("ingest", f"ingested, {sizes.ingested} messages into {_NAMESPACE_COUNT} namespaces", rate),
        Metric("retrieve", f"`GET /v1/retrieve`, {sizes.library:,} memories", milliseconds),
        Metric("retrieve-forwarded", "the same, forwarded", milliseconds, _CLUSTER, "retrieve"),
        Metric("retrieve-parallel", "retrieved, 8 clients, at the owner", rate),
        Metric(
            "retrieve-parallel-forwarded", "retrieved, 8 clients, forwarded", rate, _CLUSTER, "retrieve-parallel"
        ),
        Metric("spread", f"retrieved, 8 clients, {sizes.shelves} namespaces, all nodes in turn", rate),
        Metric("restart", "retrievable after `kill -9` and restart", Unit.SECONDS, (Place.SINGLE, Place.ONE)),
        Metric("recovery", "retrievable elsewhere after `kill -9`", Unit.SECONDS, _CLUSTER, "restart"),
    ]
    for size in sizes.cold:
        rows.append(Metric(f"cold-{size}", f"first retrieval, {size:,} memories", milliseconds))
    return rows


class Run:
    """A run of the benchmark on a machine whose deployments are open."""

    def __init__(self, machine: Machine, sizes: Sizes) -> None:
        self.results = Results()
        self._machine = machine
        self._sizes = sizes
        self._began = time.monotonic()

    def _progress(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s  {text}", file=sys.stderr, flush=True)

    def _attempt(self, stage: str, work: Callable[..., None], deployment: Deployment, *numbers: int) -> None:
        """Runs a stage for one deployment and records its failure. `numbers` is the number of the round, if any."""
        self._progress(f"{stage}: {deployment.place.value}")
        try:
            work(deployment, *numbers)
        except FAILURES as error:
            self.results.fail(deployment.place, stage, f"{type(error).__name__}: {error}")
            self._progress(f"{stage}: {deployment.place.value}: failed: {error}")

    def all(self) -> Results:
        """Runs all stages."""
        deployments = list(self._machine.deployments.values())
        for deployment in deployments:
            self._attempt("fill", self._fill, deployment)
        for number in range(1, self._sizes.rounds + 1):
            for deployment in deployments:
                stage = f"round {number} of {self._sizes.rounds}"
                self._attempt(f"{stage}, writes", self._write, deployment, number)
                self._attempt(f"{stage}, retrievals", self._retrieve, deployment, number)
        for deployment in deployments:
            if deployment.place is not Place.SINGLE:
                self._attempt("statements", self._count_statements, deployment)
        for number in range(1, self._sizes.cold_rounds + 1):
            for deployment in deployments:
                self._attempt(f"cold round {number}", self._open_cold, deployment, number)
        for number in range(1, self._sizes.recoveries + 1):
            for deployment in deployments:
                self._attempt(f"kill {number}", self._recover, deployment, number)
        return self.results

    def _shelves(self) -> list[str]:
        return [f"shelf{number}" for number in range(self._sizes.shelves)]

    def _cold_namespaces(self) -> list[str]:
        return [f"cold{size}" for size in self._sizes.cold]

    def _fill(self, deployment: Deployment) -> None:
        """Creates what the rounds read and write. The shelves belong to the nodes in turn."""
        deployment.create("inbox")
        writes.fill(deployment, "library", 0, Corpus(1), self._sizes.library)
        for number, shelf in enumerate(self._shelves()):
            writes.fill(deployment, shelf, number, Corpus(10 + number), self._sizes.shelf)
        for namespace, size in zip(self._cold_namespaces(), self._sizes.cold, strict=True):
            writes.fill(deployment, namespace, 0, Corpus(100), size)

    def _write(self, deployment: Deployment, number: int) -> None:
        place, sizes, corpus = deployment.place, self._sizes, Corpus(1000 * number)
        owner = deployment.owner("inbox")
        with deployment.client(owner) as client:
            # The connection and the caches are warm before the first request counts.
            writes.direct(client, "inbox", corpus, 1)
            times = writes.accept(client, "inbox", corpus, sizes.requests)
        self.results.add_latencies("accept", place, times)
        if place is Place.THREE:
            with deployment.client(deployment.other("inbox")) as client:
                writes.direct(client, "inbox", corpus, 1)
                times = writes.accept(client, "inbox", corpus, sizes.requests)
            self.results.add_latencies("accept-forwarded", place, times)
        deployment.wait_until_ingested()
        rate = writes.accept_in_parallel(deployment, owner, "inbox", corpus, sizes.accepted_in_parallel)
        self.results.add_number("accept-parallel", place, rate)
        deployment.wait_until_ingested()
        with deployment.client(owner) as client:
            few = max(1, sizes.requests // 2)
            self.results.add_latencies("fresh", place, writes.freshness(client, "inbox", corpus, few))
            self.results.add_latencies("wait", place, writes.waited(client, "inbox", corpus, few))
            self.results.add_latencies("direct", place, writes.direct(client, "inbox", corpus, few))
        self._ingest(deployment, number, corpus)

    def _ingest(self, deployment: Deployment, number: int, corpus: Corpus) -> None:
        namespaces = [f"round{number}part{part}" for part in range(_NAMESPACE_COUNT)]
        for part, namespace in enumerate(namespaces):
            deployment.create(namespace, part)
        rate = writes.ingestion(deployment, namespaces, corpus, self._sizes.ingested)
        self.results.add_number("ingest", deployment.place, rate)

    def _retrieve(self, deployment: Deployment, number: int) -> None:
        place, sizes, seed = deployment.place, self._sizes, 1000 * number
        owner, library = deployment.owner("library"), ["library"]
        self._retrieve_in_sequence(deployment, owner, "retrieve", seed)
        rate = reads.parallel(deployment, [owner], library, seed, sizes.seconds)
        self.results.add_number("retrieve-parallel", place, rate)
        if place is Place.THREE:
            other = deployment.other("library")
            self._retrieve_in_sequence(deployment, other, "retrieve-forwarded", seed)
            rate = reads.parallel(deployment, [other], library, seed, sizes.seconds)
            self.results.add_number("retrieve-parallel-forwarded", place, rate)
        self._retrieve_spread(deployment, seed)

    def _retrieve_in_sequence(self, deployment: Deployment, number: int, key: str, seed: int) -> None:
        with deployment.client(number) as client:
            reads.sequence(client, "library", Corpus(seed + 1), 5)
            times = reads.sequence(client, "library", Corpus(seed), self._sizes.retrievals)
        self.results.add_latencies(key, deployment.place, times)

    def _retrieve_spread(self, deployment: Deployment, seed: int) -> None:
        numbers, place = list(range(len(deployment.nodes))), deployment.place
        before, began = times_of(self._machine, deployment), time.perf_counter()
        rate = reads.parallel(deployment, numbers, self._shelves(), seed, self._sizes.seconds)
        after, elapsed = times_of(self._machine, deployment), time.perf_counter() - began
        self.results.add_number("spread", place, rate)
        for process, seconds in after.items():
            self.results.add_cores(place, process, (seconds - before[process]) / elapsed)

    def _count_statements(self, deployment: Deployment) -> None:
        """Counts the statements of requests. What an idle deployment runs in the same time is subtracted."""
        idle = self._idle_rates(deployment)
        owner = deployment.owner("inbox")
        self._count_kind(deployment, owner, "", idle)
        if deployment.place is Place.THREE:
            self._count_kind(deployment, deployment.other("inbox"), ", forwarded", idle)

    def _count_kind(self, deployment: Deployment, number: int, suffix: str, idle: tuple[float, float]) -> None:
        count, corpus = self._sizes.requests, Corpus(99_000 + number)
        kinds: list[tuple[str, Callable[[Client], object]]] = [
            ("`GET /v1/retrieve`", lambda client: reads.sequence(client, "inbox", corpus, count)),
            ("`POST /v1/memories?wait=`", lambda client: writes.waited(client, "inbox", corpus, count)),
            ("`POST /v1/memories/{path}`", lambda client: writes.direct(client, "inbox", corpus, count)),
        ]
        for kind, send in kinds:
            with deployment.client(number) as client:
                client.expect(200, "GET", "/v1/whoami")
                before, began = self._statements(deployment), time.perf_counter()
                send(client)
                after, elapsed = self._statements(deployment), time.perf_counter() - began
            every = (after.all - before.all - idle[0] * elapsed) / count
            commits = (after.commits - before.commits - idle[1] * elapsed) / count
            self.results.statements[kind + suffix, deployment.place] = (max(0.0, every), max(0.0, commits))

    def _idle_rates(self, deployment: Deployment) -> tuple[float, float]:
        """Returns the statements and the commits per second of a deployment without requests."""
        deployment.wait_until_ingested()
        before, began = self._statements(deployment), time.perf_counter()
        time.sleep(2 * self._sizes.seconds)
        after, elapsed = self._statements(deployment), time.perf_counter() - began
        return (after.all - before.all) / elapsed, (after.commits - before.commits) / elapsed

    def _statements(self, deployment: Deployment) -> Statements:
        return statements_of(self._machine.database, deployment.database_name)

    def _open_cold(self, deployment: Deployment, number: int) -> None:
        times = outages.cold_open(deployment, self._cold_namespaces(), 1000 * number)
        for size, milliseconds in zip(self._sizes.cold, times, strict=True):
            self.results.add_number(f"cold-{size}", deployment.place, milliseconds)

    def _recover(self, deployment: Deployment, number: int) -> None:
        seconds = outages.recovery(deployment, "library", 1000 * number)
        key = "recovery" if deployment.place is Place.THREE else "restart"
        self.results.add_number(key, deployment.place, seconds)
