"""Starts a real server for the tests, and runs the programs of benches/public as a person would.

`CUEBASE_BINARY` is the path of the server.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "benches" / "public"
sys.path.insert(0, str(PROGRAMS))


@dataclass
class Cuebase:
    """A running server and its key."""

    url: str
    key: str

    def environment(self) -> dict[str, str]:
        """The environment of a program that uses the server."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CUEBASE_")}
        return {**kept, "CUEBASE_URL": self.url, "CUEBASE_KEY": self.key}

    def run(self, program: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of benches/public to its end."""
        command = [sys.executable, str(PROGRAMS / program), *arguments]
        settings = {**self.environment(), **environment}
        return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120, check=False)

    @contextmanager
    def service(self, program: str, *arguments: str) -> Iterator[str]:
        """Starts a program of benches/public that serves HTTP, and yields its address."""
        command = [sys.executable, str(PROGRAMS / program), *arguments]
        process = subprocess.Popen(command, env=self.environment(), stdout=subprocess.PIPE, text=True)
        try:
            yield address_of(process)
        finally:
            process.terminate()
            process.wait(60)
            assert process.stdout
            process.stdout.close()

    def get(self, path: str) -> Any:
        """Sends a request to the server."""
        return exchange("GET", self.url + path, None, {"authorization": f"Bearer {self.key}"})[1]


def address_of(process: subprocess.Popen[str]) -> str:
    """Reads the output of a program up to the line with its address."""
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if found := re.search(r"^listening on (http://\S+)", line):
            return found.group(1)
    raise AssertionError(f"no address in the output: {printed}")


def exchange(method: str, url: str, body: Any, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """Sends a request and returns the status and the decoded response."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json", **(headers or {})}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


@pytest.fixture(scope="session")
def cuebase(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cuebase]:
    data = tmp_path_factory.mktemp("cuebase") / "data"
    arguments = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off", "--data", str(data)]
    process = subprocess.Popen(
        [os.environ["CUEBASE_BINARY"], *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"PATH": os.environ["PATH"]},
    )
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if line.startswith("listening on "):
            break
    address = re.search(r"^listening on (\S+)$", printed, re.MULTILINE)
    key = re.search(r"svc_live_[\w-]+", printed)
    assert address and key, printed
    yield Cuebase(address.group(1), key.group(0))
    process.terminate()
    process.wait(60)
    process.stdout.close()


def row(printed: str, name: str) -> list[str]:
    """Returns the cells of the first table row that begins with a name."""
    for line in printed.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == name:
            return cells[1:]
    raise AssertionError(f'no row "{name}" in:\n{printed}')
