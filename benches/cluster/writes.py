"""Measurements of writes: acceptance, freshness, ingestion, writes by path."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from client import Client, run_in_parallel, target_of
from corpus import Corpus
from deployments import Deployment, is_queue_empty
from process import wait_for

#: Messages of one conversation when a namespace is filled.
_CONVERSATION = 20
_PAUSE = 0.001
_PATIENCE = 60.0
_WAIT = "/v1/memories?wait=30s"


def milliseconds_since(began: float) -> float:
    """Returns the milliseconds since a time of `time.perf_counter`."""
    return (time.perf_counter() - began) * 1000


def message(namespace: str, *texts: str) -> dict[str, object]:
    """Returns the body of a conversation."""
    return {"namespace": namespace, "messages": [{"role": "user", "content": text} for text in texts]}


def accept(client: Client, namespace: str, corpus: Corpus, count: int) -> list[float]:
    """Returns the milliseconds until the `202` of each of `count` short messages."""
    times = []
    for _ in range(count):
        body = message(namespace, corpus.sentence())
        began = time.perf_counter()
        client.expect(202, "POST", "/v1/memories", body)
        times.append(milliseconds_since(began))
    return times


def accept_in_parallel(deployment: Deployment, number: int, namespace: str, corpus: Corpus, count: int) -> float:
    """Returns how many of `count` messages of eight clients were accepted per second, by one node."""
    bodies = [message(namespace, corpus.sentence()) for _ in range(count)]
    return _post_in_parallel(lambda _: deployment.client(number), [bodies[part::8] for part in range(8)])


def _post_in_parallel(connect: Callable[[int], Client], parts: list[list[dict[str, object]]]) -> float:
    """Posts each part by a client of its own and returns the messages per second."""
    clients = [connect(number) for number in range(len(parts))]

    def post(number: int) -> None:
        for body in parts[number]:
            clients[number].expect(202, "POST", "/v1/memories", body)

    try:
        elapsed = run_in_parallel(len(parts), post)
    finally:
        for client in clients:
            client.close()
    return sum(len(part) for part in parts) / elapsed


def is_found(client: Client, namespace: str, word: str) -> bool:
    """Returns whether a retrieval returns a memory that contains a word."""
    reply = client.expect(200, "GET", target_of("/v1/retrieve", namespace=namespace, q=word, limit=3))
    return word.encode() in reply.content


def freshness(client: Client, namespace: str, corpus: Corpus, count: int) -> list[float]:
    """Returns the milliseconds from each `202` until a retrieval returns the message, polled every millisecond."""
    times = []
    for _ in range(count):
        word = corpus.unique_word()
        client.expect(202, "POST", "/v1/memories", message(namespace, f"Asha Brandt keeps the {word} in Ghent."))
        began = time.perf_counter()
        while not is_found(client, namespace, word):
            if time.perf_counter() - began > _PATIENCE:
                raise RuntimeError(f"not retrievable within {_PATIENCE:.0f} s of its acceptance: {word}")
            time.sleep(_PAUSE)
        times.append(milliseconds_since(began))
    return times


def waited(client: Client, namespace: str, corpus: Corpus, count: int) -> list[float]:
    """Returns the milliseconds of requests that wait for the end of their write."""
    times = []
    for _ in range(count):
        body = message(namespace, corpus.sentence())
        began = time.perf_counter()
        reply = client.expect(200, "POST", _WAIT, body).json()
        times.append(milliseconds_since(began))
        if reply["status"] != "ingested":
            raise RuntimeError(f"a write ended as {reply['status']}")
    return times


def direct(client: Client, namespace: str, corpus: Corpus, count: int) -> list[float]:
    """Returns the milliseconds of writes by path."""
    times = []
    for _ in range(count):
        word = corpus.unique_word()
        body: dict[str, object] = {"namespace": namespace, "content": f"# The {word}\n\n{corpus.sentence()}\n"}
        began = time.perf_counter()
        reply = client.send("POST", f"/v1/memories/facts/bench/{word}.md", body)
        times.append(milliseconds_since(began))
        if reply.status not in (200, 201):
            raise RuntimeError(f"a write by path: status {reply.status}, {reply.content[:300]!r}")
    return times


def ingestion(deployment: Deployment, namespaces: list[str], corpus: Corpus, count: int) -> float:
    """Returns how many messages per second were ingested, from the first request until the queue was empty.

    Each namespace has a client of its own, at one node after the other.
    """
    parts = []
    for number, namespace in enumerate(namespaces):
        share = len(range(number, count, len(namespaces)))
        parts.append([message(namespace, corpus.sentence()) for _ in range(share)])
    with deployment.client() as client:
        began = time.perf_counter()
        _post_in_parallel(deployment.client, parts)
        while not is_queue_empty(client):
            if time.perf_counter() - began > _PATIENCE * 10:
                raise RuntimeError("the queue does not become empty")
            time.sleep(_PAUSE)
        return count / (time.perf_counter() - began)


def fill(deployment: Deployment, namespace: str, number: int, corpus: Corpus, size: int) -> None:
    """Creates a namespace at a node, and ingests conversations until it has `size` memories."""
    deployment.create(namespace, number)
    for _ in itertools.repeat(None, 20):
        with deployment.client(number) as client:
            missing = size - _memories(client, namespace)
            if missing <= 0:
                return
            for first in range(0, missing, _CONVERSATION):
                texts = [corpus.sentence() for _ in range(min(_CONVERSATION, missing - first))]
                client.expect(202, "POST", "/v1/memories", message(namespace, *texts))
            wait_for("the queue to be empty", lambda: is_queue_empty(client), 600.0)
    raise RuntimeError(f"{namespace} does not reach {size} memories: too few messages become memories")


def _memories(client: Client, namespace: str) -> int:
    for each in client.expect(200, "GET", "/v1/namespaces").json()["namespaces"]:
        if each["name"] == namespace:
            return int(each["memories"])
    raise RuntimeError(f"the namespace {namespace} is not listed")
