"""Facts about the project that several packages need: version, description, licences, and the time of the release."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Zip archives cannot hold earlier times.
EPOCH_MIN = 315_532_800


class PackagingError(Exception):
    """A package cannot be built. The message says what is wrong and what to do."""


@dataclass(frozen=True)
class Project:
    """What every package says about Cuebase. `epoch` is the time of all files, in seconds since 1970."""

    version: str
    description: str
    licence: str
    epoch: int


def read_project() -> Project:
    """Reads the manifests. Fails if the server and the clients have different versions."""
    manifest = read_toml(ROOT / "Cargo.toml")
    version = str(manifest["workspace"]["package"]["version"])
    for path, found in _client_versions().items():
        if found != version:
            raise PackagingError(f"{path} has version {found}, Cargo.toml has {version}: set both to the same version")
    licence = str(manifest["workspace"]["package"]["license"])
    return Project(version, str(manifest["package"]["description"]), licence, release_time())


def _client_versions() -> dict[str, str]:
    python, typescript = "clients/python/pyproject.toml", "clients/typescript/package.json"
    return {
        python: str(read_toml(ROOT / python)["project"]["version"]),
        typescript: str(json.loads((ROOT / typescript).read_text())["version"]),
    }


def read_toml(path: Path) -> dict[str, dict[str, dict[str, object]]]:
    """Reads a TOML file of the project, whose values are at most two tables deep."""
    with path.open("rb") as file:
        return tomllib.load(file)


def release_time() -> int:
    """Returns `SOURCE_DATE_EPOCH`, or the time of the last commit."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text:
        command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        try:
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError) as error:
            raise PackagingError(
                f"{ROOT} is not a git clone: set SOURCE_DATE_EPOCH to the time of the release"
            ) from error
    if not text.isdecimal():
        raise PackagingError(f"invalid SOURCE_DATE_EPOCH {text!r}: expected seconds since 1970, for example 1767225600")
    return max(int(text), EPOCH_MIN)


def licence_text() -> bytes:
    return (ROOT / "LICENSE").read_bytes()


def notice_text() -> bytes:
    """Returns the notices of the embedding models, which every copy of the binary must carry."""
    return b"\n".join((ROOT / "model" / name / "NOTICE").read_bytes() for name in ("static-table", "encoder", "reader"))
