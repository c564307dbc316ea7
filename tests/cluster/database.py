"""PostgreSQL as a primary and a synchronous standby, with any number of fail-overs.

`synchronous_commit` is `on`: a commit is acknowledged once the standby has written it to its log. `remote_apply` would
also wait until the standby has replayed it, which only matters to readers of the standby. The nodes read from the
primary, and a promoted standby replays all written records before it accepts writes, so `on` loses no acknowledged
commit and is faster.

After a promotion the new primary has no standby and accepts commits without one, as the usual tools for fail-over do
it. `rebuild` copies it to the other server and makes commits synchronous again. Until then there must be no second
fail-over.
"""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from network import Network
from process import Process, children, kill_ids, run, wait_for

NAME = "cuebase"
#: The role of the nodes, an ordinary one that owns the database.
USER = "cuebase"
PASSWORD = "of-a-test"
_SUPERUSER = "postgres"
PORT = 5432
#: The system user that runs PostgreSQL, which refuses to run as root.
_OWNER = "postgres"
_FOLDERS = ("/usr/lib/postgresql/15/bin", "/usr/pgsql-15/bin")
#: Settings of both servers. Small memory; WAL that a standby can still read after a pause.
_SETTINGS = {
    "port": str(PORT),
    "max_connections": "200",
    "shared_buffers": "32MB",
    "max_wal_size": "256MB",
    "wal_keep_size": "256MB",
    "wal_level": "replica",
    # Only processes are killed here, never the machine, so what was written to files survives. Syncing a new standby's
    # folder takes up to 20 s on a busy disk. A commit still waits until the standby has written it.
    "fsync": "off",
    "hot_standby": "on",
    "synchronous_commit": "on",
    "wal_receiver_status_interval": "1s",
    "wal_retrieve_retry_interval": "200ms",
    "log_checkpoints": "off",
}


@dataclass
class _Server:
    """One of the two servers: its place, and its process while it runs."""

    name: str
    address: str
    folder: Path
    sockets: Path
    process: Process

    @property
    def data(self) -> Path:
        return self.folder / "data"


def _binary(name: str) -> str:
    for folder in _FOLDERS:
        path = Path(folder) / name
        if path.exists():
            return str(path)
    return name


def _as_owner(command: Sequence[object]) -> list[str]:
    """Returns a command that runs as the user of PostgreSQL."""
    words = [str(word) for word in command]
    if os.geteuid() != 0:
        return words
    return ["setpriv", f"--reuid={_OWNER}", f"--regid={_OWNER}", "--clear-groups", *words]


def _give_to_owner(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid() == 0:
        user = pwd.getpwnam(_OWNER)
        os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(0o700)


class Database:
    """The two servers, inside one host of the network. `settings` replace or extend those of this file."""

    def __init__(
        self,
        network: Network,
        host: str,
        numbers: tuple[int, int],
        folder: Path,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self._network = network
        self._host = host
        self._settings = {**_SETTINGS, **(settings or {})}
        self._primary = self._server("a", numbers[0], folder)
        self._standby = self._server("b", numbers[1], folder)

    def _server(self, name: str, number: int, folder: Path) -> _Server:
        folder, address = folder / name, self._network.address(number)
        sockets = folder / "sockets"
        settings = {
            **self._settings,
            "listen_addresses": address,
            "unix_socket_directories": str(sockets),
            "cluster_name": name,
        }
        options = [f"--{key}={value}" for key, value in settings.items()]
        command = _as_owner([_binary("postgres"), "-D", folder / "data", *options])
        process = Process(self._network.inside(self._host, command), folder.parent / f"postgres-{name}.log")
        return _Server(name, address, folder, sockets, process)

    @property
    def primary_address(self) -> tuple[str, int]:
        """Address of the server that accepts writes."""
        return (self._primary.address, PORT)

    def open(self) -> None:
        """Creates the primary, its database and a synchronous standby."""
        primary = self._primary
        _give_to_owner(primary.folder)
        _give_to_owner(primary.sockets)
        password = primary.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        run(_as_owner([
            _binary("initdb"), "-D", primary.data, "-U", _SUPERUSER, "--no-sync", "--encoding=UTF8", "--locale=C",
            "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={password}",
        ]))
        access = primary.data / "pg_hba.conf"
        rules = [access.read_text()]
        for target, role in (("all", USER), ("replication", _SUPERUSER)):
            rules.append(f"host {target} {role} samenet scram-sha-256\n")
        access.write_text("".join(rules))
        self._start(primary)
        self.sql(f"CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'", database="postgres")
        self.sql(f"CREATE DATABASE {NAME} OWNER {USER}", database="postgres")
        self.rebuild()

    def _start(self, server: _Server) -> None:
        server.process.start()
        wait_for(f"server {server.name} to accept connections", lambda: self._is_ready(server))

    def _is_ready(self, server: _Server) -> bool:
        if not server.process.is_running():
            raise RuntimeError(f"server {server.name} has ended: {server.process.log_text()[-2000:]}")
        try:
            self._sql_on(server, "SELECT 1", "postgres")
        except RuntimeError:
            return False
        return True

    def _sql_on(self, server: _Server, statement: str, database: str) -> str:
        command = ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", server.sockets, "-U", _SUPERUSER]
        return run([*command, "-d", database, "-f", "-"], text=statement).strip()

    def sql(self, statement: str, database: str = NAME) -> str:
        """Runs SQL on the primary as its superuser and returns the rows, with `|` between columns."""
        return self._sql_on(self._primary, statement, database)

    def process_ids(self) -> list[int]:
        """Returns the ids of all processes of both servers."""
        found = []
        for server in (self._primary, self._standby):
            if server.process.is_running():
                found += [server.process.pid, *children(server.process.pid)]
        return found

    def kill_primary(self) -> None:
        """Kills every process of the primary, as the end of its machine does."""
        process = self._primary.process
        ids = [process.pid, *children(process.pid)]
        kill_ids(ids)
        process.kill()
        wait_for("all processes of the primary to end", lambda: not any(_exists(pid) for pid in ids))

    def promote(self) -> None:
        """Makes the standby the primary. The former primary must be dead, and stays dead."""
        assert not self._primary.process.is_running(), "two primaries would accept writes"
        self._primary, self._standby = self._standby, self._primary
        self.sql("SELECT pg_promote(wait => true)", database="postgres")
        state = "SELECT pg_is_in_recovery()"
        wait_for("the promotion", lambda: self.sql(state, database="postgres") == "f")

    def rebuild(self) -> None:
        """Copies the primary to the other server, starts that as the standby and makes commits synchronous."""
        standby = self._standby
        standby.process.kill()
        shutil.rmtree(standby.folder, ignore_errors=True)
        _give_to_owner(standby.folder)
        _give_to_owner(standby.sockets)
        source = f"host={self._primary.sockets} port={PORT} user={_SUPERUSER} password={PASSWORD}"
        run(_as_owner([
            _binary("pg_basebackup"), "-D", standby.data, "-X", "stream", "-c", "fast", "--no-sync", "-d", source,
        ]))
        self._follow_primary(standby)
        self._start(standby)
        wait_for("the standby to stream", lambda: self._replication() == "streaming|async")
        self.sql(f"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 ({standby.name})'", database="postgres")
        self.sql("SELECT pg_reload_conf()", database="postgres")
        wait_for("commits to be synchronous", self.is_synchronous)

    def _follow_primary(self, standby: _Server) -> None:
        """Writes the settings by which a copy follows the primary. They replace those that the copy brought."""
        address = self._primary.address
        source = f"host={address} port={PORT} user={_SUPERUSER} password={PASSWORD} application_name={standby.name}"
        (standby.data / "postgresql.auto.conf").write_text(f"primary_conninfo = '{source}'\n")
        (standby.data / "standby.signal").touch()

    def _replication(self) -> str:
        name = self._standby.name
        query = f"SELECT state, sync_state FROM pg_stat_replication WHERE application_name = '{name}'"
        return self.sql(query, database="postgres")

    def is_synchronous(self) -> bool:
        """Returns whether a commit now waits for the standby."""
        return self._replication() == "streaming|sync"

    def close(self) -> None:
        """Ends both servers at once."""
        for server in (self._primary, self._standby):
            if server.process.is_running():
                ids = [server.process.pid, *children(server.process.pid)]
                kill_ids(ids)
                server.process.kill()


def _exists(pid: int) -> bool:
    """Returns whether a process exists that is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
