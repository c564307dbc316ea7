"""An HTTP client with one connection that stays open. It does less work per request than that of the standard library,
because it shares the processors with what it measures.
"""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

#: Longest time that a response is waited for, seconds.
TIMEOUT = 60.0
_CHUNK = 65536


class RequestFailed(Exception):
    """A request without a response, or with another status than was expected."""


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    content: bytes

    def json(self) -> dict[str, Any]:
        """Returns the decoded body."""
        decoded: dict[str, Any] = json.loads(self.content)
        return decoded


class Client:
    """A client of one node, with the key of one account."""

    def __init__(self, address: tuple[str, int], key: str, timeout: float = TIMEOUT) -> None:
        self._head = f"host: {address[0]}:{address[1]}\r\nauthorization: Bearer {key}\r\n"
        self._buffer = b""
        try:
            self._socket = socket.create_connection(address, timeout)
        except OSError as error:
            raise RequestFailed(f"no connection to {address[0]}:{address[1]}: {error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, method: str, target: str, body: Mapping[str, object] | None = None) -> Reply:
        """Sends a request and returns the response, whatever its status."""
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {target} HTTP/1.1\r\n{self._head}"
        if body is not None:
            head += f"content-type: application/json\r\ncontent-length: {len(data)}\r\n"
        try:
            self._socket.sendall(f"{head}\r\n".encode() + data)
            return self._receive()
        except OSError as error:
            raise RequestFailed(f"{method} {target}: {error}") from error

    def expect(self, status: int, method: str, target: str, body: Mapping[str, object] | None = None) -> Reply:
        """Sends a request whose response must have a status."""
        reply = self.send(method, target, body)
        if reply.status != status:
            raise RequestFailed(f"{method} {target}: status {reply.status}, expected {status}: {reply.content[:300]!r}")
        return reply

    def close(self) -> None:
        """Closes the connection."""
        self._socket.close()

    def _receive(self) -> Reply:
        while b"\r\n\r\n" not in self._buffer:
            self._read()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        length = _content_length(lines[1:])
        while len(self._buffer) < length:
            self._read()
        content, self._buffer = self._buffer[:length], self._buffer[length:]
        return Reply(status, content)

    def _read(self) -> None:
        data = self._socket.recv(_CHUNK)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._buffer += data


def _content_length(headers: list[str]) -> int:
    for line in headers:
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    raise ConnectionError("a response without a content-length")


def target_of(path: str, **query: object) -> str:
    """Returns the target of a request with parameters."""
    return f"{path}?{urllib.parse.urlencode(query)}"


def run_in_parallel(count: int, work: Callable[[int], None]) -> float:
    """Runs `work` with the numbers 0 to `count` - 1 in threads, which begin at once, and returns the seconds.

    Raises the first error of a thread when all have ended.
    """
    errors: list[Exception] = []
    barrier = threading.Barrier(count + 1)

    def run_one(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except Exception as error:  # passed on to the caller
            errors.append(error)

    threads = [threading.Thread(target=run_one, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    barrier.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - began
    if errors:
        raise errors[0]
    return elapsed
