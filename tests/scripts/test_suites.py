"""The choice of the suites that a run of the checks needs, in small repositories."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITES = "# A comment.\nbrowser  dashboard/ src/api/\npackages packaging/ Dockerfile\n"


class Repository:
    """A repository with two suites, in which each change is a commit."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.git("init", "--quiet")
        (folder / ".ci").mkdir()
        shutil.copy(ROOT / ".ci/suites.py", folder / ".ci/suites.py")
        self.commit(".ci/suites", SUITES)

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True).stdout.strip()

    def write(self, path: str, content: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(content)

    def commit(self, path: str, content: str) -> None:
        self.write(path, content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", f"Change {path}")

    def record(self, *suites: str) -> None:
        """Records the present content as one on which these suites passed, by default all."""
        subprocess.run([sys.executable, ".ci/suites.py", "--record", *suites], cwd=self.folder, check=True)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "Record")

    def choose(self, *arguments: str) -> tuple[list[str], str]:
        command = [sys.executable, ".ci/suites.py", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.split(), done.stderr


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path)


def test_without_a_record_every_suite_runs(repository):
    chosen, log = repository.choose()
    assert chosen == ["browser", "packages"]
    assert "browser: runs, not recorded" in log


def test_after_a_record_no_suite_runs(repository):
    repository.record()
    chosen, log = repository.choose()
    assert chosen == []
    assert "browser: skipped" in log and "packages: skipped" in log


def test_a_suite_runs_if_a_path_of_it_differs_in_any_commit_since(repository):
    repository.record()
    repository.commit("src/api/keys.rs", "changed")
    repository.commit("src/text/words.rs", "changed")
    chosen, log = repository.choose()
    assert chosen == ["browser"]
    assert "browser: runs, differs: src/api/\n" in log and "packages: skipped" in log


def test_suites_can_be_recorded_one_by_one(repository):
    repository.record("browser")
    assert repository.choose()[0] == ["packages"]
    repository.record("packages")
    assert repository.choose()[0] == []
    repository.commit("packaging/new.py", "new")
    repository.record("browser")
    assert repository.choose()[0] == ["packages"]


def test_a_file_of_a_suite_is_compared_by_its_whole_path(repository):
    repository.record()
    repository.commit("Dockerfile.old", "changed")
    assert repository.choose()[0] == []
    repository.commit("Dockerfile", "changed")
    assert repository.choose()[0] == ["packages"]


def test_uncommitted_and_removed_files_differ(repository):
    repository.commit("dashboard/page.ts", "first")
    repository.record()
    repository.write("packaging/new.py", "new")
    assert repository.choose()[0] == ["packages"]
    (repository.folder / "dashboard/page.ts").unlink()
    assert repository.choose()[0] == ["browser", "packages"]


@pytest.mark.parametrize("path", ["Cargo.lock", ".ci/run"])
def test_a_file_of_all_suites_starts_each(repository, path):
    repository.record()
    repository.commit(path, "changed")
    assert repository.choose()[0] == ["browser", "packages"]


@pytest.mark.parametrize("depth", [(), ("--depth", "1")])
def test_the_record_counts_in_a_clone(repository, tmp_path_factory, depth):
    repository.record()
    repository.commit("packaging/new.py", "new")
    folder = tmp_path_factory.mktemp("clone")
    subprocess.run(["git", "clone", "--quiet", *depth, f"file://{repository.folder}", str(folder)], check=True)
    done = subprocess.run([sys.executable, ".ci/suites.py"], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["packages"]


def test_full_runs_every_suite(repository):
    repository.record()
    chosen, log = repository.choose("--full")
    assert chosen == ["browser", "packages"]
    assert "--full" in log


def test_an_unknown_option_is_refused(repository):
    done = subprocess.run([sys.executable, ".ci/suites.py", "--all"], cwd=repository.folder, capture_output=True, text=True)
    assert done.returncode != 0 and "--full" in done.stderr


def test_the_paths_of_the_suites_exist():
    sys.path.insert(0, str(ROOT / ".ci"))
    import suites

    for name, paths in suites.read_suites((ROOT / ".ci/suites").read_text()).items():
        for path in paths:
            assert (ROOT / path).exists(), f"{name}: {path}"


def test_the_script_runs_every_suite_of_the_table():
    script = (ROOT / ".ci/run").read_text()
    parts = script[script.index("for part in ") : script.index("; do")].split()[3:]
    called = {line.split()[1] for line in script.splitlines() if line.startswith("suite ")}
    sys.path.insert(0, str(ROOT / ".ci"))
    import suites

    assert called | set(parts) == set(suites.read_suites((ROOT / ".ci/suites").read_text()))
