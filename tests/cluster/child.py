"""A child program in a process of its own, controlled by lines of JSON over its standard input and output.

The relays of `slow_link.py` and `balancer.py` run this way, so that they do not share Python's interpreter lock with
the load. A child ends when its standard input is closed, also by a crash of the harness.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

#: A function that carries out one command and returns its answer.
Handler = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class Child:
    """A running child program. Safe to use from several threads."""

    def __init__(self, program: Path, log: Path) -> None:
        self._lock = threading.Lock()
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                text=True,
            )

    def call(self, **command: Any) -> dict[str, Any]:
        """Sends a command and returns the answer. Raises `RuntimeError` if the child reports an error."""
        assert self._process.stdin and self._process.stdout
        with self._lock:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the child program has ended, command {command}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{answer['error']}, command {command}")
        return answer

    def close(self) -> None:
        """Ends the child."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


async def _answer(handler: Handler, line: bytes) -> dict[str, Any]:
    try:
        return await handler(json.loads(line))
    except (OSError, KeyError, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


async def _serve(handler: Handler) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        answer = await _answer(handler, line)
        print(json.dumps(answer), flush=True)


def serve(handler: Handler) -> None:
    """Carries out the commands on standard input until it is closed. The main function of a child program."""
    asyncio.run(_serve(handler))
