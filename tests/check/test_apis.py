"""Removed APIs: each source finds each row for exactly the upgrades that cross its removal, and reports those of later
versions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.amazon import removed_apis
from kubectl_eksdoc.amazon.removed_apis import REMOVED_APIS, KnowledgeTables, RemovedApi, find_removed_api
from kubectl_eksdoc.amazon.written_kinds import kinds_with_removed_versions, resource_of
from kubectl_eksdoc.check.checking import CheckFacts, UpgradePath
from kubectl_eksdoc.check.checks import api_manifests
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import (
    ApiUsage,
    CrdVersion,
    CustomResourceDefinition,
    HelmRelease,
    KindUsage,
    ManifestObject,
    ManifestText,
    ObjectName,
    UnreadablePart,
    WriteRecord,
    WriteSource,
    WrittenObject,
)
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Code, Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_cluster
from tests.check.of_cluster import facts
from tests.for_each import for_each

EACH_ROW = for_each("row", REMOVED_APIS, ids=lambda row: f"{row.api_version}/{row.kind}")
UPGRADES = Path(__file__).parents[1] / "data" / "upgrades"
FORBIDDEN = Unknown("the server refuses it", "list somethings")


def a_way(now: int, target: int) -> UpgradePath:
    steps = tuple(Version(1, minor) for minor in range(now + 1, target + 1))
    return UpgradePath(Version(1, now), Version(1, target), steps, "as EKS describes it")


def found(code: str, way: UpgradePath, told: ApiUsage) -> tuple[Finding, ...]:
    """The findings of all checks of a code."""
    facts = CheckFacts(a_cluster(), way, api=told)
    return tuple(
        finding for check in api_manifests.CHECKS if Code.of(code) in check.codes for finding in check.judge(facts)
    )


def failing(findings: Iterable[Finding], *severities: Severity) -> list[Finding]:
    return [each for each in findings if each.status is Status.FAIL and (not severities or each.severity in severities)]


def the(api_version: str, kind: str) -> RemovedApi:
    row = find_removed_api(api_version, kind)
    assert row is not None
    return row


VAP = the("admissionregistration.k8s.io/v1beta1", "ValidatingAdmissionPolicy")
PDB = the("policy/v1beta1", "PodDisruptionBudget")
HPA = the("autoscaling/v2beta2", "HorizontalPodAutoscaler")
FLOW = the("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema")


def of(row: RemovedApi, name: str = "web") -> ObjectName:
    return ObjectName(row.replacement or row.api_version, row.kind, "shop", name)


def applied(row: RemovedApi) -> WriteRecord:
    return WriteRecord(WriteSource.LAST_APPLIED, row.api_version, row.kind)


def managed(row: RemovedApi, manager: str, api_version: str = "") -> WriteRecord:
    return WriteRecord(WriteSource.MANAGED_FIELDS, api_version or row.api_version, row.kind, manager, "Update", "t")


def objects(row: RemovedApi, *signs: WriteRecord, name: str = "web", kept: bool = False) -> ApiUsage:
    """One object with these fields; every other kind is empty."""
    own = resource_of(row) if row.resource else Resource(row.kind, "")
    some = KindUsage(own, (WrittenObject(of(row, name), signs, kept),))
    every = (resource_of(each) for each in REMOVED_APIS if each.resource)
    others = {each.full_name: KindUsage(each, ()) for each in every if each.full_name != own.full_name}
    return ApiUsage(written=(some, *others.values()))


def metric(row: RemovedApi, removed: str = "") -> str:
    resource, _, sub = row.resource.partition("/")
    labels = f'group="{row.group}",removed_release="{removed or str(row.removed)[1:]}",resource="{resource}"'
    return f'apiserver_requested_deprecated_apis{{{labels},subresource="{sub}",version="{row.version}"}} 1'


def a_manifest(row: RemovedApi, path: str = "deploy/web.yaml") -> ManifestText:
    return ManifestText(path, (ManifestObject(ObjectName(row.api_version, row.kind, "shop", "web"), 12),))


def a_release(manifest: ManifestText | Unknown) -> ApiUsage:
    return ApiUsage(releases=(HelmRelease("shop", "web", 3, "deployed", manifest),))


def sources(row: RemovedApi) -> dict[str, ApiUsage]:
    told = {
        "api-written": objects(row, applied(row)),
        "api-in-helm": a_release(a_manifest(row, "")),
        "api-in-manifest": ApiUsage(manifests=(a_manifest(row),)),
    }
    return told | {"api-requested": ApiUsage((metric(row),))} if row.resource else told


@EACH_ROW
def test_each_row_is_found_by_each_source_on_exactly_the_ways_that_cross_its_removal(row: RemovedApi) -> None:
    at = row.removed.minor
    worst = Severity.MEDIUM if row.is_planned else Severity.HIGH
    for code, told in sources(row).items():
        for now, target in ((at - 1, at), (at - 2, at), (at - 1, at + 1), (at - 2, at + 3)):
            (finding,) = failing(found(code, a_way(now, target), told))
            assert finding.severity is worst and finding.remedy and row.source.document in finding.evidence[-1]
        for now, target in ((at - 2, at - 1), (at - 1, at - 1), (at - 3, at - 1)):
            assert failing(found(code, a_way(now, target), told)) == []
        for now, target in ((at, at + 1), (at, at), (at + 1, at + 2)):
            today = failing(found(code, a_way(now, target), told))
            assert all("not served since" in each.message and each.severity is not Severity.HIGH for each in today)
            assert len(today) == (1 if code in ("api-in-helm", "api-in-manifest") else 0)


@EACH_ROW
def test_the_objects_of_each_row_are_listed_on_the_way_where_there_are_any(row: RemovedApi) -> None:
    at = row.removed.minor
    listed = row.resource and resource_of(row) in kinds_with_removed_versions(Version(1, at - 1), Version(1, at))
    stored = not row.kind.endswith(("Review", "Eviction", "ExecCredential", "APIGroupDiscovery"))
    beside = [
        each for each in REMOVED_APIS if (each.kind, each.removed) == (row.kind, row.removed) and not each.is_alpha
    ]
    assert bool(listed) == (stored and bool(beside))
    assert not row.resource or resource_of(row) not in kinds_with_removed_versions(Version(1, at), Version(1, at))


# The metric ----------------------------------------------------------------------------------


def test_no_requests_pass_and_prove_nothing() -> None:
    (finding,) = found("api-requested", a_way(33, 34), ApiUsage(()))
    assert finding.status is Status.PASS and "does not prove" in finding.evidence[0]


def test_a_metric_that_cannot_be_had_or_read_is_unknown() -> None:
    for lines in (FORBIDDEN, ("apiserver_requested_deprecated_apis{group=",)):
        (finding,) = found("api-requested", a_way(33, 34), ApiUsage(lines))
        assert finding.status is Status.UNKNOWN and finding.missing
    (finding,) = found("api-requested", a_way(33, 34), ApiUsage(FORBIDDEN))
    assert finding.remedy[-1].command.startswith("aws eks list-insights")


def test_where_nothing_goes_nobody_needs_the_metric() -> None:
    assert found("api-requested", a_way(33, 33), ApiUsage(FORBIDDEN)) == ()
    assert found("api-requested", a_way(32, 33), ApiUsage((metric(VAP),)))[0].status is Status.PASS
    assert found("api-requested", a_way(34, 35), ApiUsage((metric(HPA),)))[0].status is Status.PASS


def test_a_release_that_only_the_server_knows_is_believed() -> None:
    line = metric(VAP).replace("validatingadmissionpolicies", "somethings")
    (finding,) = found("api-requested", a_way(33, 34), ApiUsage((line,)))
    assert finding.status is Status.FAIL and "1.34" in finding.message


def test_a_manifest_is_shown_and_converted_by_commands() -> None:
    (finding,) = failing(found("api-written", a_way(25, 26), objects(HPA, applied(HPA))))
    assert finding.remedy[0].command == (
        "kubectl apply view-last-applied horizontalpodautoscalers.autoscaling web -n shop -o yaml > web.yaml"
        " && kubectl convert -f web.yaml --output-version autoscaling/v2"
    )


# Objects -------------------------------------------------------------------------------------


def test_what_follows_may_go_itself() -> None:
    row = the("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema")
    (finding,) = failing(found("api-written", a_way(28, 32), objects(row, applied(row))))
    assert "v1beta3 goes itself with 1.32" in finding.remedy[0].text


def test_a_client_is_named_and_may_have_written_long_ago() -> None:
    (finding,) = found("api-written", a_way(33, 34), objects(VAP, managed(VAP, "helm"), managed(VAP, "policy-webhook")))
    assert finding.severity is Severity.MEDIUM and "helm and policy-webhook wrote it" in finding.message
    assert any("until the same manager writes again" in each for each in finding.evidence)
    assert [each.text.split(".")[0] for each in finding.remedy] == [
        "Upgrade its chart, and the release with it",
        "Update policy-webhook, or the manifests that it applies",
    ]


def test_the_version_that_goes_first_is_told_of_who_wrote_it() -> None:
    older = the("flowcontrol.apiserver.k8s.io/v1beta2", "FlowSchema")
    (finding,) = found("api-written", a_way(28, 32), objects(FLOW, managed(FLOW, "late"), managed(older, "early")))
    assert finding.message.startswith("early wrote it in flowcontrol.apiserver.k8s.io/v1beta2, which Kubernetes 1.29")
    assert len([each for each in finding.evidence if each.startswith("managedFields")]) == 2


@pytest.mark.parametrize(
    ("manager", "name", "kept"),
    [
        ("api-priority-and-fairness-config-producer-v1", "exempt", False),
        ("kubectl", "catch-all", True),
        ("eks-internal", "eks-exempt", False),
        ("kube-controller-manager", "web", False),
    ],
)
def test_what_nobody_has_to_mind_passes_and_says_why(manager: str, name: str, kept: bool) -> None:
    (finding,) = found("api-written", a_way(31, 32), objects(FLOW, managed(FLOW, manager), name=name, kept=kept))
    assert (finding.status, finding.severity) == (Status.PASS, Severity.INFO)
    assert finding.message.startswith("written in flowcontrol.apiserver.k8s.io/v1beta3: ")


def test_what_kubectl_wrote_before_it_applied_a_newer_version_passes() -> None:
    newer = WriteRecord(WriteSource.LAST_APPLIED, "admissionregistration.k8s.io/v1", VAP.kind)
    old = managed(VAP, "kubectl-client-side-apply")
    (finding,) = found("api-written", a_way(33, 34), objects(VAP, newer, old))
    assert finding.status is Status.PASS and "applied it in a newer version" in finding.message
    assert failing(found("api-written", a_way(33, 34), objects(VAP, newer, managed(VAP, "kubectl-edit"))))
    assert failing(found("api-written", a_way(33, 34), objects(VAP, old)))
    assert found("api-written", a_way(33, 34), objects(VAP, managed(VAP, "kubectl", VAP.replacement))) == ()


def test_objects_that_cannot_be_listed_are_unknown_one_by_one() -> None:
    told = ApiUsage(written=(KindUsage(resource_of(VAP), Unknown("forbidden", "list vap")),))
    policies, bindings = found("api-written", a_way(33, 34), told)
    assert (policies.status, policies.missing) == (Status.UNKNOWN, "list vap")
    assert [each.command for each in policies.remedy] == [""]  # the right is to be granted, whatever was read
    assert bindings.status is Status.UNKNOWN and "validatingadmissionpolicybindings" in str(bindings.subject)
    assert found("api-written", a_way(32, 33), ApiUsage()) == ()


def test_what_a_dump_does_not_hold_is_added_to_it() -> None:
    told = ApiUsage(written=(KindUsage(resource_of(VAP), Unknown("the snapshot x holds none")),))
    policies, _ = found("api-written", a_way(33, 34), told)
    command = "kubectl get validatingadmissionpolicies.admissionregistration.k8s.io -A -o json --show-managed-fields"
    assert policies.remedy == (Remedy("Add them to the dump:", f"{command} > validatingadmissionpolicies.json"),)


def test_objects_without_managed_fields_do_not_tell_of_clients() -> None:
    nothing = (
        KindUsage(each, (), Unknown("no managedFields"))
        for each in kinds_with_removed_versions(Version(1, 33), Version(1, 34))
    )
    findings = found("api-written", a_way(33, 34), ApiUsage(written=tuple(nothing)))
    assert [each.status for each in findings] == [Status.UNKNOWN] * 2


# Helm and files ------------------------------------------------------------------------------


@for_each("row", [each for each in REMOVED_APIS if each.resource], ids=lambda row: f"{row.api_version}/{row.kind}")
def test_mapkubeapis_is_named_only_for_what_is_in_its_map(row: RemovedApi) -> None:
    """Its map, as published, is stored beside the table of this tool."""
    release = a_release(a_manifest(row, ""))
    mapped = [row.api_version, row.kind] in json.loads((UPGRADES / "mapkubeapis.json").read_text())
    (finding, *_) = found("api-in-helm", a_way(row.removed.minor - 1, row.removed.minor), release)
    assert ("helm mapkubeapis web" in finding.remedy[-1].text) is mapped
    assert ("has no mapping" in finding.remedy[-1].text) is not mapped


def test_hooks_of_a_release_are_told_by_themselves() -> None:
    release = HelmRelease("shop", "web", 3, "deployed", ManifestText(""), a_manifest(PDB, ""))
    for way, when in ((a_way(24, 25), "then"), (a_way(25, 26), "today")):
        (finding,) = found("api-in-helm", way, ApiUsage(releases=(release,)))
        assert finding.message.startswith("its hooks have 1 of kind") and f": {when} what runs" in finding.message


def test_a_release_whose_name_looks_like_a_flag_is_none() -> None:
    told = ApiUsage(releases=(HelmRelease("shop", "--kube-token=x", 3, "deployed", a_manifest(PDB, "")),))
    (finding,) = found("api-in-helm", a_way(24, 25), told)
    assert finding.remedy[0].command == "helm get manifest -n shop -- --kube-token=x"


def test_releases_that_cannot_be_read_are_unknown() -> None:
    for told in (
        ApiUsage(releases=FORBIDDEN),
        a_release(FORBIDDEN),
        a_release(ManifestText("", (), (UnreadablePart(3, "odd"),))),
    ):
        (finding,) = found("api-in-helm", a_way(33, 34), told)
        assert finding.status is Status.UNKNOWN and finding.missing
    assert finding.evidence == ("line 3 odd",)


def test_a_file_is_named_with_its_line_and_converted() -> None:
    (finding,) = found("api-in-manifest", a_way(33, 34), ApiUsage(manifests=(a_manifest(VAP, "deploy/-x y.yaml"),)))
    assert finding.evidence[0] == "deploy/-x y.yaml:12 ValidatingAdmissionPolicy shop/web"
    convert = "kubectl convert -f 'deploy/-x y.yaml' --output-version admissionregistration.k8s.io/v1"
    assert finding.remedy[0].command == convert


OLD_BUDGET = "policy/v1beta1 PodDisruptionBudget"


@pytest.mark.parametrize(
    ("also", "more", "converts"),
    [
        (OLD_BUDGET, {}, True),
        ("policy/v1 PodDisruptionBudget", {}, True),
        ("v1 ConfigMap", {}, False),
        ("karpenter.sh/v1 NodePool", {}, False),
        ("policy/v1beta1 PodSecurityPolicy", {}, False),
        ("batch/v1beta1 CronJob", {}, False),
        (OLD_BUDGET, {"template": True}, False),
        (OLD_BUDGET, {"unread": (UnreadablePart(9, "it is no YAML"),)}, False),
    ],
)
def test_kubectl_convert_is_proposed_for_no_file_that_it_cannot_read(also: str, more: Any, converts: bool) -> None:
    """kubectl convert fails on objects outside the group of its --output-version, and then prints none of the rest."""
    held = tuple(ManifestObject(ObjectName(*each.split(), "", "x"), 1) for each in (OLD_BUDGET, also))
    told = found("api-in-manifest", a_way(24, 25), ApiUsage(manifests=(ManifestText("x.yaml", held, **more),)))
    of_budget = next(each for each in failing(told) if "PodDisruptionBudget" in each.message)
    assert any("kubectl convert" in each.command for each in of_budget.remedy) is converts


def test_standard_input_is_not_asked_for_again() -> None:
    (finding,) = found("api-in-manifest", a_way(33, 34), ApiUsage(manifests=(a_manifest(VAP, "-"),)))
    assert str(finding.subject) == "standard input" and not any(each.command for each in finding.remedy)


def test_files_and_templates_that_cannot_be_read_are_unknown() -> None:
    broken, template = UnreadablePart(3, "it is no YAML"), UnreadablePart(9, "it is no YAML", True)
    told = ApiUsage(
        manifests=(ManifestText("a.yaml", (), (*[broken] * 11, UnreadablePart(0, "it is empty"), template)),)
    )
    first, second = found("api-in-manifest", a_way(33, 34), told)
    assert (first.status, first.severity) == (Status.UNKNOWN, Severity.MEDIUM)
    assert "at line 3, it is no YAML; 11 more of its parts cannot be read" in first.message
    assert first.evidence == (*["a.yaml:3 it is no YAML"] * 10, "and 1 more")
    ten = ApiUsage(manifests=(ManifestText("a.yaml", (), (broken,) * 10),))
    assert len(found("api-in-manifest", a_way(33, 34), ten)[0].evidence) == 10
    assert (second.status, second.severity) == (Status.UNKNOWN, Severity.MEDIUM)
    assert second.remedy[0].command.startswith("helm template --kube-version 1.34 CHART | ")


@pytest.mark.parametrize(
    ("api_version", "kind", "known"),
    [("policy/v1beta1", "podDisruptionBudget", False), ("policy/v1", "X", True), ("example.org/v1beta1", "X", True)],
)
def test_a_mistyped_kind_of_a_version_that_is_gone_never_passes(api_version: str, kind: str, known: bool) -> None:
    file = ManifestText("a.yaml", (ManifestObject(ObjectName(api_version, kind, "", "web"), 4),))
    findings = found("api-in-manifest", a_way(33, 34), ApiUsage(manifests=(file,)))
    assert [each.status for each in findings] == [Status.UNKNOWN] * (not known)
    assert known or "at line 4, policy/v1beta1 has no kind podDisruptionBudget" in findings[0].message


POOL = ("karpenter.sh/v1beta1", "NodePool")


def judged(
    *written: tuple[str, str], tables: KnowledgeTables = KnowledgeTables(), **cluster: Any
) -> tuple[Finding, ...]:
    documents = tuple(
        ManifestObject(ObjectName(version, kind, "", "x"), at) for at, (version, kind) in enumerate(written, 1)
    )
    given = ApiUsage(manifests=(ManifestText("deploy/x.yaml", documents),))
    return plan_check(
        replace(facts(**cluster), api=given),
        choose_checks(["api-in-manifest"]),
        CheckScope(frozenset({"api-in-manifest"}), tables=tables),
    ).findings


def defined(served: bool, version: str = "v1beta1") -> tuple[CustomResourceDefinition, ...]:
    return (CustomResourceDefinition("nodepools.karpenter.sh", "NodePool", (CrdVersion(version, served),)),)


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
    manifest = ManifestText("", (ManifestObject(ObjectName(*POOL, "", "x"), 1),))
    api = ApiUsage(releases=(HelmRelease("shop", "web", 3, "deployed", manifest),))
    given = replace(facts(definitions=defined(False)), api=api)
    (found,) = plan_check(given, choose_checks(["api-in-helm"]), CheckScope(frozenset({"api-in-helm"}))).findings
    assert found.code.name == "api-in-helm" and found.status is Status.FAIL


def test_what_no_table_names_is_not_judged() -> None:
    assert judged(("karpenter.sh/v1", "NodePool"), ("example.com/v1beta1", "Widget")) == ()


def test_rows_of_a_user_come_before_those_of_the_package() -> None:
    removed, custom = removed_apis.REMOVED_APIS[0], removed_apis.CUSTOM_APIS[0]
    widget = replace(removed, api_version="example.com/v1beta1", kind="Widget", removed=Version(1, 34))
    (found,) = judged(("example.com/v1beta1", "Widget"), tables=KnowledgeTables((widget,)))
    assert found.status is Status.FAIL and "which Kubernetes 1.34 does not serve" in found.message
    own = replace(custom, api_version=POOL[0], kinds=(POOL[1],), software="Our fork")
    (found,) = judged(POOL, tables=KnowledgeTables(custom_apis=(own,)), definitions=defined(True))
    assert "Our fork" in found.message


@pytest.mark.parametrize("row", removed_apis.CUSTOM_APIS, ids=lambda row: f"{row.api_version} {'+'.join(row.kinds)}")
def test_each_row_is_found_and_goes_after_it_was_deprecated(row: removed_apis.CustomApi) -> None:
    kind = next(iter(row.kinds), "Anything")
    assert removed_apis.find_custom_api(row.api_version, kind) == row, "no row before it has the same"
    assert row.removed is not None or row.deprecated is not None
    assert row.removed is None or row.deprecated is None or not row.removed < row.deprecated
    (found,) = judged((row.api_version, kind), source=Source.FILE)
    assert found.status is Status.UNKNOWN and row.software in found.message
