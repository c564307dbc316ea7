"""A Cuebase node in its own namespace: started, stopped, killed, paused and continued."""

from __future__ import annotations

import http.client
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from network import Network
from process import Process, run, wait_for

PORT = 8080
#: Port for the other nodes.
CLUSTER_PORT = 8090
#: Number of the first node's address.
FIRST_ADDRESS = 50
_TIMEOUT = 1.0
#: Characters of a log that an error shows.
_LOG_END = 2000


class NodeEnded(Exception):
    """A node that has ended although nobody stopped it, or with an error."""


class Node:
    """One node of the cluster. `number` counts from 1."""

    def __init__(
        self, network: Network, number: int, command: str, settings: Mapping[str, str], folder: Path
    ) -> None:
        self.number = number
        self.name = f"n{number}"
        self.address_number = FIRST_ADDRESS + number
        self.address = (network.address(self.address_number), PORT)
        self._network = network
        self._binary = shlex.split(command)[0]
        #: The data directory, which is a cache if the node is one of a cluster.
        self.data = folder / f"{self.name}-data"
        self._environment = self._environment_of(settings)
        network.add_host(self.name, [self.address_number])
        inside = network.inside(self.name, shlex.split(command))
        self.process = Process(inside, folder / f"{self.name}.log", self._environment)

    def _environment_of(self, settings: Mapping[str, str]) -> dict[str, str]:
        """Returns the environment of the node, without settings of the harness's own environment."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUEBASE_", "AWS_"))}
        own = {
            "CUEBASE_DATA": str(self.data),
            "CUEBASE_LISTEN": f"{self.address[0]}:{PORT}",
            "CUEBASE_DASHBOARD_LISTEN": "off",
            "CUEBASE_RETRIEVAL_WARM_NAMESPACES": "16",
        }
        if "CUEBASE_STORAGE_ENGINE" in settings:
            # The database of the harness runs with `fsync` off.
            own["CUEBASE_CLUSTER_ALLOW_UNSAFE_DATABASE"] = "true"
            own["CUEBASE_CLUSTER_ADVERTISE"] = f"{self.address[0]}:{CLUSTER_PORT}"
        return {**kept, **own, **settings}

    def start(self) -> None:
        """Starts the node and waits until it is ready."""
        self.process.start()
        self.wait_until_ready()

    def stop(self) -> None:
        """Asks the node to end. Raises `NodeEnded` if it ends with an error."""
        status = self.process.stop()
        if status != 0:
            raise NodeEnded(f"{self.name} was asked to end, exit status {status}: {self.log_end()}")

    def log_end(self) -> str:
        """Returns the end of the log."""
        return self.process.log_text()[-_LOG_END:]

    def wait_until_ready(self) -> None:
        """Waits until the node answers `GET /health`. Raises `NodeEnded` if it has ended."""
        wait_for(f"{self.name} to be ready", self._is_ready)

    def _is_ready(self) -> bool:
        if not self.process.is_running():
            raise NodeEnded(f"{self.name} has ended: {self.log_end()}")
        connection = http.client.HTTPConnection(*self.address, timeout=_TIMEOUT)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def create_key(self, account: str) -> str:
        """Creates an API key with the command line, which asks the running node."""
        command = [self._binary, "keys", "create", "--account", account]
        # Not by `env`: the error of a failed command would show the environment of the harness.
        return run(self._network.inside(self.name, command), environment=self._environment).strip()
