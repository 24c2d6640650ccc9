"""What the manifests must never lose, read as they stand and as kustomize builds them."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

_K8S = Path(__file__).parents[2] / "k8s"
_KUBERNETES_VERSION = "1.31"

Manifest = dict[str, Any]


def _read(text: str) -> list[Manifest]:
    return [manifest for manifest in yaml.safe_load_all(text) if manifest]


def _base() -> list[Manifest]:
    return [
        manifest
        for path in sorted((_K8S / "base").glob("*.yaml"))
        if path.name != "kustomization.yaml"
        for manifest in _read(path.read_text())
    ]


def _kustomize(directory: Path) -> list[Manifest]:
    result = subprocess.run(
        ["kubectl", "kustomize", directory], capture_output=True, text=True, check=False
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "deprecated" not in result.stderr
    return _read(result.stdout)


def _one(kind: str) -> Manifest:
    (found,) = (manifest for manifest in _base() if manifest["kind"] == kind)
    return found


def _pod_specs() -> Iterator[tuple[str, Manifest]]:
    for kind in ("Deployment", "Job"):
        yield kind, _one(kind)["spec"]["template"]["spec"]


def _named(manifest: Manifest) -> str:
    return f"{manifest['kind']}/{manifest['metadata']['name']}"


@pytest.mark.parametrize("manifest", _base(), ids=_named)
def test_every_object_of_the_base_is_valid(manifest: Manifest) -> None:
    kubernetes_validate.validate(manifest, _KUBERNETES_VERSION, strict=True)


@pytest.mark.needs("kubectl")
@pytest.mark.parametrize("directory", ["base", "overlays/example"])
def test_kustomize_builds_it_and_every_object_is_valid(directory: str) -> None:
    manifests = _kustomize(_K8S / directory)
    for manifest in manifests:
        kubernetes_validate.validate(manifest, _KUBERNETES_VERSION, strict=True)
    assert {manifest["kind"] for manifest in manifests} >= {
        "Deployment",
        "HorizontalPodAutoscaler",
        "Job",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "ServiceAccount",
    }


@pytest.mark.needs("kubectl")
def test_the_overlay_brings_every_name_that_the_base_refers_to() -> None:
    manifests = _kustomize(_K8S / "overlays/example")
    brought = {
        manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] in ("Secret", "ConfigMap")
    }
    (deployment,) = (manifest for manifest in manifests if manifest["kind"] == "Deployment")
    (job,) = (manifest for manifest in manifests if manifest["kind"] == "Job")
    referred = set()
    for spec in (deployment["spec"]["template"]["spec"], job["spec"]["template"]["spec"]):
        for container in spec["containers"]:
            referred |= {source["configMapRef"]["name"] for source in container.get("envFrom", [])}
            referred |= {
                variable["valueFrom"]["secretKeyRef"]["name"]
                for variable in container["env"]
                if "valueFrom" in variable
            }
        referred |= {volume["secret"]["secretName"] for volume in spec.get("volumes", [])}
    assert referred == brought
    assert all(manifest["metadata"]["namespace"] for manifest in manifests if manifest["kind"] != "Namespace")


def test_no_token_of_the_clusters_is_mounted() -> None:
    assert _one("ServiceAccount")["automountServiceAccountToken"] is False
    for _, spec in _pod_specs():
        assert spec["automountServiceAccountToken"] is False


def test_nothing_runs_as_root_or_with_more_rights_than_restricted_allows() -> None:
    for _, spec in _pod_specs():
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] > 0
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        for container in spec["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


def test_every_container_asks_for_what_it_needs_and_is_bounded_in_memory() -> None:
    for _, spec in _pod_specs():
        for container in spec["containers"]:
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


def test_the_clusters_own_service_variables_stay_out_of_the_environment() -> None:
    for _, spec in _pod_specs():
        assert spec["enableServiceLinks"] is False


def test_at_least_two_pods_run_during_a_rollout_and_a_drain_too() -> None:
    deployment = _one("Deployment")["spec"]
    assert deployment["replicas"] >= 2
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert _one("HorizontalPodAutoscaler")["spec"]["minReplicas"] >= 2
    assert _one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_the_selectors_find_the_pods() -> None:
    deployment = _one("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [deployment["spec"]["selector"], _one("PodDisruptionBudget")["spec"]["selector"]]
    selectors += [
        constraint["labelSelector"]
        for constraint in deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    ]
    for selector in selectors:
        assert selector["matchLabels"].items() <= labels.items()
    assert _one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]


def test_a_pod_may_drain_before_it_is_killed() -> None:
    spec = _one("Deployment")["spec"]["template"]["spec"]
    (pod,) = spec["containers"]
    grace = next(v["value"] for v in pod["env"] if v["name"] == "PAYLOCK_GRACE_SECONDS")
    assert spec["terminationGracePeriodSeconds"] > int(grace) + 5


def test_the_probes_ask_the_port_that_the_pod_serves() -> None:
    (pod,) = _one("Deployment")["spec"]["template"]["spec"]["containers"]
    port = next(v["value"] for v in pod["env"] if v["name"] == "PAYLOCK_HTTP_PORT")
    assert pod["ports"] == [{"name": "http", "containerPort": int(port)}]
    assert pod["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert pod["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert pod["startupProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}


def test_keys_reach_the_pod_as_files_only() -> None:
    (pod,) = _one("Deployment")["spec"]["template"]["spec"]["containers"]
    names = {variable["name"] for variable in pod["env"]}
    assert {"PAYLOCK_CHANNEL_SEED_FILE", "PAYLOCK_FUNDING_SECRETS_FILE"} <= names
    assert not {"PAYLOCK_CHANNEL_SEED", "PAYLOCK_FUNDING_SECRETS"} & names


def test_a_pod_does_not_get_the_owners_database_login() -> None:
    for kind, spec in _pod_specs():
        (container,) = spec["containers"]
        url = next(v for v in container["env"] if v["name"] == "PAYLOCK_DATABASE_URL")
        expected = "paylock-pod" if kind == "Deployment" else "paylock-migrate"
        assert url["valueFrom"]["secretKeyRef"]["name"] == expected


def test_traffic_that_no_rule_allows_is_denied_both_ways() -> None:
    policies = {
        manifest["metadata"]["name"]: manifest["spec"]
        for manifest in _base()
        if manifest["kind"] == "NetworkPolicy"
    }
    deny = policies["paylock-default-deny"]
    assert sorted(deny["policyTypes"]) == ["Egress", "Ingress"]
    assert not {"ingress", "egress"} & deny.keys()
    for _, spec in ((kind, _one(kind)) for kind in ("Deployment", "Job")):
        labels = spec["spec"]["template"]["metadata"]["labels"]
        assert deny["podSelector"]["matchLabels"].items() <= labels.items()
    outward = [rule for spec in policies.values() for rule in spec.get("egress", [])]
    assert {port["port"] for rule in outward for port in rule["ports"]} == {53, 443, 5432}
