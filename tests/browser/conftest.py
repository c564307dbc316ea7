"""A server process and a browser for each test; what the page did wrong on the way fails the test."""

import json
import os
import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

BINARY = os.environ["CUEBASE_BINARY"]
CHROMIUM = os.environ.get("CUEBASE_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
# Conditions are waited for, however busy the machine is.
PATIENCE_MS = 30_000
expect.set_options(timeout=PATIENCE_MS)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run"]


class Service:
    """A running `cuebase`; stopped at the end."""

    def __init__(self, folder: Path, command: list[str], settings: dict[str, str]):
        self.data = folder / "data"
        self.log = open(folder / "log", "w+")
        environment = {"PATH": os.environ["PATH"], **settings}
        listen = ["--listen", "127.0.0.1:0", "--dashboard-listen", "127.0.0.1:0", "--data", str(self.data)]
        self.process = subprocess.Popen(
            [BINARY, *command, *listen], stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment, cwd=folder
        )
        said = ""
        for line in self.process.stdout:
            said += line
            if line.startswith("listening on "):
                break
        self.url = re.search(r"listening on (\S+)", said).group(1)
        self.first_link = re.search(r"http\S+#code=\S+", said).group(0)
        self.dashboard = self.first_link.split("/#")[0]
        self.session = self.command("token")

    def command(self, *arguments: str) -> str:
        done = subprocess.run([BINARY, *arguments, "--data", str(self.data)], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def link(self) -> str:
        return self.command("token", "--link")

    def call(self, method: str, path: str, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.session}", "content-type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.seek(0)
        log = self.log.read()
        assert "panicked" not in log and "internal failure" not in log, log[-4000:]


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """Starts servers: a command and settings of the environment."""
    services = []

    def begin(*command: str, **settings: str) -> Service:
        services.append(Service(tmp_path_factory.mktemp("service"), list(command), settings))
        return services[-1]

    yield begin
    for service in services:
        service.stop()


@pytest.fixture(scope="session")
def service(start):
    """One with the demo's memories, and payments that move no money."""
    return start("demo", CUEBASE_PAYMENTS_PROVIDER="sandbox", CUEBASE_PAYMENTS_SANDBOX_LISTEN="127.0.0.1:0")


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Opens pages at addresses. No script may fail, nothing may be blocked, no other host may be asked."""
    contexts, wrong = [], []

    def open_page(address: str, **options):
        options = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **options}
        elsewhere = options.pop("elsewhere", ())
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        own = address.split("/#")[0].split("/")[2]
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.on("console", lambda said: wrong.append(f"console: {said.text}") if blocked(said) else None)
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}"))
        page.on("request", lambda asked: foreign(asked.url, {own, *elsewhere}, wrong))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not wrong, "\n".join(wrong)


def blocked(said) -> bool:
    return said.type == "error" and ("Content Security Policy" in said.text or "Refused" in said.text)


def foreign(address: str, own: set[str], wrong: list[str]):
    if address.split(":")[0] in ("http", "https", "ws") and address.split("/")[2] not in own:
        wrong.append(f"request to {address}")


@pytest.fixture
def signed_in(service, visit):
    """A page of somebody who came by a link."""

    def enter(place: str = "", **options):
        page = visit(service.link(), **options)
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        if place:
            page.evaluate("place => { location.hash = place }", place)
        return page

    return enter
