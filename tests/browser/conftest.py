"""Fixtures for servers and browser pages. Script errors and blocked or external requests of a page fail its test."""

import json
import os
import re
import shutil
import subprocess
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from unusable_model import serve_unusable_model

BINARY = os.environ["CUEBASE_BINARY"]
# With `CUEBASE_PREVIEW=1` the page comes from `src/dashboard/page` instead of the binary (see dashboard/README.md).
PREVIEW = os.environ.get("CUEBASE_PREVIEW") == "1"
PREVIEW_SCRIPT = Path(__file__).parents[2] / "dashboard/scripts/preview.mjs"
CHROMIUM = os.environ.get("CUEBASE_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
# Long enough for a busy machine.
TIMEOUT_MS = int(os.environ.get("CUEBASE_BROWSER_TIMEOUT_MS", 30_000))
expect.set_options(timeout=TIMEOUT_MS)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
# Goes to an address. Another one is rendered before, so that the view is always a new one. It has no title until its
# effects have run, which take the focus to its heading and set its fields.
OPEN_NEW_VIEW = """async place => {
    location.hash = "/search/another";
    await new Promise(requestAnimationFrame);
    document.title = "";
    location.hash = place;
}"""


class Service:
    """A running `cuebase` process."""

    def __init__(self, folder: Path, command: list[str], settings: dict[str, str]):
        self.folder, self.arguments, self.settings = folder, command, settings
        self.data = folder / "data"
        self.log = open(folder / "log", "a+")
        self.preview = None
        self.launch()
        self.session = self.command("token")

    def launch(self):
        """Starts the process with the data of the last one, at other addresses."""
        # With the table, a write has its vectors at once, and the scores that a view shows do not change afterwards.
        environment = {"PATH": os.environ["PATH"], "CUEBASE_MODEL_BUILTIN": "table", **self.settings}
        listen = ["--listen", "127.0.0.1:0", "--dashboard-listen", "127.0.0.1:0", "--data", str(self.data)]
        command, streams = [BINARY, *self.arguments, *listen], {"stdout": subprocess.PIPE, "stderr": self.log}
        self.process = subprocess.Popen(command, text=True, env=environment, cwd=self.folder, **streams)
        output = ""
        for line in self.process.stdout:
            output += line
            if line.startswith("listening on "):
                break
        self.url = re.search(r"listening on (\S+)", output).group(1)
        # Only the first start prints a link.
        printed = re.search(r"http\S+#code=\S+", output)
        self.first_link = printed.group(0) if printed else self.command("token", "--link")
        self.listener = self.dashboard = self.first_link.split("/#")[0]
        if PREVIEW:
            self.start_preview()

    def start_preview(self):
        """Puts the preview in front of the dashboard's listener."""
        self.stop_preview()
        command = ["node", str(PREVIEW_SCRIPT), self.listener]
        self.preview = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.dashboard = self.preview.stdout.readline().split()[-1]
        self.first_link = self.first_link.replace(self.listener, self.dashboard)

    def command(self, *arguments: str) -> str:
        done = subprocess.run([BINARY, *arguments, "--data", str(self.data)], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def link(self) -> str:
        return self.command("token", "--link").replace(self.listener, self.dashboard)

    def call(self, method: str, path: str, body=None, credential: str | None = None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {credential or self.session}", "content-type": "application/json"}
        request = urllib.request.Request(self.url + path, data=data, method=method, headers=headers)
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def stop_preview(self):
        if self.preview:
            self.preview.terminate()
            self.preview.wait(60)

    def stop(self):
        self.stop_preview()
        self.stop_process()
        self.log.seek(0)
        log = self.log.read()
        assert "panicked" not in log and "internal failure" not in log, log[-4000:]

    def stop_process(self):
        """Stops the server. A page of the preview is still served."""
        self.process.terminate()
        self.process.wait(60)


@pytest.fixture(scope="session")
def start(tmp_path_factory):
    """Returns a function that starts a server with a command and environment settings. All are stopped at the end."""
    services = []

    def start_service(*command: str, **settings: str) -> Service:
        services.append(Service(tmp_path_factory.mktemp("service"), list(command), settings))
        return services[-1]

    yield start_service
    for service in services:
        service.stop()


@pytest.fixture(scope="session")
def service(start):
    """A server with the demo's memories and the payment sandbox."""
    return start("demo", CUEBASE_PAYMENTS_PROVIDER="sandbox", CUEBASE_PAYMENTS_SANDBOX_LISTEN="127.0.0.1:0")


@pytest.fixture(scope="session")
def failing_service(start):
    """A server on which each conversation fails permanently at its first attempt."""
    with serve_unusable_model() as model:
        settings = {"CUEBASE_MODEL_BASE_URL": model, "CUEBASE_MODEL_CHAT": "unusable"}
        yield start("serve", CUEBASE_INGESTION_RETRIES="0", **settings)


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def open_pages(browser):
    """Yields a function that opens a page. At the end, script errors and blocked or external requests fail."""
    contexts, errors = [], []

    def open_page(address: str, **options):
        options = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", **options}
        elsewhere = options.pop("elsewhere", ())
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        own = address.split("/#")[0].split("/")[2]
        page.on("pageerror", lambda error: errors.append(f"script: {error}"))
        page.on("console", lambda message: check_console(message, errors))
        page.on("dialog", lambda dialog: errors.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: check_host(request.url, {own, *elsewhere}, errors))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors, "\n".join(errors)


@pytest.fixture
def visit(browser):
    """Returns a function that opens a page. Script errors, blocked content and requests to other hosts fail the test."""
    with open_pages(browser) as open_page:
        yield open_page


def check_console(message, errors: list[str]):
    """Records a message about a blocked resource."""
    if message.type == "error" and ("Content Security Policy" in message.text or "Refused" in message.text):
        errors.append(f"console: {message.text}")


def check_host(url: str, allowed: set[str], errors: list[str]):
    """Records a request to a host that is not allowed."""
    if url.split(":")[0] in ("http", "https", "ws") and url.split("/")[2] not in allowed:
        errors.append(f"request to {url}")


def wait_for_reload_worker(page):
    """Waits until the worker runs that takes the session of a page over a reload."""
    page.evaluate("() => navigator.serviceWorker.ready.then(() => null)")


@pytest.fixture
def signed_in(service, visit):
    """Returns a function that opens a page, signed in with a link. A reload keeps the session."""

    def enter(place: str = "", **options):
        page = visit(service.link(), **options)
        page.get_by_role("heading", name="Search", level=1).wait_for()
        expect(page).to_have_title("Search · Cuebase")
        wait_for_reload_worker(page)
        if place:
            page.evaluate(OPEN_NEW_VIEW, place)
            expect(page).to_have_title(re.compile(" · Cuebase$"))
        return page

    return enter


@pytest.fixture(params=[1440, 390], ids=["desktop", "phone"])
def width(request) -> int:
    """The width of the window, for tests that run at both."""
    return request.param


@pytest.fixture(params=["light", "dark"])
def scheme(request) -> str:
    """The colour scheme, for tests that run in both."""
    return request.param
