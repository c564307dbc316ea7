#!/usr/bin/env python3
"""A cluster in which the first node owns every namespace and never loses it: tests of the harness with several nodes.

As node 1, this program becomes the binary in `SINGLE_BOX`, with a data directory of its own. As any other node, it
forwards every connection to node 1, and responds with `503` if node 1 does not accept it within a second. So the load,
the faults, the waiting and the checks meet several nodes, without a takeover.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from relay import relay, run_to_end

_FIRST = 51
_CONNECT_TIMEOUT = 1.0
_UNAVAILABLE = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}"


async def _forward(owner: tuple[str, int], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        connection = await asyncio.wait_for(asyncio.open_connection(*owner), _CONNECT_TIMEOUT)
    except OSError:
        await reader.read(64 * 1024)
        writer.write(_UNAVAILABLE)
        writer.close()
        return
    await relay(reader, writer, *connection)


async def _serve(host: str, port: int) -> None:
    owner = (host.rpartition(".")[0] + f".{_FIRST}", port)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        run_to_end(_forward(owner, reader, writer))

    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    server = await asyncio.start_server(accept, host, port)
    await stopping.wait()
    server.close()


def _main() -> None:
    host, _, port = os.environ["CUEBASE_LISTEN"].partition(":")
    if host.endswith(f".{_FIRST}"):
        binary = os.environ["SINGLE_BOX"]
        os.execv(binary, [binary, *sys.argv[1:]])
    asyncio.run(_serve(host, int(port)))


if __name__ == "__main__":
    _main()
