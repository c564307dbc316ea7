"""The database and the bucket of a run in one namespace, and a link to each of them for every node.

A node reaches both only through its links: addresses of the harness with one port per node. A cut between a node and
one of these addresses separates it from the database or from the bucket, a shaped link makes that way slow, and a
fail-over changes the target of the links.
"""

from __future__ import annotations

import time
from pathlib import Path

import bucket
import database
from bucket import Bucket
from database import Database
from network import Network
from slow_link import Links

#: Numbers of the addresses at which nodes reach the database and the bucket.
DATABASE_LINK = 2
BUCKET_LINK = 3
_HOST = "services"
_DATABASES = (11, 12)
_BUCKET = 20
_LINK_PORT = 7000


class Services:
    """PostgreSQL, SeaweedFS and the links to them."""

    def __init__(self, network: Network, folder: Path) -> None:
        self._network = network
        network.add_host(_HOST, [*_DATABASES, _BUCKET])
        self.database = Database(network, _HOST, _DATABASES, folder / "database")
        self.bucket = Bucket(network, _HOST, _BUCKET, folder / "bucket")
        self.links = Links(folder / "links.log")
        self._nodes: list[int] = []

    def open(self) -> None:
        """Starts both services."""
        self.database.open()
        self.bucket.open()

    def connect(self, node: int) -> dict[str, str]:
        """Opens the links of a node and returns the settings by which it uses them."""
        port = _LINK_PORT + node
        here, there = self._network.address(DATABASE_LINK), self._network.address(BUCKET_LINK)
        self.links.open(database_link(node), (here, port), self.database.primary_address)
        self.links.open(bucket_link(node), (there, port), self.bucket.address)
        self._nodes.append(node)
        login = f"{database.USER}:{database.PASSWORD}"
        return {
            "CUEBASE_STORAGE_ENGINE": "postgres",
            "CUEBASE_STORAGE_POSTGRES_URL": f"postgres://{login}@{here}:{port}/{database.NAME}",
            "CUEBASE_STORAGE_BUCKET": f"s3://{bucket.NAME}/data",
            "AWS_ENDPOINT_URL": f"http://{there}:{port}",
            "AWS_REGION": bucket.REGION,
            "AWS_ACCESS_KEY_ID": bucket.ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": bucket.SECRET_KEY,
            "AWS_ALLOW_HTTP": "true",
        }

    def fail_over(self, detection_seconds: float) -> None:
        """Kills the primary and promotes the standby after the time in which a monitor would notice the death."""
        self.database.kill_primary()
        time.sleep(detection_seconds)
        self.database.promote()
        for node in self._nodes:
            self.links.point_at(database_link(node), self.database.primary_address)

    def close(self) -> None:
        """Ends both services and the links."""
        self.links.close()
        self.bucket.close()
        self.database.close()


def database_link(node: int) -> str:
    """Name of the link from a node to the database."""
    return f"database-{node}"


def bucket_link(node: int) -> str:
    """Name of the link from a node to the bucket."""
    return f"bucket-{node}"
