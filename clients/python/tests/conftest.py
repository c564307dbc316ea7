"""Starts a real server for the tests. `CUEBASE_BINARY` is the path of the program."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cuebase import Client


@dataclass
class Service:
    url: str
    key: str
    session: str


def command(data: Path, *arguments: str) -> str:
    binary = os.environ["CUEBASE_BINARY"]
    return subprocess.run([binary, *arguments, "--data", str(data)], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    data = tmp_path_factory.mktemp("service") / "data"
    arguments = ["serve", "--listen", "127.0.0.1:0", "--dashboard-listen", "off", "--data", str(data)]
    settings = {
        "PATH": os.environ["PATH"],
        "CUEBASE_PAYMENTS_PROVIDER": "sandbox",
        "CUEBASE_PAYMENTS_SANDBOX_LISTEN": "127.0.0.1:0",
    }
    process = subprocess.Popen(
        [os.environ["CUEBASE_BINARY"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings
    )
    assert process.stdout
    printed = ""
    for line in process.stdout:
        printed += line
        if found := re.search(r"^listening on (\S+)", line):
            break
    key = re.search(r"svc_live_\S+", printed)
    assert found and key, printed
    yield Service(found.group(1), key.group(0), command(data, "token"))
    process.terminate()
    process.wait(60)


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    with Client(service.url, service.key) as client:
        yield client
