"""The schedule, and every kind of fault on real nodes, a real database and a real bucket.

The nodes need not use the services for this: what a node would reach is asked from inside its namespace. Requires root,
PostgreSQL 15, SeaweedFS, and a binary in `CUEBASE_BINARY`.
"""

from __future__ import annotations

import http.client
import math
import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import bucket
import database
import pytest
from cluster import Cluster, Storage
from faults import FaultKind, Injector, Planned, possible_kinds, schedule
from services import BUCKET_LINK, DATABASE_LINK

BINARY = os.environ.get("CUEBASE_BINARY", "")
RUN = 96
#: Time limit of a request over a link that may be cut, seconds.
PATIENCE = 6
needs_machine = pytest.mark.skipif(os.geteuid() != 0 or not BINARY, reason="requires root and CUEBASE_BINARY")


def test_a_schedule_has_every_kind_equally_often_and_follows_from_the_seed() -> None:
    planned = schedule(7, 27, 3, list(FaultKind))
    assert planned == schedule(7, 27, 3, list(FaultKind)) != schedule(8, 27, 3, list(FaultKind))
    counts = Counter(fault.kind for fault in planned)
    assert counts == dict.fromkeys(FaultKind, 3)
    assert {fault.node for fault in planned} == {1, 2, 3}


def test_no_node_is_hit_twice_in_a_row() -> None:
    for nodes in (2, 3):
        planned = schedule(5, 40, nodes, list(FaultKind))
        hit = [fault.node for fault in planned if fault.kind is not FaultKind.FAIL_OVER]
        assert all(one != other for one, other in zip(hit[:-1], hit[1:], strict=True))
    assert {fault.node for fault in schedule(5, 6, 1, [FaultKind.KILL])} == {1}


def test_a_cluster_has_the_faults_that_it_can_have() -> None:
    assert possible_kinds(Storage.LOCAL, 1) == [FaultKind.KILL, FaultKind.RESTART, FaultKind.STOP]
    assert set(FaultKind) - set(possible_kinds(Storage.CLUSTER, 1)) == {FaultKind.CUT_PEERS}
    assert set(possible_kinds(Storage.CLUSTER, 3)) == set(FaultKind)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    for parent in (folder, *folder.parents[:-2]):
        parent.chmod(parent.stat().st_mode | 0o055)
    running = Cluster(Storage.CLUSTER, f"{BINARY} serve", 3, RUN, folder)
    try:
        running.open()
        yield running
    finally:
        running.close()


class Reach:
    """What is reached from inside the namespace of a node."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _run(self, node: int, command: list[str]) -> bool:
        inside = self._cluster.network.inside(f"n{node}", command)
        try:
            return subprocess.run(inside, capture_output=True, check=False, timeout=PATIENCE).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def database(self, node: int) -> bool:
        host, port = self._cluster.network.address(DATABASE_LINK), 7000 + node
        url = f"postgres://{database.USER}:{database.PASSWORD}@{host}:{port}/{database.NAME}"
        return self._run(node, ["psql", "-X", url, "-c", "SELECT 1"])

    def bucket(self, node: int) -> bool:
        url = f"http://{self._cluster.network.address(BUCKET_LINK)}:{7000 + node}/{bucket.NAME}/ready"
        return self._run(node, ["curl", "-s", "-o", "/dev/null", url])

    def peer(self, node: int, other: int) -> bool:
        host, port = self._cluster.nodes[other - 1].address
        return self._run(node, ["curl", "-s", "-f", f"http://{host}:{port}/health"])

    def harness(self, node: int) -> bool:
        host, port = self._cluster.nodes[node - 1].address
        connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def everything(self) -> dict[str, bool]:
        """Returns what node 1 reaches, and whether it is reached."""
        return {
            "database": self.database(1),
            "bucket": self.bucket(1),
            "peers": self.peer(1, 2) and self.peer(3, 1),
            "harness": self.harness(1),
        }


#: What each fault of node 1 makes unreachable.
EFFECTS = {
    FaultKind.KILL: {"peers", "harness"},
    FaultKind.RESTART: {"peers", "harness"},
    FaultKind.STOP: {"peers", "harness"},
    FaultKind.CUT_DATABASE: {"database"},
    FaultKind.CUT_BUCKET: {"bucket"},
    FaultKind.CUT_PEERS: {"peers"},
    FaultKind.STALLED_LINK: {"database"},
}


@needs_machine
@pytest.mark.parametrize("kind", EFFECTS)
def test_a_fault_has_its_effect_and_no_other_until_it_is_healed(cluster: Cluster, kind: FaultKind) -> None:
    reach, injector, fault = Reach(cluster), Injector(cluster), Planned(kind, 1, 0.0)
    assert all(reach.everything().values())
    injector.inject(fault)
    try:
        unreachable = {name for name, reached in reach.everything().items() if not reached}
        # From inside the namespace of a dead or stopped node, the services are still reached.
        assert unreachable == EFFECTS[kind]
        assert reach.database(2) and reach.bucket(2) and reach.peer(2, 3) and reach.harness(2)
    finally:
        injector.heal(fault)
    assert all(reach.everything().values())


@needs_machine
def test_a_slow_link_is_slow_for_its_node_only(cluster: Cluster) -> None:
    reach, injector = Reach(cluster), Injector(cluster)
    fault = Planned(FaultKind.SLOW_LINK, 1, 0.0, delay_ms=100)
    fast = seconds(lambda: reach.database(1))
    injector.inject(fault)
    # The start message, the password exchange and the statement each wait for both directions.
    assert seconds(lambda: reach.database(1)) > fast + 0.6
    assert seconds(lambda: reach.database(2)) < fast + 0.6
    injector.heal(fault)
    assert seconds(lambda: reach.database(1)) < fast + 0.6


@needs_machine
def test_a_fail_over_moves_the_links_of_all_nodes(cluster: Cluster) -> None:
    reach, injector = Reach(cluster), Injector(cluster)
    assert cluster.services is not None
    fault = Planned(FaultKind.FAIL_OVER, 1, 0.0)
    for _ in range(2):
        before = cluster.services.database.primary_address
        injector.inject(fault)
        assert cluster.services.database.primary_address != before
        assert all(reach.database(node) for node in (1, 2, 3))
        injector.heal(fault)
        assert cluster.services.database.is_synchronous()


@needs_machine
def test_the_log_of_a_node_is_kept_over_a_kill(cluster: Cluster, tmp_path: Path) -> None:
    node = cluster.nodes[1]
    before = node.process.log_text()
    node.process.kill()
    node.start()
    assert node.process.log_text().startswith(before) and len(node.process.log_text()) > len(before)
    assert cluster.balancer is not None and sum(cluster.balancer.connections()) > 0


def seconds(action: Callable[[], bool]) -> float:
    """Returns how long an action that must succeed takes: the shortest of several times, as the machine may be busy."""
    shortest = math.inf
    for _ in range(5):
        began = time.monotonic()
        assert action()
        shortest = min(shortest, time.monotonic() - began)
    return shortest
