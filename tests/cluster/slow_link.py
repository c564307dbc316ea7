"""TCP links with a delay, a jitter and stalls that can be changed while connections are open.

`tc netem` does not exist on every kernel, so a link is a relay in user space. It runs in a child process (`child.py`).
Run as a program, this file is that child. Each piece of data waits for the delay plus a random part of the jitter, in
both directions; the order is kept, as TCP would keep it. A stalled link keeps its connections and transfers nothing.

A link is also the address of the database. The nodes always connect to the same address, and a fail-over changes the
link's target. This is how managed databases present themselves, and it does not require multi-host URLs of the client.
"""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import child
from relay import end, reset, run_to_end

#: Most bytes of one piece of data.
_PIECE_BYTES = 64 * 1024
#: Pieces that wait in one direction of one connection. More stop the sender, as a full window does.
_PIECES_MAX = 64
#: Time limit of a connection to the target, seconds.
_CONNECT_TIMEOUT = 5.0


class Links:
    """The links of the harness, by name. One child process relays all of them."""

    def __init__(self, log: Path) -> None:
        self._child = child.Child(Path(__file__), log)

    def open(self, name: str, listen: tuple[str, int], target: tuple[str, int]) -> int:
        """Opens a link and returns its port. Port 0 selects a free port."""
        return int(self._child.call(do="open", name=name, listen=listen, target=target)["port"])

    def shape(self, name: str, delay_ms: float = 0, jitter_ms: float = 0) -> None:
        """Sets the delay and the jitter of each direction."""
        self._child.call(do="shape", name=name, delay_ms=delay_ms, jitter_ms=jitter_ms)

    def stall(self, name: str) -> None:
        """Stops all transfers until `resume`. Connections stay open."""
        self._child.call(do="stall", name=name)

    def resume(self, name: str) -> None:
        """Continues a stalled link."""
        self._child.call(do="resume", name=name)

    def point_at(self, name: str, target: tuple[str, int]) -> None:
        """Sets the target of new connections and resets the present ones."""
        self._child.call(do="target", name=name, target=target)

    def close(self) -> None:
        """Closes all links."""
        self._child.close()


class _Link:
    """A listening address and the connections that it relays."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.target = target
        self.delay = 0.0
        self.jitter = 0.0
        self.moving = asyncio.Event()
        self.moving.set()
        self.server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relays one connection."""
        run_to_end(self._relay(reader, writer))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            connecting = asyncio.open_connection(*self.target)
            far_reader, far_writer = await asyncio.wait_for(connecting, _CONNECT_TIMEOUT)
        except OSError:
            reset(writer)
            return
        both = {writer, far_writer}
        self._open |= both
        try:
            await asyncio.gather(self._transfer(reader, far_writer), self._transfer(far_reader, writer))
        except OSError:
            # One side was reset, so the other one is reset too.
            reset(writer)
            reset(far_writer)
        finally:
            self._open -= both
            for side in both:
                side.close()

    def reset(self) -> None:
        """Resets all present connections."""
        for writer in self._open:
            reset(writer)

    async def _transfer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Transfers one direction until its end."""
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_PIECES_MAX)
        reading = asyncio.create_task(self._read(reader, pieces))
        try:
            await self._write(pieces, writer)
        finally:
            reading.cancel()

    async def _read(self, reader: asyncio.StreamReader, pieces: asyncio.Queue[tuple[float, bytes]]) -> None:
        """Queues the pieces of one direction with the times at which they are due. An empty piece is the end."""
        due = 0.0
        data = b"-"
        while data:
            try:
                data = await reader.read(_PIECE_BYTES)
            except OSError:
                data = b""
            wait = self.delay + random.uniform(0.0, self.jitter)
            due = max(due, asyncio.get_running_loop().time() + wait)
            await pieces.put((due, data))

    async def _write(self, pieces: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        while True:
            due, data = await pieces.get()
            wait = due - asyncio.get_running_loop().time()
            if wait > 0:
                await asyncio.sleep(wait)
            await self.moving.wait()
            if not data:
                end(writer)
                return
            writer.write(data)
            await writer.drain()


async def _open_link(links: dict[str, _Link], command: dict[str, Any]) -> dict[str, Any]:
    host, port = command["target"]
    link = _Link((host, port))
    listen_host, listen_port = command["listen"]
    link.server = await asyncio.start_server(link.accept, listen_host, listen_port)
    links[command["name"]] = link
    return {"port": link.server.sockets[0].getsockname()[1]}


def _main() -> None:
    links: dict[str, _Link] = {}

    async def handle(command: dict[str, Any]) -> dict[str, Any]:
        if command["do"] == "open":
            return await _open_link(links, command)
        link = links[command["name"]]
        match command["do"]:
            case "shape":
                link.delay, link.jitter = command["delay_ms"] / 1000, command["jitter_ms"] / 1000
            case "stall":
                link.moving.clear()
            case "resume":
                link.moving.set()
            case "target":
                host, port = command["target"]
                link.target = (host, port)
                link.reset()
            case other:
                raise ValueError(f"unknown command {other}")
        return {}

    child.serve(handle)


if __name__ == "__main__":
    _main()
