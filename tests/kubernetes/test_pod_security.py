"""What the levels of pod security forbid, in the words of the admission plugin."""

from __future__ import annotations

from typing import Any

import pytest

from kubectl_eksdoc.imds_probe.probing.result import ProbeSettings, pod_manifest, probe_pods
from kubectl_eksdoc.kubernetes.guards import BASELINE, PRIVILEGED, RESTRICTED, refusal, violations
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.metadata import Network

STRICT: Doc = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def spec(own: Doc | None = None, **of: Any) -> Doc:
    return {"containers": [{"name": "app", "securityContext": STRICT | (own or {})}], **of}


@pytest.mark.parametrize(
    ("made", "baseline", "restricted"),
    [
        (spec(), [], []),
        (spec(hostNetwork=True), ["host namespaces (hostNetwork=true)"], []),
        (spec(hostPID=True, hostIPC=True), ["host namespaces (hostPID=true, hostIPC=true)"], []),
        (spec(volumes=[{"name": "v", "hostPath": {"path": "/"}}]), ['hostPath volumes (volume "v")'], []),
        (
            {"containers": [{"name": "app", "securityContext": STRICT, "ports": [{"hostPort": 80}]}]},
            ["hostPort (hostPort 80)"],
            [],
        ),
        (
            spec({"privileged": True}),
            ['privileged (container "app" must not set securityContext.privileged=true)'],
            [],
        ),
        (
            spec({"capabilities": {"add": ["SYS_ADMIN"], "drop": ["ALL"]}}),
            ['non-default capabilities (container "app" must not include them)'],
            [],
        ),
        (spec({"runAsUser": 0}), [], ["runAsUser=0 (must not set runAsUser=0)"]),
        (
            spec({"runAsNonRoot": None}),
            [],
            ['runAsNonRoot != true (pod or container "app" must set securityContext.runAsNonRoot=true)'],
        ),
        (
            spec({"allowPrivilegeEscalation": None}),
            [],
            [
                'allowPrivilegeEscalation != false (container "app" must set '
                "securityContext.allowPrivilegeEscalation=false)"
            ],
        ),
        (
            spec({"capabilities": {}}),
            [],
            ['unrestricted capabilities (container "app" must set securityContext.capabilities.drop=["ALL"])'],
        ),
        (
            spec({"seccompProfile": None}),
            [],
            [
                'seccompProfile (pod or container "app" must set securityContext.seccompProfile.type to '
                '"RuntimeDefault" or "Localhost")'
            ],
        ),
    ],
)
def test_what_each_level_forbids(made: Doc, baseline: list[str], restricted: list[str]) -> None:
    assert list(violations(PRIVILEGED, made)) == []
    assert list(violations(BASELINE, made)) == baseline
    assert list(violations(RESTRICTED, made)) == baseline + restricted


def test_what_the_pod_says_holds_for_its_containers() -> None:
    whole = {"runAsNonRoot": True, "seccompProfile": {"type": "Localhost"}}
    made = spec({"runAsNonRoot": True, "seccompProfile": None}, securityContext=whole)
    assert violations(RESTRICTED, made) == ()


def test_a_refusal_as_it_is_said() -> None:
    said = refusal(BASELINE, spec(hostNetwork=True))
    assert said == 'violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    assert refusal(RESTRICTED, spec()) == "" and refusal("no such level", {"hostNetwork": True}) == ""


def test_a_probe_keeps_to_the_strictest_level_but_for_the_hosts_network() -> None:
    own, host = (
        pod_manifest(pod, "cafe", ProbeSettings(), "uid")["spec"]
        for pod in probe_pods("cafe", ["node"], tuple(Network))
    )
    assert violations(RESTRICTED, own) == ()
    assert violations(RESTRICTED, host) == ("host namespaces (hostNetwork=true)",)
