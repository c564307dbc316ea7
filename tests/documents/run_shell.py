"""Runs `sh` and `console` blocks. A `console` block shows commands after `$ `, each followed by its output."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import PurePath

from blocks import Block
from compare import check_json, check_text
from story import Story


@dataclass
class Step:
    """A command of a console block and the output in the block."""

    command: str
    output: str


def run_sh(story: Story, block: Block) -> None:
    lines = block.text.splitlines()
    if not starts_server(lines[-1]):
        story.output = story.run(block.text)
        return
    if lines[:-1]:
        story.run("\n".join(lines[:-1]))
    story.output = story.start(lines[-1])


def run_console(story: Story, block: Block) -> None:
    for step in steps(block.text):
        if "\nlistening on http" in step.output:
            check_text(step.output, story.start(step.command))
            continue
        printed = story.attempt(step.command, merged=True).stdout
        story.settle()
        if step.output.startswith(("{", "[")):
            check_json(step.output, printed)
        else:
            check_text(step.output, printed)


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append(Step(line.removeprefix("$ "), ""))
        elif found and not _is_complete(found[-1].command):
            found[-1].command += f"\n{line}"
        else:
            assert found, f'a console block begins with "$ " and a command: {line}'
            found[-1].output += f"{line}\n"
    return found


def starts_server(command: str) -> bool:
    """Returns whether a command starts a server, which runs until it is stopped."""
    try:
        words = shlex.split(command, comments=True)
    except ValueError:
        # The line is the end of a command that spans several lines.
        return False
    while words and re.match(r"\w+=", words[0]):
        words = words[1:]
    return len(words) > 1 and PurePath(words[0]).name == "cuebase" and words[1] == "serve"


def _is_complete(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return False
    return not command.endswith("\\")
