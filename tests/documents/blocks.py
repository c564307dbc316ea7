"""Reads the fenced blocks of the documents.

A block that a test cannot run has the comment `<!-- not run: reason -->` on the line above its fence. A block of the
language `text` is not a program but a layout, a synopsis or a message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOT_A_PROGRAM = "text"

_MARKER = re.compile(r"<!--\s*not run:\s*(.*?)\s*-->")


class DocumentError(Exception):
    """A document that cannot be read as text with fenced blocks."""


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is the line of its fence, counted from 1."""

    document: str
    line: int
    language: str
    text: str
    #: Why no test runs the block; None for a block that is run.
    not_run: str | None
    #: Whether only blank lines separate the block from the block above it.
    adjacent: bool

    def __str__(self) -> str:
        return f"{self.document}:{self.line}-{self.language}"


def documents(root: Path = ROOT) -> list[str]:
    """Returns the paths of all documents, relative to the root of the repository."""
    found: list[Path] = []
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "clients/*/*.md"):
        found += sorted(root.glob(pattern))
    return [str(path.relative_to(root)) for path in found]


def read(document: str, root: Path = ROOT) -> list[Block]:
    """Returns the blocks of a document in order. Raises `DocumentError` with the line of the problem."""
    return parse(document, (root / document).read_text())


def parse(document: str, text: str) -> list[Block]:
    blocks: list[Block] = []
    lines = text.splitlines()
    marker: str | None = None
    adjacent = False
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if line.startswith("```"):
            end = _end_of_block(document, lines, number)
            inside = "".join(f"{each}\n" for each in lines[number:end])
            blocks.append(Block(document, number, line[3:].strip(), inside, marker, adjacent))
            number = end + 1
            marker, adjacent = None, True
            continue
        if marker is not None:
            raise DocumentError(f"{document}:{number}: a block must follow the line of its `not run` comment")
        marker = _marker(document, number, line)
        if line.strip():
            adjacent = False
    if marker is not None:
        raise DocumentError(f"{document}: a block must follow the `not run` comment at the end")
    return blocks


def _end_of_block(document: str, lines: list[str], start: int) -> int:
    for number in range(start, len(lines)):
        if lines[number].startswith("```"):
            return number
    raise DocumentError(f"{document}:{start}: the block has no end")


def _marker(document: str, number: int, line: str) -> str | None:
    found = _MARKER.search(line)
    if not found:
        return None
    if found.group(0) != line or not found.group(1):
        raise DocumentError(f"{document}:{number}: expected `<!-- not run: reason -->` alone on the line, with a reason")
    return found.group(1)
