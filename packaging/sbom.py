"""Writes the software bill of materials in CycloneDX 1.6 (JSON).

It lists the Rust crates of `Cargo.lock` without those that only tests and benchmarks use, the embedding table, the
dependencies of the Python client, and the Debian packages in the container image. `Cargo.lock` does not say which crates
are for other systems only, so those are listed too.
"""

from __future__ import annotations

import json
import os
import re
import time
import tomllib
import urllib.parse
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import oci_image
from project import ROOT, PackagingError, Project, read_toml

REGISTRY_SOURCE = "registry+https://github.com/rust-lang/crates.io-index"
#: Namespace of the serial numbers, which are derived from the contents.
SERIAL_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://cyclonedx.org/cuebase")

Component: TypeAlias = dict[str, object]


@dataclass
class Crate:
    """A package of `Cargo.lock`. `uses` has the crates that it depends on, by name and version."""

    name: str
    version: str
    checksum: str
    uses: list[str] = field(default_factory=list)
    is_local: bool = False

    @property
    def id(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def reference(self) -> str:
        return f"pkg:cargo/{self.name}@{self.version}"


def build(project: Project, binary: Path, out: Path) -> Path:
    crates = crates_of_the_binary()
    debian = oci_image.packages(binary)
    components = [_table(project)]
    components += [_crate_component(crate) for crate in crates if crate.name != "cuebase"]
    components += [_python_component(requirement) for requirement in python_requirements()]
    components += [_debian_component(package) for package in debian]
    document: dict[str, object] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(project.epoch)),
            "component": {
                "type": "application",
                "bom-ref": f"pkg:cargo/cuebase@{project.version}",
                "name": "cuebase",
                "version": project.version,
                "description": project.description,
                "licenses": [{"license": {"id": project.licence}}],
                "purl": f"pkg:cargo/cuebase@{project.version}",
            },
        },
        "components": sorted(components, key=lambda component: str(component["bom-ref"])),
        "dependencies": _dependencies(crates),
    }
    text = json.dumps(document, indent=1, ensure_ascii=False)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(SERIAL_NAMESPACE, text)}"
    path = out / "cuebase.cdx.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return path


def crates_of_the_binary() -> list[Crate]:
    """Returns `cuebase` and every crate that it depends on for running or building, sorted."""
    crates = _read_lock()
    local = {crate.name: crate for crate in crates.values() if crate.is_local}
    for name, folder in (("cuebase", "."), ("cuebase-storage", "storage"), ("cuebase-retrieval", "retrieval")):
        development = _only_for_tests(ROOT / folder / "Cargo.toml")
        local[name].uses = [use for use in local[name].uses if use.split(" ")[0] not in development]
    reached: set[str] = set()
    waiting = [local["cuebase"].id]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += crates[name].uses
    return [crates[name] for name in sorted(reached)]


def _read_lock() -> dict[str, Crate]:
    with (ROOT / "Cargo.lock").open("rb") as file:
        packages = tomllib.load(file)["package"]
    versions: dict[str, list[str]] = {}
    for package in packages:
        versions.setdefault(package["name"], []).append(package["version"])
    crates: dict[str, Crate] = {}
    for package in packages:
        source = package.get("source", "")
        if source not in ("", REGISTRY_SOURCE):
            raise PackagingError(f"Cargo.lock: {package['name']} is from {source}: teach sbom.py its package URL")
        # A dependency has its version only where several are in the file.
        uses = [use if " " in use else f"{use} {versions[use][0]}" for use in package.get("dependencies", [])]
        crate = Crate(package["name"], package["version"], package.get("checksum", ""), uses, source == "")
        crates[crate.id] = crate
    return crates


def _only_for_tests(manifest: Path) -> set[str]:
    fields = read_toml(manifest)
    used = set(fields.get("dependencies", {})) | set(fields.get("build-dependencies", {}))
    return set(fields.get("dev-dependencies", {})) - used


def licence_of(crate: Crate) -> str | None:
    """Returns the licence expression of a crate from its sources, which cargo keeps after a build."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    for manifest in home.glob(f"registry/src/*/{crate.name}-{crate.version}/Cargo.toml"):
        licence = read_toml(manifest).get("package", {}).get("license")
        if isinstance(licence, str):
            # A slash is the form of old manifests, and means a choice.
            return re.sub(r"\s*/\s*", " OR ", licence)
    return None


def _crate_component(crate: Crate) -> Component:
    component: Component = {
        "type": "library",
        "bom-ref": crate.reference,
        "name": crate.name,
        "version": crate.version,
        "purl": crate.reference,
    }
    if crate.checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
    licence = "Apache-2.0" if crate.is_local else licence_of(crate)
    if licence:
        component["licenses"] = [{"expression": licence}]
    return component


def _table(project: Project) -> Component:
    return {
        "type": "machine-learning-model",
        "bom-ref": "cuebase-static-table",
        "name": "cuebase-static-table",
        "version": project.version,
        "description": "Embedding table distilled from all-MiniLM-L6-v2, on texts drawn from WordNet 3.0",
        "licenses": [{"license": {"id": project.licence}}],
    }


def python_requirements() -> list[str]:
    requirements = read_toml(ROOT / "clients/python/pyproject.toml")["project"]["dependencies"]
    return [str(each) for each in requirements] if isinstance(requirements, list) else []


def _python_component(requirement: str) -> Component:
    name = requirement.split(">")[0].split("=")[0].strip()
    return {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}",
        "name": name,
        "description": f"Required by the Python client as {requirement}",
        "scope": "optional",
        "purl": f"pkg:pypi/{name}",
    }


def _debian_component(package: oci_image.DebianPackage) -> Component:
    name, version = urllib.parse.quote(package.name), urllib.parse.quote(package.version, safe=":")
    reference = f"pkg:deb/debian/{name}@{version}?arch=amd64"
    return {
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "description": "In the container image",
        "scope": "optional",
        "purl": reference,
    }


def _dependencies(crates: list[Crate]) -> list[dict[str, object]]:
    references = {crate.id: crate.reference for crate in crates}
    found: list[dict[str, object]] = []
    for crate in crates:
        uses = sorted(references[use] for use in crate.uses)
        found.append({"ref": crate.reference, "dependsOn": uses})
    return found
