"""A round-robin TCP balancer in front of the nodes.

Each connection goes to the next node. A node that refuses the connection, or does not accept it in time, is skipped.
Clients of the harness open a connection per request, so requests alternate between the nodes as well. Once a connection
is made, the balancer does not retry anything: it cannot know whether the request was carried out.

Without a reachable node it responds with `503` itself. The header `x-balancer` marks this response, which shows a
client that no node has seen the request. The balancer runs in a child process (`child.py`); as a program, this file is
that child.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import child
from relay import relay, run_to_end

#: Time in which a node must accept a connection, seconds.
_CONNECT_TIMEOUT = 0.5
#: The header of the balancer's own response.
HEADER = "x-balancer"
_NO_NODE = (
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"x-balancer: no node\r\ncontent-type: application/json\r\ncontent-length: 21\r\nconnection: close\r\n\r\n"
    b'{"message":"no node"}'
)


class Balancer:
    """A running balancer."""

    def __init__(self, listen: tuple[str, int], nodes: list[tuple[str, int]], log: Path) -> None:
        self._child = child.Child(Path(__file__), log)
        port = int(self._child.call(do="open", listen=listen, nodes=nodes)["port"])
        self.address = (listen[0], port)

    def connections(self) -> list[int]:
        """Returns the number of connections that each node has received."""
        counts: list[int] = self._child.call(do="count")["connections"]
        return counts

    def close(self) -> None:
        """Stops the balancer."""
        self._child.close()


class _Rotation:
    """The nodes and whose turn it is."""

    def __init__(self, nodes: list[tuple[str, int]]) -> None:
        self._nodes = nodes
        self._next = 0
        self.connections = [0] * len(nodes)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Connects to the next node that accepts; `None` if no node does."""
        for _ in self._nodes:
            index = self._next
            self._next = (self._next + 1) % len(self._nodes)
            try:
                connection = await asyncio.wait_for(asyncio.open_connection(*self._nodes[index]), _CONNECT_TIMEOUT)
            except OSError:
                continue
            self.connections[index] += 1
            return connection
        return None

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relays one connection to a node."""
        run_to_end(self._relay(reader, writer))

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = await self.connect()
        if connection is None:
            await _refuse(reader, writer)
            return
        await relay(reader, writer, *connection)


async def _refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Responds with `503`, after a part of the request so that the client is not reset while it sends."""
    try:
        await asyncio.wait_for(reader.read(64 * 1024), _CONNECT_TIMEOUT)
        writer.write(_NO_NODE)
        await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def _main() -> None:
    rotations: list[_Rotation] = []
    servers: list[asyncio.Server] = []

    async def handle(command: dict[str, Any]) -> dict[str, Any]:
        if command["do"] == "count":
            return {"connections": rotations[0].connections}
        rotation = _Rotation([(host, port) for host, port in command["nodes"]])
        host, port = command["listen"]
        server = await asyncio.start_server(rotation.accept, host, port, backlog=512)
        rotations.append(rotation)
        servers.append(server)
        return {"port": server.sockets[0].getsockname()[1]}

    child.serve(handle)


if __name__ == "__main__":
    _main()
