"""A document as a reader follows it: a checkout, a home folder, a shell, and the current server.

The blocks run as printed. Environment variables connect them to the test server instead of the default port. Only the
`PLACEHOLDERS` and a shortened key are replaced in their text.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import reader
from blocks import Block

#: Timeout for a condition and for a command, seconds.
TIMEOUT = 120
#: Paths on the reader's machine, and the folders in the checkout that replace them.
PLACEHOLDERS = {
    "/path/to/cuebase-data": "cuebase-data",
    "/mnt/backups": "mnt-backups",
    "/var/lib/cuebase": "var-lib-cuebase",
}
#: A shortened key is replaced by the key that the first start of the server prints.
SHORTENED_KEY = re.compile(r"svc_live_[\w-]*…")


class Story:
    """State while the blocks of a document run. `stop` stops the server."""

    def __init__(self, folder: Path, blocks: Iterable[Block]) -> None:
        self.blocks = [block for block in blocks if block.not_run is None]
        self.home = folder / "home"
        self.checkout = folder / "cuebase"
        #: Standard output of the last shell block.
        self.output = ""
        self.key = ""
        self.url = ""
        self._server: subprocess.Popen[str] | None = None
        self._state = folder / "shell-state"
        self._log = folder / "server.log"
        self._path = os.environ["PATH"]
        reader.make_home(self.home)
        reader.make_checkout(self.checkout)
        self._state.write_text(f"cd {shlex.quote(str(self.checkout))}\n")
        if not any(mentions_build(block) for block in self.blocks):
            # The reader built the server with an earlier document and has it in the PATH.
            self._path = f"{self.checkout / 'target/release'}:{self._path}"
            self.start("cuebase serve")

    # The shell.

    def run(self, commands: str) -> str:
        """Runs commands in the shell of the document and returns their output. Fails if a command fails."""
        done = self.attempt(commands)
        assert done.returncode == 0, f"exit status {done.returncode} of:\n{commands}\n{done.stdout}{done.stderr}"
        self.settle()
        return done.stdout

    def attempt(self, commands: str, *, merged: bool = False, standard_input: str = "") -> subprocess.CompletedProcess[str]:
        """Runs commands in the shell of the document. Variables and the working folder are kept for the next commands."""
        keep = f'{{ export -p; printf \'cd "%s"\\n\' "$PWD"; }} > {shlex.quote(str(self._state))}\n'
        return subprocess.run(
            ["sh", "-c", self._script(commands) + keep],
            env=self._environment(),
            input=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            text=True,
            timeout=TIMEOUT,
        )

    def _script(self, commands: str) -> str:
        settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self._settings().items())
        return f"set -eu\n. {shlex.quote(str(self._state))}\n{settings}{self.filled(commands)}\n"

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUEBASE_", "PYTHONPATH"))}
        return {**kept, "PATH": self._path, "HOME": str(self.home), "EDITOR": str(self.home / "editor")}

    def _settings(self) -> dict[str, str]:
        """Returns settings that replace the server on the default address by the test server."""
        if not self.url:
            return {"CUEBASE_LISTEN": "127.0.0.1:0", "CUEBASE_DASHBOARD_LISTEN": "127.0.0.1:0"}
        listen = self.url.removeprefix("http://")
        return {"CUEBASE_URL": self.url, "CUEBASE_LISTEN": listen, "CUEBASE_DASHBOARD_LISTEN": "127.0.0.1:0"}

    def filled(self, text: str) -> str:
        """Returns the text with placeholders replaced by the reader's values."""
        for placeholder, name in PLACEHOLDERS.items():
            text = text.replace(placeholder, str(self.checkout / name))
        return SHORTENED_KEY.sub(self.key, text) if self.key else text

    # The server.

    def start(self, command: str) -> str:
        """Stops the previous server, starts a new one, and returns its output up to the line with the address."""
        self.stop()
        self._server = subprocess.Popen(
            ["sh", "-c", self._script(command)],
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=self._log.open("a"),
            text=True,
            start_new_session=True,
        )
        assert self._server.stdout
        printed = ""
        for line in self._server.stdout:
            printed += line
            if line.startswith("listening on "):
                break
        address = re.search(r"^listening on http://(\S+)$", printed, re.MULTILINE)
        assert address, f"{command} did not start a server:\n{printed}{self._log.read_text()}"
        key = re.search(r"svc_live_\w+_[\w-]+", printed)
        self.key = key.group(0) if key else self.key
        self.url = f"http://{address.group(1)}"
        reader.redirect_default_address(self.home, address.group(1), self.key)
        return printed

    def stop(self) -> None:
        """Stops the server and waits until it has ended."""
        if self._server is None:
            return
        assert self._server.stdout
        os.killpg(self._server.pid, signal.SIGTERM)
        # The shell ends at once. The output ends only when the server, the last process that holds it, ends.
        self._server.stdout.read()
        self._server.wait(TIMEOUT)
        self._server, self.url = None, ""

    def settle(self) -> None:
        """Waits until every accepted write is ingested, since a reader is slower than the server."""
        if self._server is None:
            return
        deadline = time.monotonic() + TIMEOUT
        while self._waiting_writes():
            assert time.monotonic() < deadline, "accepted writes were not ingested"
            time.sleep(0.01)

    def _waiting_writes(self) -> int:
        request = urllib.request.Request(f"{self.url}/v1/queue", headers={"authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            waiting = json.load(response)["waiting"]
        assert isinstance(waiting, int)
        return waiting


def mentions_build(block: Block) -> bool:
    """Returns whether a block runs the server from the build folder."""
    return "target/release/cuebase" in block.text
