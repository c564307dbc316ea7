"""How many retrievals the nodes can answer, limited by the node with the most traffic."""

from __future__ import annotations

from collections.abc import Sequence

from inputs import Inputs


def forwarded_share(nodes: int) -> float:
    """Returns the share of requests that reach another node than the owner, if a balancer sends them anywhere."""
    return (nodes - 1) / nodes


def busiest_cpu_ms(busiest_load: float, nodes: int, inputs: Inputs) -> float:
    """Returns the processor time of the busiest node for each retrieval that all nodes together answer."""
    forwarded = forwarded_share(nodes)
    as_owner = busiest_load * (inputs["retrieval_cpu_ms"] + forwarded * inputs["forward_cpu_ms"])
    as_entry = forwarded * inputs["forward_cpu_ms"] / nodes
    return as_owner + as_entry


def retrievals_max(busiest_load: float, nodes: int, inputs: Inputs) -> float:
    """Returns the number of retrievals a second at which the busiest node is used as much as planned."""
    available_ms = 1000 * inputs["node_cores"] * inputs["utilization_max"]
    return available_ms / busiest_cpu_ms(busiest_load, nodes, inputs)


def forwarded_bytes(retrievals: float, nodes: int, inputs: Inputs) -> float:
    """Returns the bytes a second that travel between nodes."""
    return retrievals * forwarded_share(nodes) * inputs["response_bytes"]


def imbalance(node_loads: Sequence[float]) -> float:
    """Returns the traffic of the busiest node divided by the mean."""
    return max(node_loads) * len(node_loads)
