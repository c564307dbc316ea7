"""Builds and tests compile the same crates: the crates of the tests switch no feature on that the build lacks."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def features(kinds: str) -> dict[str, set[str]]:
    """Returns the features of every crate, with each combination once, if these kinds of dependencies are built."""
    command = ["cargo", "tree", "--locked", "--workspace", "--edges", kinds, "--prefix", "none", "--format", "{p}|{f}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        package, _, enabled = line.removesuffix(" (*)").partition("|")
        found.setdefault(package, set()).add(enabled)
    return found


@pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")
def test_the_tests_switch_no_feature_of_a_crate_on():
    built, tested = features("normal,build"), features("normal,build,dev")
    assert len(built) > 100
    different = {package: (enabled, tested[package]) for package, enabled in built.items() if not enabled <= tested[package]}
    # A difference is removed by a line in Cargo.toml, where the others stand.
    assert not different
