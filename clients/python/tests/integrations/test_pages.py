"""The examples of the pages in `docs`: each passes a strict check by mypy, and prints what its page shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PACKAGE = Path(__file__).parents[2]
PAGES = ["anthropic-memory", "langgraph", "openai-agents", "pydantic-ai"]


def example(page: str) -> tuple[str, str]:
    """Returns the program of a page and the output that the page shows below it."""
    text = (PACKAGE / "docs" / f"{page}.md").read_text()
    program, rest = text.split("```python\n", 1)[1].split("```\n", 1)
    assert "```python\n" not in rest, f"{page}: a second example would not be run"
    begin = "\n```text\n"
    assert rest.startswith(begin), f"{page}: the output must follow the example"
    return program, rest.removeprefix(begin).split("```\n", 1)[0]


def environment() -> dict[str, str]:
    source = str(PACKAGE / "src")
    return {**os.environ, "MYPYPATH": source, "PYTHONPATH": source}


def test_the_examples_pass_a_strict_check(tmp_path: Path) -> None:
    files = []
    for page in PAGES:
        files.append(tmp_path / f"{page.replace('-', '_')}_example.py")
        files[-1].write_text(example(page)[0])
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *map(str, files)]
    checked = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("page", PAGES)
def test_the_example_of_a_page_prints_what_the_page_shows(page: str, service: Any, tmp_path: Path) -> None:
    program, output = example(page)
    file = tmp_path / "example.py"
    file.write_text(program)
    variables = {**environment(), "CUEBASE_URL": service.url, "CUEBASE_KEY": service.key}
    run = subprocess.run(
        [sys.executable, str(file)], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == output
