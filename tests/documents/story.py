"""One document as a reader follows it: a checkout, a home folder, a shell, and the server that runs at the moment.

The blocks run as they are printed. Settings of the environment lead them to the test's server instead of the default
port. The only texts that are replaced are `PLACEHOLDERS` and a shortened key.
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

#: How long a condition may take to come true, and a command to end; seconds.
PATIENCE = 120
#: Where a data directory and backups are on the reader's machine; the values are names in the reader's checkout.
PLACEHOLDERS = {
    "/path/to/cuebase-data": "cuebase-data",
    "/mnt/backups": "mnt-backups",
    "/var/lib/cuebase": "var-lib-cuebase",
}
#: A shortened key stands for the key that the first start of the server prints.
SHORTENED_KEY = re.compile(r"svc_live_[\w-]*…")


class Story:
    """A document that is being followed. Its server is stopped by `stop`."""

    def __init__(self, folder: Path, blocks: Iterable[Block]) -> None:
        self.blocks = [block for block in blocks if block.not_run is None]
        self.home = folder / "home"
        self.checkout = folder / "cuebase"
        #: What the last shell block printed on standard output.
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
            # The reader built the server by an earlier document, and has it in the PATH.
            self._path = f"{self.checkout / 'target/release'}:{self._path}"
            self.start("cuebase serve")

    # The shell.

    def run(self, commands: str) -> str:
        """Runs commands in the shell of the document, and returns what they print. Fails when one of them fails."""
        done = self.attempt(commands)
        assert done.returncode == 0, f"exit status {done.returncode} of:\n{commands}\n{done.stdout}{done.stderr}"
        self.settle()
        return done.stdout

    def attempt(self, commands: str, *, merged: bool = False, standard_input: str = "") -> subprocess.CompletedProcess[str]:
        """Runs commands in the shell of the document. Variables and the working folder last until the next commands."""
        keep = f'{{ export -p; printf \'cd "%s"\\n\' "$PWD"; }} > {shlex.quote(str(self._state))}\n'
        return subprocess.run(
            ["sh", "-c", self._script(commands) + keep],
            env=self._environment(),
            input=standard_input,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merged else subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )

    def _script(self, commands: str) -> str:
        settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self._settings().items())
        return f"set -eu\n. {shlex.quote(str(self._state))}\n{settings}{self.filled(commands)}\n"

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CUEBASE_", "PYTHONPATH"))}
        return {**kept, "PATH": self._path, "HOME": str(self.home), "EDITOR": str(self.home / "editor")}

    def _settings(self) -> dict[str, str]:
        """Settings that put the test's server in the place of one on the default address."""
        if not self.url:
            return {"CUEBASE_LISTEN": "127.0.0.1:0", "CUEBASE_DASHBOARD_LISTEN": "127.0.0.1:0"}
        listen = self.url.removeprefix("http://")
        return {"CUEBASE_URL": self.url, "CUEBASE_LISTEN": listen, "CUEBASE_DASHBOARD_LISTEN": "127.0.0.1:0"}

    def filled(self, text: str) -> str:
        """The text with the reader's own values in the places of placeholders."""
        for placeholder, name in PLACEHOLDERS.items():
            text = text.replace(placeholder, str(self.checkout / name))
        return SHORTENED_KEY.sub(self.key, text) if self.key else text

    # The server.

    def start(self, command: str) -> str:
        """Starts a server in place of the former one, and returns what it prints until it listens."""
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
        reader.lead_to(self.home, address.group(1), self.key)
        return printed

    def stop(self) -> None:
        """Stops the server and waits for its end."""
        if self._server is None:
            return
        assert self._server.stdout
        os.killpg(self._server.pid, signal.SIGTERM)
        # The shell ends at once. The output ends with the last process that holds it: the server.
        self._server.stdout.read()
        self._server.wait(PATIENCE)
        self._server, self.url = None, ""

    def settle(self) -> None:
        """Waits until every accepted write is ingested: a reader is slower than the server."""
        if self._server is None:
            return
        deadline = time.monotonic() + PATIENCE
        while self._waiting_writes():
            assert time.monotonic() < deadline, "accepted writes were not ingested"
            time.sleep(0.01)

    def _waiting_writes(self) -> int:
        request = urllib.request.Request(f"{self.url}/v1/queue", headers={"authorization": f"Bearer {self.key}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            waiting = json.load(response)["waiting"]
        assert isinstance(waiting, int)
        return waiting


def mentions_build(block: Block) -> bool:
    """Whether a block runs the server from where the build puts it."""
    return "target/release/cuebase" in block.text
