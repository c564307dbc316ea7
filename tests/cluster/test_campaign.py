"""The campaign on real nodes of one box, whose result is clean, and on servers that break their promises on purpose.

Requires root and a binary in `CUEBASE_BINARY`.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import campaign
import pytest
from api import Api
from balancer import Balancer
from checker import check
from cluster import Cluster, Storage
from faults import FaultKind
from final_state import collect
from history import History, Recorded
from load import ACCOUNTS, NAMESPACES, Board, Client
from node import Node
from process import wait_for

BINARY = os.environ.get("CUEBASE_BINARY", "")
RUN = 95
pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not BINARY, reason="requires root and CUEBASE_BINARY")
#: Operations of a short load.
OPERATIONS = 400


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a campaign that found nothing."""
    folder = tmp_path_factory.mktemp("campaign") / "run"
    arguments = ["--storage", "local", "--nodes", "1", "--node-command", f"{BINARY} serve", "--faults", "4"]
    arguments += ["--calm", "1", "--seed", "11", "--run", str(RUN), "--folder", str(folder)]
    assert campaign.main([*arguments, "--report", str(folder.parent / "report.json")]) == 0
    return folder


def test_a_campaign_reports_faults_operations_and_unavailability(finished: Path) -> None:
    report = json.loads((finished.parent / "report.json").read_text())
    assert report["violations"] == [] and report["violation_counts"] == {}
    assert sorted({fault["kind"] for fault in report["faults"]}) == ["kill", "restart", "stop"]
    assert report["acknowledged_writes"] > 100
    assert set(report["operations"]) == {"forget", "head", "ingest", "read", "retrieve", "status", "write"}
    for fault in report["faults"]:
        assert len(fault["unavailable"]) == len(ACCOUNTS) * len(NAMESPACES)
        kept = fault["healed"] - fault["injected"]
        assert all(seconds > kept for seconds in fault["unavailable"].values()), "the only node was gone"
    assert report["unavailability_seconds"]["kill"]["writes"]["p99"] < 30


def test_a_node_that_ends_by_itself_is_reported_and_started_again(tmp_path: Path) -> None:
    program = tmp_path / "node"
    # The first server of this program kills itself once the file `end` exists. `exec` keeps the process id.
    wait = f"until [ -e {tmp_path}/end ]; do sleep 0.1; done; kill -9 $$"
    once = f"if [ ! -e {tmp_path}/once ]; then touch {tmp_path}/once; ({wait}) & fi"
    program.write_text(f'#!/bin/sh\n{once}\nexec {BINARY} "$@"\n')
    program.chmod(0o755)
    log = tmp_path / "run/history.jsonl"

    def end_the_node() -> None:
        wait_for("some operations", lambda: log.exists() and log.stat().st_size > 50_000)
        (tmp_path / "end").touch()

    ending = threading.Thread(target=end_the_node)
    ending.start()
    arguments = ["--storage", "local", "--nodes", "1", "--node-command", f"{program} serve", "--faults", "3"]
    arguments += ["--kinds", "stop", "--calm", "1", "--run", str(RUN), "--folder", str(tmp_path / "run")]
    assert campaign.main([*arguments, "--report", str(tmp_path / "report.json")]) == 1
    report = json.loads((tmp_path / "report.json").read_text())
    ending.join()
    assert report["violation_counts"] == {"node_ended": 1}


def test_three_nodes_meet_every_kind_of_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    monkeypatch.setenv("SINGLE_BOX", BINARY)
    command = f"{Path(__file__).parent / 'forwarding_node.py'} serve"
    arguments = ["--nodes", "3", "--node-command", command, "--faults", str(len(FaultKind)), "--calm", "0.5"]
    arguments += ["--seed", "2", "--run", str(RUN), "--folder", str(tmp_path / "run")]
    assert campaign.main([*arguments, "--report", str(tmp_path / "report.json")]) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert {fault["kind"] for fault in report["faults"]} == {kind.value for kind in FaultKind}
    assert report["operations"]["write"]["ok"] > 100


def damaged(finished: Path, folder: Path, damage: Callable[[list[Any], dict[str, Any]], None]) -> dict[str, int]:
    """Damages copies of history and state, checks them with the command line, and returns the violations by rule."""
    records = [json.loads(line) for line in (finished / "history.jsonl").read_text().splitlines()]
    state = json.loads((finished / "state.json").read_text())
    damage(records, state)
    (folder / "history.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "state.json").write_text(json.dumps(state))
    status = campaign.main(["--check", str(folder), "--report", str(folder / "report.json")])
    counts: dict[str, int] = json.loads((folder / "report.json").read_text())["violation_counts"]
    assert status == (1 if counts else 0)
    return counts


def nothing(records: list[Any], state: dict[str, Any]) -> None:
    """Changes nothing."""


def lose_the_last_commit(records: list[Any], state: dict[str, Any]) -> None:
    state["spaces"]["first/alpha"]["commits"].pop()


def exchange_two_conversations(records: list[Any], state: dict[str, Any]) -> None:
    """Exchanges the first and the last ingested conversation of a namespace."""
    commits = state["spaces"]["first/alpha"]["commits"]
    ingested = [number for number, commit in enumerate(commits) if commit["message"] and is_conversation(commit)]
    one, other = ingested[0], ingested[-1]
    for name in ("message", "changes"):
        commits[one][name], commits[other][name] = commits[other][name], commits[one][name]


def is_conversation(commit: dict[str, Any]) -> bool:
    return any(not change["is_removed"] for change in commit["changes"])


def read_an_old_content(records: list[Any], state: dict[str, Any]) -> None:
    """Replaces the last content that a probe read by the first one."""
    reads = [record for record in records if record.get("client") == "probe-1006" and record["kind"] == "read"]
    answered = [record for record in reads if record["outcome"] == "ok" and record["result"]["token"]]
    answered[-1]["result"] = dict(answered[0]["result"])


def find_nothing(records: list[Any], state: dict[str, Any]) -> None:
    """Replaces the result of the last query by none."""
    queries = [record for record in records if record.get("kind") == "retrieve" and record["outcome"] == "ok"]
    queries[-1]["result"]["found"] = 0


def see_a_foreign_head(records: list[Any], state: dict[str, Any]) -> None:
    heads = [record for record in records if record.get("kind") == "head" and record["outcome"] == "ok"]
    heads[0]["result"]["head"] = "0" * 40


def count_a_unit_less(records: list[Any], state: dict[str, Any]) -> None:
    unknown = sum(1 for record in records if record.get("outcome") == "unknown")
    state["usage"]["first"]["writes"] -= unknown + 1


def accept_a_body_twice(records: list[Any], state: dict[str, Any]) -> None:
    """Adds an acknowledgement with another id."""
    first = next(record for record in records if record.get("kind") == "ingest" and record["outcome"] == "ok")
    records.append({**first, "result": {"id": "another"}})


@pytest.mark.parametrize(
    ("damage", "rule"),
    [
        (nothing, None),
        (lose_the_last_commit, "exactly_once"),
        (exchange_two_conversations, "order"),
        (read_an_old_content, "read_your_writes"),
        (find_nothing, "read_your_writes"),
        (see_a_foreign_head, "no_fork"),
        (count_a_unit_less, "usage"),
        (accept_a_body_twice, "exactly_once"),
    ],
)
def test_damage_is_found_again(
    finished: Path, tmp_path: Path, damage: Callable[[list[Any], dict[str, Any]], None], rule: str | None
) -> None:
    counts = damaged(finished, tmp_path, damage)
    assert (rule in counts) if rule else counts == {}


def copy_data(source: Path, target: Path) -> None:
    """Copies a data directory of a node that does not run."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("control.sock"))


class Load:
    """Two clients for each account, for as many operations as a test needs."""

    def __init__(self, apis: dict[str, Api], folder: Path) -> None:
        self.history = History(folder / "history.jsonl")
        self._clients: list[Client] = []
        for number, account in enumerate(ACCOUNTS * 2, 1):
            self._clients.append(Client(number, account, apis[account], self.history, Board(), seed=number))
        for client in self._clients:
            client.start()

    def run_for(self, operations: int) -> None:
        """Returns after a number of further operations."""
        target = len(self.history.recorded().operations) + operations
        wait_for("the load", partial(self._has_reached, target), 120)

    def _has_reached(self, count: int) -> bool:
        return len(self.history.recorded().operations) >= count

    def stop(self) -> Recorded:
        for client in self._clients:
            client.stop()
        for client in self._clients:
            client.join(120)
            assert client.error is None
        self.history.close()
        return self.history.recorded()


def rules_of(cluster: Cluster, apis: dict[str, Api], recorded: Recorded, folder: Path) -> set[str]:
    """Returns the rules that a run violates, with the state from some node."""
    nothing_used = {account: {"period": "", "used": {}} for account in ACCOUNTS}
    state = collect(apis, NAMESPACES, nothing_used, folder)
    return {violation.rule for violation in check(recorded, state)}


def test_a_node_that_forgets_acknowledged_writes_is_caught(tmp_path: Path) -> None:
    cluster = Cluster(Storage.LOCAL, f"{BINARY} serve", 1, RUN, tmp_path)
    try:
        cluster.open()
        node = cluster.nodes[0]
        load = Load(cluster.apis, tmp_path)
        load.run_for(OPERATIONS)
        node.process.kill()
        copy_data(tmp_path / "n1-data", tmp_path / "copy")
        node.start()
        load.run_for(OPERATIONS)
        node.process.kill()
        # The node continues from a copy that lacks the writes since then.
        shutil.rmtree(tmp_path / "n1-data")
        copy_data(tmp_path / "copy", tmp_path / "n1-data")
        node.start()
        load.run_for(OPERATIONS)
        recorded = load.stop()
        found = rules_of(cluster, cluster.apis, recorded, tmp_path)
    finally:
        cluster.close()
    assert {"exactly_once", "read_your_writes", "no_fork"} <= found


class TwoOwners(Cluster):
    """Two nodes that both believe to own every namespace: a cluster without fencing."""

    def open(self) -> None:
        super().open()
        first = self.nodes[0]
        first.process.kill()
        copy_data(self._folder / "n1-data", self._folder / "n2-data")
        second = Node(self.network, 2, self._command, {}, self._folder)
        self.nodes.append(second)
        for node in self.nodes:
            node.start()
        addresses = [node.address for node in self.nodes]
        assert self.balancer is not None
        self.balancer.close()
        self.balancer = Balancer((self.balancer.address[0], 0), addresses, self._folder / "both.log")
        for account, api in self.apis.items():
            self.apis[account] = Api(self.balancer.address, api.key)


def test_two_owners_of_a_namespace_are_caught(tmp_path: Path) -> None:
    cluster = TwoOwners(Storage.LOCAL, f"{BINARY} serve", 1, RUN, tmp_path)
    try:
        cluster.open()
        load = Load(cluster.apis, tmp_path)
        load.run_for(OPERATIONS)
        recorded = load.stop()
        first = {account: cluster.direct_api(cluster.nodes[0], account) for account in ACCOUNTS}
        found = rules_of(cluster, first, recorded, tmp_path)
    finally:
        cluster.close()
    assert {"exactly_once", "read_your_writes", "no_fork"} <= found
