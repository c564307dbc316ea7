"""The load of PostgreSQL, by cause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inputs import Inputs
from serving import forwarded_share


@dataclass(frozen=True)
class Cause:
    """What one kind of work demands of PostgreSQL, each second."""

    name: str
    #: Synchronous batches. A buffered batch counts as a fraction.
    commits: float = 0
    #: Point reads and rows of scans, as processor time.
    read_ms: float = 0
    #: Bytes that nodes send or receive.
    bytes: float = 0


def causes(nodes: int, weights: Sequence[float], inputs: Inputs) -> list[Cause]:
    """Returns the load of a calm second, with all nodes alive."""
    return [
        _writes(nodes, inputs),
        Cause("renewals", commits=nodes / inputs["renewal_interval_s"]),
        Cause("meters", commits=nodes * inputs["meter_batches"] * inputs["buffered_weight"]),
        _retrievals(nodes, inputs),
        _lookups(nodes, weights, inputs),
        _observation(nodes, inputs),
        _queue_scans(nodes, inputs),
    ]


def _writes(nodes: int, inputs: Inputs) -> Cause:
    writes = nodes * inputs["writes_per_node"]
    sent = inputs["message_bytes"] + inputs["pack_bytes"]
    return Cause("writes", commits=writes * inputs["batches_per_write"], bytes=writes * sent)


def _retrievals(nodes: int, inputs: Inputs) -> Cause:
    reads = nodes * inputs["retrievals_per_node"] * inputs["reads_per_retrieval"]
    return Cause("retrievals", read_ms=reads * inputs["point_read_ms"])


def _lookups(nodes: int, weights: Sequence[float], inputs: Inputs) -> Cause:
    """Owner lookups: a node that is not the owner asks again when its cache has no valid entry.

    With requests at random times, the time between two lookups is the cache's time and the wait for the next request.
    """
    requests = inputs["retrievals_per_node"] + inputs["writes_per_node"]
    lookups = 0.0
    for weight in weights:
        rate = requests * weight
        lookups += rate / (1 + rate * inputs["lookup_cache_s"])
    reads = lookups * nodes * forwarded_share(nodes) * inputs["reads_per_lookup"]
    return Cause("owner lookups", read_ms=reads * inputs["point_read_ms"])


def _observation(nodes: int, inputs: Inputs) -> Cause:
    """Each node reads the rows of all nodes once for each renewal."""
    scans = nodes / inputs["renewal_interval_s"]
    rows = scans * nodes
    read_ms = scans * inputs["point_read_ms"] + rows * inputs["scan_row_ms"]
    return Cause("observation", read_ms=read_ms, bytes=rows * inputs["node_row_bytes"])


def _queue_scans(nodes: int, inputs: Inputs) -> Cause:
    """Each node looks for queued writes without an owner: one read for each namespace with a queue, and one more."""
    waiting = nodes * inputs["writes_per_node"] * inputs["seconds_in_queue"]
    reads = nodes / inputs["renewal_interval_s"] * (1 + waiting)
    return Cause("queue scans", read_ms=reads * inputs["point_read_ms"])


def commits(found: Sequence[Cause]) -> float:
    """Returns the synchronous batches of all causes."""
    return sum(each.commits for each in found)


def read_cores(found: Sequence[Cause]) -> float:
    """Returns the processors that the reads of all causes keep busy."""
    return sum(each.read_ms for each in found) / 1000
