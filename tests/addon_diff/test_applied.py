"""Objects that EKS applies besides the known ones, the report for objects that could not be listed, and that of an
earlier run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.addon_diff.always_applied import ObjectSearch, assign_objects
from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.addon_diff.plan import AddonPlan, compare_with_earlier, plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode
from kubectl_eksdoc.addon_diff.read import plan_addon_update
from kubectl_eksdoc.baseline.changes import outline_of
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.api_objects import AppliedObjects, ObjectName
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Identity, Source
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.terraform.worlds import Held, World
from tests.addon_diff.test_plan import UNREAD, facts, planned
from tests.builders import NOW, a_cluster
from tests.sessions import Answered

RBAC = "rbac.authorization.k8s.io/v1"
ROLE = ObjectName(RBAC, "Role", "kube-system", "aws-node-leader")
SECRET = ObjectName("v1", "Secret", "kube-system", "metrics")
CUSTOM = ObjectName("example.com/v1", "Grant", "", "metrics")
NO_ROLES = Unknown("nobody may", "list roles.rbac.authorization.k8s.io")


def of(addon: str, labels: dict[ObjectName, dict[str, str]], *stripped: ObjectName) -> ObjectSearch:
    return assign_objects([AppliedObjects(labels, frozenset(stripped))], addon, objects_of(addon))


def test_an_object_is_of_the_addon_whose_name_or_label_it_has() -> None:
    node, csi = objects_of("vpc-cni")[0], objects_of("aws-ebs-csi-driver")[0]
    account = ObjectName("v1", "ServiceAccount", "kube-system", "ebs-csi-controller")
    efs = ObjectName(RBAC, "Role", "kube-system", "efs-csi")
    other = ObjectName(RBAC, "ClusterRole", "", "who-knows")
    found: dict[ObjectName, dict[str, str]] = {
        node: {"app.kubernetes.io/instance": "aws-vpc-cni"},
        ROLE: {"app.kubernetes.io/instance": "aws-vpc-cni"},
        csi: {"app": "ebs-csi-controller"},
        account: {"app": "ebs-csi-controller"},
        efs: {"helm.sh/chart": "aws-efs-csi-driver-3.1.0"},
        ObjectName(RBAC, "ClusterRole", "", "eks:node-manager"): {},
        other: {},
    }
    assert of("vpc-cni", found) == ObjectSearch((ROLE,), (other,))
    assert of("aws-ebs-csi-driver", found).unlisted_in_manifest == (account,)
    assert of("aws-efs-csi-driver", found).unlisted_in_manifest == (efs,)
    assert of("coredns", found) == ObjectSearch((), (other,)), "nothing of another add-on, nor of EKS itself"


def test_an_object_without_managed_fields_is_the_addons_by_its_label_alone() -> None:
    bare = ObjectName("v1", "ConfigMap", "shop", "settings")
    assert of("vpc-cni", {ROLE: {"k8s-app": "aws-node"}, bare: {}}, ROLE, bare) == ObjectSearch((ROLE,), ())


def test_what_was_not_looked_at_never_passes() -> None:
    for search, said in (
        (
            ObjectSearch(unlisted_in_manifest=(ROLE,)),
            "the known manifests of vpc-cni lack Role.rbac.authorization",
        ),
        (
            ObjectSearch(without_addon=(ROLE,)),
            "EKS applies Role.rbac.authorization.k8s.io aws-node-leader, and no label",
        ),
        (
            ObjectSearch(unreadable_kinds={"roles.rbac.authorization.k8s.io": NO_ROLES}),
            "roles.rbac.authorization.k8s.io could",
        ),
        (of_nothing(), "objects of all kinds could not be listed"),
    ):
        plan = plan_update(facts(search=search), AddonUpdateRequest(), lambda _: ())
        (finding,) = (each for each in plan.findings if each.message.startswith(said))
        assert finding.status is Status.UNKNOWN and finding.code.name == "addon-object-unread"
        assert (
            search.unreadable_kinds != {"roles.rbac.authorization.k8s.io": NO_ROLES}
            or finding.missing == NO_ROLES.missing
        )


def test_who_owns_the_fields_of_an_object_of_no_addon_is_looked_up_by_commands_that_run() -> None:
    of_cluster = ObjectName("v1", "Namespace", "", "who-knows")
    plan = plan_update(facts(search=ObjectSearch(without_addon=(ROLE, of_cluster))), AddonUpdateRequest(), lambda _: ())
    (finding,) = (each for each in plan.findings if "no label names the add-on" in each.message)
    ends = "-o 'jsonpath={.metadata.managedFields}'"
    assert [each.command for each in finding.remedy] == [
        f"kubectl get -n kube-system Role.rbac.authorization.k8s.io aws-node-leader {ends}",
        f"kubectl get Namespace who-knows {ends}",
    ]


class _WithMore(Held):
    """EKS has applied a Role with a field of a user, a Secret and a custom resource, too."""

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects:
        assert manager == "eks"
        found = (SECRET, CUSTOM) if others else (ROLE,)
        return AppliedObjects({of: {"k8s-app": "metrics-server"} for of in found})


def test_objects_that_were_found_are_read_but_for_secrets_and_custom_resources() -> None:
    fields = {"f:rules": {}}
    entries = [
        {"manager": manager, "operation": operation, "apiVersion": RBAC, "fieldsType": "FieldsV1", "fieldsV1": owned}
        for manager, operation, owned in (("eks", "Apply", {"f:metadata": {}}), ("kubectl-edit", "Update", fields))
    ]
    meta = {"name": ROLE.name, "namespace": ROLE.namespace, "managedFields": entries}
    role = {"apiVersion": RBAC, "kind": "Role", "metadata": meta, "rules": [{"verbs": ["get"]}]}
    side = replace(World().side("vpc-cni", None), addon=Addon("metrics-server", "v0.7.2-eksbuild.1", "ACTIVE"))
    session = Answered(World().cluster, lambda *_: side, _WithMore({ROLE: role}))
    plan = plan_addon_update(session, side, AddonUpdateRequest())
    assert plan.facts.search.unlisted_in_manifest == (CUSTOM, ROLE, SECRET)
    said = {each.message for each in plan.findings if each.status is Status.UNKNOWN}
    for text in (
        "by kubectl-edit, may be reset",
        "Secret metrics cannot be judged",
        "Grant.example.com metrics cannot be judged",
        "no manifest of metrics-server is known here",
    ):
        assert any(text in each for each in said), (text, said)


def of_nothing() -> ObjectSearch:
    return assign_objects([Unknown("it is a dump")], "vpc-cni", ())


CLUSTER = replace(a_cluster(), identity=Identity("prod", "shop"), source=Source.LIVE)
PLAN = planned(facts(), AddonUpdateRequest(Mode.OVERWRITE))
QUIET = replace(PLAN, findings=())
FIELD = next(outline_of(each) for each in PLAN.findings if each.status is Status.FAIL)
TARGET = PLAN.facts.target.version
OF_ADDON = FindingOutline("addon-not-active", Subject("Addon", "vpc-cni"), Severity.HIGH, Status.FAIL, "DEGRADED")


def of_object(kind: str, name: str) -> FindingOutline:
    return replace(FIELD, subject=Subject(kind, name, "kube-system"))


def saved(*found: FindingOutline, addons: dict[str, str]) -> SavedResult:
    return SavedResult("x", CLUSTER.identity, CLUSTER.source, NOW, "1", findings=found, addons=addons)


def became(of: FindingOutline, names: set[str], plans: list[AddonPlan], whole: bool = False) -> str:
    earlier = saved(of, addons=dict.fromkeys(names, TARGET))
    told = compare_with_earlier(earlier, CLUSTER, plans, {}, whole)
    return next(each.kind.value for each in told.changes if each.before == of)


@pytest.mark.parametrize(
    ("of", "names", "plans", "whole", "expected"),
    [
        (FIELD, {"vpc-cni"}, [QUIET], False, "fixed"),
        (FIELD, {"vpc-cni", "coredns"}, [QUIET], False, "fixed"),
        (of_object("ConfigMap", "coredns"), {"vpc-cni", "coredns"}, [QUIET], False, "not-judged-this-time"),
        (of_object("Role", "x"), {"vpc-cni", "coredns"}, [QUIET], False, "not-judged-this-time"),
        (FIELD, {"vpc-cni", "coredns"}, [QUIET], True, "fixed"),
        (OF_ADDON, {"vpc-cni", "coredns"}, [QUIET], False, "fixed"),
        (OF_ADDON, {"vpc-cni"}, [], False, "not-judged-this-time"),
        (OF_ADDON, {"vpc-cni"}, [], True, "fixed"),
    ],
)
def test_an_addon_that_was_not_looked_at_is_not_judged(
    of: FindingOutline, names: set[str], plans: list[AddonPlan], whole: bool, expected: str
) -> None:
    assert became(of, names, plans, whole) == expected


@pytest.mark.parametrize(
    ("of", "target", "expected"),
    [
        (FIELD, TARGET, "fixed"),
        (FIELD, "v1.0.0", "not-judged-this-time"),
        (OF_ADDON, "v1.0.0", "not-judged-this-time"),
        (replace(OF_ADDON, subject=Subject("Addon", "coredns")), "v1.0.0", "fixed"),
        (of_object("ConfigMap", "coredns"), "v1.0.0", "fixed"),
        (of_object("Role", "x"), "v1.0.0", "not-judged-this-time"),
    ],
)
def test_an_update_to_another_version_is_another_question(of: FindingOutline, target: str, expected: str) -> None:
    """The request was the same, but EKS's default version has changed."""
    addons = {"vpc-cni": target, "coredns": "v1"}
    earlier = saved(of, addons=addons)
    (change,) = (
        each for each in compare_with_earlier(earlier, CLUSTER, [QUIET], {}, True).changes if each.before == of
    )
    assert change.kind.value == expected and ("v1.0.0" in change.why) == (expected != "fixed")


def test_an_object_that_could_not_be_read_hides_what_becomes_of_its_fields() -> None:
    of = FIELD.subject
    named = ObjectName("apps/v1", of.kind, of.namespace, of.name)
    unread = planned(facts(objects=(), unread=((named, UNREAD),)), AddonUpdateRequest())
    assert became(FIELD, {"vpc-cni"}, [unread]) == "not-known-any-more"


def test_what_is_unknown_of_one_addon_hides_nothing_of_another() -> None:
    unknown = Finding.of("addon-field-unknown/nearest", Subject("Addon", "coredns"), addon_name="", target="", known="")
    of_two = replace(QUIET, findings=(unknown,))
    addons = {"vpc-cni": TARGET}
    for found, expected in ((FIELD, "fixed"), (of_object("ConfigMap", "coredns"), "not-known-any-more")):
        earlier = saved(found, addons=addons)
        (change,) = (
            each for each in compare_with_earlier(earlier, CLUSTER, [of_two], {}, True).changes if each.before == found
        )
        assert change.kind.value == expected
