"""The Python wheels: their tag, their contents, installation, use and removal in a clean environment."""

from __future__ import annotations

import email
import re
import stat
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import newest_symbol, only, version_of
from support import ROOT, STATEMENT, Server, clean_environment, run


@dataclass
class Environment:
    """A virtual environment without access to an index, and the variables of a user who has only this."""

    folder: Path
    variables: dict[str, str]

    def run(self, command: str, *arguments: str | Path, status: int = 0) -> str:
        return run([self.folder / "bin" / command, *arguments], environment=self.variables, status=status)


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    run([sys.executable, "-m", "venv", tmp_path / "venv"])
    variables = {
        **clean_environment(tmp_path, tmp_path / "venv/bin"),
        "PIP_NO_INDEX": "1",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    return Environment(tmp_path / "venv", variables)


def test_no_symbol_is_newer_than_the_tag(wheel: Path, binary: Path) -> None:
    tagged = re.search(r"-py3-none-manylinux_(\d+_\d+)_x86_64\.whl$", wheel.name)
    assert tagged and newest_symbol(binary, "GLIBC") <= version_of(tagged.group(1))


def test_the_tag_is_the_oldest_that_auditwheel_allows(wheel: Path) -> None:
    printed = " ".join(run([sys.executable, "-m", "auditwheel", "show", wheel]).split())
    allowed = re.search(r'is consistent with the following platform tag: "(manylinux_\d+_\d+_x86_64)"', printed)
    assert allowed, printed
    assert wheel.name.endswith(f"-py3-none-{allowed.group(1)}.whl"), printed


def test_the_wheel_installs_runs_and_is_removed(environment: Environment, wheel: Path, wheelhouse: Path) -> None:
    environment.run("pip", "install", "--find-links", wheelhouse, wheel)
    environment.run("pip", "check")
    assert environment.run("cuebase", "--version").startswith("cuebase ")
    assert "Remembered" in environment.run("cuebase", "demo", "--once")
    program = (
        "import cuebase, pathlib\n"
        "assert (pathlib.Path(cuebase.__file__).parent / 'py.typed').exists()\n"
        "with cuebase.Client() as memory:\n"
        f"    memory.wait_until_ingested(memory.remember({STATEMENT!r}))\n"
        "    print(memory.retrieve('where are the hives of bees').hits[0].content)\n"
    )
    data = environment.folder.parent / "data"
    command = [environment.folder / "bin/cuebase", "serve", "--data", data, "--listen", "127.0.0.1:0"]
    with Server([*command, "--dashboard-listen", "off"], environment.variables) as server:
        environment.variables.update(CUEBASE_URL=server.url, CUEBASE_KEY=server.key)
        assert "hives of bees" in environment.run("python", "-c", program)
        assert server.stop() == 0
    environment.run("pip", "uninstall", "--yes", "cuebase")
    assert not (environment.folder / "bin/cuebase").exists()
    assert "No module named 'cuebase'" in environment.run("python", "-c", "import cuebase", status=1)


def test_pip_prefers_the_wheel_with_the_binary(environment: Environment, packages: Path, wheelhouse: Path) -> None:
    environment.run("pip", "install", "--find-links", wheelhouse, "--find-links", packages, "cuebase")
    assert (environment.folder / "bin/cuebase").exists()


def test_the_wheel_without_the_binary_has_what_hatchling_builds(packages: Path, tmp_path: Path) -> None:
    run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT / "clients/python"]
    )
    theirs, ours = only(tmp_path, "*.whl"), only(packages, "*any.whl")
    assert ours.name == theirs.name
    assert contents(ours, "cuebase/") == contents(theirs, "cuebase/")
    fields, expected = metadata(ours), metadata(theirs)
    for name in ("Name", "Version", "Requires-Dist", "Provides-Extra", "Requires-Python", "License-Expression", "Classifier"):
        assert sorted(fields.get_all(name, [])) == sorted(expected.get_all(name, [])), name
    assert str(fields.get_payload()).strip() == str(expected.get_payload()).strip()


def test_both_wheels_have_the_same_client(packages: Path, wheel: Path) -> None:
    assert contents(wheel, "cuebase/") == contents(only(packages, "*any.whl"), "cuebase/")


def test_modes_and_times_are_fixed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        members = archive.infolist()
    assert len({member.date_time for member in members}) == 1
    for member in members:
        executable = member.filename.endswith(".data/scripts/cuebase")
        assert stat.S_IMODE(member.external_attr >> 16) == (0o755 if executable else 0o644), member.filename


def contents(wheel: Path, prefix: str) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith(prefix)}


def metadata(wheel: Path) -> email.message.Message[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(archive.read(name).decode())
