#!/usr/bin/env python3
"""Measures the interactions of the dashboard in a namespace of 20,000 memories.

    CUEBASE_BINARY=target/release/cuebase python3 benches/dashboard/run.py --data bench-data

The first run fills the data folder, which takes a few minutes. Later runs with the same --data reuse it.

Columns of the table, with the median and the maximum of the runs in milliseconds:

  next paint   from the input to the next frame: Event Timing, as Interaction to Next Paint counts it
  blocked      the longest task of the main thread until the page is quiet, or 0 below 50 ms
  work         processor time of the longest task, from a trace
  content      from the input to the frame that shows the new content, including the requests to the server
  requests     requests of a run and their decoded size

Rows whose median work exceeds --limit are marked, and the exit status is then 1. On an idle machine, next paint and
blocked are close to it. On a busy one they also contain the time of other processes.

CUEBASE_BINARY    the server
CUEBASE_PREVIEW   1 takes the page from src/dashboard/page (npm --prefix dashboard run build), not from the binary
CUEBASE_CHROMIUM  the browser; default: chromium
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpus import CENTRAL_SUBJECT
from interactions import Interaction, list_interactions
from playwright.sync_api import Browser, Error, Page, sync_playwright
from service import CONVERSATIONS, MESSAGES, NAMESPACE, Service, import_memories, send_conversations

CHROMIUM = os.environ.get("CUEBASE_CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
ARGUMENTS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
TIMING_SCRIPT = Path(__file__).with_name("timing.js")
#: Longest wait for the content of an interaction, milliseconds.
CONTENT_TIMEOUT_MS = 60_000
#: Names of the measures in the result of `bench.result()`.
MEASURES = ("nextPaint", "blocked", "work", "content", "requests", "bytes")
#: Events of a trace that are one task.
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")
#: Categories of a trace with the tasks of each thread and their processor time.
TRACE_CATEGORIES = ["toplevel", "disabled-by-default-devtools.timeline"]


@dataclass
class Figures:
    """The measures of all runs of an interaction."""

    runs: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in MEASURES})
    problem: str = ""

    def add(self, result: dict[str, float]) -> None:
        if not result["content"]:
            raise Error(f"the content did not appear within {CONTENT_TIMEOUT_MS} ms")
        for name in MEASURES:
            self.runs[name].append(result[name])

    def median(self, name: str) -> float:
        return statistics.median(self.runs[name]) if self.runs[name] else 0.0

    def maximum(self, name: str) -> float:
        return max(self.runs[name], default=0.0)

    def exceeds(self, limit: float) -> bool:
        return self.median("work") > limit


def main() -> int:
    options = read_options()
    # The processes are stopped also when this one is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    chosen = re.compile(options.only, re.IGNORECASE)
    with tempfile.TemporaryDirectory(prefix="cuebase-bench-") as scratch:
        folder = Path(options.data or scratch).resolve()
        service = start(options.binary, folder, options.memories)
        try:
            known = list_interactions(CENTRAL_SUBJECT, find_hub(service))
            interactions = [each for each in known if chosen.search(each.title)]
            if not interactions:
                raise SystemExit(f'error: no interaction matches --only "{options.only}"; --list prints the titles')
            if options.list:
                print("\n".join(each.title for each in interactions))
                return 0
            figures = measure(service, interactions, options)
        finally:
            service.stop()
    if options.json:
        rows = {title: {"runs": each.runs, "problem": each.problem} for title, each in figures.items()}
        Path(options.json).write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    failed = any(each.problem or each.exceeds(options.limit) for each in figures.values())
    return 1 if failed else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", metavar="FOLDER", help="folder that keeps the filled namespace; default: a temporary one"
    )
    parser.add_argument(
        "--memories", type=int, default=20_000, metavar="N", help="memories of a new namespace; default: 20000"
    )
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="repetitions of each interaction; default: 5")
    parser.add_argument(
        "--only", default="", metavar="REGEX", help='interactions to measure, such as "list: (tag|tier)"'
    )
    parser.add_argument("--limit", type=float, default=100, metavar="MS", help="limit of the medians; default: 100")
    parser.add_argument("--width", type=int, default=1280, metavar="PIXELS", help="width of the window; default: 1280")
    parser.add_argument("--json", metavar="FILE", help="file for the figures of all runs")
    parser.add_argument("--list", action="store_true", help="print the titles of the interactions only")
    options = parser.parse_args()
    options.binary = os.environ.get("CUEBASE_BINARY", "")
    if not Path(options.binary).is_file():
        parser.error("CUEBASE_BINARY must be the path of the server, for example target/release/cuebase")
    options.binary = str(Path(options.binary).resolve())
    return options


def start(binary: str, folder: Path, memories: int) -> Service:
    """Starts a server on the filled namespace, and fills it first if the folder is new."""
    folder.mkdir(parents=True, exist_ok=True)
    data, mark = folder / "server", folder / "filled"
    is_filled = mark.exists()
    if not is_filled:
        if data.exists():
            raise SystemExit(f"error: {data} was not filled completely; delete {folder}")
        print(f"filling {folder} with {memories} memories, which takes a few minutes", file=sys.stderr, flush=True)
        import_memories(binary, data, memories - CONVERSATIONS * MESSAGES)
    service = Service(binary, data, os.environ.get("CUEBASE_PREVIEW") == "1")
    try:
        if not is_filled:
            send_conversations(service)
            mark.write_text(f"{memories}\n", encoding="utf-8")
        print(f"{service.memories()} memories in {NAMESPACE}", file=sys.stderr, flush=True)
    except BaseException:
        service.stop()
        raise
    return service


def find_hub(service: Service) -> str:
    """Returns the path of the memory that many others refer to. It is the first one of the large directory."""
    entries = service.call("GET", f"/v1/tree?namespace={NAMESPACE}&path=facts/archive")["entries"]
    return next(str(entry["path"]) for entry in entries if str(entry["path"]).endswith("-0.md"))


def measure(service: Service, interactions: list[Interaction], options: argparse.Namespace) -> dict[str, Figures]:
    """Measures the interactions one after the other, and prints a row after each."""
    figures: dict[str, Figures] = {}
    width = max(len(each.title) for each in interactions)
    print(
        f"{'interaction':{width}}  runs      next paint         blocked            work          content  requests",
        flush=True,
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": options.width, "height": 900}, locale="en-GB")
        page = context.new_page()
        page.add_init_script(path=TIMING_SCRIPT)
        page.goto(service.link())
        page.get_by_role("heading", name="Search", level=1).wait_for()
        # Each run reloads the page, which must keep the session.
        page.evaluate("() => navigator.serviceWorker.ready.then(() => null)")
        for interaction in interactions:
            figures[interaction.title] = run_all(browser, page, interaction, options.runs)
            print(row(interaction.title, width, figures[interaction.title], options.limit), flush=True)
        browser.close()
    return figures


def run_all(browser: Browser, page: Page, interaction: Interaction, runs: int) -> Figures:
    figures = Figures()
    for _ in range(runs):
        try:
            figures.add(run_once(browser, page, interaction))
        except (Error, AssertionError) as error:
            figures.problem = str(error).splitlines()[0]
            break
    return figures


def run_once(browser: Browser, page: Page, interaction: Interaction) -> dict[str, float]:
    """Loads the page at the place of the interaction, so that no response is kept, and measures the interaction."""
    page.evaluate("place => { location.hash = place }", f"/n/{NAMESPACE}/{interaction.place}")
    page.reload()
    page.wait_for_function(f"() => {interaction.ready}", timeout=CONTENT_TIMEOUT_MS)
    page.evaluate("bench.quiet()")
    if interaction.prepare:
        interaction.prepare(page)
    page.evaluate(f"bench.shown = () => {interaction.shown}")
    page.evaluate("bench.quiet()")
    browser.start_tracing(page=page, categories=TRACE_CATEGORIES)
    try:
        interaction.act(page)
        result: dict[str, float] = page.evaluate("timeout => bench.result(timeout)", CONTENT_TIMEOUT_MS)
    finally:
        trace = browser.stop_tracing()
    return {**result, "work": longest_task(json.loads(trace)["traceEvents"])}


def longest_task(events: list[dict[str, Any]]) -> float:
    """Returns the processor time of the longest task of a page's main thread, milliseconds."""
    mains = set()
    for event in events:
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain":
            mains.add((event["pid"], event["tid"]))
    longest = 0.0
    for event in events:
        if event["name"] in TASKS and (event["pid"], event["tid"]) in mains:
            longest = max(longest, event.get("tdur", 0) / 1000)
    return longest


def row(title: str, width: int, figures: Figures, limit: float) -> str:
    if figures.problem:
        return f"{title:{width}}  failed: {figures.problem}"
    cells = [f"{figures.median(name):7.0f} {figures.maximum(name):6.0f}" for name in MEASURES[:4]]
    requests = f"{figures.median('requests'):3.0f} {figures.median('bytes') / 1024:6.0f} KiB"
    mark = "  over the limit" if figures.exceeds(limit) else ""
    return f"{title:{width}}  {len(figures.runs['content']):4}  {'   '.join(cells)}  {requests}{mark}"


if __name__ == "__main__":
    sys.exit(main())
