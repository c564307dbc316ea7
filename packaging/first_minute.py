"""Measures the way from a wheel file to the first retrieved memory, in a clean environment and offline.

Usage: python3 packaging/first_minute.py --wheel FILE --wheelhouse FOLDER [--limit SECONDS]

The wheelhouse is a folder with the wheels of httpx and its dependencies: `pip download --dest FOLDER httpx`. The search
path holds the new environment only, so no compiler can be used. Prints the seconds of each step, and fails above the
limit, 60 s by default.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: What a reader of the quickstart would write.
FIRST_PROGRAM = """
from cuebase import Client

with Client() as memory:
    accepted = memory.remember("I keep three hives of bees behind the school.")
    memory.wait_until_ingested(accepted)
    for hit in memory.retrieve("where are the hives of bees").hits:
        print(hit.content)
"""
EXPECTED = "behind the school"


class Stopwatch:
    """Prints the duration of each step."""

    def __init__(self) -> None:
        self.began = self.step_began = time.monotonic()

    def step(self, name: str) -> None:
        now = time.monotonic()
        print(f"{now - self.step_began:6.2f} s  {name}", flush=True)
        self.step_began = now

    def total(self) -> float:
        return time.monotonic() - self.began


def main() -> int:
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="cuebase-first-minute-") as temporary:
        folder = Path(temporary)
        # No other command, setting or index of this machine takes part.
        environment = {"PATH": str(folder / "venv/bin"), "HOME": temporary, "PIP_CONFIG_FILE": "/dev/null"}
        watch = Stopwatch()
        _run([sys.executable, "-m", "venv", str(folder / "venv")], environment)
        watch.step("create an environment")
        install = ["pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        found = ["--find-links", str(arguments.wheelhouse.resolve()), str(arguments.wheel.resolve())]
        _run([str(folder / "venv/bin" / install[0]), *install[1:], *found], environment)
        watch.step(f"pip install {arguments.wheel.name}")
        _remember_and_retrieve(folder, environment, watch)
        total = watch.total()
    print(f"{total:6.2f} s  from the wheel to the first retrieved memory")
    if total > arguments.limit:
        print(f"first minute: {total:.1f} s is more than the limit of {arguments.limit:g} s", file=sys.stderr)
        return 1
    return 0


def _remember_and_retrieve(folder: Path, environment: dict[str, str], watch: Stopwatch) -> None:
    command = [str(folder / "venv/bin/cuebase"), "serve", "--data", str(folder / "data")]
    command += ["--listen", "127.0.0.1:0", "--dashboard-listen", "off"]
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        printed = ""
        for line in server.stdout or ():
            printed += line
            if line.startswith("listening on "):
                break
        url = re.search(r"^listening on (\S+)$", printed, re.MULTILINE)
        key = re.search(r"svc_live_\S+", printed)
        if url is None or key is None:
            sys.exit(f"first minute: the server did not start; it printed:\n{printed}")
        watch.step("start the server")
        settings = {**environment, "CUEBASE_URL": url.group(1), "CUEBASE_KEY": key.group(0)}
        memories = _run([str(folder / "venv/bin/python"), "-c", FIRST_PROGRAM], settings)
        if EXPECTED not in memories:
            sys.exit(f"first minute: no retrieved memory has {EXPECTED!r}; the program printed:\n{memories}")
        watch.step("write a memory and retrieve it")
    finally:
        server.terminate()
        server.wait()


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"first minute: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measures the way from a wheel file to the first retrieved memory.")
    parser.add_argument("--wheel", type=Path, required=True, help="the wheel with the binary")
    parser.add_argument("--wheelhouse", type=Path, required=True, help="folder with httpx and its dependencies")
    parser.add_argument("--limit", type=float, default=60, help="seconds above which the measurement fails")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
