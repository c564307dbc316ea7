"""Checks of scripts/cxx.sh: every function of RocksDB's files is in the objects, in groups or one by one."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/cxx.sh"
FILES = 20


@pytest.fixture
def crate(tmp_path):
    """A folder with the layout of the crate that compiles RocksDB: one function in each of its files."""
    (tmp_path / "rocksdb/util").mkdir(parents=True)
    names = [f"util/file_{number}.cc" for number in range(FILES)]
    names.insert(5, "util/build_version.cc")
    (tmp_path / "rocksdb_lib_sources.txt").write_text("\n".join(names) + "\n")
    for number in range(FILES):
        source = f"static int own_{number}() {{ return {number}; }}\nint function_{number}() {{ return own_{number}(); }}\n"
        (tmp_path / f"rocksdb/util/file_{number}.cc").write_text(source)
    return tmp_path


def compile_all(crate):
    """Calls the script as Cargo's build script does. Returns the functions in the objects, and what was printed."""
    functions, printed = [], ""
    for number in range(FILES):
        arguments = ["-O1", "-I", ".", "-o", f"file_{number}.o", "-c", f"rocksdb/util/file_{number}.cc"]
        done = subprocess.run([SCRIPT, *arguments], cwd=crate, env=os.environ, capture_output=True, text=True, check=True)
        printed += done.stderr
        listed = subprocess.run(["nm", "-C", f"file_{number}.o"], cwd=crate, capture_output=True, text=True, check=True)
        functions += [line.split(" T ")[1] for line in listed.stdout.splitlines() if " T " in line]
    return functions, printed


def test_each_function_is_compiled_once_in_groups(crate):
    functions, printed = compile_all(crate)
    assert sorted(functions) == sorted(f"function_{number}()" for number in range(FILES))
    assert len(list(crate.glob("*.group.cc"))) == 2 and printed == ""


def test_files_that_do_not_compile_together_are_compiled_one_by_one(crate):
    for number in (0, 1):
        path = crate / f"rocksdb/util/file_{number}.cc"
        path.write_text(path.read_text().replace(f"own_{number}", "own"))
    functions, printed = compile_all(crate)
    assert sorted(functions) == sorted(f"function_{number}()" for number in range(FILES))
    assert "compiling its files one by one" in printed


def test_other_files_are_passed_on_to_the_compiler(crate):
    (crate / "other.cc").write_text("int other() { return 1; }\n")
    environment = {**os.environ, "CXX": "c++ -DUNUSED"}
    done = subprocess.run([SCRIPT, "-c", "other.cc", "-o", "other.o"], cwd=crate, env=environment, check=False)
    assert done.returncode == 0 and (crate / "other.o").exists()
    assert subprocess.run([SCRIPT, "--version"], cwd=crate, capture_output=True, check=True).stdout


def test_an_error_of_a_file_is_an_error_of_the_build(crate):
    (crate / "rocksdb/util/file_3.cc").write_text("int broken( {\n")
    arguments = ["-I", ".", "-o", "file_0.o", "-c", "rocksdb/util/file_0.cc"]
    done = subprocess.run([SCRIPT, *arguments], cwd=crate, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and "file_3.cc" in done.stderr
