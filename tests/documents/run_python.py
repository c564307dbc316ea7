"""Runs a Python block as a separate file with the installed client, after a strict check by mypy."""

from __future__ import annotations

import subprocess
import sys

from blocks import Block
from story import Story


def run_python(story: Story, block: Block) -> None:
    file = story.checkout / f"example_{block.line}.py"
    file.write_text(block.text)
    interpreter = story.run("command -v python").strip()
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--python-executable", interpreter, "--cache-dir", "/dev/null", file.name],
        cwd=story.checkout,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert story.run(f"python {file.name}"), "an example prints something"
