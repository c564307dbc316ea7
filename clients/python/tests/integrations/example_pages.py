"""Reads the example of an adapter's page and runs it against a server, as a reader does."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from cuebase import Client, NotFound
from servers import Server

_CLIENT = Path(__file__).parents[2]
_PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_example(page: str, folder: Path, server: Server, namespace: str = "user-noor") -> str:
    """Runs the only Python block of a page in a process of its own, and returns what it prints.

    The namespace that the example writes to is deleted before, because several pages have the same user.
    """
    with Client(server.url, server.session) as client, suppress(NotFound):
        client.delete_namespace(namespace)
    blocks = _PYTHON_BLOCK.findall((_CLIENT / "docs" / page).read_text())
    assert len(blocks) == 1, f"{page} has {len(blocks)} Python blocks"
    program = folder / "example.py"
    program.write_text(blocks[0])
    settings = {
        **os.environ,
        "CUEBASE_URL": server.url,
        "CUEBASE_KEY": server.key,
        "PYTHONPATH": str(_CLIENT / "src"),
    }
    done = subprocess.run(
        [sys.executable, str(program)], env=settings, cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
