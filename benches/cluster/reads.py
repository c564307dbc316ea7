"""Measurements of retrievals: by one client, by eight, at the owner, forwarded, and over several namespaces."""

from __future__ import annotations

import itertools
import time

from client import Client, run_in_parallel, target_of
from corpus import Corpus
from deployments import Deployment
from writes import milliseconds_since

CLIENTS = 8


def retrieve(client: Client, namespace: str, corpus: Corpus) -> bytes:
    """Sends one retrieval with the default number of hits.

    All hits are admitted, because the queries are drawn at random: no memory may answer one.
    """
    target = target_of("/v1/retrieve", namespace=namespace, q=corpus.query(), precision="all")
    return client.expect(200, "GET", target).content


def sequence(client: Client, namespace: str, corpus: Corpus, count: int) -> list[float]:
    """Returns the milliseconds of retrievals one after the other. Raises `RuntimeError` if one finds nothing."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        content = retrieve(client, namespace, corpus)
        times.append(milliseconds_since(began))
        if b'"hits"' not in content:
            raise RuntimeError(f"a retrieval in {namespace} found nothing")
    return times


def parallel(deployment: Deployment, numbers: list[int], namespaces: list[str], seed: int, seconds: float) -> float:
    """Returns the retrievals per second of eight clients for a time.

    Each client sends its requests to the nodes with these numbers in turn, and draws each namespace at random, so
    requests of every namespace arrive at all nodes.
    """
    done = [0] * CLIENTS

    def run(number: int) -> None:
        corpus = Corpus(seed + number)
        clients = [deployment.client(each) for each in numbers]
        # The first client begins with the first node, the second with the second, and so on.
        turns = itertools.islice(itertools.cycle(clients), number % len(clients), None)
        end = time.perf_counter() + seconds
        try:
            while time.perf_counter() < end:
                namespace = namespaces[corpus.number_below(len(namespaces))]
                retrieve(next(turns), namespace, corpus)
                done[number] += 1
        finally:
            for client in clients:
                client.close()

    elapsed = run_in_parallel(CLIENTS, run)
    return sum(done) / elapsed
