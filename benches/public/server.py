"""The HTTP API of a Cuebase server, as far as the adapters of this folder need it. Standard library only.

`Server` sends requests and retries those that the server refuses for a moment. `Failure` is the error of all adapters:
its text says what failed and what to do, and `main` of an adapter prints it without a traceback.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

#: Address of a server with default settings.
DEFAULT_URL = "http://127.0.0.1:8080"
#: Most hits that a query may ask for.
LIMIT_MAX = 200
#: Levels of admission of `GET /v1/retrieve`.
LEVELS = ("all", "recall", "balanced", "strict")
#: What a query does with memories that no longer hold.
CURRENT = ("first", "only", "any")

#: Documents in one folder of a namespace. A commit of a smaller folder is smaller.
_FOLDER_SIZE = 256
#: Timeout of one request, seconds.
_TIMEOUT = 180.0
#: Attempts of a request that the server refuses for a moment.
_ATTEMPTS = 8
#: Longest wait between two attempts, seconds.
_PAUSE_MAX = 10.0
#: Responses after which the same request may succeed.
_TRY_AGAIN = (429, 502, 503)


def document_path(number: int) -> str:
    """The path of a document by its position. It has nothing of the id of the document, which may be a hint."""
    return f"facts/d{number // _FOLDER_SIZE}/{number}.md"


class Failure(Exception):
    """An error that a person can act on. The text is printed as it is."""


class Refused(Failure):
    """A response of the server that is not a success."""

    def __init__(self, request: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{request}: {status} {code or 'no code'}: {message}")
        self.status = status
        self.code = code


class Server:
    """A running server and the key for it. Safe to use from several threads: each has its own connection."""

    def __init__(self, url: str, key: str) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise Failure(f'invalid server address "{url}": expected for example {DEFAULT_URL}')
        self.url = url.rstrip("/")
        self._host = parts.netloc
        self._prefix = parts.path.rstrip("/")
        self._is_tls = parts.scheme == "https"
        self._headers = {"authorization": f"Bearer {key}"}
        self._connections = threading.local()

    # Requests.

    def call(self, method: str, path: str, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        """Sends a request and returns the decoded response. Raises `Refused` if the status is not 2xx."""
        target = self._prefix + path
        if query:
            target += "?" + urllib.parse.urlencode(query, doseq=True)
        data = None if body is None else json.dumps(body).encode()
        for attempt in range(_ATTEMPTS):
            status, after, content = self._exchange(method, target, data)
            if status not in _TRY_AGAIN:
                break
            time.sleep(min(after or 0.2 * 2**attempt, _PAUSE_MAX))
        decoded = _decoded(content)
        if status < 300:
            return decoded
        fields = decoded if isinstance(decoded, dict) else {}
        message = str(fields.get("message") or content[:200].decode(errors="replace"))
        if status in (401, 403):
            message += f"; check the key for {self.url}: --key or CUEBASE_KEY"
        raise Refused(f"{method} {path}", status, str(fields.get("error") or ""), message)

    def _exchange(self, method: str, target: str, data: bytes | None) -> tuple[int, float, bytes]:
        """Sends a request once, or twice if the kept connection was closed. Returns status, `retry-after` and body."""
        headers = {**self._headers, **({"content-type": "application/json"} if data else {})}
        for is_last in (False, True):
            connection = self._connection()
            try:
                connection.request(method, target, data, headers)
                response = connection.getresponse()
                content = response.read()
            except (ConnectionError, http.client.HTTPException) as error:
                self._connections.one = None
                if is_last or isinstance(error, ConnectionRefusedError):
                    raise self._unreachable(error) from error
                continue
            except OSError as error:
                self._connections.one = None
                raise self._unreachable(error) from error
            after = response.headers.get("retry-after", "")
            return response.status, float(after) if after.isdigit() else 0.0, content
        raise AssertionError("the loop returns or raises")

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._connections, "one", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._is_tls else http.client.HTTPConnection
            connection = kind(self._host, timeout=_TIMEOUT)
            self._connections.one = connection
        return connection

    def _unreachable(self, error: Exception) -> Failure:
        reason = str(error) or type(error).__name__
        return Failure(f"cannot reach {self.url}: {reason}; start a server (`cuebase serve`) or set --url")

    # What the adapters do.

    def version(self) -> str:
        """Returns the version of the server. Fails if the key is not valid."""
        self.call("GET", "/v1/whoami")
        return str(self.call("GET", "/health")["version"])

    def create_namespace(self, name: str) -> None:
        """Creates a namespace, or does nothing if it exists."""
        self.call("POST", "/v1/namespaces", body={"name": name})

    def write_memory(self, namespace: str, path: str, fields: dict[str, Any]) -> None:
        """Writes one memory. It is retrievable when this returns."""
        self.call("POST", f"/v1/memories/{path}", body={"namespace": namespace, **fields})

    def send_conversation(self, namespace: str, fields: dict[str, Any]) -> str:
        """Sends a conversation and returns the id of the write, which is ingested in the background."""
        return str(self.call("POST", "/v1/memories", body={"namespace": namespace, **fields})["id"])

    def wait_until_ingested(self, write: str) -> dict[str, Any]:
        """Waits until a write is ingested and returns what it changed. Raises `Failure` if it failed for good."""
        pause = 0.01
        while True:
            state: dict[str, Any] = self.call("GET", f"/v1/writes/{write}")
            if state["status"] == "ingested":
                return state
            if state["status"] in ("dead", "dropped"):
                reason = f"{state['status']}, {state['error']}"
                raise Failure(f"write {write} was not ingested: {reason}; see the log of the server")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)

    def retrieve(self, namespaces: list[str], question: str, limit: int, **parameters: Any) -> list[dict[str, Any]]:
        """Returns the hits of a question, best first."""
        query = {"namespace": ",".join(namespaces), "q": question, "limit": limit, **parameters}
        hits: list[dict[str, Any]] = self.call("GET", "/v1/retrieve", query=query).get("hits", [])
        return hits

    def memory(self, namespace: str, path: str) -> dict[str, Any]:
        """Returns a memory with its sources."""
        query = {"namespace": namespace, "detail": "full"}
        memory: dict[str, Any] = self.call("GET", f"/v1/memories/{path}", query=query)
        return memory


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say which server is used."""
    group = parser.add_argument_group("server")
    group.add_argument("--url", default=os.environ.get("CUEBASE_URL", DEFAULT_URL),
                       help=f"address of the server; default: CUEBASE_URL, otherwise {DEFAULT_URL}")
    group.add_argument("--key", default=os.environ.get("CUEBASE_KEY", ""),
                       help="API key for the whole account, as `cuebase keys create` prints it; default: CUEBASE_KEY")


def server_of(options: argparse.Namespace) -> Server:
    """Returns the server of the options, after a request that checks address and key."""
    if not options.key:
        raise Failure("no API key: pass --key or set CUEBASE_KEY; `cuebase keys create` creates a key")
    server = Server(options.url, options.key)
    server.version()
    return server


def run_name() -> str:
    """Returns a short name that no other run has, for the namespaces of a run."""
    return f"{int(time.time() * 1000):x}"


def run(main: Callable[[], None]) -> None:
    """Runs the main function of an adapter and ends the process. An error that a person can act on is one line."""
    try:
        main()
    except Failure as failure:
        sys.exit(f"error: {failure}")
    except BrokenPipeError:
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit("stopped")


def _decoded(content: bytes) -> Any:
    try:
        return json.loads(content) if content else None
    except ValueError:
        return None
