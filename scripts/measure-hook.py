"""Measures how long the prompt hook of a coding agent takes, as the agent sees it: from the start of the process to its end.

Usage: python3 scripts/measure-hook.py [BINARY [RUNS [MEMORIES]]]

Starts a server on a temporary data directory, stores MEMORIES statements (default 1,000) in the namespace of a project,
and runs `cuebase hook user-prompt` RUNS times (default 200), each time with another question. Prints the median, the 99th
percentile and the maximum in milliseconds, and how many runs returned memories. Needs Python 3.10 and nothing else.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

SERVICES = ("gateway", "indexer", "mailer", "billing service", "search proxy", "scheduler", "importer", "dashboard")
STAGES = ("staging", "production", "the test cluster", "the demo system")


def statement(number: int) -> str:
    service, stage = SERVICES[number % len(SERVICES)], STAGES[number // len(SERVICES) % len(STAGES)]
    return f"The {service} number {number} in {stage} listens on port {2000 + number}."


def question(number: int) -> str:
    service, stage = SERVICES[number % len(SERVICES)], STAGES[number // len(SERVICES) % len(STAGES)]
    return f"Which port does the {service} number {number} in {stage} listen on?"


def call(url: str, key: str, path: str, body: object = None) -> object:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data=data, headers={"authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def start(binary: Path, data: Path) -> tuple[subprocess.Popen[str], str, str]:
    """Starts a server. Returns the process, its URL and its first key."""
    arguments = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off", "--data", str(data)]
    server = subprocess.Popen([binary, *arguments], stdout=subprocess.PIPE, text=True)
    assert server.stdout
    printed = ""
    for line in server.stdout:
        printed += line
        if line.startswith("listening on "):
            break
    url, key = re.search(r"listening on (\S+)", printed), re.search(r"svc_live_\S+", printed)
    assert url and key, f"the server did not start: {printed}"
    return server, url.group(1), key.group(0)


def fill(url: str, key: str, namespace: str, memories: int) -> None:
    """Stores statements and waits until they are ingested."""
    call(url, key, "/v1/namespaces", {"name": namespace})
    messages = [{"role": "user", "content": statement(number)} for number in range(memories)]
    for begin in range(0, memories, 100):
        body = {"namespace": namespace, "messages": messages[begin : begin + 100]}
        call(url, key, "/v1/memories?wait=30", body)


def measure(command: list[str], environment: dict[str, str], project: Path, runs: int) -> tuple[list[float], int]:
    """Runs the hook. Returns the times in milliseconds and the number of runs with memories."""
    times, found = [], 0
    for number in range(runs):
        prompt = {"session_id": "measure", "cwd": str(project), "prompt": question(number)}
        begin = time.perf_counter()
        done = subprocess.run(command, input=json.dumps(prompt).encode(), env=environment, capture_output=True)
        times.append((time.perf_counter() - begin) * 1000)
        assert done.returncode == 0, done.stderr.decode()
        found += bool(done.stdout)
    return times, found


def main() -> None:
    arguments = sys.argv[1:]
    binary = Path(arguments[0] if arguments else "target/release/cuebase").resolve()
    runs = int(arguments[1]) if len(arguments) > 1 else 200
    memories = int(arguments[2]) if len(arguments) > 2 else 1000
    with tempfile.TemporaryDirectory() as folder:
        project, data = Path(folder) / "project", Path(folder) / "data"
        project.mkdir()
        server, url, key = start(binary, data)
        try:
            environment = {"PATH": os.environ["PATH"], "HOME": folder, "CUEBASE_NAMESPACE": "measure"}
            fill(url, key, "measure", memories)
            command = [str(binary), "hook", "user-prompt", "--data", str(data)]
            # The first hook opens the namespace and gets a session. In a real session its start does both.
            measure(command, {**environment, "CUEBASE_HOOK_TIMEOUT_MS": "10000"}, project, 1)
            times, found = measure(command, environment, project, runs)
        finally:
            server.terminate()
            server.wait()
    times.sort()
    last = times[min(len(times) - 1, int(len(times) * 0.99))]
    print(f"{runs} runs, {memories} memories, {found} with memories")
    print(f"median {times[len(times) // 2]:.1f} ms, 99th percentile {last:.1f} ms, maximum {times[-1]:.1f} ms")


if __name__ == "__main__":
    main()
