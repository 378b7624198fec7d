"""Missing rights as objects that kubectl apply takes: one for the cluster, one for each namespace."""

from __future__ import annotations

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.render.roles import roles
from tests.reading import yaml_documents

CONFIG_MAPS = Resource("ConfigMap", "configmaps")


def test_rights_of_a_group_with_the_same_verbs_are_one_rule() -> None:
    text = roles(
        "eksdoc",
        [
            Permission("list", kinds.NODES),
            Permission("patch", kinds.NODES),
            Permission("list", kinds.PODS),
            Permission("list", kinds.SERVICES),
            Permission("create", kinds.PODS, "eviction"),
            Permission("list", kinds.BUDGETS),
            Permission("get", CONFIG_MAPS, namespace="kube-system"),
        ],
    )
    everywhere, there = yaml_documents(text)
    assert (everywhere["kind"], everywhere["metadata"]) == ("ClusterRole", {"name": "eksdoc"})
    assert everywhere["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]},
        {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["list"]},
        {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
        {"apiGroups": ["policy"], "resources": ["poddisruptionbudgets"], "verbs": ["list"]},
    ]
    assert (there["kind"], there["metadata"]) == ("Role", {"name": "eksdoc", "namespace": "kube-system"})


def test_nothing_that_is_missing_is_no_object() -> None:
    assert roles("eksdoc", []) == ""
