"""The measurement from a wheel to the first retrieved memory."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from support import PACKAGING, run

SCRIPT = [sys.executable, str(PACKAGING / "first_minute.py")]


def test_the_first_memory_is_retrieved_within_a_minute(wheel: Path, wheelhouse: Path) -> None:
    printed = run([*SCRIPT, "--wheel", wheel, "--wheelhouse", wheelhouse])
    print(printed)
    assert len(re.findall(r"^ *\d+\.\d\d s  ", printed, re.MULTILINE)) == 5
    assert printed.splitlines()[-1].endswith("from the wheel to the first retrieved memory")


def test_a_slower_way_fails(wheel: Path, wheelhouse: Path) -> None:
    printed = run([*SCRIPT, "--wheel", wheel, "--wheelhouse", wheelhouse, "--limit", "0.01"], status=1)
    assert "is more than the limit of 0.01 s" in printed


def test_a_missing_dependency_fails(wheel: Path, tmp_path: Path) -> None:
    printed = run([*SCRIPT, "--wheel", wheel, "--wheelhouse", tmp_path], status=1)
    assert "No matching distribution found for httpx" in printed
