"""The smallest number of nodes at which each limit is reached, for traffic that grows with the nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from statistics import median

from database import causes, commits, read_cores
from inputs import Inputs
from ownership import after_rolling_restart, first_claims, loads, rebalanced
from serving import retrievals_max

#: Smaller clusters are not examined: with two nodes, a rolling restart always leaves one of them with everything.
NODES_MIN = 3
#: Larger clusters are not examined.
NODES_MAX = 1000
#: How often owners are drawn. The median of the draws counts.
_DRAWS = 9

#: Returns how much of a limit a cluster uses: 1 is all of it.
Use = Callable[[int, Sequence[float], Inputs], float]


def _first_claims(nodes: int, weights: Sequence[float], inputs: Inputs) -> float:
    used = []
    for draw in range(_DRAWS):
        owners = first_claims(len(weights), nodes, Random(draw))
        used.append(_used_of_busiest(owners, nodes, weights, inputs))
    return median(used)


def _rolling_restart(nodes: int, weights: Sequence[float], inputs: Inputs) -> float:
    used = []
    for draw in range(_DRAWS):
        random = Random(draw)
        owners = after_rolling_restart(first_claims(len(weights), nodes, random), nodes, random)
        used.append(_used_of_busiest(owners, nodes, weights, inputs))
    return median(used)


def _rebalanced(nodes: int, weights: Sequence[float], inputs: Inputs) -> float:
    return _used_of_busiest(rebalanced(weights, nodes), nodes, weights, inputs)


def _used_of_busiest(owners: Sequence[int], nodes: int, weights: Sequence[float], inputs: Inputs) -> float:
    busiest = max(loads(owners, weights, nodes))
    return nodes * inputs["retrievals_per_node"] / retrievals_max(busiest, nodes, inputs)


def _connections(nodes: int, _weights: Sequence[float], inputs: Inputs) -> float:
    return nodes * inputs["connections_per_node"] / inputs["database_connections"]


def _commits(nodes: int, weights: Sequence[float], inputs: Inputs) -> float:
    return commits(causes(nodes, weights, inputs)) / inputs["commits_max"]


def _reads(nodes: int, weights: Sequence[float], inputs: Inputs) -> float:
    return read_cores(causes(nodes, weights, inputs)) / inputs["database_cores"]


USES: dict[str, Use] = {
    "busiest node, after a rolling restart": _rolling_restart,
    "busiest node, first claims": _first_claims,
    "busiest node, rebalanced": _rebalanced,
    "connections of PostgreSQL": _connections,
    "commits of PostgreSQL": _commits,
    "reads of PostgreSQL": _reads,
}


def first_size(name: str, weights: Sequence[float], inputs: Inputs) -> int | None:
    """Returns a number of nodes that reaches a limit, while one node less does not. `None` if it is above `NODES_MAX`.
    `NODES_MIN` can also mean that fewer nodes reach the limit.

    Uses grow with the nodes, except by chance: where owners are drawn, a neighbouring size can be on the other side.
    """
    use = USES[name]
    low, high = NODES_MIN - 1, NODES_MIN
    while use(high, weights, inputs) < 1:
        if high == NODES_MAX:
            return None
        low, high = high, min(2 * high, NODES_MAX)
    while high - low > 1:
        middle = (low + high) // 2
        if use(middle, weights, inputs) >= 1:
            high = middle
        else:
            low = middle
    return high
