"""What happens after a node dies: detection by the others, claims, and opening of its namespaces from the bucket."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from inputs import Inputs

#: How long after the detection first requests are counted, seconds.
HORIZON_S = 60.0


@dataclass(frozen=True)
class Reopening:
    """The first requests of the dead node's namespaces, after others noticed the death."""

    #: The wait of the first request of each namespace in seconds, and the requests a second of that namespace; sorted.
    waits: tuple[tuple[float, float], ...]
    #: Bytes read from the bucket.
    bytes: float


def detection_seconds(nodes: int, inputs: Inputs, random: Random) -> float:
    """Returns the time from the death of a node to the moment at which the first observer declares it.

    Each observer reads the rows of all nodes at times of its own, once for each renewal. It declares the death at the
    first read that is at least the TTL after the read at which it first saw the last renewal.
    """
    interval = inputs["renewal_interval_s"]
    died = random.uniform(0, interval)
    declared = float("inf")
    for _ in range(nodes - 1):
        # After the renewal, not after the death.
        first_seen = random.uniform(0, interval)
        reads = -(-inputs["session_ttl_s"] // interval)
        declared = min(declared, first_seen + reads * interval)
    return declared - died


def claim_seconds(namespaces: int, inputs: Inputs) -> float:
    """Returns the time to claim namespaces one by one, if all of PostgreSQL's commits are claims."""
    return namespaces / inputs["commits_max"]


def takeover_seconds(namespaces: int, inputs: Inputs) -> float:
    """Returns the time to claim namespaces in one statement, as the study did it."""
    return namespaces / 1000 * inputs["takeover_ms_per_1000"] / 1000


def reopen(dead: Sequence[float], nodes: int, outage_s: float, inputs: Inputs, random: Random) -> Reopening:
    """Opens namespaces of a dead node as they are asked for.

    `dead` has the requests a second of each of its namespaces. The node that gets the first request claims and opens
    the namespace, a limited number at once, in the order of the first requests. Those of the outage wait until its end.
    """
    first_requests: list[tuple[float, int, float]] = []
    for rate in dead:
        sent = random.expovariate(rate) - outage_s
        if sent <= HORIZON_S:
            first_requests.append((sent, random.randrange(nodes - 1), rate))
    first_requests.sort()
    parallel = int(inputs["parallel_opens"])
    free: list[list[float]] = []
    for _ in range(nodes - 1):
        free.append([0.0] * parallel)
    waits = []
    for sent, node, rate in first_requests:
        arrival = max(0.0, sent)
        started = max(arrival, heapq.heappop(free[node]))
        ended = started + open_seconds(inputs)
        heapq.heappush(free[node], ended)
        waits.append((ended - arrival, rate))
    return Reopening(tuple(sorted(waits)), len(first_requests) * inputs["open_bytes"])


def wait_of_traffic(found: Reopening, share: float) -> float:
    """Returns the longest first wait of the namespaces with a share of the traffic, those with the shortest waits."""
    total = sum(rate for _, rate in found.waits)
    reached = 0.0
    for wait, rate in found.waits:
        reached += rate
        if reached >= share * total:
            return wait
    return 0.0


def open_seconds(inputs: Inputs) -> float:
    """Returns the time to claim and open one namespace while the node opens as many others as it may."""
    claim = inputs["synced_batch_ms"] / 1000
    latency = inputs["open_objects"] * inputs["object_latency_ms"] / 1000
    transfer = inputs["open_bytes"] * inputs["parallel_opens"] / inputs["bucket_bytes_per_s"]
    return claim + latency + transfer


def percentile(ordered: Sequence[float], share: float) -> float:
    """Returns the smallest value that at least a share of all values do not exceed, or 0 of no values."""
    if not ordered:
        return 0.0
    index = max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)
    return ordered[index]
