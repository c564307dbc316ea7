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
    for manifest in ("Cargo.toml", "storage/Cargo.toml", "retrieval/Cargo.toml", "language/Cargo.toml"):
        fields = tomllib.loads((ROOT / manifest).read_text())
        assert set(fields["dependencies"]) <= listed, manifest
    locked = (ROOT / "Cargo.lock").read_text()
    listed_crates = crates(document)
    assert len(listed_crates) > 200
    for crate in listed_crates:
        assert f'name = "{crate["name"]}"\nversion = "{crate["version"]}"\n' in locked


def test_crates_of_tests_and_of_other_systems_are_left_out(document: dict[str, Any]) -> None:
    listed = {component["name"] for component in document["components"]}
    assert {"rocksdb", "gix", "tokio", "aws-lc-sys", "cuebase-storage"} <= listed
    assert listed & {"tantivy", "insta", "proptest", "criterion", "xtask"} == set()
    assert listed & {"windows-sys", "jni", "wasm-bindgen", "core-foundation"} == set()


def test_crates_have_checksums_and_licences(document: dict[str, Any]) -> None:
    for component in crates(document):
        assert component["licenses"][0]["expression"], component
        if not component["name"].startswith("cuebase-"):
            assert re.fullmatch(r"[0-9a-f]{64}", component["hashes"][0]["content"]), component


def test_every_crate_with_a_path_in_the_binary_is_listed(document: dict[str, Any], binary: Path) -> None:
    # The messages of panics name the sources of crates.
    found = set(re.findall(rb"registry/src/[^/]+/([\w.+-]+)/src/", binary.read_bytes()))
    assert len(found) > 30
    listed = {f"{crate['name']}-{crate['version']}" for crate in crates(document)}
    assert {name.decode() for name in found} - listed == set()


def test_the_graph_names_only_components(document: dict[str, Any]) -> None:
    known = {component["bom-ref"] for component in document["components"]} | {
        document["metadata"]["component"]["bom-ref"]
    }
    reached = set()
    for entry in document["dependencies"]:
        assert {entry["ref"], *entry["dependsOn"]} <= known
        reached |= set(entry["dependsOn"])
    assert {ref for ref in known if ref.startswith("pkg:cargo/")} - reached == {
        document["metadata"]["component"]["bom-ref"]
    }


def test_other_parts_of_the_packages_are_listed(document: dict[str, Any]) -> None:
    references = {component["bom-ref"] for component in document["components"]}
    assert "pkg:pypi/httpx" in references and "cuebase-static-table" in references
    for name in ("libc6", "libstdc%2B%2B6", "libgcc-s1", "ca-certificates"):
        assert len([each for each in references if each.startswith(f"pkg:deb/debian/{name}@")]) == 1, name
