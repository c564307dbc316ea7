"""The command that builds all packages: what it writes, refuses and repeats."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from support import PACKAGING, ROOT, run

BUILD = [sys.executable, str(PACKAGING / "build.py")]


def test_the_same_binary_results_in_the_same_bytes(packages: Path, binary: Path, tmp_path: Path) -> None:
    # Another place, umask, language, time zone and modification time.
    copy = tmp_path / "moved"
    shutil.copyfile(binary, copy)
    copy.chmod(0o700)
    environment = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "COLUMNS": "40"}
    command = ["sh", "-c", 'umask 077 && exec "$0" "$@"', *BUILD, "--binary", copy, "--out", tmp_path / "again"]
    print(run(command, environment=environment))
    first = sorted(path.name for path in packages.iterdir())
    assert first == sorted(path.name for path in (tmp_path / "again").iterdir())
    differing = [name for name in first if (packages / name).read_bytes() != (tmp_path / "again" / name).read_bytes()]
    assert differing == []


def test_every_package_is_built_and_has_a_checksum(packages: Path) -> None:
    names = [path.name for path in packages.iterdir()]
    for ending in ("any.whl", "x86_64.whl", ".deb", ".cdx.json", "amd64.tar", "SHA256SUMS"):
        assert len([name for name in names if name.endswith(ending)]) == 1, names
    assert len([name for name in names if name.endswith(".tgz")]) == 3, names
    assert len(names) == 9
    checked = run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=packages)
    assert checked.count(": OK") == len(names) - 1


def test_one_part_can_be_built_alone(binary: Path, tmp_path: Path) -> None:
    printed = run([*BUILD, "--binary", binary, "--out", tmp_path / "new", "--only", "chart,npm"])
    assert len(list((tmp_path / "new").glob("*.tgz"))) == 3
    assert "wheel" not in printed and " s in total" in printed


def test_an_unknown_part_is_refused_with_the_known_ones(binary: Path, tmp_path: Path) -> None:
    printed = run([*BUILD, "--binary", binary, "--out", tmp_path, "--only", "rpm"], status=2)
    assert "unknown part 'rpm': expected wheel, npm, deb, oci, chart, sbom" in printed


@pytest.mark.parametrize(
    "script, reason",
    [
        ("exit 3", "--version fails"),
        ("echo cuebase 0.0.7", "is 'cuebase 0.0.7', the sources are"),
    ],
)
def test_another_binary_is_refused(tmp_path: Path, script: str, reason: str) -> None:
    other = tmp_path / "cuebase"
    other.write_text(f"#!/bin/sh\n{script}\n")
    other.chmod(0o755)
    printed = run([*BUILD, "--binary", other, "--out", tmp_path / "out"], status=1)
    assert reason in printed and "Traceback" not in printed
    assert not (tmp_path / "out").exists()


def test_a_script_in_place_of_the_binary_is_refused(packages: Path, tmp_path: Path) -> None:
    version = next(packages.glob("*any.whl")).name.split("-")[1]
    other = tmp_path / "cuebase"
    other.write_text(f"#!/bin/sh\necho cuebase {version}\n")
    other.chmod(0o755)
    printed = run([*BUILD, "--binary", other, "--out", tmp_path / "out", "--only", "wheel"], status=1)
    assert "is not a dynamically linked ELF file" in printed and "Traceback" not in printed


def test_sources_without_a_commit_time_need_a_variable(binary: Path, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    for part in ("packaging", "clients/python", "clients/typescript/dist", "model/static-table", "model/encoder", "model/reader"):
        shutil.copytree(ROOT / part, sources / part, ignore=shutil.ignore_patterns("node_modules", "__pycache__"))
    for name in (
        "Cargo.toml",
        "Cargo.lock",
        "LICENSE",
        "storage/Cargo.toml",
        "retrieval/Cargo.toml",
        "language/Cargo.toml",
        "clients/typescript/package.json",
        "clients/typescript/README.md",
    ):
        (sources / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, sources / name)
    command = [
        sys.executable,
        sources / "packaging/build.py",
        "--binary",
        binary,
        "--out",
        tmp_path / "out",
        "--only",
        "npm",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    # Folders above are not searched for a repository.
    environment["GIT_CEILING_DIRECTORIES"] = str(tmp_path)
    assert "set SOURCE_DATE_EPOCH" in run(command, environment=environment, status=1)
    run(command, environment={**environment, "SOURCE_DATE_EPOCH": "1767225600"})
    assert "invalid SOURCE_DATE_EPOCH" in run(
        command, environment={**environment, "SOURCE_DATE_EPOCH": "soon"}, status=1
    )
