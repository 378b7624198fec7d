"""Requests and answers of a real kubectl drain, and answers of a real API server, by the rules of a drain's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests import raw_facts
from tests.builders import a_pod
from tests.fakes.kubectl import (
    NAMESPACE_TERMINATING,
    RETRY_AFTER,
    Next,
    Removal,
    RemovalOptions,
    Served,
    after_eviction,
    eviction_version,
    implements_scale,
    removals,
    scale_not_found,
)

EXCHANGES: Mapping[str, dict[str, Any]] = {e["name"]: e for e in raw_facts.lines("recordings/exchanges.jsonl.gz")}
DRAINS = {
    name: list(raw_facts.lines(f"recordings/{name}.jsonl.gz")) for name in ("kubectl-drain", "kubectl-drain-refused")
}


def served(resources: list[dict[str, Any]]) -> list[Served]:
    return [Served(r["name"], r["kind"], r.get("group", ""), r.get("version", "")) for r in resources]


def causes(response: Mapping[str, Any]) -> list[str]:
    """Their reasons; what an admission policy says has none."""
    return [c.get("reason", "") for c in (response.get("details") or {}).get("causes", ())]


def evictions(drain: str) -> list[dict[str, Any]]:
    return [e for e in DRAINS[drain] if e["method"] == "POST" and e["path"].endswith("/eviction")]


@pytest.mark.parametrize("drain", DRAINS)
def test_kubectl_sent_what_the_rule_sends(drain: str) -> None:
    offered = next(e["response"]["resources"] for e in DRAINS[drain] if e["path"] == "/api/v1")
    version = eviction_version(served(offered))
    for exchange in evictions(drain):
        body = exchange["body"]
        pod = a_pod(body["metadata"]["name"], body["metadata"]["namespace"])
        assert exchange["path"] == f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
        assert (body["apiVersion"], body["deleteOptions"]) == (version, {})
        assert removals([pod], RemovalOptions(), version) == (Removal(pod.namespace, pod.name, "policy/v1"),)


@pytest.mark.parametrize("drain", DRAINS)
def test_kubectl_did_next_what_the_rule_says(drain: str) -> None:
    """After WAIT it never evicts that pod again; after RETRY it does, not before it has slept."""
    seen = {Next.WAIT: 0, Next.RETRY: 0}
    for number, exchange in enumerate(DRAINS[drain]):
        if exchange not in evictions(drain):
            continue
        step = after_eviction(exchange["status"], causes(exchange["response"]), deleting=False)
        again = [e for e in DRAINS[drain][number + 1 :] if e["path"] == exchange["path"]]
        assert bool(again) == (step is Next.RETRY)
        assert all(e["t"] - exchange["t"] >= RETRY_AFTER.total_seconds() for e in again)
        seen[step] += 1
    assert seen[Next.WAIT] and (seen[Next.RETRY] > 0) == (drain == "kubectl-drain-refused")


@pytest.mark.parametrize(
    ("name", "deleting", "step"),
    [
        ("eviction of a terminating pod", True, Next.WAIT),
        ("eviction of a missing pod", False, Next.GONE),
        ("eviction budget zero (maxUnavailable 0)", False, Next.RETRY),
        ("eviction two budgets", False, Next.FAILED),
        ("eviction forbidden", False, Next.FAILED),
        ("eviction forbidden", True, Next.FAILED),
        ("eviction wrong uid precondition", False, Next.FAILED),
        ("eviction denied by an admission policy, reason Forbidden", False, Next.FAILED),
        ("eviction in a terminating namespace, pod not yet deleted", False, Next.RETRY),
        ("eviction in a terminating namespace, pod already terminating", True, Next.WAIT),
    ],
)
def test_what_follows_a_real_answer(name: str, deleting: bool, step: Next) -> None:
    response = EXCHANGES[name]["response"]
    assert after_eviction(response["status"], causes(response["body"]), deleting) is step


def test_the_cause_counts_only_with_its_code() -> None:
    assert after_eviction(409, [NAMESPACE_TERMINATING], deleting=True) is Next.FAILED


def test_a_deletion_says_no_version() -> None:
    options = RemovalOptions(grace_seconds=0, disable_eviction=True, dry_run=True)
    (asked,) = removals([a_pod("web-1")], options, "policy/v1")
    assert (asked, asked.evicts) == (Removal("default", "web-1", "", 0, True), False)


def test_a_version_that_kubectl_does_not_know_falls_back_to_the_oldest() -> None:
    (asked,) = removals([a_pod()], RemovalOptions(), "policy/v2")
    assert asked.eviction_version == "policy/v1beta1"


@pytest.mark.parametrize(
    "entry",
    [
        Served("pods/eviction", "Eviction"),
        Served("pods/eviction", "Eviction", "policy"),
        Served("pods/eviction", "Eviction", "", "v1"),
        Served("pods/eviction", "Pod", "policy", "v1"),
        Served("pods", "Eviction", "policy", "v1"),
    ],
)
def test_what_is_no_support_for_evictions(entry: Served) -> None:
    assert eviction_version([entry]) == ""


@pytest.mark.parametrize(
    ("entry", "scales"),
    [
        (Served("widgets/scale", "Scale", "autoscaling", "v1"), True),
        (Served("widgets/scale", "Scale", "apps", "v1beta2"), True),
        (Served("widgets/scale", "Scale", "autoscaling", "v2"), False),
        (Served("widgets/scale", "Scale"), False),
        (Served("widgets/scale", "Widget", "autoscaling", "v1"), False),
        (Served("gadgets/scale", "Scale", "autoscaling", "v1"), False),
    ],
)
def test_which_scale_the_controller_reads(entry: Served, scales: bool) -> None:
    assert implements_scale("widgets", [entry]) == scales


def test_what_a_real_server_can_scale() -> None:
    apps = served(EXCHANGES["apps v1 resources"]["response"]["body"]["resources"])
    can = {p: implements_scale(p, apps) for p in ("deployments", "replicasets", "statefulsets", "daemonsets")}
    assert can == {"deployments": True, "replicasets": True, "statefulsets": True, "daemonsets": False}
    missing = scale_not_found("daemonsets", "apps", apps)
    assert missing is not None and missing.error == "daemonsets.apps does not implement the scale subresource"
