"""Checks of scripts/setup.sh before a build. Scripts on PATH replace the real disk, cores and cargo."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ["sh", "dirname", "sed", "sort", "head", "awk"]


class Machine:
    """A fake machine on which only the added tools exist."""

    def __init__(self, folder):
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.target = folder / "target"
        self.calls = folder / "calls"
        for tool in TOOLS:
            (self.bin / tool).symlink_to(shutil.which(tool))

    def tool(self, name, script):
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\n{script}\n')
        path.chmod(0o755)
        return self

    def cargo(self, version):
        return self.tool("cargo", f"echo 'cargo {version} (abcdef012 2026-01-01)'")

    def disk(self, mib):
        lines = f"Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 9 9 {mib * 1024} 9% /"
        return self.tool("df", f"echo '{lines}'")

    def cores(self, number):
        return self.tool("nproc", f"echo {number}")

    def run(self, script, **variables):
        environment = {"PATH": str(self.bin), "HOME": os.environ["HOME"], "CARGO_TARGET_DIR": str(self.target)}
        command = [str(self.bin / "sh"), str(ROOT / "scripts" / script)]
        return subprocess.run(command, env={**environment, **variables}, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_too_little_disk_space_is_refused_with_a_remedy(machine):
    done = machine.disk(900).cores(2).run("first-build.sh")
    assert done.returncode == 1 and done.stdout == ""
    assert f"900 MiB are free for {machine.target}; the build needs 4096 MiB" in done.stderr
    assert "set CARGO_TARGET_DIR to a directory on a larger disk" in done.stderr
    assert "Building Cuebase" not in done.stderr


@pytest.mark.parametrize("cores, minutes", [(1, 32), (2, 17), (8, 5)])
def test_the_first_build_prints_its_expected_duration(machine, cores, minutes):
    done = machine.disk(20_000).cores(cores).run("first-build.sh")
    assert done.returncode == 0 and done.stdout == ""
    assert "the first build compiles RocksDB and takes about 30 CPU-minutes" in done.stderr
    assert f"about {minutes} minutes on this machine (cores: {cores})" in done.stderr
    assert f"for {machine.target} (19 GiB are free)" in done.stderr


def test_a_later_build_prints_nothing_and_needs_no_space(machine):
    library = machine.target / "release/build/librocksdb-sys-0123456789abcdef/out/librocksdb.a"
    library.parent.mkdir(parents=True)
    library.touch()
    done = machine.disk(1).cores(2).run("first-build.sh")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_setup_without_cargo_prints_where_to_get_it(machine):
    done = machine.disk(20_000).cores(2).run("setup.sh")
    assert done.returncode == 1
    assert "cargo is missing: install Rust 1.95 or later from https://rustup.rs" in done.stderr


def test_an_old_cargo_is_refused_with_the_update_command(machine):
    done = machine.cargo("1.94.1").disk(20_000).cores(2).run("setup.sh")
    assert done.returncode == 1
    assert "cargo 1.94 is too old: Cuebase needs Rust 1.95 or later; run: rustup update stable" in done.stderr


@pytest.mark.parametrize("version", ["1.95.0", "1.100.0-nightly", "2.0.0"])
@pytest.mark.parametrize("script", ["demo.sh", "test.sh", "setup.sh"])
def test_every_build_script_checks_the_disk_first(machine, script, version):
    machine.cargo(version).disk(900).cores(2).tool("apt-get", "exit 1").tool("python3", "exit 1")
    done = machine.run(script)
    assert done.returncode == 1 and "the build needs 4096 MiB" in done.stderr
    assert "too old" not in done.stderr
    calls = machine.calls.read_text().splitlines()
    assert [call for call in calls if not call.startswith("df ")] == ["cargo --version"]
