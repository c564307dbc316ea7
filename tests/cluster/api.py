"""The HTTP API as a client of the harness uses it: one connection per request, and what a response proves.

A response proves that a request had no effect only if its status is below 500, or if the balancer sent it because no
node accepted the connection. A `5xx` of a node proves nothing: the node may have lost the answer of the database to a
commit, or the answer of the owner to a forwarded request.
"""

from __future__ import annotations

import http.client
import json
import socket
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

import balancer
from history import Outcome

#: Time for a response that must be a success, seconds. On a busy machine a node may be without a session for a moment,
#: and refuses everything then.
_PATIENCE = 30.0
#: Pause between two attempts, seconds.
_PAUSE = 0.1


@dataclass(frozen=True)
class Response:
    """A response, or what is known without one (status 0)."""

    status: int
    outcome: Outcome
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The error code of the body, empty if it has none."""
        error = self.body.get("error", "")
        if isinstance(error, dict):
            error = error.get("code", "")
        return str(error)


class Api:
    """The API at one address with the key of one account."""

    def __init__(self, address: tuple[str, int], key: str) -> None:
        self.address = address
        self.key = key

    def request(
        self, method: str, path: str, timeout: float, query: dict[str, Any] | None = None, body: object = None
    ) -> Response:
        """Sends one request. Every failure is a response, never an exception."""
        target = urllib.parse.quote(path)
        if query:
            target += "?" + urllib.parse.urlencode(query)
        connection = http.client.HTTPConnection(*self.address, timeout=timeout)
        try:
            connection.connect()
        except OSError:
            return Response(0, Outcome.FAILED)
        try:
            return self._exchange(connection, method, target, body)
        except (OSError, http.client.HTTPException, ValueError):
            return Response(0, Outcome.UNKNOWN)
        finally:
            connection.close()

    def _exchange(self, connection: http.client.HTTPConnection, method: str, target: str, body: object) -> Response:
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        headers = {"authorization": f"Bearer {self.key}", "connection": "close"}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            headers["content-type"] = "application/json"
        connection.request(method, target, data, headers)
        response = connection.getresponse()
        content = response.read()
        decoded = json.loads(content) if content else {}
        fields = decoded if isinstance(decoded, dict) else {}
        is_balancers = response.headers.get(balancer.HEADER) is not None
        return Response(response.status, outcome_of(response.status, is_balancers), fields)

    def get(self, path: str, query: dict[str, Any] | None = None, timeout: float = 30.0) -> dict[str, Any]:
        """Returns the body of a response that must be a success, at least after some time."""
        began = time.monotonic()
        while True:
            response = self.request("GET", path, timeout, query)
            if response.status == 200:
                return response.body
            is_over = time.monotonic() - began > _PATIENCE
            if 0 < response.status < 500 or is_over:
                raise RuntimeError(f"GET {path}: status {response.status}, {response.body}")
            time.sleep(_PAUSE)


def outcome_of(status: int, is_balancers: bool) -> Outcome:
    """Returns what a status proves about the effect of a request."""
    if 200 <= status < 300:
        return Outcome.OK
    if status < 500 or is_balancers:
        return Outcome.FAILED
    return Outcome.UNKNOWN
