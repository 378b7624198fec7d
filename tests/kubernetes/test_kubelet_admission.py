"""Which pods a kubelet refuses that were bound to its node past the scheduler."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as some

from kubectl_eksdoc.kubernetes.evictions import Rejected, rejected
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.placing import Placement, Requests
from tests.builders import a_node, a_pod

NODE = replace(a_node("n"), pods_allocatable=3, allocatable={"cpu": 1000, "memory": 1000, "pods": 3})


def pod(name: str, cpu: int = 0, memory: int = 0, phase: str = "Running") -> Pod:
    return replace(a_pod(name, node="n"), phase=phase, placement=Placement(Requests(cpu, memory)))


def test_each_resource_by_its_name() -> None:
    old = [pod("old", 700, 100)]
    text = "Node didn't have enough resource: cpu, requested: 400, used: 700, capacity: 1000"
    assert rejected(pod("new", 400), NODE, old) == Rejected("OutOfcpu", f"Pod was rejected: {text}")
    found = rejected(pod("new", 0, 950), NODE, old)
    assert found is not None and found.reason == "OutOfmemory"
    full = [pod(f"old-{number}") for number in range(3)]
    found = rejected(pod("new"), NODE, full)
    assert found is not None and found.reason == "OutOfpods"


def test_what_has_ended_takes_nothing() -> None:
    ended = [pod(f"old-{number}", 1000, 1000, "Succeeded") for number in range(5)]
    assert rejected(pod("new", 1000, 1000), NODE, ended) is None


def test_it_does_not_count_twice() -> None:
    """It is among the pods of its node itself."""
    new = pod("new", 1000)
    assert rejected(new, NODE, [new]) is None


@given(some.lists(some.integers(0, 500), max_size=2), some.integers(0, 1200))
def test_never_more_than_there_is(taken: list[int], asked: int) -> None:
    there = [pod(f"old-{number}", cpu) for number, cpu in enumerate(taken)]
    found = rejected(pod("new", asked), NODE, there)
    assert (found is None) == (asked == 0 or sum(taken) + asked <= 1000)
