"""The software bill of materials: valid, complete, and without what only tests use."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from support import ROOT


@pytest.fixture(scope="session")
def document(packages: Path) -> dict[str, Any]:
    found = json.loads((packages / "cuebase.cdx.json").read_text())
    assert isinstance(found, dict)
    return found


def crates(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in document["components"] if str(each.get("purl", "")).startswith("pkg:cargo/")]


def test_the_document_is_valid_cyclonedx(packages: Path) -> None:
    text = (packages / "cuebase.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    # The validator does find problems.
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"library"', '"book"', 1)) is not None


def test_every_direct_dependency_is_listed_with_its_version(document: dict[str, Any]) -> None:
    listed = {component["name"] for component in document["components"]}
    for manifest in ("Cargo.toml", "storage/Cargo.toml", "retrieval/Cargo.toml"):
        fields = tomllib.loads((ROOT / manifest).read_text())
        assert set(fields["dependencies"]) <= listed, manifest
    locked = (ROOT / "Cargo.lock").read_text()
    listed_crates = crates(document)
    assert len(listed_crates) > 200
    for crate in listed_crates:
        assert f'name = "{crate["name"]}"\nversion = "{crate["version"]}"\n' in locked


def test_crates_of_tests_and_benchmarks_are_left_out(document: dict[str, Any]) -> None:
    listed = {component["name"] for component in document["components"]}
    assert {"rocksdb", "gix", "tokio", "aws-lc-sys", "cuebase-storage"} <= listed
    assert listed & {"tantivy", "insta", "proptest", "criterion", "xtask"} == set()


def test_crates_have_checksums_and_licences(document: dict[str, Any]) -> None:
    without_licence = []
    for component in crates(document):
        if component["name"].startswith("cuebase-"):
            continue
        assert re.fullmatch(r"[0-9a-f]{64}", component["hashes"][0]["content"]), component
        if "licenses" not in component:
            without_licence.append(component["name"])
    used = [component["name"] for component in crates(document)]
    print(f"{len(used)} crates, {len(without_licence)} without sources on this machine: {without_licence}")
    assert "tokio" not in without_licence
    assert len(without_licence) < len(used) / 3


def test_the_graph_names_only_components(document: dict[str, Any]) -> None:
    known = {component["bom-ref"] for component in document["components"]} | {document["metadata"]["component"]["bom-ref"]}
    reached = set()
    for entry in document["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= known
        reached |= set(entry["dependsOn"])
    assert {ref for ref in known if ref.startswith("pkg:cargo/")} - reached == {document["metadata"]["component"]["bom-ref"]}


def test_other_parts_of_the_packages_are_listed(document: dict[str, Any]) -> None:
    references = {component["bom-ref"] for component in document["components"]}
    assert "pkg:pypi/httpx" in references and "cuebase-static-table" in references
    for name in ("libc6", "libstdc%2B%2B6", "libgcc-s1", "ca-certificates"):
        assert len([each for each in references if each.startswith(f"pkg:deb/debian/{name}@")]) == 1, name
