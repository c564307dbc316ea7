"""The exit code of the command line, for runs that are checked again: with and without `--expect-violations`."""

from __future__ import annotations

import json
from pathlib import Path

import campaign
import pytest
from checks.model import Violation
from final_state import FinalState
from history import History, Recorded
from story import ACCOUNT, Story


def saved(story: Story, folder: Path) -> Path:
    """Writes history and state of a synthetic run as a campaign does."""
    history = History(folder / "history.jsonl")
    for operation in story.recorded.operations:
        history.add(operation)
    history.close()
    state = FinalState(spaces=story.spaces, writes={ACCOUNT: story.statuses}, usage={ACCOUNT: story.used})
    state.save(folder / "state.json")
    return folder


def clean_run(folder: Path) -> Path:
    """Writes a run in which nothing is wrong."""
    story = Story()
    story.write("tok1n1x")
    story.read("tok1n1x")
    return saved(story, folder)


def run_that_lost_a_write(folder: Path) -> Path:
    """Writes a run whose acknowledged write is in no commit."""
    story = Story()
    story.write("tok1n1x")
    story.space.commits.pop()
    story.space.files.clear()
    story.space.memories.clear()
    story.space.head = None
    return saved(story, folder)


def checked(folder: Path, *options: str) -> int:
    """Checks a run and returns the exit code."""
    return campaign.main(["--check", str(folder), "--report", str(folder / "report.json"), *options])


def test_violations_fail_a_run_unless_they_are_expected(tmp_path: Path) -> None:
    folder = run_that_lost_a_write(tmp_path)
    assert checked(folder) == 1
    assert checked(folder, "--expect-violations") == 0
    report = json.loads((folder / "report.json").read_text())
    assert "exactly_once" in report["violation_counts"], "the report still lists them"


def test_a_run_without_violations_fails_if_they_are_expected(tmp_path: Path) -> None:
    folder = clean_run(tmp_path)
    assert checked(folder) == 0
    assert checked(folder, "--expect-violations") == 1


@pytest.mark.parametrize("rule", ["availability", "node_ended"])
def test_nodes_that_do_not_answer_are_not_what_is_expected(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = clean_run(tmp_path)

    def only_this_rule(recorded: Recorded, state: FinalState) -> list[Violation]:
        return [Violation(rule, "", "n1")]

    monkeypatch.setattr(campaign.checker, "check", only_this_rule)
    assert checked(folder) == 1
    assert checked(folder, "--expect-violations") == 1
