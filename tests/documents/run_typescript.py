"""Runs a TypeScript block with the installed client, after a strict check by the compiler.

The examples are also valid JavaScript: the same text is checked as `.mts` and run as `.mjs`.
"""

from __future__ import annotations

import subprocess

from blocks import ROOT, Block
from story import Story

COMPILER = ROOT / "clients/typescript/node_modules/.bin/tsc"


def run_typescript(story: Story, block: Block) -> None:
    typed = story.checkout / f"example_{block.line}.mts"
    typed.write_text(block.text)
    assert COMPILER.exists(), "run npm ci in clients/typescript first"
    options = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022"]
    checked = subprocess.run([COMPILER, *options, typed.name], cwd=story.checkout, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    plain = typed.with_suffix(".mjs")
    plain.write_text(block.text)
    assert story.run(f"node {plain.name}"), "an example prints something"
