"""What is measured: a single process on RocksDB, one node and three nodes on PostgreSQL and SeaweedFS.

Every process has an address of its own in 127.0.0.0/8, which Linux accepts without any set-up. PostgreSQL has a
synchronous standby, and syncs (`fsync` is on), unlike in the campaign of faults.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import harness  # noqa: F401
import bucket
import database
from bucket import Bucket, Ports
from client import Client, target_of
from database import Database
from figures import Place
from network import Network
from node import CLUSTER_PORT, FIRST_ADDRESS, Node
from process import wait_for

ACCOUNT = "bench"
#: Longest time for the ingestion of what was accepted, seconds.
_INGESTION_PATIENCE = 600.0
_DATABASES = (11, 12)
_BUCKET = 20
#: Numbers of the nodes.
_NODES = {Place.SINGLE: (1,), Place.ONE: (2,), Place.THREE: (3, 4, 5)}
#: Settings of PostgreSQL that differ from those of the campaign of faults.
_DATABASE_SETTINGS = {
    "fsync": "on",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.track_utility": "on",
}
#: No request is refused, and no namespace of the benchmark is closed between two requests.
#: Retrievals at a time are a limit of all nodes together: with three nodes, each may do 20.
_LIMITS = {
    "CUEBASE_RATE_LIMIT_REQUESTS_PER_MINUTE": "0",
    "CUEBASE_RETRIEVAL_WARM_NAMESPACES": "64",
    "CUEBASE_RETRIEVAL_CONCURRENCY": "60",
}
_BASE32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class LoopbackNetwork(Network):
    """Addresses of this machine in place of network namespaces."""

    def __init__(self, run_number: int) -> None:
        super().__init__(run_number)
        self._run = run_number

    def address(self, number: int) -> str:
        """Returns the address with a number between 1 and 254."""
        return f"127.77.{self._run}.{number}"

    def add_host(self, name: str, numbers: Sequence[int]) -> None:
        """Does nothing: the addresses exist."""

    def inside(self, name: str, command: Sequence[object]) -> list[str]:
        """Returns the command as it is."""
        return [str(word) for word in command]


class Deployment:
    """Nodes that serve the same data, or the single box."""

    def __init__(self, place: Place, nodes: Sequence[Node], services: Database | None) -> None:
        self.place = place
        self.nodes = list(nodes)
        self.key = ""
        self._database = services

    @property
    def database_name(self) -> str:
        """Name of the database of these nodes."""
        return database_name(self.place)

    def open(self) -> None:
        """Starts all nodes and creates the key of the benchmark."""
        for node in self.nodes:
            node.start()
        self.key = self.nodes[0].create_key(ACCOUNT)

    def client(self, number: int = 0) -> Client:
        """Returns a client of a node. Numbers wrap around."""
        return Client(self.nodes[number % len(self.nodes)].address, self.key)

    def create(self, namespace: str, number: int = 0) -> None:
        """Creates a namespace. The node that is asked first owns it."""
        with self.client(number) as client:
            client.expect(201, "POST", "/v1/namespaces", {"name": namespace})
            client.expect(200, "GET", target_of("/v1/retrieve", namespace=namespace, q="nothing"))

    def owner(self, namespace: str) -> int:
        """Returns the number of the node that owns a namespace. Raises `RuntimeError` if none does."""
        if self._database is None:
            return 0
        owner = owner_address(self._database, self.database_name, namespace)
        for number, node in enumerate(self.nodes):
            if owner == f"{node.address[0]}:{CLUSTER_PORT}":
                return number
        raise RuntimeError(f"the owner of {namespace} is at {owner}, which is not a node of the benchmark")

    def other(self, namespace: str) -> int:
        """Returns the number of a node that does not own a namespace."""
        assert len(self.nodes) > 1, "a single node owns everything"
        return (self.owner(namespace) + 1) % len(self.nodes)

    def wait_until_ingested(self, number: int = 0) -> None:
        """Waits until no write is in the queue."""
        with self.client(number) as client:
            wait_for("the queue to be empty", lambda: is_queue_empty(client), _INGESTION_PATIENCE)

    def close(self) -> None:
        """Kills all nodes."""
        for node in self.nodes:
            node.process.kill()


def is_queue_empty(client: Client) -> bool:
    """Returns whether no write waits. Raises `RuntimeError` if a write failed permanently."""
    queue = client.expect(200, "GET", "/v1/queue?limit=1").json()
    if queue["dead_letters"]:
        raise RuntimeError(f"a write failed permanently: {queue['dead_letters'][0]}")
    return bool(queue["waiting"] == 0)


class Machine:
    """The services and the three deployments. `close` ends all of it."""

    def __init__(self, binary: Path, folder: Path, run_number: int) -> None:
        self.network = LoopbackNetwork(run_number)
        self._folder = folder
        self._binary = binary
        _find_tools()
        (folder / "database").mkdir()
        (folder / "bucket").mkdir()
        self.database = Database(self.network, "", _DATABASES, folder / "database", _DATABASE_SETTINGS)
        self.bucket = Bucket(self.network, "", _BUCKET, folder / "bucket", _bucket_ports(run_number))
        self.deployments: dict[Place, Deployment] = {}

    def open(self) -> None:
        """Starts everything."""
        self.database.open()
        self.bucket.open()
        self.database.sql("CREATE EXTENSION pg_stat_statements", "postgres")
        for place in (Place.ONE, Place.THREE):
            name = database_name(place)
            self.database.sql(f"CREATE DATABASE {name} OWNER {database.USER}", "postgres")
        for place in Place:
            nodes = [self._node(place, number) for number in _NODES[place]]
            services = None if place is Place.SINGLE else self.database
            self.deployments[place] = Deployment(place, nodes, services)
            self.deployments[place].open()

    def _node(self, place: Place, number: int) -> Node:
        settings = dict(_LIMITS)
        if place is not Place.SINGLE:
            settings |= self._shared_settings(place, self.network.address(FIRST_ADDRESS + number))
        return Node(self.network, number, f"{self._binary} serve", settings, self._folder)

    def _shared_settings(self, place: Place, address: str) -> dict[str, str]:
        host, port = self.database.primary_address
        login = f"{database.USER}:{database.PASSWORD}"
        return {
            "CUEBASE_STORAGE_ENGINE": "postgres",
            "CUEBASE_STORAGE_POSTGRES_URL": f"postgres://{login}@{host}:{port}/{database_name(place)}",
            "CUEBASE_STORAGE_BUCKET": f"s3://{bucket.NAME}/{database_name(place)}",
            "CUEBASE_CLUSTER_ALLOW_UNSAFE_DATABASE": "false",
            "CUEBASE_CLUSTER_LISTEN": f"{address}:{CLUSTER_PORT}",
            "AWS_ENDPOINT_URL": f"http://{self.bucket.address[0]}:{self.bucket.address[1]}",
            "AWS_REGION": bucket.REGION,
            "AWS_ACCESS_KEY_ID": bucket.ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": bucket.SECRET_KEY,
            "AWS_ALLOW_HTTP": "true",
        }

    def close(self) -> None:
        """Ends everything at once."""
        for deployment in self.deployments.values():
            deployment.close()
        self.bucket.close()
        self.database.close()


def database_name(place: Place) -> str:
    """Name of the database of a deployment, and of its prefix in the bucket."""
    return place.name.lower()


def owner_address(services: Database, name: str, namespace: str) -> str:
    """Returns the address of the owner of a namespace, from the records. Raises `RuntimeError` if it has none."""

    def records(condition: str) -> list[dict[str, Any]]:
        # A record is JSON after a byte with its format.
        statement = f"SELECT convert_from(substr(value, 2), 'UTF8') FROM cuebase_kv WHERE {condition}"
        return [json.loads(line) for line in services.sql(statement, name).splitlines()]

    ids = [each["id"] for each in records("family = 'namespaces'") if each["name"] == namespace]
    for id in ids:
        for owner in records(f"family = 'owners' AND key = {_key(id)}"):
            if owner["node"] is None:
                continue
            for node in records(f"family = 'nodes' AND key = {_key(owner['node'])}"):
                return str(node["address"])
    raise RuntimeError(f"the namespace {namespace} has no owner")


def _key(ulid: str) -> str:
    """Returns the key of an id, which JSON has in Crockford's base 32, as SQL."""
    number = 0
    for digit in ulid:
        number = number * 32 + _BASE32.index(digit)
    return f"'\\x{number.to_bytes(16).hex()}'::bytea"


def _bucket_ports(run_number: int) -> Ports:
    """Returns ports that no campaign of faults uses, and no other run of the benchmark with another number."""
    first = 11_000 + 10 * run_number
    return Ports(first, first + 1, first + 2, first + 3)


def _find_tools() -> None:
    """Adds the folder in which the scripts of this repository install SeaweedFS to PATH."""
    if shutil.which("weed"):
        return
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    tools = Path(cache) / "cuebase" / "tools" / "cluster" / "bin"
    if (tools / "weed").exists():
        os.environ["PATH"] = f"{os.environ['PATH']}:{tools}"
