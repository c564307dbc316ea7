"""A small HTTP service of JSON objects, for benchmarks whose runner calls a service in front of the memory system.

A failed request always has an error status and is printed on standard error. It never looks like an empty result, which
a benchmark would count as an answer.
"""

from __future__ import annotations

import json
import sys
import urllib.parse
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from server import Failure

#: Takes the body of a request and returns that of the response.
Action = Callable[[dict[str, Any]], dict[str, Any]]
#: Actions by method and path.
Routes = Mapping[tuple[str, str], Action]

#: Longest body of a request, bytes. A benchmark may send its whole corpus at once.
_BODY_MAX = 1 << 30


class BadRequest(Exception):
    """A request with a missing or wrong field. The text says which one."""


class Service(ThreadingHTTPServer):
    """A service that listens as soon as it exists. `serve_forever` answers the requests."""

    daemon_threads = True

    def __init__(self, listen: str, routes: Routes) -> None:
        host, _, port = listen.rpartition(":")
        if not host or not port.isdigit():
            raise Failure(f'invalid listen address "{listen}": expected for example 127.0.0.1:8090')
        self.routes = routes
        try:
            super().__init__((host, int(port)), _Handler)
        except (OSError, OverflowError) as error:
            raise Failure(f"cannot listen on {listen}: {error}; choose another address") from error

    @property
    def url(self) -> str:
        """The address, with the port that was chosen if the given one was 0."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


def text_field(request: dict[str, Any], name: str) -> str:
    """Returns a required text of a request."""
    value = request.get(name)
    if not isinstance(value, str):
        raise BadRequest(f'field "{name}" must be text, not {json.dumps(value)[:80]}')
    return value


def whole_field(request: dict[str, Any], name: str, default: int) -> int:
    """Returns a whole number of a request, or the default if it is missing."""
    value = request.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadRequest(f'field "{name}" must be a whole number, not {json.dumps(value)[:80]}')
    return value


class _Handler(BaseHTTPRequestHandler):
    """Finds the action of a request. The names of the methods are those that `http.server` calls."""

    protocol_version = "HTTP/1.1"
    # Without it, the body of a response would wait for the acknowledgement of its headers.
    disable_nagle_algorithm = True
    server: Service

    def do_GET(self) -> None:
        self._respond()

    def do_POST(self) -> None:
        self._respond()

    def do_PUT(self) -> None:
        self._respond()

    def do_DELETE(self) -> None:
        self._respond()

    def _respond(self) -> None:
        path = urllib.parse.urlsplit(self.path).path.rstrip("/") or "/"
        try:
            request = self._request()
            action = self.server.routes.get((self.command, path))
            if action is None:
                known = ", ".join(" ".join(route) for route in self.server.routes)
                self._send(404, {"error": f"{self.command} {path} is not a route; the routes are {known}"})
                return
            self._send(200, action(request))
        except BadRequest as error:
            self._fail(400, str(error))
        except Failure as error:
            self._fail(502, str(error))
        except Exception as error:
            self._fail(500, f"{type(error).__name__}: {error}")

    def _request(self) -> dict[str, Any]:
        length = self.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > _BODY_MAX:
            raise BadRequest(f'content-length must be a number up to {_BODY_MAX}, not "{length}"')
        content = self.rfile.read(int(length))
        try:
            request = json.loads(content) if content.strip() else {}
        except ValueError as error:
            raise BadRequest(f"the body is not JSON: {error}") from error
        if not isinstance(request, dict):
            raise BadRequest("the body is not a JSON object")
        return request

    def _fail(self, status: int, message: str) -> None:
        print(f"{self.command} {self.path}: {status}: {message}", file=sys.stderr, flush=True)
        self._send(status, {"error": message})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Prints nothing for a request that succeeds."""
