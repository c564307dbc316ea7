"""Reading a repository, made here by real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

from final_state import Change, read_repository


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
