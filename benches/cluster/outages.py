"""Measurements of what follows the end of a process: the first retrieval elsewhere, and the time without an answer."""

from __future__ import annotations

import json
import shutil
import time

from client import Client, RequestFailed
from corpus import Corpus
from deployments import Deployment
from figures import Place
from reads import retrieve
from writes import milliseconds_since

_PAUSE = 0.005
#: Longest time for one attempt, and for all attempts until a node answers, seconds.
_ATTEMPT = 5.0
_PATIENCE = 60.0


def cold_open(deployment: Deployment, namespaces: list[str], seed: int) -> list[float]:
    """Returns the milliseconds of the first retrieval of each namespace.

    The single box is restarted. In front of a database, all nodes are stopped and their data directories deleted. With
    three nodes, the former owner of each namespace stays stopped while another node opens it.
    """
    times = []
    for number, namespace in enumerate(namespaces):
        _claim(deployment, namespace)
        stopped = deployment.owner(namespace)
        reader = (stopped + 1) % len(deployment.nodes)
        for node in deployment.nodes:
            node.stop()
            if deployment.place is not Place.SINGLE and node.data.exists():
                shutil.rmtree(node.data)
        for each, node in enumerate(deployment.nodes):
            if each != stopped or stopped == reader:
                node.start()
        times.append(_first_retrieval(deployment, reader, namespace, seed + number))
        if stopped != reader:
            deployment.nodes[stopped].start()
    return times


def _claim(deployment: Deployment, namespace: str) -> None:
    """Makes a node the owner of a namespace, which nobody owns after all nodes were stopped."""
    with deployment.client(0) as client:
        retrieve(client, namespace, Corpus(0))


def _first_retrieval(deployment: Deployment, reader: int, namespace: str, seed: int) -> float:
    corpus = Corpus(seed)
    with deployment.client(reader) as client:
        # The node reads and remembers the key, which is not part of opening a namespace.
        client.expect(200, "GET", "/v1/whoami")
        began = time.perf_counter()
        content = retrieve(client, namespace, corpus)
        elapsed = milliseconds_since(began)
    if not json.loads(content)["cold_start"]:
        raise RuntimeError(f"the namespace {namespace} was open before its first retrieval")
    return elapsed


def recovery(deployment: Deployment, namespace: str, seed: int) -> float:
    """Kills the process that serves a namespace, and returns the seconds until a retrieval is answered again.

    With three nodes, another node answers. A single process is started again at once.
    """
    _claim(deployment, namespace)
    owner = deployment.owner(namespace)
    reader = (owner + 1) % len(deployment.nodes)
    corpus = Corpus(seed)
    killed = deployment.nodes[owner]
    began = time.perf_counter()
    killed.process.kill()
    if reader == owner:
        killed.process.start()
    while not _is_answered(deployment, reader, namespace, corpus):
        if time.perf_counter() - began > _PATIENCE:
            raise RuntimeError(f"no node answers {_PATIENCE:.0f} s after the owner was killed")
        time.sleep(_PAUSE)
    elapsed = time.perf_counter() - began
    if reader != owner:
        killed.start()
    return elapsed


def _is_answered(deployment: Deployment, number: int, namespace: str, corpus: Corpus) -> bool:
    try:
        with Client(deployment.nodes[number].address, deployment.key, _ATTEMPT) as client:
            retrieve(client, namespace, corpus)
    except RequestFailed:
        return False
    return True
