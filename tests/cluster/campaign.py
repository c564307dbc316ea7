"""The fault campaign: a cluster under a mixed load, a seeded schedule of faults, and a check of everything clients saw.

Each fault is injected, kept for some seconds and healed. Then the campaign waits until every namespace answers through
every node. After the last fault the load ends, the queue is processed, and the checker compares the history with the
final state. Exit code 1 means violations, which the report names; 2 means that the harness failed. The folder of the
run keeps history, state and logs, and `--check FOLDER` checks them again. `--expect-violations` exchanges 0 and 1, for
builds that must not be safe.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import checker
import history
import unavailability
from checks.model import Violation
from cluster import Cluster, Storage
from faults import FaultKind, Injector, Planned, possible_kinds, schedule
from final_state import FinalState, collect, load_state
from history import FaultRecord, History, Kind, Outcome, Recorded
from load import ACCOUNTS, NAMESPACES, Board, Client, Probe, Worker
from network import Network
from node import NodeEnded
from process import NotReached, wait_for

#: Time for every namespace to answer after a fault is healed, seconds.
_PATIENCE = 120.0
#: Time limit of one request of the probes that wait for this, seconds, and how many send at the same time.
_PATIENT_TIMEOUT = 5.0
_PROBES_AT_ONCE = 6
#: Time for a client to end its last write, seconds.
_LAST_WRITE = 120.0
#: Operations from which the progress computes the time without an answer.
_RECENT = 20_000
#: Violations that the report lists in full.
_LISTED = 100
#: Rules about nodes that do not answer. Their violations say nothing about the data.
_ABOUT_ANSWERS = ("availability", "node_ended")
#: First number of the tokens of probes, and of the probes that look at one node.
_PROBES = 1000
_NODE_PROBES = 2000


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a campaign does."""

    storage: Storage
    command: str
    nodes: int
    faults: tuple[Planned, ...]
    seed: int
    clients: int
    calm_seconds: float
    probe_pause: float
    run_number: int


class Campaign:
    """One run."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self._plan = plan
        self._folder = folder
        self._history = History(folder / "history.jsonl")
        self._cluster = Cluster(plan.storage, plan.command, plan.nodes, plan.run_number, folder)
        self._workers: list[Worker] = []
        self._node_probes: list[Probe] = []
        #: Nodes that ended by themselves. The lock is held while one is started again.
        self.ended: list[Violation] = []
        self._starting = threading.Lock()

    def run(self) -> tuple[Recorded, FinalState]:
        """Runs the campaign and returns what the checker needs."""
        try:
            say("starting the cluster")
            self._cluster.open()
            usage = self._cluster.usage()
            self._start_load()
            injector = Injector(self._cluster)
            for number, fault in enumerate(self._plan.faults, 1):
                time.sleep(self._plan.calm_seconds)
                self._carry_out(injector, number, fault)
            time.sleep(self._plan.calm_seconds)
            self._stop_load()
            say("reading the final state")
            state = collect(self._cluster.apis, NAMESPACES, usage, self._folder)
        finally:
            self._end_load()
            self._cluster.close()
            self._history.close()
        state.save(self._folder / "state.json")
        return self._history.recorded(), state

    def _start_load(self) -> None:
        seed, apis = self._plan.seed, self._cluster.apis
        boards = {account: Board() for account in ACCOUNTS}
        for number in range(1, self._plan.clients + 1):
            account = ACCOUNTS[number % len(ACCOUNTS)]
            self._workers.append(Client(number, account, apis[account], self._history, boards[account], seed))
        number = _NODE_PROBES
        for account in ACCOUNTS:
            for namespace in NAMESPACES:
                for _ in self._cluster.nodes:
                    # Two probes per node, so that another one continues while one waits for a stopped node.
                    self._add_probe(account, namespace)
                for node in self._cluster.nodes:
                    number += 1
                    api = self._cluster.direct_api(node, account)
                    probe = Probe(number, account, namespace, api, self._history)
                    probe.timeout = _PATIENT_TIMEOUT
                    self._node_probes.append(probe)
        self._spread_namespaces()
        self._await_answers()
        for worker in self._workers:
            worker.start()

    def _add_probe(self, account: str, namespace: str) -> None:
        number = _PROBES + len(self._workers)
        probe = Probe(number, account, namespace, self._cluster.apis[account], self._history)
        probe.pause = self._plan.probe_pause * len(self._cluster.nodes)
        self._workers.append(probe)

    def _spread_namespaces(self) -> None:
        """Makes the nodes own equally many namespaces: the node that is asked first for a namespace claims it."""
        nodes = len(self._cluster.nodes)
        for number in range(len(self._node_probes) // nodes):
            # The probes of a namespace follow each other in the order of the nodes.
            probe = self._node_probes[number * nodes + number % nodes]
            wait_for(f"{probe.name} to be answered for {probe.target}", partial(self._answers, probe), _PATIENCE)

    def _await_answers(self) -> None:
        """Waits until a write and a read of every namespace have succeeded through every node."""
        with ThreadPoolExecutor(_PROBES_AT_ONCE) as pool:
            waits = []
            for probe in self._node_probes:
                condition = f"{probe.name} to be answered for {probe.target}"
                waits.append(pool.submit(wait_for, condition, partial(self._answers, probe), _PATIENCE))
            for wait in waits:
                wait.result()

    def _answers(self, probe: Probe) -> bool:
        self._restart_ended()
        return probe.answers()

    def _restart_ended(self) -> None:
        """Starts nodes that ended by themselves, and notes each as a violation."""
        with self._starting:
            for node in self._cluster.nodes:
                if not node.process.is_running():
                    self.ended.append(Violation("node_ended", node.name, node.log_end()))
                    say(f"{node.name} has ended by itself and is started again")
                    node.start()

    def _carry_out(self, injector: Injector, number: int, fault: Planned) -> None:
        self._restart_ended()
        injected = time.monotonic()
        injector.inject(fault)
        time.sleep(fault.keep_seconds)
        injector.heal(fault)
        healed = time.monotonic()
        self._await_answers()
        record = FaultRecord(fault.kind.value, fault.target, injected, healed, time.monotonic())
        self._history.add_fault(record)
        self._check_workers()
        gaps = unavailability.by_fault(self._history.recent(_RECENT), [record])[0]
        say(
            f"{number}/{len(self._plan.faults)} {fault.kind} of {fault.target}, kept {fault.keep_seconds:.1f} s, "
            f"answers {record.answered - healed:.1f} s after healing, "
            f"longest without an answer {max(gaps.values()):.1f} s"
        )

    def _check_workers(self) -> None:
        for worker in self._workers:
            if worker.error is not None:
                raise RuntimeError(f"{worker.name} has failed") from worker.error

    def _stop_load(self) -> None:
        """Ends the load and fails if a worker does not end or has failed."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.join(_LAST_WRITE)
            assert not worker.is_alive(), f"{worker.name} does not end"
        self._check_workers()

    def _end_load(self) -> None:
        """Ends the load as far as it goes, also after an error."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            if worker.is_alive():
                worker.join(_LAST_WRITE)


def say(text: str) -> None:
    """Prints progress."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def report(plan: Plan | None, recorded: Recorded, violations: Sequence[Violation]) -> dict[str, Any]:
    """Returns the report of a run as JSON values."""
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    for operation in recorded.operations:
        outcomes[operation.kind.value][operation.outcome.value] += 1
    rules = Counter(violation.rule for violation in violations)
    every_gap = unavailability.by_fault(recorded, recorded.faults)
    faults = []
    for fault, gaps in zip(recorded.faults, every_gap, strict=True):
        faults.append({**dataclasses.asdict(fault), "unavailable": gaps})
    kinds = unavailability.by_kind(recorded)
    return {
        "plan": None if plan is None else dataclasses.asdict(plan),
        "operations": {kind: dict(sorted(counts.items())) for kind, counts in sorted(outcomes.items())},
        "acknowledged_writes": _acknowledged(recorded),
        "unavailability_seconds": {
            kind: {name: dataclasses.asdict(values) for name, values in found.items()} for kind, found in kinds.items()
        },
        "faults": faults,
        "violation_counts": dict(sorted(rules.items())),
        "violations": [checker.as_data(violation) for violation in violations[:_LISTED]],
    }


def _acknowledged(recorded: Recorded) -> int:
    writes = (Kind.INGEST, Kind.WRITE, Kind.FORGET)
    return sum(1 for operation in recorded.operations if operation.kind in writes and operation.outcome is Outcome.OK)


def _finish(
    plan: Plan | None, recorded: Recorded, violations: Sequence[Violation], options: argparse.Namespace
) -> int:
    """Writes the report and returns the exit code."""
    result = report(plan, recorded, violations)
    text = json.dumps(result, indent=1)
    if options.report is None:
        print(text)
    else:
        options.report.write_text(text + "\n")
    for violation in violations[:10]:
        say(f"violation of {violation.rule} in {violation.space}: {violation.message}")
    reads = sum(sum(result["operations"].get(kind, {}).values()) for kind in ("read", "retrieve", "status", "head"))
    say(
        f"{len(recorded.faults)} faults, {result['acknowledged_writes']} acknowledged writes, {reads} reads, "
        f"{len(violations)} violations"
    )
    if options.expect_violations:
        return _exit_code_of_unsafe_build(violations)
    return 1 if violations else 0


def _exit_code_of_unsafe_build(violations: Sequence[Violation]) -> int:
    """Returns 0 if data was lost or mixed up. A node that does not answer shows nothing of that kind."""
    for violation in violations:
        if violation.rule not in _ABOUT_ANSWERS:
            return 0
    say("no violation was found, although some were expected: the campaign may be too short to show them")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--node-command", default="cuebase serve", help="command that starts a node; default: cuebase serve")
    add("--nodes", type=int, default=3, help="number of nodes; default: 3")
    add("--faults", type=int, default=36, help="number of faults; default: 36")
    add("--seed", type=int, default=1, help="seed of the schedule and of the load; default: 1")
    add("--kinds", default="", help="kinds of faults, comma-separated, of: " + ", ".join(FaultKind))
    add("--storage", type=Storage, choices=list(Storage), default=Storage.CLUSTER,
        help="cluster: PostgreSQL and a bucket; local: one node with a data directory; default: cluster")
    add("--clients", type=int, default=6, help="number of clients; default: 6")
    add("--calm", type=float, default=2.0, help="seconds between two faults; default: 2")
    add("--probe-pause", type=float, default=0.2, help="seconds between two probes of a namespace; default: 0.2")
    add("--run", type=int, default=0, help="number of the run, for several at the same time: 0 to 89; default: 0")
    add("--folder", type=Path, help="new or empty folder for data, logs and history; default: a temporary one")
    add("--report", type=Path, help="file for the JSON report; default: standard output")
    add("--check", type=Path, metavar="FOLDER", help="only check the history and the state of an earlier run")
    add("--expect-violations", action="store_true",
        help="for a build without fencing: exit code 0 if data was lost or mixed up, 1 if not")
    add("--clean", action="store_true", help="only remove the processes and namespaces that a crashed run left")
    return parser


def _refuse(reason: str) -> NoReturn:
    """Ends the program because of a wrong option or a missing requirement."""
    print(f"error: {reason}", file=sys.stderr)
    sys.exit(2)


def _plan(options: argparse.Namespace) -> Plan:
    if options.storage is Storage.LOCAL and options.nodes != 1:
        _refuse("nodes with local storage do not form a cluster: set --nodes 1")
    kinds = possible_kinds(options.storage, options.nodes)
    if options.kinds:
        wanted = options.kinds.split(",")
        for name in wanted:
            if name not in kinds:
                _refuse(f'unknown kind "{name}": expected some of {", ".join(kinds)}')
        kinds = [FaultKind(name) for name in wanted]
    faults = schedule(options.seed, options.faults, options.nodes, kinds)
    return Plan(
        storage=options.storage,
        command=options.node_command,
        nodes=options.nodes,
        faults=tuple(faults),
        seed=options.seed,
        clients=options.clients,
        calm_seconds=options.calm,
        probe_pause=options.probe_pause,
        run_number=options.run,
    )


def _folder(given: Path | None) -> Path:
    """Returns an empty folder that the user of PostgreSQL can enter."""
    folder = Path(tempfile.mkdtemp(prefix="cuebase-cluster-")) if given is None else given.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        _refuse(f"{folder} is not empty")
    folder.chmod(0o755)
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code."""
    options = _parser().parse_args(arguments)
    if options.check is not None:
        recorded, state = history.load(options.check / "history.jsonl"), load_state(options.check / "state.json")
        return _finish(None, recorded, checker.check(recorded, state), options)
    if os.geteuid() != 0:
        _refuse("network namespaces require root")
    if options.clean:
        Network(options.run).clean()
        return 0
    if shutil.which(options.node_command.split()[0]) is None:
        _refuse(f"{options.node_command.split()[0]} is not a program: set --node-command")
    plan, folder = _plan(options), _folder(options.folder)
    say(f"seed {plan.seed}, {len(plan.faults)} faults, {plan.nodes} nodes, folder {folder}")
    campaign = Campaign(plan, folder)
    try:
        recorded, state = campaign.run()
    except (NotReached, NodeEnded) as error:
        rule = "node_ended" if isinstance(error, NodeEnded) else "availability"
        recorded = history.load(folder / "history.jsonl")
        broken_off = Violation(rule, "", str(error))
        return _finish(plan, recorded, [*campaign.ended, broken_off, *checker.check_history(recorded)], options)
    return _finish(plan, recorded, [*campaign.ended, *checker.check(recorded, state)], options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(2)
