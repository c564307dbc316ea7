"""The slow link and the balancer, in front of small servers of the test."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import socketserver
import threading
import time
import urllib.error
import urllib.request
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from balancer import HEADER, Balancer
from process import wait_for
from relay import run_to_end
from slow_link import Links

#: Time in which nothing may arrive over a stalled link, seconds.
SILENCE = 0.5
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\nconnection: close\r\n\r\n"


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


class _Named(socketserver.BaseRequestHandler):
    """Answers every request with the letter of the server."""

    def handle(self) -> None:
        self.request.recv(65536)
        self.request.sendall(ANSWER + self.server.letter)  # type: ignore[attr-defined]


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    letter = b"-"


@contextlib.contextmanager
def served(handler: type[socketserver.BaseRequestHandler], letter: bytes = b"-") -> Iterator[tuple[str, int]]:
    with _Server(("127.0.0.1", 0), handler) as server:
        server.letter = letter
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield ("127.0.0.1", server.server_address[1])
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def links(tmp_path: Path) -> Iterator[Links]:
    opened = Links(tmp_path / "links.log")
    yield opened
    opened.close()


def exchange(connection: socket.socket, data: bytes) -> float:
    """Sends data, waits until it has come back, and returns the seconds."""
    began = time.monotonic()
    connection.sendall(data)
    received = b""
    while len(received) < len(data):
        piece = connection.recv(65536)
        assert piece, "the connection was closed"
        received += piece
    assert received == data
    return time.monotonic() - began


def test_a_link_delays_both_directions_and_keeps_the_order(links: Links) -> None:
    with served(_Echo) as echo:
        port = links.open("l", ("127.0.0.1", 0), echo)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            exchange(connection, b"warm")
            links.shape("l", delay_ms=100, jitter_ms=30)
            assert exchange(connection, b"slow") >= 0.2
            assert exchange(connection, bytes(range(256)) * 4000) >= 0.2
            links.shape("l")
            # One exchange can take long on a busy machine. All of them would over a link that is still slow.
            assert min(exchange(connection, b"fast") for _ in range(20)) < 0.2


def test_a_stalled_link_transfers_nothing_and_loses_nothing(links: Links) -> None:
    with served(_Echo) as echo:
        port = links.open("l", ("127.0.0.1", 0), echo)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            exchange(connection, b"warm")
            links.stall("l")
            connection.sendall(b"waits")
            connection.settimeout(SILENCE)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            links.resume("l")
            connection.settimeout(10)
            assert connection.recv(64) == b"waits"


def test_a_new_target_resets_connections_and_serves_new_ones(links: Links) -> None:
    with served(_Named, b"a") as first, served(_Named, b"b") as second:
        port = links.open("l", ("127.0.0.1", 0), first)
        assert fetch(("127.0.0.1", port)) == b"a"
        with socket.create_connection(("127.0.0.1", port), timeout=10) as waiting:
            waiting.sendall(b"x")
            waiting.recv(1)
            links.point_at("l", second)
            with contextlib.suppress(ConnectionResetError):
                while waiting.recv(65536):
                    pass
        assert fetch(("127.0.0.1", port)) == b"b"


def test_a_link_without_a_target_resets(links: Links) -> None:
    with closed_address() as target:
        port = links.open("l", ("127.0.0.1", 0), target)
        # The reset can arrive before the connect returns.
        with pytest.raises(ConnectionResetError):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.recv(1)


def test_an_unknown_command_is_an_error(links: Links) -> None:
    with pytest.raises(RuntimeError, match="KeyError"):
        links.stall("absent")


def fetch(address: tuple[str, int]) -> bytes:
    with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/", timeout=10) as response:
        body: bytes = response.read()
    return body


@contextlib.contextmanager
def closed_address() -> Iterator[tuple[str, int]]:
    """Returns an address at which nobody listens, and that nobody else gets meanwhile."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        yield ("127.0.0.1", reserved.getsockname()[1])


def test_the_balancer_alternates_and_skips_a_dead_node(tmp_path: Path) -> None:
    with closed_address() as dead, served(_Named, b"a") as first, served(_Named, b"b") as second:
        balancer = Balancer(("127.0.0.1", 0), [first, dead, second], tmp_path / "balancer.log")
        try:
            letters = [fetch(balancer.address) for _ in range(6)]
            assert sorted(letters) == [b"a"] * 3 + [b"b"] * 3
            assert letters[0] != letters[1]
            assert balancer.connections() == [3, 0, 3]
        finally:
            balancer.close()


def test_the_balancer_answers_itself_when_no_node_accepts(tmp_path: Path) -> None:
    with closed_address() as dead:
        balancer = Balancer(("127.0.0.1", 0), [dead], tmp_path / "balancer.log")
        try:
            with pytest.raises(urllib.error.HTTPError) as refused:
                fetch(balancer.address)
            assert refused.value.code == 503 and refused.value.headers[HEADER] == "no node"
        finally:
            balancer.close()


def test_relays_end_with_the_harness(tmp_path: Path) -> None:
    links = Links(tmp_path / "links.log")
    with served(_Echo) as echo:
        port = links.open("l", ("127.0.0.1", 0), echo)
    links.close()

    def is_closed() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except ConnectionRefusedError:
            return True
        return False

    wait_for("the link to be closed", is_closed)


def test_the_work_for_a_connection_is_not_dropped_while_it_waits() -> None:
    futures: list[weakref.ref[asyncio.Future[None]]] = []
    ended: list[bool] = []

    async def work() -> None:
        # Only this task refers to the future, as with a connection whose client has left.
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        futures.append(weakref.ref(future))
        await future
        ended.append(True)

    async def main() -> None:
        run_to_end(work())
        while not futures:
            await asyncio.sleep(0)
        gc.collect()
        future = futures[0]()
        assert future is not None, "the task was dropped"
        future.set_result(None)
        while not ended:
            await asyncio.sleep(0)

    asyncio.run(main())
