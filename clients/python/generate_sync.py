"""Generates `_sync.py` from `_async.py`. With `--check`, only reports whether `_sync.py` is up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "src/cuebase/_async.py"
TARGET = SOURCE.with_name("_sync.py")

CHANGES = [
    (r'"""The asynchronous client\.[^"]*"""', '"""The synchronous client. Generated from `_async.py` by `generate_sync.py`."""'),
    (r"import asyncio\n", ""),
    (r"httpx\.AsyncBaseTransport", "httpx.BaseTransport"),
    (r"httpx\.AsyncClient", "httpx.Client"),
    (r"AsyncClient", "Client"),
    (r"AsyncIterator", "Iterator"),
    (r"__aenter__", "__enter__"),
    (r"__aexit__", "__exit__"),
    (r"aclose", "close"),
    (r"asyncio\.sleep", "time.sleep"),
    (r"async (def|for|with) ", r"\1 "),
    (r"await ", ""),
]


def sync() -> str:
    text = SOURCE.read_text()
    for pattern, replacement in CHANGES:
        text = re.sub(pattern, replacement, text)
    return text


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if TARGET.read_text() == sync() else "src/cuebase/_sync.py is out of date: run python generate_sync.py")
    TARGET.write_text(sync())
