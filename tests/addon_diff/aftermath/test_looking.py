"""A past update: how it is found, what the report says where a fact is unknown, and who keeps which field."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from kubectl_eksdoc.addon_diff.fields import Usage
from kubectl_eksdoc.addon_diff.outcome import find_requested_update
from kubectl_eksdoc.addon_diff.past_update import review_past_update
from kubectl_eksdoc.addon_diff.past_update_facts import FieldState, PastFacts, UpdateReview
from kubectl_eksdoc.addon_diff.prediction import AddonFacts, AddonVersionFacts
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate, HealthIssue, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import BranchInterface, Pod
from tests.addon_diff.aftermath.revised import at, daemon_set, lived, template, written
from tests.addon_diff.incident import AWS_NODE

OLD, NEW = "v1.19.0-eksbuild.1", "v1.19.5-eksbuild.1"
BEGUN = at(9000)
DONE = EksAddonUpdate(
    "u", "AddonUpdate", "Successful", (("AddonVersion", NEW), ("ResolveConflicts", "OVERWRITE")), BEGUN
)
DEFAULT = {"DISABLE_TCP_EARLY_DEMUX": "false"}
CLUSTER = EksCluster("shop", "arn:aws:eks:eu-west-1:111122223333:cluster/shop", "1.33", "", "ACTIVE", "", "")
STORY = (
    (0.0, template(OLD, DEFAULT, ENABLE_POD_ENI="false")),
    (1000.0, template(OLD, DEFAULT, ENABLE_POD_ENI="true")),
    (9010.0, template(NEW, DEFAULT, ENABLE_POD_ENI="false")),
)


def owned(doc: Doc, manager: str = "eks", written_at: float = 9010, **fields: Any) -> Doc:
    entry = {"manager": manager, "operation": "Apply", "apiVersion": doc["apiVersion"], "time": written(at(written_at))}
    held = doc["metadata"].get("managedFields", [])
    entries = [*held, {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}]
    return {**doc, "metadata": {**doc["metadata"], "managedFields": entries}}


def env(value: bool = True) -> Doc:
    entry = {"k:" + '{"name":"ENABLE_POD_ENI"}': {".": {}, "f:name": {}, **({"f:value": {}} if value else {})}}
    containers = {'k:{"name":"aws-node"}': {".": {}, "f:name": {}, "f:env": entry}}
    return {"f:template": {"f:spec": {"f:containers": containers}}}


def live(now: Doc = STORY[-1][1]) -> Doc:
    return owned(daemon_set(now), **{"f:spec": env()})


def looked(
    objects: tuple[Doc, ...] = (live(),),
    update: EksAddonUpdate | Unknown | Absent = DONE,
    usage: Usage = Usage((), 3),
    **more: Any,
) -> UpdateReview:
    chart = AddonVersionFacts(NEW, chart_defaults("vpc-cni", NEW), Unknown("not published"))
    addon = Addon("vpc-cni", NEW, "ACTIVE", changed=BEGUN)
    now = AddonFacts(CLUSTER, addon, chart, chart, {}, objects, more.pop("unread", ()), usage, True, (NEW,))
    updates = (update,) if isinstance(update, EksAddonUpdate) else ()
    kept = {"DaemonSet": tuple(lived(STORY))}
    facts = replace(PastFacts(now, update, UpdateHistory(updates), kept), **more)
    return review_past_update(facts, lambda version: chart_defaults("vpc-cni", version), lambda values: ())


def of(found: UpdateReview, code: str) -> list[Finding]:
    return [each for each in found.findings if each.code.name == code]


def branched(name: str, address: str, interface: str, age: float = 60) -> Pod:
    branch = BranchInterface(address, interface)
    return Pod("shop", name, name, {}, "n", "Running", True, created_at=BEGUN + timedelta(seconds=age), branch=branch)


def test_pods_that_started_in_the_window_keep_what_they_got() -> None:
    usage = Usage((branched("astray", "10.0.0.1", "10.1.0.1"), branched("well", "10.1.0.2", "10.1.0.2")), 3)
    found = looked(usage=usage)
    (lost,) = found.lost_fields
    assert lost.field.variable == "ENABLE_POD_ENI" and lost.state is FieldState.GONE and lost.owners == ("eks",)
    (said,) = of(found, "addon-pods-to-recreate")
    assert said.status is Status.FAIL and "shop/astray" in said.message and "shop/well" not in said.message
    (critical,) = of(found, "addon-field-lost")
    assert critical.severity is Severity.CRITICAL


def test_a_pod_without_a_note_of_its_interface_is_not_known_to_be_well() -> None:
    (said,) = of(looked(usage=Usage((branched("silent", "10.0.0.1", ""),), 3)), "addon-pods-to-recreate")
    assert said.status is Status.UNKNOWN and "shop/silent" in "".join(said.evidence)


def test_pods_that_are_astray_are_named_beside_one_of_which_it_is_not_known() -> None:
    pods = (branched("silent", "10.0.0.1", ""), branched("astray", "10.0.0.2", "10.1.0.1"))
    (said,) = of(looked(usage=Usage(pods, 3)), "addon-pods-to-recreate")
    assert said.status is Status.UNKNOWN and "in any case: shop/astray" in "".join(said.evidence)


@pytest.mark.parametrize(
    ("update", "status", "missing"),
    [
        (Unknown("IAM does not allow it", "eks:ListUpdates"), Status.UNKNOWN, "eks:ListUpdates"),
        (replace(DONE, begun=None), Status.UNKNOWN, "when the update began"),
        (Absent("EKS lists no update of it"), Status.PASS, ""),
    ],
)
def test_without_an_update_there_is_nothing_to_look_back_on(update: Any, status: Status, missing: str) -> None:
    found = looked(update=update)
    (said,) = found.findings
    assert (said.code.name, said.status, said.missing) == ("addon-update-untold", status, missing)
    assert not found.workloads and found.next_update is None


def test_an_update_that_goes_on_or_may_not_be_the_latest() -> None:
    (said,) = of(looked(update=replace(DONE, status="InProgress")), "addon-update-untold")
    assert "still under way" in said.message
    history = UpdateHistory((DONE,), unseen=4)
    assert not of(looked(history=history), "addon-update-untold"), "the add-on changed last when it was"
    old = replace(DONE, begun=BEGUN - timedelta(days=2))
    (said,) = of(looked(update=old, history=UpdateHistory((old,), unseen=4)), "addon-update-untold")
    assert said.status is Status.UNKNOWN and "4 more" in said.message


def test_a_failed_update_is_looked_at_all_the_same() -> None:
    failed = replace(DONE, status="Failed", errors=(HealthIssue("ConfigurationConflict", "no"),))
    assert looked(update=failed).lost_fields


def test_revisions_that_may_not_be_listed_name_the_right() -> None:
    missing = "list controllerrevisions.apps"
    found = looked(revisions={"DaemonSet": Unknown("RBAC does not allow it", missing)})
    (said,) = of(found, "addon-change-untold")
    assert (said.status, said.missing) == (Status.UNKNOWN, missing) and not found.lost_fields


def test_an_object_that_may_not_be_read_is_named() -> None:
    found = looked((), unread=((AWS_NODE, Unknown("RBAC does not allow it", "get daemonsets.apps")),))
    assert [each.missing for each in of(found, "addon-object-unread")] == ["get daemonsets.apps"]


def test_what_has_no_history_is_not_known() -> None:
    name = {"name": "amazon-vpc-cni", "namespace": "kube-system"}
    bare: Doc = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": {"a": "1", "b": "2"}}
    theirs = owned(bare, "kubectl-edit", **{"f:data": {"f:b": {}}})
    doc = owned(theirs, **{"f:data": {"f:a": {}, "f:b": {}}})
    found = looked((live(), doc))
    (said,) = [each for each in of(found, "addon-change-untold") if each.subject.kind == "ConfigMap"]
    assert said.status is Status.UNKNOWN and ".data.a" in said.message and ".data.b" not in said.message
    before = owned({**doc, "metadata": name}, written_at=100, **{"f:data": {"f:a": {}}})
    assert not looked((live(), before)).unrecorded, "EKS has not written it since"
    gentle = replace(DONE, parameters=(("ResolveConflicts", "NONE"),))
    assert not looked((live(), doc), update=gentle).unrecorded, "it would have failed over what is somebody's"


def test_what_is_set_again_is_told_and_that_the_next_update_takes_it() -> None:
    story = (*STORY, (9600.0, template(NEW, DEFAULT, ENABLE_POD_ENI="true")))
    again = owned(owned(daemon_set(story[-1][1]), **{"f:spec": env(False)}), "kubectl-set", **{"f:spec": env()})
    found = looked((again,), revisions={"DaemonSet": tuple(lived(story))})
    (said,) = of(found, "addon-loss-repeats")
    assert said.status is Status.FAIL and "it is back, by kubectl-set" in said.message
    assert all(each.patch is None for each in found.workloads)


def test_pods_that_wait_for_somebody() -> None:
    doc = live()
    doc = {**doc, "spec": {**doc["spec"], "updateStrategy": {"type": "OnDelete"}}}
    (each,) = looked((doc,)).workloads
    assert each.rollout is not None and each.rollout.is_on_delete and each.rollout.pods == 3


AT = datetime(2026, 11, 22, 9, tzinfo=timezone.utc)


def an_update(ident: str = "u-1", version: str = "v2", mode: str = "NONE", **more: Any) -> EksAddonUpdate:
    given = {"type": "AddonUpdate", "begun": AT + timedelta(seconds=2), **more}
    parameters = (("AddonVersion", version), ("ResolveConflicts", mode))
    return EksAddonUpdate(ident, status="InProgress", parameters=parameters, **given)


def test_the_one_that_was_asked_for() -> None:
    before = an_update("u-0", begun=AT - timedelta(hours=1))
    others = (
        before,
        an_update("u-2", "v3"),
        an_update("u-3", mode="OVERWRITE"),
        an_update("u-4", type="VersionUpdate"),
    )
    assert find_requested_update((*others, Unknown("denied"), an_update()), "v2", "NONE", AT) == an_update()


@pytest.mark.parametrize(
    "listed", [(), (an_update("u-1"), an_update("u-2")), (an_update(begun=None),), (Unknown("denied"),)]
)
def test_several_or_none_are_unknown(listed: tuple[Any, ...]) -> None:
    assert isinstance(find_requested_update(listed, "v2", "NONE", AT), Unknown)
