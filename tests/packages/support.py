"""Helpers of the tests: running commands, a server of an installed package, and requests to it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
#: Tools that the tests download once.
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cuebase/tools/packages"
#: Timeout of a command and of a response, seconds.
TIMEOUT = 900
QUESTION = "where are the hives of bees"
STATEMENT = "I keep three hives of bees behind the school."


def run(
    command: Sequence[object],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    status: int = 0,
    timeout: float = TIMEOUT,
) -> str:
    """Runs a command, checks its exit status, and returns its standard output and standard error."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == status, f"exit status {done.returncode} of {' '.join(words)}:\n{done.stdout}"
    return done.stdout


def clean_environment(home: Path, *folders: str | Path) -> dict[str, str]:
    """Returns an environment in which only the commands of some folders and of the system exist."""
    path = [str(folder) for folder in folders] + ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    return {"PATH": ":".join(path), "HOME": str(home), "LANG": "C.UTF-8"}


class Server:
    """A server that a command starts on a free port. Reads its address and first key from its output."""

    def __init__(
        self, command: Sequence[object], environment: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        words = [str(word) for word in command]
        # A process group of its own, as a shell on a terminal makes one.
        self.process = subprocess.Popen(
            words, env=environment, cwd=cwd, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert self.process.stdout
        self.printed = ""
        for line in self.process.stdout:
            self.printed += line
            if line.startswith("listening on "):
                break
        address = re.search(r"^listening on (http://\S+)$", self.printed, re.MULTILINE)
        assert address, f"{words} did not start a server:\n{self.printed}"
        self.url = address.group(1)
        key = re.search(r"svc_live_\S+", self.printed)
        self.key = key.group(0) if key else ""

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(TIMEOUT)

    def stop(self) -> int:
        """Sends SIGTERM to the started command and returns its exit status."""
        self.process.terminate()
        return self.process.wait(TIMEOUT)

    def interrupt(self) -> int:
        """Sends SIGINT to all processes of the command, as Ctrl-C on a terminal does, and returns its exit status."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.process.wait(TIMEOUT)

    def wait_until_closed(self) -> None:
        """Returns once nobody listens at the address."""
        host, port = self.url.removeprefix("http://").split(":")
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            try:
                socket.create_connection((host, int(port)), timeout=TIMEOUT).close()
            except ConnectionRefusedError:
                return
            time.sleep(0.01)
        raise AssertionError(f"{self.url} is still open")

    def request(self, path: str, body: object = None) -> dict[str, object]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.key}"}
        request = urllib.request.Request(self.url + path, data, headers)
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            answer = json.load(response)
        assert isinstance(answer, dict)
        return answer

    def remember(self) -> None:
        """Writes a memory and waits until it is ingested."""
        state = self.request("/v1/memories?wait=30", {"messages": [{"role": "user", "content": STATEMENT}]})
        assert state["status"] == "ingested", state

    def check_retrieval(self) -> None:
        """Fails unless the memory of `remember` is retrieved."""
        answer = self.request("/v1/retrieve?" + urllib.parse.urlencode({"q": QUESTION}))
        assert "hives of bees" in json.dumps(answer["hits"]), answer
