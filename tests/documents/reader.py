"""The environment of a reader: a home folder with settings, an editor, a ChatGPT export, and a checkout."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from blocks import ROOT

# Settings and caches of pip and npm. They are links to those of the user who runs the tests.
_PACKAGE_SETTINGS = (".npmrc", ".npm", ".pip", ".config/pip", ".cache/pip")
# Folders that builds and tests create in a checkout.
_GENERATED = shutil.ignore_patterns("node_modules", "build", "__pycache__", ".venv")


def make_home(home: Path) -> None:
    """Creates the home folder, with a program `editor` that appends a sentence to a file."""
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


def redirect_default_address(home: Path, address: str, key: str) -> None:
    """Configures curl and git to connect to a server at `address` instead of the default address."""
    default = "127.0.0.1:8080"
    (home / ".curlrc").write_text(
        f'connect-to = "{default}:{address}"\nfail-with-body\nsilent\nshow-error\nmax-time = 60\n'
    )
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Reader\n\temail = reader@example.com\n"
        f'[url "http://git:{key}@{address}/"]\n\tinsteadOf = http://git:{key}@{default}/\n'
    )


def make_checkout(folder: Path) -> None:
    """Creates a folder that looks like the repository after a build."""
    folder.mkdir()
    shutil.copytree(ROOT / "clients", folder / "clients", ignore=_GENERATED)
    shutil.copytree(ROOT / "tests/data", folder / "tests/data")
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
