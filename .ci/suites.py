#!/usr/bin/env python3
"""Chooses the suites that a run of the checks needs: python3 .ci/suites.py [--full]

Prints the names of the suites, one per line, and to standard error why.

Each line of `.ci/suites` is the name of a suite and the paths that it depends on. A suite runs if one of them differs
from the commit in `.ci/full-run`, the last one on which every suite passed. Every suite runs with `--full`, without that
commit, and if a file on which all depend differs.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ".ci/full-run"
# Files on which every suite depends.
COMMON = ("Cargo.lock", "Cargo.toml", ".cargo/", ".ci/", "rust-toolchain.toml")


def read_suites(text: str) -> dict[str, tuple[str, ...]]:
    """Returns the paths that each suite depends on. A path that ends with a slash is a folder."""
    suites = {}
    for line in text.splitlines():
        name, *paths = line.partition("#")[0].split() or [""]
        if name:
            suites[name] = tuple(paths)
    return suites


def git(*arguments: str) -> str | None:
    """Returns the output of git; none if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def changed_since(base: str) -> list[str] | None:
    """Returns the files that differ from a commit, with those that are not committed; none if git lacks the commit."""
    changed = git("diff", "--name-only", "--no-renames", "-z", base, "--")
    untracked = git("ls-files", "--others", "--exclude-standard", "-z")
    if changed is None or untracked is None:
        return None
    return sorted({path for path in (changed + untracked).split("\0") if path and path != RECORD})


def depends(paths: tuple[str, ...], changed: list[str]) -> bool:
    """Whether one of the changed files is one of the paths, or in one of them."""
    return any(file == path or (path.endswith("/") and file.startswith(path)) for path in paths for file in changed)


def choose(suites: dict[str, tuple[str, ...]], full: bool) -> tuple[list[str], list[str]]:
    """Returns the suites to run, and what to say about the choice."""
    everything = list(suites)
    if full:
        return everything, ["every suite: --full"]
    record = ROOT / RECORD
    base = record.read_text().split()[0] if record.is_file() and record.read_text().split() else None
    if base is None:
        return everything, [f"every suite: {RECORD} names no commit"]
    changed = changed_since(base)
    if changed is None:
        return everything, [f"every suite: the commit {base} of {RECORD} is not in this clone"]
    log = [f"last full run: {base}", "differs: " + (", ".join(folders(changed)) or "nothing")]
    if depends(COMMON, changed):
        return everything, [*log, "every suite: a file that all depend on differs"]
    chosen = [name for name, paths in suites.items() if depends(paths, changed)]
    skipped = [name for name in suites if name not in chosen]
    return chosen, [*log, "suites: " + (", ".join(chosen) or "none"), "skipped: " + (", ".join(skipped) or "none")]


def folders(changed: list[str]) -> list[str]:
    """Returns the folders of files, by the first two parts of their paths."""
    return sorted({"/".join(path.split("/")[:-1][:2]) or path for path in changed})


def main() -> None:
    suites = read_suites((ROOT / ".ci/suites").read_text())
    if sys.argv[1:] not in ([], ["--full"]):
        sys.exit("suites: expected --full or nothing")
    chosen, log = choose(suites, full=sys.argv[1:] == ["--full"])
    for line in log:
        print(f"suites: {line}", file=sys.stderr)
    print("\n".join(chosen))


if __name__ == "__main__":
    main()
