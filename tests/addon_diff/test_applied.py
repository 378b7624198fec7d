"""Objects that EKS applies beside the known ones: whose they are, and what is said of those that nobody could list."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.addon_diff.manifests import objects_of
from kubectl_eksdoc.addon_diff.plan import plan_update
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest
from kubectl_eksdoc.addon_diff.read import plan_addon
from kubectl_eksdoc.addon_diff.standing import ObjectSearch, searched
from kubectl_eksdoc.model.addons import Addon
from kubectl_eksdoc.model.api_objects import AppliedObjects, ObjectName
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Unknown
from tests.addon_diff.terraform.worlds import Held, World
from tests.addon_diff.test_plan import facts
from tests.sessions import Answered

RBAC = "rbac.authorization.k8s.io/v1"
ROLE = ObjectName(RBAC, "Role", "kube-system", "aws-node-leader")
SECRET = ObjectName("v1", "Secret", "kube-system", "metrics")
CUSTOM = ObjectName("example.com/v1", "Grant", "", "metrics")
NO_ROLES = Unknown("nobody may", "list roles.rbac.authorization.k8s.io")


def of(addon: str, labels: dict[ObjectName, dict[str, str]], *stripped: ObjectName) -> ObjectSearch:
    return searched([AppliedObjects(labels, frozenset(stripped))], addon, objects_of(addon))


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
    assert of("aws-ebs-csi-driver", found).more == (account,)
    assert of("aws-efs-csi-driver", found).more == (efs,)
    assert of("coredns", found) == ObjectSearch((), (other,)), "nothing of another add-on, nor of EKS itself"


def test_an_object_without_managed_fields_is_the_addons_by_its_label_alone() -> None:
    bare = ObjectName("v1", "ConfigMap", "shop", "settings")
    assert of("vpc-cni", {ROLE: {"k8s-app": "aws-node"}, bare: {}}, ROLE, bare) == ObjectSearch((ROLE,), ())


def test_what_was_not_looked_at_never_passes() -> None:
    for search, said in (
        (
            ObjectSearch(more=(ROLE,)),
            "the known manifests of vpc-cni lack Role.rbac.authorization",
        ),
        (ObjectSearch(whose=(ROLE,)), "EKS applies Role.rbac.authorization.k8s.io aws-node-leader, and no label"),
        (ObjectSearch(unlisted={"roles.rbac.authorization.k8s.io": NO_ROLES}), "roles.rbac.authorization.k8s.io could"),
        (of_nothing(), "objects of all kinds could not be listed"),
    ):
        plan = plan_update(facts(search=search), AddonUpdateRequest(), lambda _: ())
        (finding,) = (each for each in plan.findings if each.message.startswith(said))
        assert finding.status is Status.UNKNOWN and finding.code.name == "addon-object-unread"
        assert search.unlisted != {"roles.rbac.authorization.k8s.io": NO_ROLES} or finding.missing == NO_ROLES.missing


def test_who_owns_the_fields_of_an_object_of_no_addon_is_looked_up_by_commands_that_run() -> None:
    of_cluster = ObjectName("v1", "Namespace", "", "who-knows")
    plan = plan_update(facts(search=ObjectSearch(whose=(ROLE, of_cluster))), AddonUpdateRequest(), lambda _: ())
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
    plan = plan_addon(session, side, AddonUpdateRequest())
    assert plan.facts.search.more == (CUSTOM, ROLE, SECRET)
    said = {each.message for each in plan.findings if each.status is Status.UNKNOWN}
    for text in (
        "by kubectl-edit, may be reset",
        "Secret metrics cannot be judged",
        "Grant.example.com metrics cannot be judged",
        "no manifest of metrics-server is known here",
    ):
        assert any(text in each for each in said), (text, said)


def of_nothing() -> ObjectSearch:
    return searched([Unknown("it is a dump")], "vpc-cni", ())
