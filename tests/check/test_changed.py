"""Changes since a given time: the client that made each, the newest first, and kinds that were not checked."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from kubectl_eksdoc.check.changed_since import RecentChanges, recent_changes
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.model.addons import EksAddonUpdate, HealthIssue, UpdateHistory
from kubectl_eksdoc.model.findings import Subject
from kubectl_eksdoc.model.interruption import KubernetesEvent, ReportedChanges, Revision
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.builders import NOW, a_cluster, a_node, ago
from tests.check.healthy import healthy, with_aws

TWO_HOURS = timedelta(hours=2)
QUIET = ReportedChanges({"Deployment": (), "DaemonSet": ()}, (), {})
WEB = Subject("Deployment", "web", "shop")
TEMPLATES = "versions of launch templates: EKS and EC2 tell no times of them here"


def found(
    past: ReportedChanges = QUIET, since: datetime = NOW - TWO_HOURS, eks: Any = None, **cluster: Any
) -> RecentChanges:
    told = {"cluster_updates": UpdateHistory(()), "group_updates": {}} | (eks or {})
    return recent_changes(
        replace(with_aws(healthy(), **told), cluster=a_cluster(**cluster), recent_changes=past), since
    )


def said(of: RecentChanges) -> list[tuple[str, str]]:
    return [(f"{each.subject.kind} {each.subject}", each.what) for each in of.changes]


def test_nodes_that_came_are_told_by_group_and_those_that_go_each() -> None:
    nodes = [a_node("a", created_at=ago(60)), a_node("b", created_at=ago(30)), a_node("c", deletion_at=ago(10))]
    assert said(found(nodes=nodes)) == [
        ("Node c", "it is being deleted"),
        ("Nodegroup blue", "2 nodes of 3 came: a, b"),
    ]


def test_templates_are_told_by_their_revisions() -> None:
    past = replace(QUIET, revisions={"Deployment": (Revision(WEB, ago(60), "7"), Revision(WEB, ago(90000), "6"))})
    assert said(found(past)) == [("Deployment shop/web", "it was given another pod template (revision 7)")]


def test_updates_of_addons_are_told_with_what_became_of_them() -> None:
    update = EksAddonUpdate(
        "u-1",
        "AddonUpdate",
        "Failed",
        (("AddonVersion", "v2"), ("ResolveConflicts", "OVERWRITE")),
        ago(60),
        (HealthIssue("ConfigurationConflict", "x"),),
    )
    past = replace(
        QUIET, addons={"vpc-cni": UpdateHistory((update, replace(update, begun=ago(90000)))), "x": Absent("")}
    )
    assert said(found(past)) == [
        ("Addon vpc-cni", "an update to v2 with OVERWRITE was asked for: Failed: ConfigurationConflict (u-1)")
    ]


def test_warnings_are_told_once_for_each_reason_and_what_is_normal_only_of_nodes() -> None:
    def event(name: str, kind: str = "Pod", seconds: float = 60, **more: Any) -> KubernetesEvent:
        return KubernetesEvent(ago(seconds), "FailedScheduling", Subject(kind, name, "shop"), "no room", **more)

    past = replace(
        QUIET,
        events=(
            event("a", warning=True, count=3),
            event("b", seconds=50, warning=True),
            event("c"),
            KubernetesEvent(ago(10), "DisruptionTerminating", Subject("NodeClaim", "n")),
        ),
    )
    assert said(found(past)) == [
        ("NodeClaim n", "DisruptionTerminating"),
        ("Pod shop/b", "FailedScheduling (4 times, and of 1 more): no room"),
    ]


def test_what_was_not_read_is_named_with_the_right_for_it() -> None:
    denied, listed = Unknown("it is forbidden", "list events"), Unknown("IAM does not allow it", "eks:ListUpdates")
    past = ReportedChanges({"Deployment": denied, "DaemonSet": ()}, denied, {"a": Unknown("no")})
    assert found(past, eks={"cluster_updates": listed, "group_updates": {"blue": listed}}).not_read == (
        "pod templates of Deployments: it is forbidden (list events)",
        "Events: it is forbidden (list events)",
        "updates of add-on a: no",
        "updates of the cluster: IAM does not allow it (eks:ListUpdates)",
        "updates of node group blue: IAM does not allow it (eks:ListUpdates)",
        TEMPLATES,
    )
    unread = found(ReportedChanges()).not_read
    assert [each.split(":")[0] for each in unread] == [
        "pod templates",
        "Events",
        "updates of add-ons",
        "versions of launch templates",
    ]


def test_events_do_not_reach_further_than_an_hour() -> None:
    assert "Events from more than an hour before: the API server does not keep them" in found().not_read
    assert found(since=ago(1800)).not_read == (TEMPLATES,)


def test_updates_beyond_the_latest_are_not_forgotten() -> None:
    history = UpdateHistory((EksAddonUpdate("u", "AddonUpdate", "Successful", (), ago(60)),), 4)
    assert found(replace(QUIET, addons={"vpc-cni": history}), since=ago(1800)).not_read == (
        "4 earlier updates of add-on vpc-cni: only the latest are described",
        TEMPLATES,
    )


def test_it_is_listed_only_where_somebody_asks() -> None:
    assert plan_check(healthy(), [], CheckScope()).changes is None
    assert plan_check(healthy(), [], CheckScope(since=ago(60))).changes is not None


def test_updates_of_the_cluster_and_of_node_groups_are_told() -> None:
    update = EksAddonUpdate("u", "VersionUpdate", "Successful", (("Version", "1.33"),), ago(60))
    eks = {"cluster_updates": UpdateHistory((update,)), "group_updates": {"blue": UpdateHistory((update,))}}
    what = "an update (VersionUpdate) to 1.33 was asked for: Successful (u)"
    assert said(found(eks=eks)) == [("Cluster prod", what), ("Nodegroup blue", what)]
