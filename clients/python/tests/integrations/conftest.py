"""Fixtures for the adapters. The server and its client are those of `tests/conftest.py`."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator

import pytest

from cuebase import Client


@pytest.fixture
def namespace(client: Client) -> str:
    """A new, empty namespace."""
    return client.create_namespace(f"n-{uuid.uuid4().hex[:12]}").name


@pytest.fixture
def stopped_url() -> str:
    """The address of a server that does not run."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def silent_url() -> Iterator[str]:
    """The address of a server that accepts connections and never responds."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
