"""Runs every example of every document as printed.

`pytest -rs` lists the blocks that are not run, with the reason from the document.
"""

from __future__ import annotations

import pytest
from blocks import NOT_A_PROGRAM, Block, documents, read
from conftest import Stories
from run_python import run_python
from run_settings import run_json, run_toml
from run_shell import run_console, run_sh
from run_typescript import run_typescript

RUNNERS = {
    "console": run_console,
    "json": run_json,
    "python": run_python,
    "sh": run_sh,
    "toml": run_toml,
    "ts": run_typescript,
}
BLOCKS = [block for document in documents() for block in read(document) if block.language != NOT_A_PROGRAM]
MARKED = [block for block in BLOCKS if block.not_run is not None]
RUN = [block for block in BLOCKS if block.not_run is None]


@pytest.mark.parametrize("block", RUN, ids=map(str, RUN))
def test_an_example_runs_as_printed(stories: Stories, block: Block) -> None:
    assert block.language in RUNNERS, f"{block}: no runner for this language, and no `not run` comment above the block"
    RUNNERS[block.language](stories.of(block.document), block)


@pytest.mark.parametrize("block", MARKED, ids=map(str, MARKED))
def test_a_skipped_example_has_a_reason(block: Block) -> None:
    pytest.skip(f"{block} is not run: {block.not_run}")


def test_the_examples_were_found() -> None:
    assert {"README.md", "docs/quickstart.md", "clients/python/README.md"} <= {block.document for block in RUN}
    assert {block.language for block in RUN} == set(RUNNERS)
