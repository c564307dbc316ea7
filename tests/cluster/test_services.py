"""PostgreSQL with fail-overs and the bucket, for real. Requires root, PostgreSQL 15 and SeaweedFS."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import bucket
import database
import pytest
from network import Network
from process import children, wait_for
from services import Services

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces require root")
#: Run number of these tests, which differs from that of a campaign.
RUN = 98
#: Commits that are acknowledged before each fail-over.
COMMITS = 50


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = _open_folder(tmp_path_factory.mktemp("services"))
    network = Network(RUN)
    network.open([2, 3])
    opened = Services(network, folder)
    try:
        opened.open()
        yield opened
    finally:
        opened.close()
        network.clean()


def _open_folder(folder: Path) -> Path:
    """Lets the user of PostgreSQL through to a folder of pytest, which only root may enter."""
    for parent in (folder, *folder.parents):
        if parent.owner() == "root" and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o055)
        if parent == Path("/tmp"):
            break
    return folder


def create_table(services: Services, name: str) -> None:
    services.database.sql(f"CREATE TABLE {name} (number integer); ALTER TABLE {name} OWNER TO {database.USER}")


class Writer:
    """A client that inserts numbers over a link until it is stopped, and keeps those whose commit was acknowledged."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._is_stopped = threading.Event()
        self.acknowledged: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_stopped.is_set():
            number += 1
            # `--command` prints the command tag only after the commit was acknowledged.
            insert = ["psql", "-X", self._url, "-v", "ON_ERROR_STOP=1", "-c", f"INSERT INTO numbers VALUES ({number})"]
            done = subprocess.run(insert, capture_output=True, text=True, check=False, timeout=60)
            if done.returncode == 0 and done.stdout.strip() == "INSERT 0 1":
                self.acknowledged.append(number)

    def has_reached(self, count: int) -> bool:
        return len(self.acknowledged) >= count

    def stop(self) -> None:
        self._is_stopped.set()
        self._thread.join()


def test_repeated_fail_overs_lose_no_acknowledged_commit(services: Services) -> None:
    url = services.connect(7)["CUEBASE_STORAGE_POSTGRES_URL"]
    create_table(services, "numbers")
    writer = Writer(url + "?connect_timeout=5")
    try:
        for _ in range(3):
            wait_for("some commits", partial(writer.has_reached, len(writer.acknowledged) + COMMITS))
            assert services.database.is_synchronous()
            primary = services.database.primary_address
            services.fail_over(detection_seconds=0.3)
            assert services.database.primary_address != primary
            wait_for("a commit on the new primary", partial(writer.has_reached, len(writer.acknowledged) + 1))
            services.database.rebuild()
            assert services.database.is_synchronous()
    finally:
        writer.stop()
    stored = [int(line) for line in services.database.sql("SELECT number FROM numbers").splitlines()]
    missing = set(writer.acknowledged) - set(stored)
    assert not missing, f"{len(missing)} of {len(writer.acknowledged)} acknowledged commits are lost"


def test_a_commit_waits_for_the_standby(services: Services) -> None:
    create_table(services, "waits")
    standby = services.database._standby.process
    url = services.connect(8)["CUEBASE_STORAGE_POSTGRES_URL"]
    receivers = [standby.pid, *children(standby.pid)]
    for pid in receivers:
        os.kill(pid, signal.SIGSTOP)
    insert = subprocess.Popen(["psql", "-X", url, "-c", "INSERT INTO waits VALUES (1)"], stdout=subprocess.DEVNULL)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    try:
        wait_for("the commit to wait", lambda: services.database.sql(waiting) == "1")
        assert services.database.sql("SELECT count(*) FROM waits") == "0"
    finally:
        for pid in receivers:
            os.kill(pid, signal.SIGCONT)
    assert insert.wait(60) == 0
    assert services.database.sql("SELECT count(*) FROM waits") == "1"


def test_the_bucket_stores_lists_and_deletes(services: Services) -> None:
    data = os.urandom(200_000)
    assert services.bucket.request("PUT", "ns/one/pack/a.pack", data)[0] == 200
    assert services.bucket.request("GET", "ns/one/pack/a.pack") == (200, data)
    status, listed = services.bucket.request("GET", "", query="list-type=2&prefix=ns%2Fone")
    assert status == 200 and b"<Key>ns/one/pack/a.pack</Key>" in listed
    assert services.bucket.request("DELETE", "ns/one/pack/a.pack")[0] == 204
    assert services.bucket.request("GET", "ns/one/pack/a.pack")[0] == 404


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is missing")
def test_the_bucket_accepts_another_client_and_refuses_a_wrong_secret(services: Services) -> None:
    endpoint = services.connect(9)["AWS_ENDPOINT_URL"]
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--aws-sigv4", f"aws:amz:{bucket.REGION}:s3"]
    for secret, status in ((bucket.SECRET_KEY, "200"), ("another", "403")):
        command = [*curl, "--user", f"{bucket.ACCESS_KEY}:{secret}", f"{endpoint}/{bucket.NAME}/ready"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == status


def test_a_wrong_password_is_refused(services: Services) -> None:
    url = services.connect(10)["CUEBASE_STORAGE_POSTGRES_URL"].replace(database.PASSWORD, "wrong")
    refused = subprocess.run(["psql", "-X", url, "-c", "SELECT 1"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0 and "password authentication failed" in refused.stderr
