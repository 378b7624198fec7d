"""Whose objects are looked at: each once, in the versions that a server may serve, the newest first."""

from __future__ import annotations

import pytest

from kubectl_eksdoc.amazon.removed_apis import ROWS, removed_api
from kubectl_eksdoc.amazon.written_kinds import going, gone_before, resource_of
from kubectl_eksdoc.model.quantities import Version


def names(now: int, target: int) -> list[str]:
    return [each.full_name for each in going(Version(1, now), Version(1, target))]


@pytest.mark.parametrize(
    ("api_version", "kind", "path", "older"),
    [
        ("extensions/v1beta1", "Ingress", "/apis/networking.k8s.io/v1/ingresses", ("v1beta1",)),
        ("extensions/v1beta1", "Deployment", "/apis/apps/v1/deployments", ("v1beta2", "v1beta1")),
        ("policy/v1beta1", "PodSecurityPolicy", "/apis/policy/v1beta1/podsecuritypolicies", ()),
        ("extensions/v1beta1", "PodSecurityPolicy", "/apis/policy/v1beta1/podsecuritypolicies", ()),
        (
            "flowcontrol.apiserver.k8s.io/v1beta2",
            "FlowSchema",
            "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
            ("v1beta3", "v1beta2", "v1beta1", "v1alpha1"),
        ),
    ],
)
def test_where_objects_are_listed(api_version: str, kind: str, path: str, older: tuple[str, ...]) -> None:
    row = removed_api(api_version, kind)
    assert row is not None
    assert (resource_of(row).path, resource_of(row).older) == (path, older)


def test_rows_about_the_same_objects_are_listed_once() -> None:
    assert names(24, 26).count("horizontalpodautoscalers.autoscaling") == 1
    homes = {resource_of(row) for row in ROWS if row.resource}
    assert len(homes) == len({each.full_name for each in homes})


def test_a_way_without_removals_lists_nothing() -> None:
    assert names(32, 33) == names(33, 33) == names(34, 36) == []
    assert names(33, 34) == [
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    ]


def test_what_controllers_make_is_not_looked_at_once_its_version_is_gone() -> None:
    gone = {each.kind for each in gone_before(Version(1, 36))}
    assert {"Deployment", "CronJob", "PodDisruptionBudget", "CustomResourceDefinition"} <= gone
    assert not gone & {"Event", "EndpointSlice", "Lease", "ReplicaSet", "TokenReview", "Eviction"}
    assert gone_before(Version(1, 15)) == ()
