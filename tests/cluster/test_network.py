"""The network of namespaces and its cuts. Requires root."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from network import Network
from process import Process, run, wait_for

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces require root")
RUN = 97
#: Time limit of a request over a link that may be cut, seconds.
PATIENCE = 6.0


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Network]:
    """Returns a network with two hosts that serve a folder over HTTP."""
    opened = Network(RUN)
    opened.open([2])
    try:
        for name, number in (("n1", 51), ("n2", 52)):
            opened.add_host(name, [number])
            server = [sys.executable, "-m", "http.server", "--bind", opened.address(number), "8000"]
            Process(opened.inside(name, server), tmp_path / f"{name}.log").start()
            wait_for(f"the server of {name}", partial(reaches, opened, number))
        yield opened
    finally:
        opened.clean()


def reaches(network: Network, number: int) -> bool:
    """Returns whether the harness reaches the server of a host."""
    try:
        with urllib.request.urlopen(f"http://{network.address(number)}:8000/", timeout=PATIENCE) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, http.client.HTTPException, OSError):
        return False


def reaches_from(network: Network, name: str, number: int) -> bool:
    """Returns whether a host reaches the server of another one."""
    program = f"import urllib.request as r; r.urlopen('http://{network.address(number)}:8000/', timeout={PATIENCE})"
    command = network.inside(name, [sys.executable, "-c", program])
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_a_cut_separates_two_hosts_only_and_is_healed(network: Network) -> None:
    assert reaches_from(network, "n1", 52) and reaches_from(network, "n2", 51)
    network.cut(51, 52)
    assert not reaches_from(network, "n1", 52) and not reaches_from(network, "n2", 51)
    assert reaches(network, 51) and reaches(network, 52)
    network.heal(51, 52)
    assert reaches_from(network, "n1", 52) and reaches_from(network, "n2", 51)


def test_a_cut_of_the_harness_leaves_its_other_addresses(network: Network) -> None:
    network.cut(51, 1)
    assert not reaches(network, 51) and reaches(network, 52)
    assert reaches_from(network, "n2", 51)
    network.heal_all()
    assert reaches(network, 51)


def test_a_cut_stalls_an_established_connection(network: Network) -> None:
    connection = http.client.HTTPConnection(network.address(51), 8000, timeout=PATIENCE)
    connection.connect()
    network.cut(51, 1)
    with pytest.raises(TimeoutError):
        connection.request("GET", "/")
        connection.getresponse()
    network.heal_all()


def test_opening_again_removes_what_a_crash_left(network: Network) -> None:
    left = network.namespaces()
    assert len(left) == 3
    again = Network(RUN)
    again.open()
    assert len(again.namespaces()) == 1
    assert not reaches(again, 51)
    again.clean()
    assert again.namespaces() == [] and "cbt97-root" not in run(["ip", "-brief", "link"])
