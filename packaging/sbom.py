"""Writes the software bill of materials in CycloneDX 1.6 (JSON).

It lists the Rust crates of the binary (`crates.py`), the embedding table, the dependencies of the Python client, and
the Debian packages in the container image.
"""

from __future__ import annotations

import json
import time
import urllib.parse
import uuid
from pathlib import Path
from typing import TypeAlias

import oci_image
from crates import Crate, crates_of_the_binary
from project import ROOT, Project, read_toml

Component: TypeAlias = dict[str, object]


def build(project: Project, binary: Path, out: Path) -> Path:
    crates = crates_of_the_binary()
    debian = oci_image.packages(binary)
    table = "Embedding table distilled from all-MiniLM-L6-v2, on texts drawn from WordNet 3.0"
    components = [
        _embedding_model(project, "cuebase-static-table", table),
        _embedding_model(project, "cuebase-encoder", "all-MiniLM-L6-v2 in 8 bits"),
        _embedding_model(project, "cuebase-reader", "Reader of pairs of texts, trained from all-MiniLM-L6-v2, in 8 bits"),
    ]
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
    # Derived from the contents, so that the same contents have the same number.
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, text)}"
    path = out / "cuebase.cdx.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return path


def _reference(crate: Crate) -> str:
    return f"pkg:cargo/{crate.name}@{crate.version}"


def _crate_component(crate: Crate) -> Component:
    component: Component = {
        "type": "library",
        "bom-ref": _reference(crate),
        "name": crate.name,
        "version": crate.version,
        "purl": _reference(crate),
    }
    if crate.checksum:
        component["hashes"] = [{"alg": "SHA-256", "content": crate.checksum}]
    if crate.licence:
        component["licenses"] = [{"expression": crate.licence}]
    return component


def _embedding_model(project: Project, name: str, description: str) -> Component:
    return {
        "type": "machine-learning-model",
        "bom-ref": name,
        "name": name,
        "version": project.version,
        "description": description,
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
    references = {crate.id: _reference(crate) for crate in crates}
    found: list[dict[str, object]] = []
    for crate in crates:
        uses = sorted(references[use] for use in crate.uses)
        found.append({"ref": _reference(crate), "dependsOn": uses})
    return found
