"""Measures a cluster next to a single box, in one run on one machine. The README has requirements and limits."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import platform
import signal
import sys
import tempfile
from pathlib import Path

from deployments import Machine
from figures import Place
from process import run
from report import as_json, markdown
from stages import FAILURES, Run, Sizes, metrics

_INCOMPLETE = 2
_LARGE = 20_000
#: Sizes of a run that only shows that everything works.
_TINY = Sizes(
    rounds=1, requests=4, accepted_in_parallel=16, ingested=24, retrievals=8, seconds=0.3, library=60, shelf=20,
    cold=(20, 40), cold_rounds=1, recoveries=1,
)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parses the command line."""
    parser = argparse.ArgumentParser(description="Measures a cluster next to a single box.")
    parser.add_argument("--binary", type=Path, required=True, help="the server, built for release")
    parser.add_argument("--rounds", type=int, help=f"rounds, {Sizes.rounds} by default")
    parser.add_argument("--recovery", type=int, help=f"kills per deployment, {Sizes.recoveries} by default")
    parser.add_argument("--shelf", type=int, help=f"memories of each of six namespaces, {Sizes.shelf} by default")
    parser.add_argument("--large", action="store_true", help=f"also open a namespace of {_LARGE:,} memories cold")
    parser.add_argument("--tiny", action="store_true", help="run with tiny sizes, whose figures mean nothing")
    parser.add_argument("--report", type=Path, help="file for all figures as JSON")
    parser.add_argument("--folder", type=Path, help="existing folder for data and logs, kept; on the disk to measure")
    parser.add_argument("--run-number", type=int, default=90, help="addresses are in 127.77.NUMBER.0/24, 90 by default")
    return parser.parse_args(arguments)


def sizes_of(options: argparse.Namespace) -> Sizes:
    """Returns the sizes that the options ask for."""
    sizes = _TINY if options.tiny else Sizes()
    chosen = {"rounds": options.rounds, "recoveries": options.recovery, "shelf": options.shelf}
    for name, value in chosen.items():
        if value is None:
            continue
        if value < 1:
            raise SystemExit(f"{name}: {value} is less than 1")
        sizes = dataclasses.replace(sizes, **{name: value})
    if options.large:
        sizes = dataclasses.replace(sizes, cold=(*sizes.cold, _LARGE))
    return sizes


def conditions_of(machine: Machine, sizes: Sizes, folder: Path) -> dict[str, object]:
    """Returns what a reader needs to know about the run."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load average before the run": f"{os.getloadavg()[0]:.2f}",
        "file system of the data": run(["stat", "-f", "-c", "%T", folder]).strip(),
        "PostgreSQL": machine.database.sql("SHOW server_version", "postgres"),
        "fsync, synchronous_commit, standbys": ", ".join([
            machine.database.sql("SHOW fsync", "postgres"),
            machine.database.sql("SHOW synchronous_commit", "postgres"),
            machine.database.sql("SHOW synchronous_standby_names", "postgres"),
        ]),
        "figures": "p50 / p99 of each round, or one value; medians over the rounds",
        "rounds": f"{sizes.rounds}, {sizes.cold_rounds} for first retrievals, {sizes.recoveries} kills",
    }


def measure(options: argparse.Namespace, folder: Path) -> int:
    """Runs the benchmark, prints the report and returns the exit code."""
    # PostgreSQL's user must reach its folder below.
    folder.chmod(0o755)
    sizes = sizes_of(options)
    rows = metrics(sizes)
    machine = Machine(options.binary.resolve(strict=True), folder, options.run_number)
    try:
        machine.open()
        conditions = conditions_of(machine, sizes, folder)
        results = Run(machine, sizes).all()
    finally:
        machine.close()
    sys.stdout.write(markdown(results, rows, conditions))
    if options.report:
        options.report.write_text(json.dumps(as_json(results, rows, conditions), indent=2) + "\n")
    missing = results.missing(rows)
    for each in missing:
        print(f"not measured: {each}", file=sys.stderr)
    expected = {place for place in Place if place is not Place.SINGLE}
    is_counted = {place for _, place in results.statements} == expected
    return _INCOMPLETE if missing or results.failures or not is_counted else 0


def _end(*_: object) -> None:
    """Ends the run at SIGTERM as at Ctrl-C, so that no process is left."""
    raise KeyboardInterrupt


def main() -> int:
    """Runs the benchmark in the folder of the options, or in a temporary one."""
    options = parse()
    signal.signal(signal.SIGTERM, _end)
    try:
        if options.folder:
            return measure(options, options.folder)
        with tempfile.TemporaryDirectory(prefix="cuebase-cluster-") as folder:
            return measure(options, Path(folder))
    except KeyboardInterrupt:
        print("run.py: ended before everything was measured", file=sys.stderr)
        return _INCOMPLETE
    except (*FAILURES, AssertionError) as error:
        print(f"run.py: {type(error).__name__}: {error}", file=sys.stderr)
        return _INCOMPLETE


if __name__ == "__main__":
    sys.exit(main())
