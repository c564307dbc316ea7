"""The Helm chart, rendered by Helm's own engine and compared with the schemas of Kubernetes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import helm_python as helm
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from conftest import only
from support import PACKAGING

CHART = PACKAGING / "helm/cuebase"
KUBERNETES = ["1.25", "1.31", "1.37"]
EVERYTHING: dict[str, Any] = {
    "image": {"repository": "registry.example.com/cuebase", "digest": "sha256:" + "0" * 64},
    "imagePullSecrets": [{"name": "registry"}],
    "config": '[model]\nbase_url = "http://ollama:11434/v1"\n',
    "secrets": {"CUEBASE_MODEL_API_KEY": 'with "quotes": and #'},
    "existingSecret": "more",
    "env": [{"name": "CUEBASE_LOG", "value": "debug"}],
    "metrics": {"enabled": True},
    "dashboard": {"publicUrl": "https://memory.example.com"},
    "persistence": {"storageClass": "fast", "accessModes": ["ReadWriteOncePod"]},
    "networkPolicy": {
        "enabled": True,
        "from": [{"podSelector": {"matchLabels": {"app": "chat"}}}],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 443}]}],
    },
    "podAnnotations": {"example.com/a": "b"},
    "podLabels": {"team": "blue"},
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "dedicated", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
}
VALUES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": EVERYTHING,
    "no dashboard": {"dashboard": {"enabled": False}},
}


def render(values: dict[str, Any], path: Path = CHART, name: str = "demo") -> list[dict[str, Any]]:
    with helm.Chart.load(str(path)) as chart:
        texts = chart.render(values, name=name, namespace="production")
    resources: list[dict[str, Any]] = []
    for file, text in texts.items():
        if not file.endswith("NOTES.txt"):
            resources += [each for each in yaml.safe_load_all(text) if each]
    return resources


def one(resources: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found = [each for each in resources if each["kind"] == kind]
    assert len(found) == 1, kind
    return found[0]


def pod(resources: list[dict[str, Any]]) -> dict[str, Any]:
    spec = one(resources, "StatefulSet")["spec"]["template"]["spec"]
    assert isinstance(spec, dict)
    return spec


def variables(resources: list[dict[str, Any]]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in pod(resources)["containers"][0]["env"]}


def test_helm_finds_no_problem() -> None:
    report = helm.lint(str(CHART), strict=True)
    assert report["errors"] == []
    assert [message["error"] for message in report["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES.keys())
def test_the_resources_fit_the_schemas_of_kubernetes(values: dict[str, Any], version: str) -> None:
    resources = render(values)
    assert len(resources) >= 4
    for resource in resources:
        kubernetes_validate.validate(resource, version, strict=True)


def test_the_schemas_of_kubernetes_find_a_mistake() -> None:
    resource = one(render({}), "StatefulSet")
    resource["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(resource, KUBERNETES[-1], strict=True)


@pytest.mark.parametrize(
    "values",
    [
        {"service": {"port": "http"}},
        {"service": {"port": 0}},
        {"replicas": 2},
        {"secrets": {"MODEL_KEY": "x"}},
        {"image": {"digest": "latest"}},
        {"persistence": {"accessModes": ["ReadWriteMany"]}},
        {"persistence": {"size": "large"}},
        {"dashboard": {"publicUrl": "memory.example.com"}},
    ],
    ids=str,
)
def test_wrong_values_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(helm.HelmError):
        render(values)


def test_one_pod_without_privileges_has_the_volume() -> None:
    resources = render({})
    assert one(resources, "StatefulSet")["spec"]["replicas"] == 1
    spec = pod(resources)
    container = spec["containers"][0]
    assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["fsGroup"] == 65532
    assert container["securityContext"]["readOnlyRootFilesystem"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    claims = one(resources, "StatefulSet")["spec"]["volumeClaimTemplates"]
    assert [claim["metadata"]["name"] for claim in claims] == ["data"]
    # The server requires a data directory of mode 700, which the top of a volume with a group is not.
    assert variables(resources)["CUEBASE_DATA"].startswith(mounts["data"] + "/")


def test_ports_and_probes_lead_to_the_listeners() -> None:
    resources = render(EVERYTHING)
    container = pod(resources)["containers"][0]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    environment = variables(resources)
    for name, variable in (("http", "LISTEN"), ("dashboard", "DASHBOARD_LISTEN"), ("metrics", "METRICS_LISTEN")):
        assert environment[f"CUEBASE_{variable}"] == f"0.0.0.0:{ports[name]}"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": "http"}
    services = [each for each in resources if each["kind"] == "Service"]
    assert {each["spec"].get("clusterIP") for each in services} == {None, "None"}
    for service in services:
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= set(ports)
        assert (
            service["spec"]["selector"].items()
            <= one(resources, "StatefulSet")["spec"]["template"]["metadata"]["labels"].items()
        )
    assert one(resources, "StatefulSet")["spec"]["serviceName"] in {each["metadata"]["name"] for each in services}


def test_without_a_dashboard_nothing_listens_for_it() -> None:
    resources = render({"dashboard": {"enabled": False}})
    assert variables(resources)["CUEBASE_DASHBOARD_LISTEN"] == "off"
    assert "dashboard" not in {port["name"] for port in pod(resources)["containers"][0]["ports"]}


def test_secrets_are_variables_of_the_container() -> None:
    resources = render(EVERYTHING)
    secret = one(resources, "Secret")
    assert secret["stringData"] == EVERYTHING["secrets"]
    names = [each["secretRef"]["name"] for each in pod(resources)["containers"][0]["envFrom"]]
    assert names == [secret["metadata"]["name"], "more"]
    assert "Secret" not in {each["kind"] for each in render({})}


def test_the_settings_file_is_the_one_that_the_server_reads() -> None:
    resources = render(EVERYTHING)
    config = one(resources, "ConfigMap")
    assert tomllib.loads(config["data"]["cuebase.toml"]) == tomllib.loads(EVERYTHING["config"])
    container = pod(resources)["containers"][0]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert container["args"] == ["serve", "--config", f"{mounts['config']}/cuebase.toml"]


def test_changed_settings_restart_the_pod() -> None:
    def checksums(values: dict[str, Any]) -> dict[str, str]:
        annotations = one(render(values), "StatefulSet")["spec"]["template"]["metadata"]["annotations"]
        assert isinstance(annotations, dict)
        return annotations

    assert checksums({}) == checksums({})
    assert checksums({})["checksum/config"] != checksums({"config": "log = 'debug'"})["checksum/config"]
    assert checksums({})["checksum/secret"] != checksums({"secrets": {"CUEBASE_A": "b"}})["checksum/secret"]


def test_a_network_policy_is_optional_and_keeps_dns() -> None:
    assert "NetworkPolicy" not in {each["kind"] for each in render({})}
    policy = one(render(EVERYTHING), "NetworkPolicy")["spec"]
    assert policy["ingress"][0]["from"] == EVERYTHING["networkPolicy"]["from"]
    assert {port["port"] for port in policy["egress"][0]["ports"]} == {53}
    assert policy["egress"][1:] == EVERYTHING["networkPolicy"]["egress"]


def test_long_release_names_give_valid_names() -> None:
    for resource in render({}, name="a" * 53):
        assert len(resource["metadata"]["name"]) <= 63


def test_the_packed_chart_is_the_same_chart(packages: Path, tmp_path: Path) -> None:
    packed = only(packages, "cuebase-chart-*.tgz")
    assert render(EVERYTHING, packed) == render(EVERYTHING)
