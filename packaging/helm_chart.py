"""Packs the Helm chart of `packaging/helm/cuebase` reproducibly, as `helm package` would."""

from __future__ import annotations

import re
from pathlib import Path

from archives import Entry, gzip, tar
from project import ROOT, PackagingError, Project

CHART = ROOT / "packaging/helm/cuebase"


def build(project: Project, out: Path) -> Path:
    manifest = (CHART / "Chart.yaml").read_text()
    for key in ("version", "appVersion"):
        found = re.search(rf'^{key}: "?([^"\n]+)"?$', manifest, re.MULTILINE)
        if found is None or found.group(1) != project.version:
            raise PackagingError(f"{CHART / 'Chart.yaml'}: {key} differs from Cargo.toml: set it to {project.version}")
    entries: list[Entry] = []
    for path in CHART.rglob("*"):
        if path.is_file():
            entries.append(Entry(f"cuebase/{path.relative_to(CHART).as_posix()}", path.read_bytes()))
    entries.sort(key=lambda entry: entry.path)
    target = out / f"cuebase-chart-{project.version}.tgz"
    target.write_bytes(gzip(tar(entries, project.epoch)))
    return target
