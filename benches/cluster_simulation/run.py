"""Prints tables of a cluster by number of nodes and of namespaces: ownership, load of PostgreSQL, recovery, limits.

    python3 benches/cluster_simulation/run.py
    python3 benches/cluster_simulation/run.py --nodes 3,5 --namespaces 200 --set retrievals_per_node=900
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from random import Random

from database import Cause, causes, commits, read_cores
from inputs import INPUTS, Inputs, parse_replacement
from limits import NODES_MIN, USES, first_size
from ownership import after_rolling_restart, first_claims, loads, rebalanced, zipf_weights
from recovery import claim_seconds, detection_seconds, percentile, reopen, takeover_seconds, wait_of_traffic
from serving import forwarded_bytes, forwarded_share, imbalance, retrievals_max

#: Deaths that are drawn for the times of detection.
_DEATHS = 1000


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Returns a table in Markdown."""
    lines = [f"### {title}", "", _row(head), _row(["---"] * len(head))]
    lines.extend(_row(row) for row in rows)
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def inputs_table(inputs: Inputs) -> str:
    rows = [(each.name, f"{inputs[each.name]:g} {each.unit}", each.origin.value, each.source) for each in INPUTS]
    return table("Inputs", ["input", "value", "origin", "source"], rows)


def ownership_row(nodes: int, weights: Sequence[float], inputs: Inputs, random: Random) -> list[object]:
    """Returns the traffic, and what the busiest node makes of it for three ways of owning."""
    retrievals = nodes * inputs["retrievals_per_node"]
    claimed = first_claims(len(weights), nodes, random)
    restarted = after_rolling_restart(claimed, nodes, random)
    balanced = rebalanced(weights, nodes)
    cells: list[object] = [nodes, f"{len(weights):,}", f"{retrievals:,.0f}", f"{forwarded_share(nodes):.0%}"]
    cells.append(f"{forwarded_bytes(retrievals, nodes, inputs) / 1e6:,.0f}")
    for owners in (claimed, restarted, balanced):
        node_loads = loads(owners, weights, nodes)
        capacity = retrievals_max(max(node_loads), nodes, inputs)
        cells.append(f"{imbalance(node_loads):.1f}")
        cells.append(f"{capacity:,.0f}")
    return cells


def database_row(nodes: int, weights: Sequence[float], inputs: Inputs) -> list[object]:
    """Returns the load of PostgreSQL by cause, and how much of it that is."""
    found = causes(nodes, weights, inputs)
    by_name = {each.name: each for each in found}
    cells: list[object] = [nodes, f"{len(weights):,}"]
    for name in ("writes", "renewals", "meters"):
        cells.append(f"{by_name[name].commits:,.0f}")
    cells.append(f"{commits(found) / inputs['commits_max']:.0%}")
    for name in ("retrievals", "owner lookups", "observation", "queue scans"):
        cells.append(f"{by_name[name].read_ms / 1000:.2f}")
    cells.append(f"{read_cores(found) / inputs['database_cores']:.0%}")
    cells.append(f"{nodes * inputs['connections_per_node']:,.0f}")
    cells.append(f"{total_bytes(found) / 1e6:,.1f}")
    return cells


def total_bytes(found: Sequence[Cause]) -> float:
    return sum(each.bytes for each in found)


def recovery_row(nodes: int, weights: Sequence[float], inputs: Inputs, random: Random) -> list[object]:
    """Returns the times after the death of a node that owns by first claim."""
    detections = sorted(detection_seconds(nodes, inputs, random) for _ in range(_DEATHS))
    total = nodes * (inputs["retrievals_per_node"] + inputs["writes_per_node"])
    owners = first_claims(len(weights), nodes, random)
    dead = []
    for owner, weight in zip(owners, weights, strict=True):
        if owner == 0:
            dead.append(weight * total)
    detected = percentile(detections, 0.99)
    opened = reopen(dead, nodes, detected, inputs, random)
    return [
        nodes,
        f"{len(weights):,}",
        f"{percentile(detections, 0.5):.1f}",
        f"{detected:.1f}",
        f"{len(dead):,}",
        f"{claim_seconds(len(dead), inputs):.2f}",
        f"{takeover_seconds(len(dead), inputs):.2f}",
        f"{len(opened.waits):,}",
        f"{detected + wait_of_traffic(opened, 0.9):.1f}",
        f"{detected + wait_of_traffic(opened, 1):.1f}",
        f"{opened.bytes / 1e9:,.1f}",
    ]


def limit_rows(namespaces: Sequence[int], inputs: Inputs) -> list[list[object]]:
    """Returns for each limit the number of nodes that reaches it."""
    rows: list[list[object]] = []
    for name in USES:
        cells: list[object] = [name]
        for count in namespaces:
            size = first_size(name, zipf_weights(count, inputs["zipf_exponent"]), inputs)
            cells.append("not reached" if size is None else size)
        rows.append(cells)
    return rows


def report(nodes: Sequence[int], namespaces: Sequence[int], inputs: Inputs, seed: int) -> str:
    """Returns all tables."""
    ownership, database, recovery = [], [], []
    for count in namespaces:
        weights = zipf_weights(count, inputs["zipf_exponent"])
        for size in nodes:
            random = Random(f"{seed}-{size}-{count}")
            ownership.append(ownership_row(size, weights, inputs, random))
            database.append(database_row(size, weights, inputs))
            recovery.append(recovery_row(size, weights, inputs, random))
    head = ["nodes", "namespaces"]
    parts = [inputs_table(inputs)]
    owning = ["first claims", "after a rolling restart", "rebalanced"]
    columns = [*head, "retrievals/s", "forwarded", "MB/s between nodes"]
    for way in owning:
        columns.extend([f"busiest, times the mean: {way}", f"retrievals/s at most: {way}"])
    parts.append(table("Ownership and retrievals", columns, ownership))
    columns = [*head, "commits/s: writes", "renewals", "meters", "of the limit", "processors: retrievals"]
    columns.extend(["owner lookups", "observation", "queue scans", "of the processors", "connections", "MB/s"])
    parts.append(table("PostgreSQL in a calm second, by cause", columns, database))
    columns = [*head, "detected s, p50", "p99", "owned by the dead node", "all claimed s, one by one"]
    columns.extend(["in one statement", "asked for in 60 s", "without answers s, 90 % of its traffic", "longest"])
    columns.append("GB from the bucket")
    parts.append(table("After the death of a node, by first claims", columns, recovery))
    columns = ["limit", *(f"nodes with {count:,} namespaces" for count in namespaces)]
    title = f"The smallest cluster of at least {NODES_MIN} nodes that reaches each limit"
    parts.append(table(title, columns, limit_rows(namespaces, inputs)))
    return "\n".join(parts)


def _numbers(text: str) -> list[int]:
    numbers = [int(part) for part in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError("expected numbers from 1")
    return numbers


def _node_counts(text: str) -> list[int]:
    numbers = _numbers(text)
    if min(numbers) < 2:
        raise argparse.ArgumentTypeError("expected at least 2 nodes")
    return numbers


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Prints tables of a simulated cluster.")
    parser.add_argument("--nodes", type=_node_counts, default=[3, 10, 30, 100, 300], help="numbers of nodes")
    parser.add_argument("--namespaces", type=_numbers, default=[1_000, 10_000, 100_000], help="numbers of namespaces")
    parser.add_argument("--seed", type=int, default=1, help="seed of everything that is drawn")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="replaces an input")
    given = parser.parse_args(arguments)
    try:
        inputs = Inputs(dict(parse_replacement(text) for text in given.set))
    except ValueError as error:
        parser.error(str(error))
    print(report(given.nodes, given.namespaces, inputs, given.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
