"""A running cluster: network, services, nodes, balancer, and a key for every account.

With local storage there are no services, and a "cluster" is one node with a data directory of its own. This mode tests
the harness, and the process faults of a single box.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any

from api import Api
from balancer import Balancer
from load import ACCOUNTS, NAMESPACES
from network import HARNESS, Network
from node import Node
from process import wait_for
from services import BUCKET_LINK, DATABASE_LINK, Services

_BALANCER_PORT = 8000


class Storage(enum.StrEnum):
    """Where the nodes keep their data."""

    LOCAL = "local"
    CLUSTER = "cluster"


class Cluster:
    """Everything that runs during a campaign. `close` ends and removes all of it."""

    def __init__(self, storage: Storage, command: str, count: int, run_number: int, folder: Path) -> None:
        assert storage is Storage.CLUSTER or count == 1, "nodes with local storage do not form a cluster"
        self.network = Network(run_number)
        self.services: Services | None = None
        self.nodes: list[Node] = []
        self.balancer: Balancer | None = None
        #: The API behind the balancer, by account.
        self.apis: dict[str, Api] = {}
        self._storage = storage
        self._command = command
        self._count = count
        self._folder = folder

    def open(self) -> None:
        """Starts everything and creates accounts and namespaces."""
        self.network.open([DATABASE_LINK, BUCKET_LINK])
        if self._storage is Storage.CLUSTER:
            self.services = Services(self.network, self._folder)
            self.services.open()
        for number in range(1, self._count + 1):
            settings = {} if self.services is None else self.services.connect(number)
            node = Node(self.network, number, self._command, settings, self._folder)
            self.nodes.append(node)
            node.start()
        listen = (self.network.address(HARNESS), _BALANCER_PORT)
        self.balancer = Balancer(listen, [node.address for node in self.nodes], self._folder / "balancer.log")
        for account in ACCOUNTS:
            self.apis[account] = Api(self.balancer.address, self.nodes[0].create_key(account))
            for namespace in NAMESPACES:
                self._create(self.apis[account], namespace)

    def _create(self, api: Api, namespace: str) -> None:
        def is_created() -> bool:
            return api.request("POST", "/v1/namespaces", 10.0, body={"name": namespace}).status in (200, 201)

        wait_for(f"the namespace {namespace} to be created", is_created)

    def direct_api(self, node: Node, account: str) -> Api:
        """Returns the API of one node, without the balancer."""
        return Api(node.address, self.apis[account].key)

    def usage(self) -> dict[str, dict[str, Any]]:
        """Returns the usage of every account."""
        return {account: api.get("/v1/usage") for account, api in self.apis.items()}

    def close(self) -> None:
        """Ends all processes and removes the network."""
        if self.balancer is not None:
            self.balancer.close()
        for node in self.nodes:
            node.process.kill()
        if self.services is not None:
            self.services.close()
        self.network.clean()
