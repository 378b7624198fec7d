"""Removed APIs: every row of the source at each version boundary, the replacement, and the fields that convert leaves
to users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.amazon.removed_apis import (
    REMOVALS_READ_TO,
    REMOVED_APIS,
    RemovedApi,
    convert_command,
    find_by_resource,
    find_removed_api,
    find_removed_between,
    is_convertible,
    manual_conversions,
    removals_not_read,
    removed_between,
    replacement_of,
)
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.quantities import Version, parse_version
from tests.for_each import for_each

SOURCE: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "data/upgrades/removed-apis.json").read_text(encoding="utf-8")
)
EACH_ROW = for_each("row", REMOVED_APIS, ids=lambda row: f"{row.api_version}/{row.kind}")


def the(api_version: str, kind: str) -> RemovedApi:
    row = find_removed_api(api_version, kind)
    assert row is not None
    return row


def next_to(version: Version, by: int) -> Version:
    return Version(version.major, version.minor + by)


def _release(text: str | None) -> Version | None:
    return None if text is None else parse_version(text)


def _origin(each: dict[str, Any]) -> str:
    """Two sources have a longer name here."""
    longer = {
        "kubernetes.io deprecation guide; EKS BPG / UG 1.22": "kubernetes.io deprecation guide; EKS user guide, 1.22",
        "kubernetes.io / EKS UG kubeconfig": "EKS user guide, kubeconfig and 1.24",
    }
    return longer.get(each["source"], each["source"])


_DECIDED = "kubernetes/kubernetes#"
"""How the document of a row begins that went with another release than its lifecycle file had announced."""


def test_the_rows_are_their_source() -> None:
    assert len(SOURCE) == len(REMOVED_APIS) == 101
    expected = {
        (
            each["apiVersion"],
            each["kind"],
            "" if each["resource"].startswith("(client side") else each["resource"],
            _release(each["deprecated"]),
            _release(each["removed"]),
            each["replacement"] or "",
            each["alpha"],
            _origin(each),
        )
        for each in SOURCE
    }
    ours = [
        (
            row.api_version,
            row.kind,
            row.resource,
            row.deprecated,
            row.removed,
            row.replacement,
            row.is_alpha,
            row.source.document,
        )
        for row in REMOVED_APIS
    ]
    assert len(set(ours) - expected) == sum(each[-1].startswith(_DECIDED) for each in ours) == 5


@EACH_ROW
def test_each_row_at_each_boundary(row: RemovedApi) -> None:
    before, removed, after = next_to(row.removed, -1), row.removed, next_to(row.removed, 1)
    assert find_removed_api(row.api_version, row.kind) == row
    assert row in removed_between(before, removed)
    assert row in removed_between(before, after)
    assert row not in removed_between(removed, after)
    assert row not in removed_between(next_to(removed, -2), before)
    assert find_removed_between(row.api_version, row.kind, before, removed) == row
    assert find_removed_between(row.api_version, row.kind, removed, after) is None
    assert find_removed_between(row.api_version, row.kind, next_to(removed, -2), before) is None
    assert row.source.confidence is (Confidence.MEDIUM if row.is_planned else Confidence.HIGH)


@EACH_ROW
def test_each_is_found_by_its_resource(row: RemovedApi) -> None:
    if row.resource:
        assert find_by_resource(row.api_version, row.resource) == row
    assert find_by_resource(row.api_version, "") is None


def test_a_patch_does_not_matter() -> None:
    assert (
        find_removed_between("policy/v1beta1", "PodDisruptionBudget", Version(1, 24, 17), Version(1, 25, 0)) is not None
    )
    assert find_removed_between("policy/v1beta1", "PodDisruptionBudget", Version(1, 25, 1), Version(1, 26)) is None


def test_beyond_the_table_nothing_is_known() -> None:
    assert removals_not_read(REMOVALS_READ_TO) is None
    assert isinstance(removals_not_read(next_to(REMOVALS_READ_TO, 1)), Unknown)


def test_the_first_to_go_comes_first() -> None:
    on_the_way = removed_between(Version(1, 24), Version(1, 27))
    assert [row.removed.minor for row in on_the_way] == [25] * 8 + [26] * 3 + [27]


@pytest.mark.parametrize(
    ("api_version", "now", "expected"),
    [
        ("v1beta1", 23, "flowcontrol.apiserver.k8s.io/v1beta2"),
        ("v1beta2", 26, "flowcontrol.apiserver.k8s.io/v1beta3"),
        ("v1beta2", 29, "flowcontrol.apiserver.k8s.io/v1"),
        ("v1beta3", 31, "flowcontrol.apiserver.k8s.io/v1"),
    ],
)
def test_what_to_write_is_served_already(api_version: str, now: int, expected: str) -> None:
    assert replacement_of(the(f"flowcontrol.apiserver.k8s.io/{api_version}", "FlowSchema"), Version(1, now)) == expected


def test_nothing_older_is_written_where_what_is_newer_comes_later() -> None:
    said = replacement_of(the("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema"), Version(1, 28))
    assert isinstance(said, Unknown) and "from 1.29 on write flowcontrol.apiserver.k8s.io/v1" in said.why


def test_what_to_write_where_there_is_one_way_only() -> None:
    assert replacement_of(the("policy/v1beta1", "PodDisruptionBudget"), Version(1, 24)) == "policy/v1"
    exec_credential = the("client.authentication.k8s.io/v1alpha1", "ExecCredential")
    assert replacement_of(exec_credential, Version(1, 23)) == "client.authentication.k8s.io/v1"


def test_what_to_write_where_there_is_nothing() -> None:
    assert replacement_of(the("policy/v1beta1", "PodSecurityPolicy"), Version(1, 24)) == ""
    assert isinstance(replacement_of(the("scheduling.k8s.io/v1beta1", "Workload"), Version(1, 42)), Unknown)
    assert isinstance(
        replacement_of(the("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema"), Version(1, 22)), Unknown
    )


@EACH_ROW
def test_what_to_write_is_never_what_goes(row: RemovedApi) -> None:
    said = replacement_of(row, next_to(row.removed, -1))
    assert isinstance(said, Unknown) or said != row.api_version
    assert isinstance(said, Unknown) or " " not in said


def test_the_command_is_fit_for_a_shell() -> None:
    assert (
        convert_command("my file.yaml", "policy/v1") == "kubectl convert -f 'my file.yaml' --output-version policy/v1"
    )


@pytest.mark.parametrize(
    ("api_version", "kind", "word"),
    [
        ("policy/v1beta1", "PodDisruptionBudget", "empty selector"),
        ("autoscaling/v2beta1", "HorizontalPodAutoscaler", "target.averageUtilization"),
        ("policy/v1beta1", "PodSecurityPolicy", "Nothing replaces it"),
        ("admissionregistration.k8s.io/v1beta1", "MutatingWebhookConfiguration", "Ignore to Fail"),
    ],
)
def test_what_convert_leaves_to_people(api_version: str, kind: str, word: str) -> None:
    assert any(word in each.what for each in manual_conversions(the(api_version, kind)))


def test_where_convert_suffices() -> None:
    assert manual_conversions(the("batch/v1beta1", "CronJob")) == ()
    assert manual_conversions(the("autoscaling/v2beta2", "HorizontalPodAutoscaler")) == ()


def test_what_can_be_converted() -> None:
    assert is_convertible(the("batch/v1beta1", "CronJob"))
    assert not is_convertible(the("policy/v1beta1", "PodSecurityPolicy"))
    assert not is_convertible(the("client.authentication.k8s.io/v1alpha1", "ExecCredential"))
    assert not is_convertible(the("scheduling.k8s.io/v1beta1", "Workload"))
    assert not is_convertible(the("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition")), "not in its scheme"
    assert not is_convertible(the("apiregistration.k8s.io/v1beta1", "APIService")), "not in its scheme"


def test_every_note_for_people_belongs_to_a_row() -> None:
    from kubectl_eksdoc.amazon.removed_apis import _MANUAL_CONVERSIONS

    reached = {note for row in REMOVED_APIS for note in manual_conversions(row)}
    assert set(_MANUAL_CONVERSIONS) == reached
    named = {(version, kind) for note in _MANUAL_CONVERSIONS for version in note.api_versions for kind in note.kinds}
    unserved = {("apps/v1beta1", "DaemonSet"), ("apps/v1beta1", "ReplicaSet"), ("extensions/v1beta1", "StatefulSet")}
    assert named - {(row.api_version, row.kind) for row in REMOVED_APIS} <= unserved
