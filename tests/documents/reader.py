"""What a reader of the documents has: a home folder with settings, an editor, an export of ChatGPT, a checkout."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from blocks import ROOT

# Where pip and npm find their settings and caches: those of the person who runs the tests.
_PACKAGE_SETTINGS = (".npmrc", ".npm", ".pip", ".config/pip", ".cache/pip")
# Folders of a checkout that builds and tests make.
_MADE = shutil.ignore_patterns("node_modules", "build", "__pycache__", ".venv")


def make_home(home: Path) -> None:
    """Makes the home folder, with an editor at `editor` that adds a sentence to the file it is given."""
    home.mkdir()
    for name in _PACKAGE_SETTINGS:
        theirs = Path.home() / name
        if theirs.exists():
            (home / name).parent.mkdir(exist_ok=True)
            (home / name).symlink_to(theirs)
    editor = home / "editor"
    editor.write_text('#!/bin/sh\necho "They stand in the shade." >> "$1"\n')
    editor.chmod(0o755)
    downloads = home / "Downloads/chatgpt-export"
    downloads.mkdir(parents=True)
    (downloads / "conversations.json").write_text(json.dumps([_chatgpt_conversation()]))


def lead_to(home: Path, address: str, key: str) -> None:
    """Makes curl and git connect to a server when they are given the server's default address."""
    default = "127.0.0.1:8080"
    (home / ".curlrc").write_text(
        f'connect-to = "{default}:{address}"\nfail-with-body\nsilent\nshow-error\nmax-time = 60\n'
    )
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Reader\n\temail = reader@example.com\n"
        f'[url "http://git:{key}@{address}/"]\n\tinsteadOf = http://git:{key}@{default}/\n'
    )


def make_checkout(folder: Path) -> None:
    """Makes a folder that is, for a reader, the repository after the build."""
    folder.mkdir()
    shutil.copytree(ROOT / "clients", folder / "clients", ignore=_MADE)
    (folder / "target/release").mkdir(parents=True)
    (folder / "target/release/cuebase").symlink_to(Path(os.environ["CUEBASE_BINARY"]).resolve())


def _chatgpt_conversation() -> dict[str, object]:
    def node(parent: str, children: list[str], role: str, text: str) -> dict[str, object]:
        content = {"content_type": "text", "parts": [text]}
        message = {"id": text, "author": {"role": role}, "content": content, "create_time": 1_715_000_000.0}
        return {"parent": parent, "children": children, "message": {**message, "recipient": "all"}}

    mapping: dict[str, object] = {
        "root": {"parent": None, "children": ["one"], "message": None},
        "one": node("root", ["two"], "user", "My sister Ida keeps three hives of bees in Oban."),
        "two": node("one", [], "assistant", "How does she keep them warm in winter?"),
    }
    return {"conversation_id": "c1", "title": "Bees", "mapping": mapping, "current_node": "two"}
