"""Rights as RBAC rules: each once, grouped, and no right that was not requested."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.in_cluster.objects import service_account_and_roles
from kubectl_eksdoc.kubernetes.guards import policy_rules
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.permissions import Permission
from tests.in_cluster.commands import an_errand

METRICS = Resource("", "/metrics", namespaced=False)


def test_verbs_and_resources_stand_together_where_they_are_alike() -> None:
    asked = [
        Permission("list", kinds.PODS),
        Permission("get", kinds.PODS),
        Permission("list", kinds.NODES),
        Permission("get", kinds.NODES),
        Permission("create", kinds.PODS, "eviction"),
        Permission("list", kinds.DEPLOYMENTS),
        Permission("get", METRICS),
        Permission("list", kinds.PODS),
    ]
    assert policy_rules(asked) == [
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
        {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
    ]


def test_what_holds_in_a_namespace_is_a_role_of_that_alone() -> None:
    here = Permission("create", kinds.CONFIG_MAPS, namespace="kube-system")
    made = {doc["kind"]: doc for doc in service_account_and_roles(an_errand(), [Permission("list", kinds.NODES), here])}
    assert list(made) == ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]
    assert made["Role"]["metadata"]["namespace"] == "kube-system" and "namespace" not in made["ClusterRole"]["metadata"]
    assert [rule["resources"] for rule in made["Role"]["rules"]] == [["configmaps"]]
    assert [rule["resources"] for rule in made["ClusterRole"]["rules"]] == [["nodes"]]
    for kind in ("Role", "ClusterRole"):
        assert made[f"{kind}Binding"]["roleRef"]["kind"] == kind
        (subject,) = made[f"{kind}Binding"]["subjects"]
        assert subject == {"kind": "ServiceAccount", "name": "eksdoc-drain-r1", "namespace": "kube-system"}


def test_the_role_of_iam_stands_where_irsa_looks() -> None:
    arn = "arn:aws:iam::111122223333:role/eksdoc"
    (account,) = service_account_and_roles(an_errand(role=arn), [])  # and nothing is bound that is not needed
    assert account["metadata"]["annotations"] == {"eks.amazonaws.com/role-arn": arn}
    (plain,) = service_account_and_roles(an_errand(), [])
    assert "annotations" not in plain["metadata"] and plain["automountServiceAccountToken"] is False


_RIGHTS = list(
    rights.granted_permissions(
        (*rights.BY_COMMAND["drain run"], *rights.BY_COMMAND["check"]), rights.RightNamespaces("ns", karpenter="k")
    )
)


@given(st.lists(st.sampled_from(_RIGHTS), max_size=30))
def test_what_is_allowed_is_what_was_asked_for(asked: list[Permission]) -> None:
    allowed = {
        (verb, group, name)
        for rule in policy_rules(asked)
        for verb in rule["verbs"]
        for group in rule.get("apiGroups", [""])
        for name in [*rule.get("resources", []), *rule.get("nonResourceURLs", [])]
    }
    wanted = {
        (each.verb, each.resource.group, "/".join(filter(None, (each.resource.plural, each.subresource))))
        for each in asked
    }
    assert allowed == wanted
