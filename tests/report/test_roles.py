"""Missing rights as objects that kubectl apply accepts: one for the cluster, one for each namespace."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.in_cluster.roles import (
    ManifestReport,
    ManifestStep,
    delete_command,
    logs_command,
    missing_rights_yaml,
    starter_budgets,
)
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.selectors import Requirement, Selector, from_parts
from kubectl_eksdoc.model.workloads import Workload
from kubectl_eksdoc.report.text import Appearance
from tests.in_cluster.commands import an_errand
from tests.yaml_reader import yaml_documents

CONFIG_MAPS = Resource("ConfigMap", "configmaps")


def test_rights_of_a_group_with_the_same_verbs_are_one_rule() -> None:
    text = missing_rights_yaml(
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
    assert missing_rights_yaml("eksdoc", []) == ""


# Objects as they are printed: words above them that nothing in them can break out of, and the same objects below.


DOCS: tuple[dict[str, Any], ...] = ({"kind": "A", "n": 1, "text": "yes"}, {"kind": "B", "list": ["0", "", "a: b"]})


def test_words_then_documents() -> None:
    text = ManifestReport(
        ("What it is.",), (ManifestStep("do:", "kubectl a"), ManifestStep("undo it:", "kubectl b")), DOCS
    ).render("yaml", Appearance())
    assert text.splitlines()[:6] == [
        "# What it is.",
        "#",
        "# do:       kubectl a",
        "# undo it:  kubectl b",
        "---",
        "kind: A",
    ]
    assert tuple(yaml_documents(text)) == DOCS


def test_json_is_a_list() -> None:
    assert json.loads(ManifestReport(("x",), (), DOCS).render("json", Appearance()))["items"] == list(DOCS)


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_word_becomes_a_document(about: str, command: str) -> None:
    text = ManifestReport((about,), (ManifestStep("do:", command),), DOCS).render("yaml", Appearance())
    assert tuple(yaml_documents(text)) == DOCS and "\x1b" not in text


def test_commands_name_what_was_made_and_nothing_else() -> None:
    errand = an_errand()
    away = delete_command(errand, ("--context", "my cluster"))
    assert away.startswith("kubectl delete cronjobs.batch,jobs.batch,configmaps,")
    assert away.endswith(f" -A -l {errand.selector} --context 'my cluster'")
    assert f"-l {errand.selector} -f" in logs_command(errand, (), follow=True)
    assert f"-l {errand.selector} --prefix" in logs_command(errand, (), follow=False)


# Budgets to begin with: the workload's own selector, exactly, and never the name of one that is there.


KEYS, VALUES = st.sampled_from(["app", "tier", "x.io/y"]), st.sampled_from(["a", "b", "1", "true"])
REQUIREMENTS = st.one_of(
    st.builds(lambda key: Requirement(key, "Exists"), KEYS),
    st.builds(lambda key, values: Requirement(key, "NotIn", tuple(values)), KEYS, st.lists(VALUES, min_size=1)),
    st.builds(lambda key, values: Requirement(key, "In", tuple(values)), KEYS, st.lists(VALUES, min_size=1)),
)


def a_workload(selector: Selector, name: str = "web") -> Workload:
    return Workload("Deployment", "shop", name, f"uid-{name}", 3, selector=selector)


def read_back(selector: dict[str, object]) -> Selector:
    """The objects as an API server reads them."""
    labels: dict[str, str] = selector.get("matchLabels", {})  # type: ignore[assignment]
    told: list[dict[str, object]] = selector.get("matchExpressions", [])  # type: ignore[assignment]
    expressions = (
        Requirement(str(e["key"]), str(e["operator"]), tuple(e.get("values", ())))  # type: ignore[arg-type]
        for e in told
    )
    return from_parts(labels, tuple(expressions))


@given(st.lists(REQUIREMENTS, max_size=4), st.dictionaries(KEYS, VALUES))
def test_it_selects_what_the_workload_selects(requirements: list[Requirement], labels: dict[str, str]) -> None:
    selector = Selector(tuple(requirements))
    (budget,) = yaml_documents(starter_budgets([a_workload(selector)], ()))
    back = read_back(budget["spec"]["selector"])
    assert back.valid and back.matches(labels) == selector.matches(labels)


def test_one_of_each_may_be_away() -> None:
    text = starter_budgets([a_workload(from_parts({"app": "web"})), a_workload(from_parts({"app": "db"}), "db")], ())
    web, db = yaml_documents(text)
    assert web == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    assert db["metadata"]["name"] == "db"


def test_a_budget_that_is_there_is_not_written_over() -> None:
    (budget,) = yaml_documents(starter_budgets([a_workload(from_parts({"app": "web"}))], {"shop/web"}))
    assert budget["metadata"]["name"] == "web-one-at-a-time"


def test_nothing_is_nothing() -> None:
    assert starter_budgets([], ()) == ""
