"""Fixtures: a stripped copy of the binary, the packages built from it, and downloaded tools."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from support import CACHE, PACKAGING, run

sys.path.insert(0, str(PACKAGING))


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of `CUEBASE_BINARY` without symbols, as the release build makes it."""
    copy = tmp_path_factory.mktemp("binary") / "cuebase"
    run(["strip", "-o", copy, os.environ["CUEBASE_BINARY"]])
    return copy


@pytest.fixture(scope="session")
def packages(binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with all packages, built by the command that a release uses."""
    out = tmp_path_factory.mktemp("packages")
    print(run([sys.executable, PACKAGING / "build.py", "--binary", binary, "--out", out]))
    return out


def only(folder: Path, pattern: str) -> Path:
    """Returns the one file of a folder that fits a pattern."""
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, f"{pattern} in {folder}: {found}"
    return found[0]


@pytest.fixture(scope="session")
def wheel(packages: Path) -> Path:
    return only(packages, "*manylinux*.whl")


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the wheels that the Python client needs, for installations without an index."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    run([sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", folder, "httpx"])
    return folder


@pytest.fixture(scope="session")
def tools() -> Path:
    """Returns a folder with a linter for workflows, and a Node.js that can replace its process (`process.execve`)."""
    folder = CACHE / "npm"
    manifest = Path(__file__).parent / "tools.json"
    installed = folder / "package.json"
    if not installed.exists() or installed.read_bytes() != manifest.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(manifest, folder / "incomplete.json")
        (folder / "incomplete.json").rename(installed)
        try:
            run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder)
        except BaseException:
            shutil.rmtree(folder)
            raise
    return folder / "node_modules"


def newest_symbol(binary: Path, prefix: str) -> tuple[int, ...]:
    """Returns the newest symbol version of a family that a file needs, from another tool than the build uses."""
    symbols = run(["objdump", "-T", binary])
    return max(version_of(found) for found in re.findall(rf"\b{prefix}_([\d.]+)", symbols))


def version_of(text: str) -> tuple[int, ...]:
    """Returns a dotted version as numbers, for comparisons."""
    return tuple(int(part) for part in re.findall(r"\d+", text))
