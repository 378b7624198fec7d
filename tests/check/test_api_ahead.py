"""API versions that go later than this way, and custom resources, of which the cluster's definitions tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.amazon import custom_apis, removed_apis
from kubectl_eksdoc.amazon.removed_apis import Tables
from kubectl_eksdoc.check.plan import CheckWish, plan_check
from kubectl_eksdoc.check.registry import chosen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import (
    ApiUsage,
    DefinedVersion,
    Definition,
    Document,
    HelmRelease,
    ManifestText,
    ObjectName,
)
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from kubectl_eksdoc.model.quantities import Version
from tests.check.of_cluster import facts

POOL = ("karpenter.sh/v1beta1", "NodePool")


def judged(*written: tuple[str, str], tables: Tables = Tables(), **cluster: Any) -> tuple[Finding, ...]:
    documents = tuple(Document(ObjectName(version, kind, "", "x"), at) for at, (version, kind) in enumerate(written, 1))
    given = ApiUsage(manifests=(ManifestText("deploy/x.yaml", documents),))
    return plan_check(
        replace(facts(**cluster), api=given),
        chosen(["api-in-manifest"]),
        CheckWish(frozenset({"api-in-manifest"}), tables=tables),
    ).findings


def defined(served: bool, version: str = "v1beta1") -> tuple[Definition, ...]:
    return (Definition("nodepools.karpenter.sh", "NodePool", (DefinedVersion(version, served),)),)


def test_what_is_deprecated_at_the_target_is_told_ahead_and_blocks_nothing() -> None:
    (found,) = judged(("networking.k8s.io/v1beta1", "IPAddress"))
    assert (found.status, found.severity) == (Status.PASS, Severity.LOW)
    assert found.message == (
        "1 of kind IPAddress in networking.k8s.io/v1beta1, deprecated since 1.34: Kubernetes 1.37 will not serve it"
    )
    assert "its removal with 1.37 is announced" in found.evidence
    assert found.remedy[0].text == "Write networking.k8s.io/v1 instead."
    assert judged(("resource.k8s.io/v1beta1", "ResourceClaim")) == (), "1.34 has not deprecated it"


@pytest.mark.parametrize(
    ("definitions", "status", "why"),
    [
        (defined(True), Status.PASS, "which the cluster serves: Karpenter 1.1 and newer do not serve it"),
        (defined(False), Status.FAIL, "which the cluster does not serve"),
        (defined(True, "v1"), Status.FAIL, "which the cluster does not serve"),
        ((), Status.UNKNOWN, "the cluster has no CustomResourceDefinition of it"),
    ],
)
def test_what_is_served_of_custom_resources_their_definitions_tell(definitions: Any, status: Status, why: str) -> None:
    (found,) = judged(POOL, definitions=definitions)
    assert found.status is status and why in found.message
    assert found.remedy[0].text == "Write karpenter.sh/v1 instead."
    assert found.root_cause == Subject("API", "karpenter.sh/v1beta1")


def test_definitions_that_were_not_read_tell_nothing() -> None:
    (found,) = judged(POOL, unread=[kinds.DEFINITIONS])
    assert found.status is Status.UNKNOWN and "its CustomResourceDefinitions were not read (forbidden)" in found.message
    (found,) = judged(POOL, source=Source.FILE)
    assert found.status is Status.UNKNOWN and found.message.endswith("and no cluster was read")


def test_releases_of_helm_are_judged_alike() -> None:
    manifest = ManifestText("", (Document(ObjectName(*POOL, "", "x"), 1),))
    api = ApiUsage(releases=(HelmRelease("shop", "web", 3, "deployed", manifest),))
    given = replace(facts(definitions=defined(False)), api=api)
    (found,) = plan_check(given, chosen(["api-in-helm"]), CheckWish(frozenset({"api-in-helm"}))).findings
    assert found.code.name == "api-in-helm" and found.status is Status.FAIL


def test_what_no_table_names_is_not_judged() -> None:
    assert judged(("karpenter.sh/v1", "NodePool"), ("example.com/v1beta1", "Widget")) == ()


def test_rows_of_a_user_come_before_those_of_the_package() -> None:
    removed, custom = removed_apis.ROWS[0], custom_apis.CUSTOM_ROWS[0]
    widget = replace(removed, api_version="example.com/v1beta1", kind="Widget", removed=Version(1, 34))
    (found,) = judged(("example.com/v1beta1", "Widget"), tables=Tables((widget,)))
    assert found.status is Status.FAIL and "which Kubernetes 1.34 does not serve" in found.message
    own = replace(custom, api_version=POOL[0], kinds=(POOL[1],), software="Our fork")
    (found,) = judged(POOL, tables=Tables(custom_apis=(own,)), definitions=defined(True))
    assert "Our fork" in found.message


@pytest.mark.parametrize("row", custom_apis.CUSTOM_ROWS, ids=lambda row: f"{row.api_version} {'+'.join(row.kinds)}")
def test_each_row_is_found_and_goes_after_it_was_deprecated(row: removed_apis.CustomApi) -> None:
    kind = next(iter(row.kinds), "Anything")
    assert removed_apis.custom_api(row.api_version, kind) == row, "no row before it has the same"
    assert row.removed is not None or row.deprecated is not None
    assert row.removed is None or row.deprecated is None or not row.removed < row.deprecated
    (found,) = judged((row.api_version, kind), source=Source.FILE)
    assert found.status is Status.UNKNOWN and row.software in found.message
