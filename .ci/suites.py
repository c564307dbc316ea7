#!/usr/bin/env python3
"""Chooses the suites that a run of the checks needs.

    python3 .ci/suites.py            prints the names of the suites, one per line, and to standard error why
    python3 .ci/suites.py --full     prints all suites
    python3 .ci/suites.py --record   writes the record of a full run, after all suites passed

Each line of `.ci/suites` is the name of a suite and the paths that it depends on. The record, `.ci/full-run`, has a hash
of the files at each of these paths, from the last commit on which every suite passed. A suite runs if one of its paths
differs from the record. Every suite runs with `--full`, without a record, and if a file on which all depend differs. The
record has hashes and not only the commit, so it also counts in a clone without the history.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ".ci/full-run"
# Paths on which every suite depends.
COMMON = ("Cargo.lock", "Cargo.toml", ".cargo/", ".ci/")


def read_suites(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the paths that each suite depends on."""
    suites = {}
    for line in text.splitlines():
        name, *paths = line.partition("#")[0].split() or [""]
        if name:
            suites[name] = tuple(paths)
    return suites


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def content_hash(path: str) -> str:
    """Returns a hash of the names and contents of the files at a path, except those that git ignores."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", path)
    digest = hashlib.sha256()
    for name in sorted(set(listed.split("\0"))):
        file = ROOT / name
        if name and name != RECORD and file.is_file():
            digest.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def hashes(suites: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Returns the hash of each path that a suite depends on."""
    paths = set(COMMON)
    for own in suites.values():
        paths.update(own)
    return {path: content_hash(path) for path in sorted(paths)}


def read_record() -> tuple[str, dict[str, str]] | None:
    """Returns the commit and the hashes of the record; none if there is none."""
    file = ROOT / RECORD
    lines = file.read_text().splitlines() if file.is_file() else []
    fields = [line.split(" ", 1) for line in lines if line and not line.startswith("#")]
    if not fields or fields[0][0] != "commit":
        return None
    return fields[0][1], {path: found for found, path in fields[1:]}


def write_record(suites: dict[str, tuple[str, ...]]) -> None:
    commit = git("rev-parse", "HEAD").strip()
    lines = ["# Written by `sh .ci/run --full`: on this content every suite passed.", f"commit {commit}"]
    lines += [f"{found} {path}" for path, found in hashes(suites).items()]
    (ROOT / RECORD).write_text("\n".join(lines) + "\n")


def choose(suites: dict[str, tuple[str, ...]], full: bool) -> tuple[list[str], list[str]]:
    """Returns the suites to run, and what to say about the choice."""
    everything = list(suites)
    if full:
        return everything, ["every suite: --full"]
    record = read_record()
    if record is None:
        return everything, [f"every suite: {RECORD} has no record"]
    commit, recorded = record
    differing = [path for path, found in hashes(suites).items() if recorded.get(path) != found]
    log = [f"last full run: {commit}", "differs: " + (", ".join(differing) or "nothing")]
    if any(path in COMMON for path in differing):
        return everything, [*log, "every suite: a path on which all depend differs"]
    chosen = [name for name, paths in suites.items() if any(path in differing for path in paths)]
    skipped = [name for name in suites if name not in chosen]
    return chosen, [*log, "suites: " + (", ".join(chosen) or "none"), "skipped: " + (", ".join(skipped) or "none")]


def main() -> None:
    suites = read_suites((ROOT / ".ci/suites").read_text())
    arguments = sys.argv[1:]
    if arguments == ["--record"]:
        write_record(suites)
        return
    if arguments not in ([], ["--full"]):
        sys.exit("suites: expected --full, --record or nothing")
    chosen, log = choose(suites, full=arguments == ["--full"])
    for line in log:
        print(f"suites: {line}", file=sys.stderr)
    print("\n".join(chosen))


if __name__ == "__main__":
    main()
