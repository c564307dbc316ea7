"""A running Cuebase server with the preview of the page in front of it, and the namespace that is measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from corpus import Corpus

NAMESPACE = "large"
PREVIEW_SCRIPT = Path(__file__).parents[2] / "dashboard/scripts/preview.mjs"
#: Memories that come from conversations, so that the list of conversations has many.
CONVERSATIONS = 250
MESSAGES = 4
#: Conversations that are sent before one of them is waited for.
BATCH = 25
#: Longest wait for a write, seconds.
WRITE_TIMEOUT = 300


class Service:
    """A `cuebase serve` process, and the preview if the page comes from the working tree."""

    def __init__(self, binary: str, data: Path, has_preview: bool) -> None:
        self.binary = binary
        self.data = data
        self.log = open(data.parent / "server.log", "w", encoding="utf-8")
        listen = ["--listen", "127.0.0.1:0", "--dashboard-listen", "127.0.0.1:0", "--data", str(data)]
        self.process = subprocess.Popen(
            [binary, "serve", *listen],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            # The file of settings and the environment of the caller do not apply.
            env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
            cwd=data.parent,
        )
        output = ""
        for line in self.process.stdout or ():
            output += line
            if line.startswith("listening on "):
                break
        else:
            raise SystemExit(f"error: the server did not start; see {self.log.name}")
        self.url = address_after("listening on", output)
        self.listener = self.dashboard = address_after("dashboard on", output)
        self.preview: subprocess.Popen[str] | None = None
        if has_preview:
            command = ["node", str(PREVIEW_SCRIPT), self.listener]
            self.preview = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert self.preview.stdout
            self.dashboard = self.preview.stdout.readline().split()[-1]
        self.session = self.command("token")

    def command(self, *arguments: str) -> str:
        command = [self.binary, *arguments, "--data", str(self.data)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def link(self) -> str:
        """Returns an address that signs in."""
        return self.command("token", "--link").replace(self.listener, self.dashboard)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.session}", "content-type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)

    def memories(self) -> int:
        """Returns the number of memories of the namespace."""
        for namespace in self.call("GET", "/v1/namespaces")["namespaces"]:
            if namespace["name"] == NAMESPACE:
                return int(namespace["memories"])
        return 0

    def stop(self) -> None:
        for process in (self.preview, self.process):
            if process:
                process.terminate()
                process.wait(60)
        self.log.close()


def address_after(words: str, output: str) -> str:
    """Returns the address that follows words in the output of the server."""
    found = re.search(rf"{words} (\S+)", output)
    if not found:
        raise SystemExit(f'error: the server printed no address after "{words}"')
    return found.group(1)


def import_memories(binary: str, data: Path, memories: int) -> None:
    """Fills a new data directory with `cuebase import`, which is faster than a request for each memory."""
    with tempfile.TemporaryDirectory(prefix="cuebase-bench-") as folder:
        Corpus().write_folder(Path(folder), memories)
        command = [binary, "import", folder, "--format", "markdown", "--namespace", NAMESPACE]
        done = subprocess.run([*command, "--data", str(data), "--init"], capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"error: cuebase import failed: {done.stderr.strip()}")


def send_conversations(service: Service) -> None:
    """Sends the conversations, several at a time: writes of a namespace are ingested in their order."""
    corpus = Corpus()
    for number in range(CONVERSATIONS):
        body = {"namespace": NAMESPACE, **corpus.conversation(number, MESSAGES)}
        write = service.call("POST", "/v1/memories", body)["id"]
        if number % BATCH == BATCH - 1 or number == CONVERSATIONS - 1:
            wait_for_write(service, write)


def wait_for_write(service: Service, write: str) -> None:
    end = time.monotonic() + WRITE_TIMEOUT
    while time.monotonic() < end:
        state = service.call("GET", f"/v1/writes/{write}")
        if state["status"] == "ingested":
            return
        if state["status"] in ("dead", "dropped"):
            raise SystemExit(f"error: write {write} failed: {state['error']}; see {service.log.name}")
        time.sleep(0.1)
    raise SystemExit(f"error: write {write} was not ingested within {WRITE_TIMEOUT} s; see {service.log.name}")
