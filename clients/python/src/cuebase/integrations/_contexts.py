"""Contexts as results of tools: each entry names the memory that it is made from."""

from __future__ import annotations

import re

from .. import Context

_MARK = re.compile(r" \[(\d+)\]$")


def with_paths(context: Context) -> str:
    """Returns the text of a context with the path of each memory in place of the mark of its citation."""
    lines = []
    for line in context.text.splitlines():
        mark = _MARK.search(line) if line.startswith("- ") else None
        if mark is not None and 1 <= int(mark[1]) <= len(context.citations):
            line = f"{line[: mark.start()]} [{context.citations[int(mark[1]) - 1].path}]"
        lines.append(line)
    return "\n".join(lines)
