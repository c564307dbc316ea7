"""Settings of a server for the adapters, and servers that fail: one that is stopped, and one that never answers."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pytest

from cuebase import Client

#: Timeout of an adapter in a test of a slow server; seconds.
SHORT_TIMEOUT = 0.3
#: Timeout of an adapter in all other tests; seconds. A test must not fail because the machine is busy.
LONG_TIMEOUT = 60.0


class Server(Protocol):
    """The server of the fixture `service`."""

    url: str
    key: str
    #: Credential of a dashboard session, which may delete namespaces.
    session: str


def use_server(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """Sets the variables that an adapter without a client reads."""
    monkeypatch.setenv("CUEBASE_URL", server.url)
    monkeypatch.setenv("CUEBASE_KEY", server.key)


def stopped_server() -> str:
    """Returns an address at which no server listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


def stopped_client() -> Client:
    """Returns a client for a server that is stopped."""
    return Client(stopped_server(), "svc_live_unused", max_retries=0)


@contextmanager
def slow_server() -> Iterator[str]:
    """Yields the address of a server that accepts connections and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def slow_client() -> Iterator[Client]:
    """Yields a client for a slow server. A request of it takes much longer than `SHORT_TIMEOUT`, so that the adapter is
    the first to give up on a busy machine too. A test waits for the end of the request.
    """
    with slow_server() as url, Client(url, "svc_live_unused", timeout=6.0, max_retries=0) as client:
        yield client
