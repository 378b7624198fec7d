"""The update as a whole: findings in the requested mode, and the first version whose schema has a path."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.addon_diff.fields import Usage, merge_values
from kubectl_eksdoc.addon_diff.plan import AddonPlan, first_schema_versions, plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonUpdateRequest, AddonVersionFacts, Fate, Mode
from kubectl_eksdoc.addon_diff.schema import SchemaPaths, read_schema
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.managed_fields import with_update
from kubectl_eksdoc.kubernetes.server_side_apply import AppliedDocument, apply
from kubectl_eksdoc.model.addons import Addon, HealthIssue
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.api_objects import with_value as with_at
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.nodes import BranchInterface, Probe, ProbeKind
from tests.addon_diff.incident import (
    EARLY_DEMUX,
    NOW,
    POD_ENI,
    SCHEMA,
    a_persons,
    by_hand,
    rich,
    version,
)
from tests.builders import a_pod

CLUSTER = EksCluster("shop", "arn:aws:eks:eu-west-1:111122223333:cluster/shop", "1.33", "", "ACTIVE", "", "")
WANTED = {"env": {POD_ENI[1]: "true"}, "init": {"env": {EARLY_DEMUX[2]: "true"}}}
BRANCH_PODS = tuple(
    a_pod(name, namespace="shop", branch=BranchInterface(probes=(Probe("app", ProbeKind.READINESS, "tcpSocket"),)))
    for name in ("cart-0", "pay-0")
)
UNREAD = Unknown("forbidden", "get daemonsets.apps")


def facts(**more: Any) -> AddonFacts:
    given: dict[str, Any] = {
        "cluster": CLUSTER,
        "addon": Addon("vpc-cni", more.get("current", version("v1.12.0")).version, "ACTIVE"),
        "current": version("v1.12.0"),
        "target": version("v1.15.1"),
        "values": {},
        "objects": (rich(),),
        "unread": (),
        "usage": Usage(BRANCH_PODS),
    }
    return AddonFacts(**{**given, **more})


def planned(known: AddonFacts, asked: AddonUpdateRequest) -> AddonPlan:
    """A plan; the schema allows any values."""
    return plan_update(known, asked, lambda values: ())


def found(plan: AddonPlan, code: str) -> list[Finding]:
    return [finding for finding in plan.findings if finding.code.name == code]


def test_overwrite_is_critical_where_pods_have_security_groups() -> None:
    plan = planned(facts(), AddonUpdateRequest(Mode.OVERWRITE))
    expanded = planned(facts(objects=(a_persons(),)), AddonUpdateRequest(Mode.OVERWRITE))
    (grows,) = found(expanded, "addon-ownership-grows")
    assert "takes it over with v1.15.1-eksbuild.1" in grows.message and not found(plan, "addon-ownership-grows")
    resets = found(plan, "addon-field-reset")
    assert [(each.severity, each.status) for each in resets] == [(Severity.CRITICAL, Status.FAIL)] * 2
    demux = next(each for each in resets if EARLY_DEMUX[2] in each.message)
    where = "DISABLE_TCP_EARLY_DEMUX of init container aws-vpc-cni-init"
    assert demux.message == f'{where}, set to "true" by kubectl-patch, is reset to "false"'
    assert any("2 pods have security groups of their own: shop/cart-0, shop/pay-0" in line for line in demux.evidence)
    for change in (
        each for whole in (plan, expanded) for each in whole.changes if each.config in (EARLY_DEMUX, POD_ENI)
    ):
        assert change.live == "true" and change.at_risk and "eks" not in change.owners
        told = {mode: (each.fate, each.value) for mode, each in change.by_mode.items()}
        assert told[Mode.OVERWRITE] == (Fate.RESET, "false") and told[Mode.NONE] == (Fate.CONFLICT, "true")
        assert told[Mode.PRESERVE] == (Fate.KEPT, "true") and change.confidence(Mode.PRESERVE) is Confidence.LOW


def test_preserve_keeps_with_its_caveat() -> None:
    plan = planned(facts(), AddonUpdateRequest(Mode.PRESERVE))
    kept = found(plan, "addon-field-kept")
    assert len(kept) == 2 and {each.status for each in kept} == {Status.UNKNOWN}, "no document says how"
    assert all("confidence: low" in each.evidence and each.missing for each in kept)


def test_what_is_not_known_is_never_pass() -> None:
    unknown = Unknown("no chart of it is known")
    plan = planned(
        facts(
            target=AddonVersionFacts("v9.0.0-eksbuild.1", unknown, unknown),
            unread=((ObjectName("v1", "ConfigMap", "kube-system", "amazon-vpc-cni"), UNREAD),),
            values=Unknown("neither JSON nor YAML"),
            offered=Unknown("IAM does not allow it", "eks:DescribeAddonVersions"),
        ),
        AddonUpdateRequest(Mode.OVERWRITE),
    )
    assert {each.status for each in plan.findings} == {Status.UNKNOWN} and all(each.missing for each in plan.findings)
    assert {each.code.name for each in plan.findings} == {
        "addon-field-unknown",
        "addon-object-unread",
        "addon-values-refused",
        "addon-version-unfit",
    }


@pytest.mark.parametrize("live", [rich, a_persons])
def test_the_way_out_changes_nothing_at_risk(live: Any) -> None:
    """Values that were set before stay set."""
    today = {"env": {"WARM_ENI_TARGET": "3"}, "resources": {"requests": {"cpu": "50m"}}}
    known = facts(objects=(live(),), values=today)
    way = planned(known, AddonUpdateRequest(Mode.OVERWRITE)).way_out
    assert way is not None and not way.cannot and len(way.keeps) == 2
    assert way.values == merge_values(today, WANTED)
    after = planned(known, AddonUpdateRequest(Mode.OVERWRITE, way.values))
    assert after.way_out is None and not found(after, "addon-field-reset")


def test_what_no_value_leads_to_is_named() -> None:
    """v1.12.0's schema refuses ``init``."""
    known = facts(target=version("v1.12.0"))
    way = planned(known, AddonUpdateRequest(Mode.OVERWRITE)).way_out
    assert way is not None and "init" not in way.values
    assert [change.config for change in way.cannot] == [EARLY_DEMUX] and [c.config for c in way.keeps] == [POD_ENI]


def test_a_request_that_somebody_raised_is_set_where_it_stands() -> None:
    """The chart's value is a map, and a user has set one leaf of it."""
    raised = json.loads(json.dumps(rich()))
    for container in raised["spec"]["template"]["spec"]["containers"]:
        container["resources"]["requests"]["cpu"] = "100m"
    live = with_update(rich(), raised, "kubectl-edit", NOW, SCHEMA)
    known = facts(objects=(live,), current=version("v1.15.0"))
    plan = planned(known, AddonUpdateRequest(Mode.OVERWRITE))
    (change,) = [each for each in plan.changes if each.config[:1] == ("resources",)]
    assert change.config == ("resources", "requests", "cpu") and change.by_mode[Mode.OVERWRITE].value == "25m"
    assert plan.way_out is not None and plan.way_out.values["resources"] == {"requests": {"cpu": "100m"}}


def test_values_that_are_taken_away_are_named() -> None:
    today = {"env": {"WARM_ENI_TARGET": "3"}, "tolerations": []}
    (all_gone,) = found(planned(facts(values=today), AddonUpdateRequest(values={})), "addon-values-dropped")
    assert all_gone.message == "all configuration values are taken away: env.WARM_ENI_TARGET, tolerations"
    (some,) = found(
        planned(facts(values=today), AddonUpdateRequest(values={"tolerations": []})), "addon-values-dropped"
    )
    assert some.message == "configuration values are taken away: env.WARM_ENI_TARGET"
    assert not found(planned(facts(values=today), AddonUpdateRequest()), "addon-values-dropped")


def test_versions_that_cannot_be_taken() -> None:
    known = replace(facts(), offered=False, steps=("v1.13.4-eksbuild.1", "v1.14.1-eksbuild.1"))
    plan = planned(known, AddonUpdateRequest())
    assert plan.way_out is not None and not plan.way_out.is_usable
    unfit = found(plan, "addon-version-unfit")
    told = [(each.message, each.severity, each.status) for each in unfit]
    way = "v1.12.0-eksbuild.1 → v1.13.4-eksbuild.1 → v1.14.1-eksbuild.1"
    assert told == [
        ("EKS does not offer v1.15.1-eksbuild.1 for Kubernetes 1.33", Severity.HIGH, Status.FAIL),
        (f"AWS recommends to update vpc-cni one minor version at a time: {way}", Severity.INFO, Status.PASS),
    ]


def test_other_writers_are_named() -> None:
    live = rich()
    entry = {**live["metadata"]["managedFields"][0], "manager": "Terraform", "operation": "Update"}
    meta = {**live["metadata"], "managedFields": [*live["metadata"]["managedFields"], entry]}
    (writer,) = found(planned(facts(objects=({**live, "metadata": meta},)), AddonUpdateRequest()), "addon-other-writer")
    assert writer.message.startswith("Terraform (field manager Terraform) has fields of it")


COREFILE: Doc = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "coredns", "namespace": "kube-system"},
    "data": {"Corefile": ".:53 { errors }"},
}


def edited(doc: Doc, path: tuple[str, ...], value: Any, manager: str = "kubectl-edit", subresource: str = "") -> Doc:
    """An object that EKS installed, and to which another client wrote."""
    schema = schema_of(doc["apiVersion"], doc["kind"])
    made = apply(None, doc, "eks", True, NOW, schema)
    assert isinstance(made, AppliedDocument)
    return with_update(made.doc, with_at(made.doc, path, value), manager, NOW, schema, subresource)


def without_charts(addon: str, **more: Any) -> AddonFacts:
    unknown = Unknown("not known")
    side = AddonVersionFacts("v1.13.2-eksbuild.1", unknown, unknown)
    return facts(addon=Addon(addon, "v1.13.2-eksbuild.1", "ACTIVE"), current=side, target=side, **more)


def overwriting(live: Doc) -> AddonPlan:
    return planned(without_charts("coredns", objects=(live,)), AddonUpdateRequest(Mode.OVERWRITE))


def test_what_somebody_wrote_never_passes_without_a_chart() -> None:
    """A Corefile: EKS then owns nothing of ``data``; the replicas of an autoscaler; a role. A restart changes no user's
    setting."""
    plan = overwriting(edited(COREFILE, ("data", "Corefile"), ".:53 { ready }"))
    unknown, labels = found(plan, "addon-field-unknown")
    assert (unknown.severity, unknown.status) == (Severity.CRITICAL, Status.UNKNOWN)
    assert "labels" in labels.message and labels.status is Status.UNKNOWN
    assert plan.changes[0].config == ("corefile",), "it is one scalar, and it can be given as a value"
    labelled = with_at(COREFILE, ("metadata", "labels"), {"k8s-app": "kube-dns"})
    (lost,) = found(overwriting(edited(labelled, ("data", "Corefile"), ".:53 { ready }")), "addon-field-reset")
    assert "Corefile" in lost.message and (lost.severity, lost.status) == (Severity.CRITICAL, Status.FAIL), (
        "its labels are EKS's still, so that its manifest holds for it"
    )
    bare = {key: value for key, value in COREFILE.items() if key != "data"}
    deployment = {**bare, "apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 2}}
    plan = overwriting(edited(deployment, ("spec", "replicas"), 5, "kube-controller-manager", "scale"))
    assert [change.config for change in plan.changes] == [("replicaCount",)] and found(plan, "addon-field-unknown")
    account = with_at(
        {**bare, "kind": "ServiceAccount"}, ("metadata", "labels", "eks.amazonaws.com/component"), "coredns"
    )
    for key, expected in (("eks.amazonaws.com/role-arn", 1), ("kubectl.kubernetes.io/restartedAt", 0)):
        live = edited(account, ("metadata", "annotations", key), "x")
        assert len(found(overwriting(live), "addon-field-unknown")) == expected


ROLE, OWN = "arn:aws:iam::111122223333:role/cni", "arn:aws:iam::111122223333:role/by-hand"


@pytest.mark.parametrize("values", [{}, Unknown("they are no YAML")], ids=["known", "values unknown"])
def test_a_role_that_somebody_annotated_gives_way_to_the_addons(values: Any) -> None:
    role = "eks.amazonaws.com/role-arn"
    account = {**COREFILE, "kind": "ServiceAccount", "metadata": {**COREFILE["metadata"], "name": "aws-node"}}
    del account["data"]
    live = edited(account, ("metadata", "annotations", role), OWN)
    with_role = Addon("vpc-cni", "v1.12.0-eksbuild.1", "ACTIVE", role=ROLE)
    plan = planned(facts(addon=with_role, objects=(live,), values=values), AddonUpdateRequest(Mode.OVERWRITE))
    (change,) = [each for each in plan.changes if each.field.path[-1] == f"f:{role}"]
    assert [change.fate(mode) for mode in Mode] == [Fate.CONFLICT, Fate.RESET, Fate.KEPT]
    assert change.by_mode[Mode.OVERWRITE].value == ROLE and change.config == ()
    reset = next(each for each in found(plan, "addon-field-reset") if role in each.message)
    assert reset.severity is Severity.CRITICAL
    assert f"--service-account-role-arn {OWN}" in reset.remedy[0].text
    if plan.way_out is not None:
        assert change in plan.way_out.cannot and "serviceAccountRoleArn" not in plan.way_out.values
    same = edited(account, ("metadata", "annotations", role), ROLE)
    plan = planned(facts(addon=with_role, objects=(same,), values=values), AddonUpdateRequest(Mode.OVERWRITE))
    assert not [each for each in plan.changes if each.field.path[-1] == f"f:{role}" and each.at_risk]


def test_the_incident_does_not_pass_where_the_chart_is_not_known() -> None:
    """The version is newer than the table, and its schema has the field."""
    newer = AddonVersionFacts("v1.99.0-eksbuild.1", Unknown("newer than known"), version("v1.15.1").schema)
    plan = planned(facts(objects=(a_persons(),), target=newer), AddonUpdateRequest(Mode.OVERWRITE))
    unknown = [change for change in plan.changes if change.config in (EARLY_DEMUX, POD_ENI)]
    assert {each.confidence(Mode.OVERWRITE) for each in unknown} == {Confidence.LOW}
    assert {each.status for each in found(plan, "addon-field-unknown")} == {Status.UNKNOWN}
    assert not found(plan, "addon-field-reset")
    assert next(change for change in unknown if change.config == EARLY_DEMUX).expands
    way = plan.way_out
    assert way is not None and way.values == WANTED


def test_the_way_out_keeps_todays_values_whatever_is_asked_for() -> None:
    today = {"env": {"ENABLE_POD_ENI": "true"}}
    way = planned(facts(values=today), AddonUpdateRequest(Mode.OVERWRITE, {})).way_out
    assert way is not None and way.values == WANTED
    unknown = planned(facts(values=Unknown("neither")), AddonUpdateRequest(Mode.OVERWRITE))
    assert unknown.way_out is None, "what is given replaces what is not known"
    assert {change.fate(Mode.OVERWRITE) for change in unknown.changes if change.at_risk} == {Fate.UNKNOWN}


def test_what_the_values_of_the_call_set_is_no_loss_unless_somebody_uses_it() -> None:
    live = by_hand(a_persons(), "containers", 0, "WARM_ENI_TARGET", "5")
    plan = planned(facts(objects=(live,)), AddonUpdateRequest(Mode.OVERWRITE, {"env": {"WARM_ENI_TARGET": "3"}}))
    assert not [each for each in plan.findings if "WARM_ENI_TARGET" in each.message]
    off = planned(facts(), AddonUpdateRequest(Mode.OVERWRITE, {"env": {"ENABLE_POD_ENI": "false"}}))
    (told,) = [each for each in off.findings if "by the values of the call" in each.message]
    assert told.severity is Severity.CRITICAL and told.status is Status.FAIL


def test_with_preserve_values_that_do_not_come_to_hold_are_told() -> None:
    live = by_hand(a_persons(), "containers", 0, "WARM_ENI_TARGET", "5")
    known = facts(objects=(live,), values={"env": {"WARM_ENI_TARGET": "3"}})
    (told,) = [
        each for each in planned(known, AddonUpdateRequest(Mode.PRESERVE)).findings if "WARM_ENI" in each.message
    ]
    assert told.status is Status.FAIL and 'that set it to "3" do not come to hold' in told.message


def test_a_target_that_is_older_and_an_addon_that_is_not_in_order() -> None:
    issue = HealthIssue("ConfigurationConflict", "Conflicts found")
    known = facts(
        addon=Addon("vpc-cni", "v1.15.1-eksbuild.1", "UPDATE_FAILED", issues=(issue,)),
        current=version("v1.15.1"),
        target=version("v1.12.0"),
    )
    plan = planned(known, AddonUpdateRequest())
    (older,) = found(plan, "addon-version-unfit")
    assert older.message == "v1.12.0-eksbuild.1 is older than v1.15.1-eksbuild.1, which is installed"
    (status,) = found(plan, "addon-not-active")
    assert "is UPDATE_FAILED" in status.message and status.evidence == ("ConfigurationConflict: Conflicts found",)


@pytest.mark.parametrize(
    ("live", "worst"), [("True", "critical"), ("1", "critical"), ("t", "critical"), ("perhaps", "low")]
)
def test_a_variable_is_on_as_vpc_cni_reads_it(live: str, worst: str) -> None:
    """A loss is bad only for the value that matters."""
    doc = by_hand(rich(), "initContainers", 0, EARLY_DEMUX[2], live)
    resets = found(planned(facts(objects=(doc,)), AddonUpdateRequest(Mode.OVERWRITE)), "addon-field-reset")
    assert {each.severity.value for each in resets if EARLY_DEMUX[2] in each.message} == {worst}


@pytest.mark.parametrize("entries", ["text", [1], {"manager": "eks"}, [{"manager": "eks", "operation": 1}]])
def test_whatever_stands_in_managed_fields_nothing_breaks(entries: Any) -> None:
    live = {**COREFILE, "metadata": {**COREFILE["metadata"], "managedFields": entries}}
    plan = planned(without_charts("coredns", objects=(live,)), AddonUpdateRequest())
    assert [each.code.name for each in plan.findings] == ["addon-object-unread"]


CHANGES = [c for c in planned(facts(), AddonUpdateRequest(Mode.OVERWRITE)).changes if c.config == EARLY_DEMUX]
HAS = read_schema(
    {"properties": {"init": {"properties": {"env": {"properties": {EARLY_DEMUX[2]: {"type": "string"}}}}}}}
)
LACKS = read_schema({"properties": {"env": {"type": "object"}}, "additionalProperties": False})


@given(some.integers(1, 40), some.data())
def test_it_is_the_first_one_few_are_asked_and_what_is_not_known_is_never_guessed(
    count: int, data: some.DataObject
) -> None:
    first = data.draw(some.integers(0, count - 1))
    unknown = data.draw(some.just(set[int]()) | some.sets(some.sampled_from(range(count)))) - {count - 1}
    versions = [f"v1.{n}.0" for n in range(count)]
    asked: list[str] = []

    def schema_of(version: str) -> SchemaPaths | Unknown:
        asked.append(version)
        at = versions.index(version)
        return Unknown("none is published") if at in unknown else HAS if at >= first else LACKS

    assert (
        first_schema_versions(CHANGES, versions, lambda _: LACKS) == () == first_schema_versions(CHANGES, [], schema_of)
    )
    (found,) = first_schema_versions(CHANGES, versions, schema_of)
    known = [at for at in range(count) if at not in unknown]
    assert found.has == versions[min(at for at in known if at >= first)]
    below = [at for at in known if at < first]
    assert found.lacks == (versions[max(below)] if below else "")
    assert found.exact == (versions.index(found.has) == (versions.index(found.lacks) if found.lacks else -1) + 1)
    assert unknown or len(asked) == len(set(asked)) <= 2 + math.ceil(math.log2(count + 1))
