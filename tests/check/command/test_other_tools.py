"""The test cases of pluto and kube-no-trouble give the same results here as in these tools, at the same versions.

The cases are those of pluto dd5ec8c (e2e/tests, pkg/finder/testdata) and kube-no-trouble 2366d92 (fixtures, test), the
manifests are our own. Where their tables say something else, `DIFFERENCES` has the source that decides.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kubectl_eksdoc.amazon.removed_apis import find_removed_api
from kubectl_eksdoc.amazon.versions import format_version
from tests.cli.running import run_cli

GONE = {
    "1.16": """
        extensions/v1beta1 Deployment; apps/v1beta1 Deployment; apps/v1beta2 Deployment; extensions/v1beta1 DaemonSet
        apps/v1beta2 DaemonSet; apps/v1beta1 StatefulSet; apps/v1beta2 StatefulSet; extensions/v1beta1 ReplicaSet
        apps/v1beta2 ReplicaSet; extensions/v1beta1 NetworkPolicy; extensions/v1beta1 PodSecurityPolicy""",
    "1.22": """
        extensions/v1beta1 Ingress; networking.k8s.io/v1beta1 Ingress; networking.k8s.io/v1beta1 IngressClass
        authentication.k8s.io/v1beta1 TokenReview; authorization.k8s.io/v1beta1 SubjectAccessReview
        authorization.k8s.io/v1beta1 SelfSubjectAccessReview; authorization.k8s.io/v1beta1 LocalSubjectAccessReview
        coordination.k8s.io/v1beta1 Lease; scheduling.k8s.io/v1beta1 PriorityClass; storage.k8s.io/v1beta1 CSIDriver
        storage.k8s.io/v1beta1 CSINode; storage.k8s.io/v1beta1 StorageClass; storage.k8s.io/v1beta1 VolumeAttachment
        rbac.authorization.k8s.io/v1beta1 ClusterRole; rbac.authorization.k8s.io/v1beta1 ClusterRoleBinding
        rbac.authorization.k8s.io/v1beta1 Role; rbac.authorization.k8s.io/v1beta1 RoleBinding
        certificates.k8s.io/v1beta1 CertificateSigningRequest; apiregistration.k8s.io/v1beta1 APIService
        apiextensions.k8s.io/v1beta1 CustomResourceDefinition
        admissionregistration.k8s.io/v1beta1 MutatingWebhookConfiguration
        admissionregistration.k8s.io/v1beta1 ValidatingWebhookConfiguration""",
    "1.25": """
        node.k8s.io/v1beta1 RuntimeClass; policy/v1beta1 PodDisruptionBudget; policy/v1beta1 PodSecurityPolicy
        discovery.k8s.io/v1beta1 EndpointSlice; batch/v1beta1 CronJob; autoscaling/v2beta1 HorizontalPodAutoscaler""",
    "1.26": """
        autoscaling/v2beta2 HorizontalPodAutoscaler; flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema
        flowcontrol.apiserver.k8s.io/v1beta1 PriorityLevelConfiguration""",
    "1.27": "storage.k8s.io/v1beta1 CSIStorageCapacity",
    "1.29": """
        flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema
        flowcontrol.apiserver.k8s.io/v1beta2 PriorityLevelConfiguration""",
    "1.32": """
        flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema
        flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration""",
    "1.34": """
        resource.k8s.io/v1alpha3 ResourceClaim; resource.k8s.io/v1alpha3 ResourceClaimTemplate
        resource.k8s.io/v1alpha3 DeviceClass; resource.k8s.io/v1alpha3 ResourceSlice""",
    "1.35": "storagemigration.k8s.io/v1alpha1 StorageVersionMigration",
}
"""By the version that does not serve them."""

"""apiVersion, kind, the version by pluto (or kube-no-trouble, of ReplicaSet both), the one here, what decides. Kinds
that end in List, which pluto has rows of, are taken apart here."""

CUSTOM = ("snapshot.storage.k8s.io/v1beta1 VolumeSnapshot", "cert-manager.io/v1alpha2 Issuer")
"""Of kube-no-trouble's: they go with their software, and without a cluster it is not known whether they are gone."""


def cases(text: str) -> list[tuple[str, str]]:
    return [
        (api, kind)
        for api, kind in (each.split() for line in text.split(";") for each in line.splitlines() if each.strip())
    ]


def written(api: str, kind: str) -> str:
    return f"apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: it\n"


def judged(path: Path, target: str) -> dict[str, list[str]]:
    """By status: each file with this status."""
    ran = run_cli("check", "-f", str(path), "--from", _before(target), "--target", target, "-o", "json")
    found: dict[str, list[str]] = {}
    for each in json.loads(ran.out)["findings"]:
        found.setdefault(each["status"], []).append(Path(each["subject"]["name"]).name)
    return found


def _before(version: str) -> str:
    major, minor = version.split(".")
    return f"{major}.{int(minor) - 1}"


@pytest.mark.parametrize("target", GONE)
def test_what_goes_is_found_at_the_version_that_ends_it(target: str, tmp_path: Path) -> None:
    names = []
    for number, (api, kind) in enumerate(cases(GONE[target])):
        names.append(f"{number}.yaml")
        (tmp_path / names[-1]).write_text(written(api, kind))
        assert judged_by_table(api, kind) == target
    (tmp_path / "new.yaml").write_text(written("apps/v1", "Deployment"))
    assert sorted(judged(tmp_path, target)["fail"]) == sorted(names)


def judged_by_table(api: str, kind: str) -> str | None:
    row = find_removed_api(api, kind)
    return None if row is None else format_version(row.removed)


def test_custom_resources_are_not_known_without_a_cluster(tmp_path: Path) -> None:
    for number, each in enumerate(CUSTOM):
        (tmp_path / f"{number}.yaml").write_text(written(*each.split()))
    assert sorted(judged(tmp_path, "1.34")["unknown"]) == ["0.yaml", "1.yaml"]


DIFFERENCES = (
    ("apps/v1beta1", "ReplicaSet", "1.16", None, "k8s.io/api apps/v1beta1/register.go never had the kind"),
    (
        "flowcontrol.apiserver.k8s.io/v1beta1",
        "FlowSchema",
        "1.29",
        "1.26",
        "its own lifecycle says 1.26, so does kubent",
    ),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "PriorityLevelConfiguration", "1.29", "1.26", "as FlowSchema"),
    ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowControl", "1.26", None, "the group never had the kind"),
    (
        "admissionregistration.k8s.io/v1alpha1",
        "ValidatingAdmissionPolicy",
        "1.33",
        "1.32",
        "k8s.io/api admissionregistration/v1alpha1/zz_generated.prerelease-lifecycle.go",
    ),
    ("resource.k8s.io/v1beta1", "ResourceClaim", "1.36", "1.38", "k8s.io/api, lifecycle; kubernetes#132275 is open"),
    ("storage.k8s.io/v1beta1", "VolumeAttributesClass", None, "1.37", "k8s.io/api, lifecycle"),
    ("audit.k8s.io/v1beta1", "Policy", "1.24", None, "a file of the API server, which EKS keeps: it is never applied"),
    ("rbac.authorization.k8s.io/v1alpha1", "Role", "1.22", None, "alpha: EKS never served it"),
)


def test_other_tables_differ_where_a_source_says_so() -> None:
    assert all(theirs != ours and why for _, _, theirs, ours, why in DIFFERENCES)
    assert {(api, kind): judged_by_table(api, kind) for api, kind, *_ in DIFFERENCES} == {
        (api, kind): ours for api, kind, _, ours, _ in DIFFERENCES
    }
