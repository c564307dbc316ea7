"""The compose file of several nodes: its schema, its settings, and the scripts that it mounts.

The scripts of PostgreSQL run here with its programs on this machine, if there are any. Two small programs take the
place of those that only the image has: `gosu` and `docker-entrypoint.sh`.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from support import PACKAGING, ROOT, TIMEOUT, run

FOLDER = PACKAGING / "cluster"
COMPOSE = FOLDER / "compose.yaml"
NODES = ("node1", "node2", "node3")
SERVERS = ("postgres1", "postgres2")
PASSWORD = "of4a4test"


def compose() -> dict[str, dict[str, dict[str, object]]]:
    loaded = yaml.safe_load(COMPOSE.read_text())
    assert isinstance(loaded, dict)
    return loaded


def example() -> dict[str, str]:
    """Returns the variables of the environment file."""
    lines = (FOLDER / "cluster.env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def environment(service: str) -> dict[str, str]:
    found = compose()["services"][service]["environment"]
    assert isinstance(found, dict)
    return found


def test_the_file_fits_the_schema_of_compose(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    run([*command, COMPOSE])
    broken = tmp_path / "compose.yaml"
    broken.write_text(COMPOSE.read_text().replace("read_only: true", "read_only: [yes]"))
    run([*command, broken], status=1)


def test_nodes_run_the_image_and_keep_only_a_cache() -> None:
    from project import read_project

    single = yaml.safe_load((PACKAGING / "compose.yaml").read_text())["services"]["cuebase"]
    assert f"cuebase:{read_project().version}}}" in single["image"]
    for name in NODES:
        node = compose()["services"][name]
        for key in ("image", "healthcheck", "stop_grace_period", "read_only", "cap_drop", "security_opt"):
            assert node[key] == single[key], (name, key)
        assert node["volumes"] == [f"{name}:/data"]
        assert "ports" not in node, "clients reach the nodes through the balancer"


def test_nodes_have_the_settings_of_a_shared_database_and_bucket() -> None:
    for name in NODES:
        settings = environment(name)
        assert settings.pop("CUEBASE_CLUSTER_ADVERTISE") == f"{name}:8090"
        assert settings == {
            "CUEBASE_STORAGE_ENGINE": "postgres",
            "CUEBASE_STORAGE_POSTGRES_URL": "postgres://cuebase:${CUEBASE_DATABASE_PASSWORD:?}@postgres1,"
            "postgres2/cuebase?sslmode=disable",
            "CUEBASE_STORAGE_BUCKET": "s3://cuebase/data",
            "CUEBASE_CLUSTER_LISTEN": "0.0.0.0:8090",
            "AWS_ENDPOINT_URL": "http://seaweedfs:8333",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "${AWS_ACCESS_KEY_ID:?}",
            "AWS_SECRET_ACCESS_KEY": "${AWS_SECRET_ACCESS_KEY:?}",
            "AWS_ALLOW_HTTP": "true",
        }


def test_images_are_pinned_and_services_that_run_have_health_checks() -> None:
    for name, service in compose()["services"].items():
        image = str(service["image"])
        assert re.search(r":\d+\.\d+(\.\d+)?(-\w+)?}?$", image), f"{name} has the image {image}"
        if service["restart"] == "unless-stopped":
            assert "healthcheck" in service, name


def test_only_the_balancer_is_published_and_only_on_this_machine() -> None:
    for name, service in compose()["services"].items():
        ports = service.get("ports", [])
        assert isinstance(ports, list)
        assert bool(ports) == (name == "balancer"), name
        assert all(port.startswith("127.0.0.1:") for port in ports)
    for name in (*SERVERS, "seaweedfs", "create-bucket"):
        assert compose()["services"][name]["networks"] == ["internal"]
    assert compose()["networks"]["internal"] == {"internal": True}


def test_every_variable_is_in_the_example_and_no_secret_is_in_the_file() -> None:
    text = "\n".join(line for line in COMPOSE.read_text().splitlines() if not line.lstrip().startswith("#"))
    used = set(re.findall(r"\$\{(\w+):\?\}", text))
    assert used == set(example())
    for name, value in example().items():
        if "PASSWORD" in name or "SECRET" in name:
            assert value.startswith("replace-"), name
    assert not re.search(r"(PASSWORD|SECRET\w*): (?!\$\{)", text)
    assert "packaging/cluster/cluster.env" in (ROOT / ".gitignore").read_text().splitlines()


def test_volumes_and_mounted_files_exist() -> None:
    volumes = compose()["volumes"]
    used = set()
    for service in compose()["services"].values():
        mounts = service.get("volumes", [])
        assert isinstance(mounts, list)
        for mount in mounts:
            source = mount.split(":")[0]
            if source.startswith("./"):
                assert (FOLDER / source).is_file(), source
                assert mount.endswith(":ro"), mount
            else:
                used.add(source)
    assert used == set(volumes)


def test_a_commit_waits_for_either_server_as_the_standby() -> None:
    text = (FOLDER / "init-primary.sh").read_text()
    assert f"synchronous_standby_names = 'FIRST 1 ({', '.join(SERVERS)})'" in text
    for name, peer in (SERVERS, SERVERS[::-1]):
        assert environment(name)["CUEBASE_POSTGRES_NAME"] == name
        assert environment(name)["CUEBASE_POSTGRES_PEER"] == peer
        command = compose()["services"][name]["command"]
        assert isinstance(command, list)
        assert "synchronous_commit=on" in command


def test_the_balancer_sends_to_every_node_that_is_healthy() -> None:
    text = (FOLDER / "haproxy.cfg").read_text()
    for backend, port in (("api", 8080), ("dashboard", 8081)):
        section = text.split(f"\nbackend {backend}\n")[1].split("\n\n")[0]
        assert re.findall(r"server (\w+) (\S+)", section) == [(name, f"{name}:{port}") for name in NODES]
        assert "option httpchk GET /health" in section
        assert f"bind :{port}\n" in text


def free_ports(count: int) -> list[int]:
    """Returns different ports that are free now. The system gives those from 32768 on to connections, of which these
    tests make many before the last server starts.
    """
    while True:
        ports = random.sample(range(23_000, 32_000), count)
        try:
            for port in ports:
                socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return ports


def ports_of_servers() -> dict[str, int]:
    return dict(zip(SERVERS, free_ports(len(SERVERS)), strict=True))


def wait_until(condition: Callable[[], bool], what: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, f"the process ended before {what}:\n{log.read_text()}"
        assert time.monotonic() < deadline, f"{what}:\n{log.read_text()}"
        time.sleep(0.1)


def postgres_programs() -> Path:
    """Returns the newest folder with PostgreSQL's programs, or skips the test."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if not folders:
        pytest.skip("PostgreSQL is not installed: sh scripts/test-cluster.sh")
    return folders[-1].parent


#: What the image's program of this name does, as far as these tests need it.
ENTRYPOINT = """#!/bin/sh
set -eu
[ "$(id -u)" != 0 ] || exec gosu postgres "$0" "$@"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username=postgres $POSTGRES_INITDB_ARGS >&2
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    pg_ctl --pgdata="$PGDATA" --options="-c listen_addresses= -c unix_socket_directories=$PGHOST" --wait start >&2
    "$INIT_SCRIPT"
    pg_ctl --pgdata="$PGDATA" --mode=fast --wait stop >&2
fi
exec "$@"
"""
GOSU = '#!/bin/sh\nuser="$1"\nshift\nexec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"\n'


@dataclass
class Servers:
    """The two PostgreSQL servers of the compose file, on ports of this machine."""

    folder: Path
    programs: Path
    ports: dict[str, int] = field(default_factory=ports_of_servers)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def prepare(self) -> None:
        """Writes the programs of the image and the folders of the servers."""
        self.folder.chmod(0o755)
        binaries = self.folder / "bin"
        binaries.mkdir()
        for name, text in (("docker-entrypoint.sh", ENTRYPOINT), ("gosu", GOSU)):
            (binaries / name).write_text(text)
            (binaries / name).chmod(0o755)
        # The checkout can be in a folder that the user of PostgreSQL may not read.
        for name in ("init-primary.sh", "start-postgres.sh"):
            shutil.copy(FOLDER / name, binaries / name)
        for name in SERVERS:
            (self.folder / name).mkdir()
            if os.geteuid() == 0:
                shutil.chown(self.folder / name, "postgres", "postgres")

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def start(self, name: str, primary: str) -> subprocess.Popen[bytes]:
        peer = SERVERS[1 - SERVERS.index(name)]
        variables = {
            "PATH": f"{self.folder / 'bin'}:{self.programs}:/usr/bin:/bin",
            "LC_ALL": "C",
            "PGDATA": str(self.folder / name / "server"),
            "POSTGRES_INITDB_ARGS": "--no-sync --encoding=UTF8 --locale=C",
            "INIT_SCRIPT": str(self.folder / "bin/init-primary.sh"),
            "CUEBASE_DATABASE_PASSWORD": PASSWORD,
            "CUEBASE_REPLICATION_PASSWORD": PASSWORD,
            "CUEBASE_POSTGRES_PRIMARY": primary,
            "CUEBASE_POSTGRES_NAME": name,
            "CUEBASE_POSTGRES_PEER": peer,
            "CUEBASE_POSTGRES_PEER_PORT": str(self.ports[peer]),
            # The primary initializes itself through its socket. A standby finds the primary's name at this address.
            **({"PGHOST": str(self.folder / name)} if name == primary else {"PGHOSTADDR": "127.0.0.1"}),
        }
        options = [
            "-clisten_addresses=127.0.0.1",
            f"-cport={self.ports[name]}",
            f"-cunix_socket_directories={self.folder / name}",
            "-cfsync=off",
        ]
        command = ["sh", str(self.folder / "bin/start-postgres.sh"), *options]
        with self.log(name).open("ab") as log:
            self.running[name] = subprocess.Popen(command, env=variables, cwd=self.folder, stdout=log, stderr=log)
        return self.running[name]

    def sql(self, name: str, statement: str, user: str = "cuebase", database: str = "cuebase") -> tuple[int, str]:
        """Runs SQL over TCP, as a node does, and returns the exit status and the output."""
        address = f"host=127.0.0.1 port={self.ports[name]} user={user} password={PASSWORD} dbname={database}"
        command = [str(self.programs / "psql"), "--no-psqlrc", "-qAt", address, "-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout + done.stderr

    def wait_until_returned(self, name: str, statement: str, expected: str) -> None:
        process = self.running[name]
        wait_until(lambda: self.sql(name, statement) == (0, expected + "\n"), statement, process, self.log(name))

    def administer(self, name: str, *command: str) -> str:
        """Runs a program as PostgreSQL's own user."""
        words = [str(self.programs / command[0]), *command[1:]]
        if os.geteuid() == 0:
            words = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *words]
        return run(words, cwd=self.folder, environment={"PGHOST": str(self.folder / name), "LC_ALL": "C"})

    def kill(self, name: str) -> None:
        self.administer(name, "pg_ctl", "stop", "--mode=immediate", f"--pgdata={self.folder / name / 'server'}")
        self.running.pop(name).wait(TIMEOUT)


@pytest.fixture
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    programs = postgres_programs()
    # A path to a socket has at most 107 bytes, and the folders of pytest are private to one user.
    folder = Path(run(["mktemp", "-d"]).strip())
    found = Servers(folder, programs)
    try:
        found.prepare()
        yield found
    finally:
        for name, process in list(found.running.items()):
            if process.poll() is None:
                found.kill(name)
        shutil.rmtree(folder)


def test_a_new_pair_is_synchronous_and_can_fail_over_and_back(servers: Servers) -> None:
    first, second = SERVERS
    servers.start(first, primary=first)
    servers.wait_until_returned(first, "SELECT pg_is_in_recovery()", "f")
    # No standby yet: a commit that is not buffered would wait.
    assert servers.sql(first, "SHOW synchronous_standby_names")[1] == "FIRST 1 (postgres1, postgres2)\n"
    servers.start(second, primary=first)
    servers.wait_until_returned(second, "SELECT pg_is_in_recovery()", "t")
    status = ["psql", "--no-psqlrc", "-qAt", f"--port={servers.ports[first]}", "-c"]
    query = "SELECT application_name, sync_state FROM pg_stat_replication"
    wait_until(
        lambda: servers.administer(first, *status, query) == "postgres2|sync\n",
        "the standby to be synchronous",
        servers.running[second],
        servers.log(second),
    )
    assert servers.sql(first, "CREATE TABLE kept (value text)") == (0, "")
    assert servers.sql(first, "INSERT INTO kept VALUES ('before')") == (0, "")

    servers.kill(first)
    servers.administer(second, "pg_ctl", "promote", "--wait", f"--pgdata={servers.folder / second / 'server'}")
    servers.wait_until_returned(second, "SELECT value FROM kept", "before")
    refused = servers.start(first, primary=second)
    assert refused.wait(TIMEOUT) == 1
    assert "remove the volume of postgres1" in servers.log(first).read_text()
    del servers.running[first]

    shutil.rmtree(servers.folder / first / "server")
    servers.start(first, primary=second)
    servers.wait_until_returned(first, "SELECT pg_is_in_recovery()", "t")
    # Returns once the new standby has it.
    assert servers.sql(second, "INSERT INTO kept VALUES ('after')") == (0, "")
    servers.wait_until_returned(first, "SELECT count(*) FROM kept", "2")


def test_roles_reach_what_they_need_and_nothing_else(servers: Servers) -> None:
    first = SERVERS[0]
    servers.start(first, primary=first)
    servers.wait_until_returned(first, "SELECT 1", "1")
    for user, database in (("postgres", "postgres"), ("cuebase", "postgres"), ("replicator", "cuebase")):
        status, output = servers.sql(first, "SELECT 1", user, database)
        assert status == 2 and "pg_hba.conf" in output, output
    assert servers.sql(first, "SELECT 1", "replicator", "postgres") == (0, "1\n")
    assert servers.sql(first, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == (0, "f\n")


def test_an_unknown_primary_is_refused(servers: Servers) -> None:
    process = servers.start("postgres1", primary="postgres3")
    assert process.wait(TIMEOUT) == 1
    del servers.running["postgres1"]
    assert 'invalid CUEBASE_POSTGRES_PRIMARY "postgres3"' in servers.log("postgres1").read_text()
