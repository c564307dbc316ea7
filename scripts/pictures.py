"""Takes the pictures of the dashboard for the documents. `--help` explains how to run it.

The views and their states are in `tests/browser/pictured_views.py`, the content in `tests/browser/sample_namespace.py`.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
DESKTOP, PHONE = (1440, 900), (390, 844)
#: The views that are also pictured in dark and on a phone.
DARK_VIEWS = ("search", "graph", "activity")
PHONE_VIEWS = ("search", "person", "conversation")
COLOURS = 128
TOTAL_BYTES_MAX = 2_500_000

Job = tuple[Any, str, str, tuple[int, int]]

HELP = """\
Starts a server on free ports with a temporary data folder, writes the sample namespace to it, and takes a picture of
each view: in light at 1440 px, some in dark, and some at 390 px. The pictures in docs/pictures are replaced.

needs:
  CUEBASE_BINARY     path of the server's binary, for example target/release/cuebase
  CUEBASE_PREVIEW=1  optional: takes the page from src/dashboard/page, after npm run build, instead of from the binary
  CUEBASE_CHROMIUM   optional: path of Chromium, if it is not found
  the packages of tests/requirements.txt, and Chromium

examples:
  CUEBASE_BINARY=target/release/cuebase python3 scripts/pictures.py
  CUEBASE_BINARY=target/release/cuebase python3 scripts/pictures.py --only search graph --to /tmp/pictures
"""


def parse_arguments() -> argparse.Namespace:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description="Take the pictures of the dashboard.", epilog=HELP, formatter_class=layout)
    parser.add_argument("--to", type=Path, default=PICTURES, metavar="FOLDER", help="folder of the pictures [docs/pictures]")
    parser.add_argument("--only", nargs="+", metavar="VIEW", default=[], help="names of the views [all]")
    parser.add_argument("--list", action="store_true", help="print the names of the views and exit")
    return parser.parse_args()


def import_views() -> tuple[Any, Any]:
    """Imports the views and the fixtures of the browser tests. Ends the program with advice if something is missing."""
    # `conftest` requires the variable, but `--list` does not.
    os.environ.setdefault("CUEBASE_BINARY", "")
    sys.path.insert(0, str(ROOT / "tests/browser"))
    sys.dont_write_bytecode = True
    try:
        import conftest
        import PIL  # noqa: F401 (used by `reduce`)
        import pictured_views
    except ModuleNotFoundError as error:
        sys.exit(f"pictures: Python package {error.name} is missing: pip install -r tests/requirements.txt")
    return pictured_views, conftest


def jobs_of(views: list[Any]) -> list[Job]:
    """Returns view, name of the file, color scheme and size of each picture."""
    jobs = [(view, view.name, "light", DESKTOP) for view in views]
    jobs += [(view, f"{view.name}-dark", "dark", DESKTOP) for view in views if view.name in DARK_VIEWS]
    jobs += [(view, f"{view.name}-phone", "light", PHONE) for view in views if view.name in PHONE_VIEWS]
    return jobs


def take(views: Any, pages: Any, jobs: list[Job], folder: Path) -> int:
    """Takes pictures. Returns their size in bytes."""
    source = views.find_source(pages.service)
    total = 0
    for view, name, scheme, (width, height) in jobs:
        page = pages.open(width, height, scheme, view.is_signed_in)
        views.show(page, view, pages.service, source)
        content = reduce(page.screenshot(animations="disabled"))
        (folder / f"{name}.png").write_bytes(content)
        print(f"{name}.png: {len(content):,} bytes", flush=True)
        total += len(content)
    pages.close()
    return total


def reduce(screenshot: bytes) -> bytes:
    """Returns a PNG file with a palette, which is a third of the size."""
    from PIL import Image

    picture = Image.open(io.BytesIO(screenshot)).convert("RGB")
    picture = picture.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced = io.BytesIO()
    picture.save(reduced, "PNG", optimize=True)
    return reduced.getvalue()


def main() -> None:
    arguments = parse_arguments()
    views, conftest = import_views()
    names = [view.name for view in views.VIEWS]
    if arguments.list:
        print("\n".join(names))
        return
    unknown = [name for name in arguments.only if name not in names]
    if unknown:
        sys.exit(f"pictures: unknown view {unknown[0]!r}: expected one of {', '.join(names)}")
    if not Path(conftest.BINARY).is_file():
        sys.exit(f"pictures: CUEBASE_BINARY is {conftest.BINARY!r}, which is not a file: set it to the server's binary")
    arguments.to.mkdir(parents=True, exist_ok=True)
    jobs = jobs_of([view for view in views.VIEWS if not arguments.only or view.name in arguments.only])
    with tempfile.TemporaryDirectory() as data, conftest.sync_playwright() as playwright:
        service = conftest.Service(Path(data), ["serve"], {})
        try:
            views.write_sample_to(service)
            browser = playwright.chromium.launch(executable_path=conftest.CHROMIUM, args=conftest.ARGUMENTS)
            total = take(views, views.Pages(browser, service), jobs, arguments.to)
            browser.close()
        finally:
            service.stop()
    print(f"{len(jobs)} pictures, {total:,} bytes, in {arguments.to}")
    if total > TOTAL_BYTES_MAX:
        sys.exit(f"pictures: {total:,} bytes are more than {TOTAL_BYTES_MAX:,}: reduce COLOURS or picture fewer views")


if __name__ == "__main__":
    main()
