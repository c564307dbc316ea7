"""Reading a repository, made here by real git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import final_state
import pytest
from api import Response
from final_state import Change, Commit, Space, collect, read_repository
from history import Outcome


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    command = ["git", *identity, "-C", str(folder), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path, message: str, files: dict[str, str | None]) -> str:
    """Writes files, removes those without a text, and commits."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def test_a_branch_is_read_with_messages_tokens_and_removals(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "-b", "main")
    front = '---\ncues:\n- "a relation to tok9n9x"\n---\n\n'
    first = commit(tmp_path, "Write", {"facts/a.md": f"{front}# Note tok1n1x\n", "vocab/b.md": "# Word\n"})
    second = commit(tmp_path, "Remember 1 statement\n\nCuebase-Message: 01ABC\n", {"facts/c.md": "# Entry tok1n2x\n"})
    third = commit(tmp_path, "Forget facts/a.md\n\nCuebase-Message: 01DEF\n", {"facts/a.md": None})
    fourth = commit(tmp_path, "Nothing", {})
    space = read_repository(tmp_path / ".git")
    assert [entry.id for entry in space.commits] == [first, second, third, fourth]
    assert [entry.parents for entry in space.commits] == [(), (first,), (second,), (third,)]
    assert [entry.message for entry in space.commits] == ["", "01ABC", "01DEF", ""]
    assert space.commits[0].changes == (Change("facts/a.md", False, "tok1n1x"), Change("vocab/b.md", False, None))
    assert space.commits[2].changes == (Change("facts/a.md", True),)
    assert space.commits[3].changes == ()
    assert space.files == {"facts/c.md": "# Entry tok1n2x"}


def test_an_empty_repository_has_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare")
    assert read_repository(tmp_path).commits == []


class Server:
    """Answers like an API with one namespace, whose commits arrive with the clones, and one write."""

    def __init__(self, clones: list[list[str]], statuses: list[str]) -> None:
        self._clones = clones
        self._statuses = statuses
        self.head = clones[0][-1]
        self.clones = 0

    def clone(self, api: object, namespace: str, repository: Path) -> Space:
        """Stands for a clone; then the next commits arrive."""
        ids = self._clones[self.clones]
        self.clones += 1
        self.head = self._clones[min(self.clones, len(self._clones) - 1)][-1]
        return Space(commits=[Commit(id, (), "", ()) for id in ids])

    def request(self, method: str, path: str, timeout: float) -> Response:
        return Response(200, Outcome.OK, {"waiting": 0})

    def get(self, path: str, query: object = None) -> dict[str, Any]:
        if path == "/v1/writes":
            status = self._statuses.pop(0) if len(self._statuses) > 1 else self._statuses[0]
            return {"writes": [{"id": "w1", "status": status}], "next": None}
        if path == "/v1/namespaces":
            return {"namespaces": [{"name": "alpha", "head": self.head}]}
        if path == "/v1/memories":
            return {"memories": [], "total": 0}
        return {"period": "2026-11", "used": {"writes": 1, "reads": 0}}


def state_of(server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> final_state.FinalState:
    """Collects the state of a server."""
    monkeypatch.setattr(final_state, "_cloned", server.clone)
    monkeypatch.setattr(final_state, "_USAGE_SETTLED", 0.0)
    return collect({"first": server}, ("alpha",), {"first": server.get("/v1/usage")}, folder)  # type: ignore[dict-item]


def test_a_namespace_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server([["c1"], ["c1", "c2"]], ["ingested"])
    space = state_of(server, tmp_path, monkeypatch).spaces["first/alpha"]
    assert (space.head, space.last_commit, server.clones) == ("c2", "c2", 2)


def test_a_head_that_stays_behind_its_branch_is_kept_for_the_checker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server([["c1"]] * 9, ["ingested"])
    monkeypatch.setattr(final_state, "_head", lambda api, namespace: "c0")
    space = state_of(server, tmp_path, monkeypatch).spaces["first/alpha"]
    assert (space.head, space.last_commit) == ("c0", "c1")


def test_writes_that_no_queue_has_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server([["c1"]] * 2, ["queued", "retrying", "ingesting", "ingested"])
    assert state_of(server, tmp_path, monkeypatch).writes == {"first": {"w1": "ingested"}}
