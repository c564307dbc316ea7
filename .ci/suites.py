#!/usr/bin/env python3
"""Chooses the suites that a run of the checks needs.

    python3 .ci/suites.py                      prints the names of the suites, one per line, and to standard error why
    python3 .ci/suites.py --full               prints all suites
    python3 .ci/suites.py --record [SUITE...]  records the present content for suites that passed, by default for all

Each line of `.ci/suites` is the name of a suite and the paths that it depends on. The record, `.ci/full-run`, has for each
suite a hash of the files at each of these paths, from the last time at which the suite passed. A suite runs if one of its
paths differs from the record. Every suite runs with `--full`, without a record, and if a file on which all depend differs.
The record has hashes and not only the commit, so it also counts in a clone without the history.
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


def hashes(paths: tuple[str, ...]) -> dict[str, str]:
    """Returns the hash of each path that a suite with these paths depends on."""
    return {path: content_hash(path) for path in (*COMMON, *paths)}


def read_record() -> dict[str, dict[str, str]]:
    """Returns the recorded hashes of each suite."""
    file = ROOT / RECORD
    recorded: dict[str, dict[str, str]] = {}
    for line in file.read_text().splitlines() if file.is_file() else []:
        fields = line.split()
        if len(fields) == 3 and not line.startswith("#"):
            suite, path, found = fields
            recorded.setdefault(suite, {})[path] = found
    return recorded


def write_record(suites: dict[str, tuple[str, ...]], passed: list[str]) -> None:
    """Records the present content for the suites that passed. What is recorded for others stays."""
    recorded = read_record()
    for name in passed:
        recorded[name] = hashes(suites[name])
    lines = ["# The content on which each suite passed: suite, path, hash. Written by `sh .ci/run --full`."]
    for name in suites:
        lines += [f"{name} {path} {found}" for path, found in recorded.get(name, {}).items()]
    (ROOT / RECORD).write_text("\n".join(lines) + "\n")


def choose(suites: dict[str, tuple[str, ...]], full: bool) -> tuple[list[str], list[str]]:
    """Returns the suites to run, and what to say about the choice."""
    if full:
        return list(suites), ["every suite: --full"]
    recorded = read_record()
    chosen, log = [], []
    for name, paths in suites.items():
        if name not in recorded:
            chosen.append(name)
            log.append(f"{name}: runs, not recorded")
            continue
        differing = [path for path, found in hashes(paths).items() if recorded[name].get(path) != found]
        if differing:
            chosen.append(name)
            log.append(f"{name}: runs, differs: {', '.join(differing)}")
        else:
            log.append(f"{name}: skipped")
    return chosen, log


def main() -> None:
    suites = read_suites((ROOT / ".ci/suites").read_text())
    arguments = sys.argv[1:]
    if arguments[:1] == ["--record"]:
        unknown = [name for name in arguments[1:] if name not in suites]
        if unknown:
            sys.exit(f"suites: no suite has the name {unknown[0]}")
        write_record(suites, arguments[1:] or list(suites))
        return
    if arguments not in ([], ["--full"]):
        sys.exit("suites: expected --full, --record or nothing")
    chosen, log = choose(suites, full=arguments == ["--full"])
    for line in log:
        print(f"suites: {line}", file=sys.stderr)
    print("\n".join(chosen))


if __name__ == "__main__":
    main()
