"""``check`` of the demo: what is planted in its AWS account is found, for the target that it is about."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from tests.cli.running import run_cli

OURS = frozenset(
    (
        "subnet-addresses",
        "subnet-addresses-nodes",
        "quota-vcpus-on-demand",
        "quota-vcpus-spot",
        "quota-gp3-storage",
        "quota-nodes-per-group",
        "cluster-health",
        "cluster-update",
        "rollback-window",
        "nodegroup-health",
        "nodegroup-update",
        "nodegroup-template",
        "nodegroup-release",
        "ami-al2",
        "ami-al2023-moves",
        "ami-unknown",
        "cgroup-v1",
        "insight-error",
        "insight-warning",
        "insight-stale",
        "insight-misconfiguration",
    )
)


@cache
def found(target: str, *more: str) -> list[dict[str, Any]]:
    ran = run_cli("check", "--demo", "--target", target, "-o", "json", "--only", ",".join(sorted(OURS)), *more)
    assert ran.code in (0, 1, 5), ran.err
    return list(json.loads(ran.out)["findings"])


def failing(target: str) -> set[tuple[str, str]]:
    return {(each["code"], each["subject"]["name"]) for each in found(target) if each["status"] == "fail"}


NODES = {
    ("ami-al2", "blue"),
    ("ami-al2023-moves", "demo-shop"),
    ("nodegroup-update", "blue"),
    ("subnet-addresses-nodes", "blue"),
    ("subnet-addresses-nodes", "green"),
}


def test_all_that_is_planted_is_found() -> None:
    assert {code for code, _ in failing("1.34")} == {
        *(code for code, _ in NODES),
        "insight-error",
        "rollback-window",
        "subnet-addresses",
    }
    passes = {(each["code"], each["subject"]["name"]) for each in found("1.34") if each["status"] == "pass"}
    skews = {("insight-warning", f"{name} version skew (1.34)") for name in ("Kubelet", "kube-proxy")}
    assert passes >= skews | {("nodegroup-release", name) for name in ("blue", "green")}, "later steps change it"
    (failed,) = [each for each in found("1.34") if each["code"] == "nodegroup-update"]
    assert any("shop/sale" in each and "blue-6" in each for each in failed["evidence"])


def test_where_the_control_plane_is_at_the_target_only_its_nodes_are_in_the_way() -> None:
    assert failing("1.33") == NODES | {("rollback-window", "demo-shop"), ("nodegroup-release", "green")}
    assert not [each for each in found("1.33") if each["code"].startswith("insight-")]


def test_what_the_next_steps_bring() -> None:
    assert ("cgroup-v1", "blue") in failing("1.35") - failing("1.34")


def test_nothing_is_unknown_but_what_nobody_counts() -> None:
    assert {each["code"] for each in found("1.34") if each["status"] == "unknown"} == {"quota-gp3-storage"}


def test_a_refresh_is_for_a_live_cluster() -> None:
    ran = run_cli("check", "--demo", "--refresh-insights")
    assert ran.code == 2 and "live cluster" in ran.err
