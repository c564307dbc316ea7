"""The kinds of faults, a seeded schedule of them, and how each one is injected and healed."""

from __future__ import annotations

import enum
import random
from collections.abc import Sequence
from dataclasses import dataclass

from cluster import Cluster, Storage
from node import Node
from services import BUCKET_LINK, DATABASE_LINK, Services, bucket_link, database_link


class FaultKind(enum.StrEnum):
    """What goes wrong."""

    #: A node is killed, and started again when the fault is healed.
    KILL = "kill"
    #: A node is asked to end with SIGTERM, as in an upgrade, and started again when the fault is healed.
    RESTART = "restart"
    #: A node is stopped with SIGSTOP and continued.
    STOP = "stop"
    #: A node does not reach the database.
    CUT_DATABASE = "cut-database"
    #: A node does not reach the bucket.
    CUT_BUCKET = "cut-bucket"
    #: A node and all other nodes do not reach each other.
    CUT_PEERS = "cut-peers"
    #: The primary of the database is killed and its standby promoted; a new standby is built when the fault is healed.
    FAIL_OVER = "fail-over"
    #: The links of a node to database and bucket are slow.
    SLOW_LINK = "slow-link"
    #: The link of a node to the database transfers nothing, and keeps its connections.
    STALLED_LINK = "stalled-link"


#: Kinds that exist without services and without other nodes.
LOCAL_KINDS = (FaultKind.KILL, FaultKind.RESTART, FaultKind.STOP)
#: Delay and jitter of a slow link in each direction, milliseconds.
_DELAYS_MS = ((20, 10), (80, 40), (250, 150))
#: Shortest and longest time for which a fault is kept, seconds.
_KEEP_SECONDS = (1.0, 8.0)
#: Time until a monitor would notice the death of the primary, seconds.
_DETECTION_SECONDS = 1.5


@dataclass(frozen=True)
class Planned:
    """A fault of a schedule."""

    kind: FaultKind
    #: Number of the node that is hit.
    node: int
    keep_seconds: float
    delay_ms: int = 0
    jitter_ms: int = 0

    @property
    def target(self) -> str:
        """What is hit, for the report."""
        return "database" if self.kind is FaultKind.FAIL_OVER else f"n{self.node}"


def possible_kinds(storage: Storage, nodes: int) -> list[FaultKind]:
    """Returns the kinds of faults that a cluster can have."""
    if storage is Storage.LOCAL:
        return list(LOCAL_KINDS)
    return [kind for kind in FaultKind if kind is not FaultKind.CUT_PEERS or nodes > 1]


def schedule(seed: int, count: int, nodes: int, kinds: Sequence[FaultKind]) -> list[Planned]:
    """Returns faults in which every kind comes equally often, in a random order. Of several nodes, each fault hits
    another one than the fault before: a node that has just recovered owns few namespaces.
    """
    choice = random.Random(seed)
    planned: list[Planned] = []
    last_hit = 0
    while len(planned) < count:
        for kind in choice.sample(list(kinds), len(kinds)):
            delay, jitter = choice.choice(_DELAYS_MS)
            node, keep = _another_node(choice, nodes, last_hit), choice.uniform(*_KEEP_SECONDS)
            planned.append(Planned(kind, node, round(keep, 2), delay, jitter))
            if kind is not FaultKind.FAIL_OVER:
                last_hit = node
    return planned[:count]


def _another_node(choice: random.Random, nodes: int, last_hit: int) -> int:
    """Returns the number of a random node, which is not that of the last fault if there are others."""
    others = [number for number in range(1, nodes + 1) if number != last_hit]
    return choice.choice(others) if others else last_hit


class Injector:
    """Carries out the faults of a schedule on a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def inject(self, fault: Planned) -> None:
        """Makes something go wrong."""
        node = self._node(fault)
        match fault.kind:
            case FaultKind.KILL:
                node.process.kill()
            case FaultKind.RESTART:
                node.stop()
            case FaultKind.STOP:
                node.process.pause()
            case FaultKind.CUT_DATABASE:
                self._cluster.network.cut(node.address_number, DATABASE_LINK)
            case FaultKind.CUT_BUCKET:
                self._cluster.network.cut(node.address_number, BUCKET_LINK)
            case FaultKind.CUT_PEERS:
                for peer in self._peers(node):
                    self._cluster.network.cut(node.address_number, peer.address_number)
            case FaultKind.FAIL_OVER:
                self._services().fail_over(_DETECTION_SECONDS)
            case FaultKind.SLOW_LINK:
                links = self._services().links
                links.shape(database_link(fault.node), fault.delay_ms, fault.jitter_ms)
                links.shape(bucket_link(fault.node), fault.delay_ms, fault.jitter_ms)
            case FaultKind.STALLED_LINK:
                self._services().links.stall(database_link(fault.node))

    def heal(self, fault: Planned) -> None:
        """Undoes a fault."""
        node = self._node(fault)
        match fault.kind:
            case FaultKind.KILL | FaultKind.RESTART:
                node.start()
            case FaultKind.STOP:
                node.process.resume()
            case FaultKind.CUT_DATABASE:
                self._cluster.network.heal(node.address_number, DATABASE_LINK)
            case FaultKind.CUT_BUCKET:
                self._cluster.network.heal(node.address_number, BUCKET_LINK)
            case FaultKind.CUT_PEERS:
                for peer in self._peers(node):
                    self._cluster.network.heal(node.address_number, peer.address_number)
            case FaultKind.FAIL_OVER:
                self._services().database.rebuild()
            case FaultKind.SLOW_LINK:
                self._services().links.shape(database_link(fault.node))
                self._services().links.shape(bucket_link(fault.node))
            case FaultKind.STALLED_LINK:
                self._services().links.resume(database_link(fault.node))

    def _node(self, fault: Planned) -> Node:
        return self._cluster.nodes[fault.node - 1]

    def _peers(self, node: Node) -> list[Node]:
        return [peer for peer in self._cluster.nodes if peer is not node]

    def _services(self) -> Services:
        assert self._cluster.services is not None, "local storage has no database and no bucket"
        return self._cluster.services
