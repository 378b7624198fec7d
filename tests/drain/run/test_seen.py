"""What a run knows of pods, however it is told, and in whatever order."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.drain.run.pursuits import ObservedState
from kubectl_eksdoc.kubernetes.news import AllPods, PodGone, PodIs, PodsFound
from kubectl_eksdoc.model.acts import ListPods
from tests.builders import a_cluster, a_node, pods

CLUSTER = a_cluster(nodes=[a_node("old-0")], pods=pods(1))
NEW = replace(CLUSTER.pods[0], name="late", uid="late")
LISTED = PodsFound(ListPods("old-0"), (*CLUSTER.pods, NEW))


def uids(seen: ObservedState) -> set[str]:
    return {pod.uid for pod in seen.pods()}


def test_what_a_list_has_and_the_watch_not_yet_is_known() -> None:
    seen = ObservedState(CLUSTER)
    seen.take(LISTED)
    assert uids(seen) == {CLUSTER.pods[0].uid, "late"}
    seen.take(PodIs(replace(NEW, ready=False), 7))
    assert seen.pod("late") == replace(NEW, ready=False)
    seen.take(PodGone("late", 8))
    assert uids(seen) == {CLUSTER.pods[0].uid}


def test_a_list_that_comes_late_brings_nothing_back() -> None:
    seen = ObservedState(CLUSTER)
    seen.take(PodGone("late", 5))
    seen.take(LISTED)
    assert "late" not in uids(seen)


def test_a_list_changes_nothing_that_was_told() -> None:
    seen = ObservedState(CLUSTER)
    seen.take(PodIs(replace(NEW, phase="Succeeded"), 5))
    seen.take(LISTED)
    assert seen.pod("late") == replace(NEW, phase="Succeeded")


def test_what_was_listed_and_is_not_among_all_is_gone() -> None:
    seen = ObservedState(CLUSTER)
    seen.take(LISTED)
    seen.take(AllPods(((CLUSTER.pods[0], 3),), 9))
    assert uids(seen) == {CLUSTER.pods[0].uid}
