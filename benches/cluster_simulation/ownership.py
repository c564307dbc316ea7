"""Which node owns which namespace, and how much of the traffic each node gets.

The traffic of namespaces follows Zipf's law. Owners are node numbers from 0, one for each namespace. The weight of a
namespace is its share of the traffic, and all weights add up to 1.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from random import Random


def zipf_weights(namespaces: int, exponent: float) -> list[float]:
    """Returns the weights of the namespaces, the largest first."""
    raw = [rank**-exponent for rank in range(1, namespaces + 1)]
    total = sum(raw)
    return [weight / total for weight in raw]


def first_claims(namespaces: int, nodes: int, random: Random) -> list[int]:
    """Returns the owners if the node that gets the first request of a namespace claims it."""
    return [random.randrange(nodes) for _ in range(namespaces)]


def after_rolling_restart(owners: Sequence[int], nodes: int, random: Random) -> list[int]:
    """Returns the owners after all nodes were restarted one after the other, by first claims.

    A node that stops releases its namespaces, and the next requests bring them to the others. A node that starts again
    owns nothing, so the last one ends up with nothing.
    """
    if nodes == 1:
        return list(owners)
    owned: list[list[int]] = [[] for _ in range(nodes)]
    for namespace, owner in enumerate(owners):
        owned[owner].append(namespace)
    for stopped in range(nodes):
        released, owned[stopped] = owned[stopped], []
        for namespace in released:
            other = random.randrange(nodes - 1)
            owned[other if other < stopped else other + 1].append(namespace)
    moved = [0] * len(owners)
    for owner, namespaces in enumerate(owned):
        for namespace in namespaces:
            moved[namespace] = owner
    return moved


def rebalanced(weights: Sequence[float], nodes: int) -> list[int]:
    """Returns the owners if the largest namespace always goes to the node with the least traffic."""
    heap = [(0.0, node) for node in range(nodes)]
    owners = [0] * len(weights)
    for namespace in sorted(range(len(weights)), key=lambda each: -weights[each]):
        load, node = heapq.heappop(heap)
        owners[namespace] = node
        heapq.heappush(heap, (load + weights[namespace], node))
    return owners


def loads(owners: Sequence[int], weights: Sequence[float], nodes: int) -> list[float]:
    """Returns the share of the traffic of each node."""
    found = [0.0] * nodes
    for owner, weight in zip(owners, weights, strict=True):
        found[owner] += weight
    return found
