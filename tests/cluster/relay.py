"""Relaying one TCP connection to another, and resetting connections."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Coroutine
from typing import Any

_PIECE_BYTES = 64 * 1024
#: The running tasks. asyncio itself drops the task of a connection whose client has left, also if it is not done.
_running: set[asyncio.Task[None]] = set()


def run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Starts the work for one connection, which ends when both of its sides have ended."""
    task = asyncio.get_running_loop().create_task(work)
    _running.add(task)
    task.add_done_callback(_running.discard)


def reset(writer: asyncio.StreamWriter) -> None:
    """Resets a connection, as the end of a process does. Without the option the peer sees an orderly end."""
    connection = writer.get_extra_info("socket")
    if connection is not None and connection.fileno() >= 0:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def end(writer: asyncio.StreamWriter) -> None:
    """Passes the end of one direction on."""
    if writer.can_write_eof() and not writer.is_closing():
        writer.write_eof()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_PIECE_BYTES):
        writer.write(data)
        await writer.drain()
    end(writer)


async def relay(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    far_reader: asyncio.StreamReader,
    far_writer: asyncio.StreamWriter,
) -> None:
    """Relays both directions of a connection to their ends. If one side is reset, the other one is reset too."""
    try:
        await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))
    except OSError:
        reset(writer)
        reset(far_writer)
    finally:
        writer.close()
        far_writer.close()
