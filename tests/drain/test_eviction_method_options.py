"""Flags for eviction methods, from the command line to the plan and back."""

from __future__ import annotations

import argparse

import pytest

from kubectl_eksdoc.cli import values
from kubectl_eksdoc.drain.command import plan as drain
from kubectl_eksdoc.drain.policy import DrainPolicy, Targeting
from kubectl_eksdoc.model.quantities import Version
from tests.builders import a_budget, a_node, a_pod, a_workload, pods
from tests.drain.planning import plan_of


@pytest.mark.parametrize("text", ["x", "-1s", "1.5s", "200h", ""])
def test_no_time_to_wait(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        values.patience(text)


@pytest.mark.parametrize("text", ["x", "a/", "/b", "a/b/c", "A/b", "a/--all"])
def test_no_name_of_a_pod(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        values.pod_key(text)


def test_names_that_change_nothing_are_noted() -> None:
    names = frozenset({"default/web-0", "default/far", "default/bare", "default/never-0"})
    held = a_budget("never", max_unavailable=0, allowed=0, expected=1)
    plan = plan_of(
        nodes=[a_node("old-0"), a_node("old-1")],
        pods=[
            *pods(3),
            a_pod("far", node="roomy"),
            a_pod("bare", owner=None, node="old-1"),
            a_pod("never-0", owner="ReplicaSet/never"),
        ],
        workloads=[a_workload(), a_workload("ReplicaSet/never", replicas=1)],
        budgets=[a_budget(), held],
        policy=DrainPolicy(delete_past_budget=names),
    )
    notes = drain.ineffective_option_notes(plan, Targeting(older_than=Version(1, 34)), "v1.33.1-eks-1b3e656")
    far, web, bare = (next(n for n in notes if pod in n) for pod in ("far", "web-0", "bare"))
    assert far.endswith("it is on no target")
    assert web.endswith("its budget allows its eviction in its turn")
    assert "no controller owns it" in bare
    assert notes[0].startswith("--older-than v1.34 leaves no node out")
    assert len(drain.ineffective_option_notes(plan, Targeting(older_than=Version(1, 33, 4)), "v1.33.1")) == 3
    assert len(notes) == 4 and [e.pod.name for e in plan.past_budgets] == ["never-0"]
