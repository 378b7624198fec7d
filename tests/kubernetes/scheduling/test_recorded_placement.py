"""Placement of pods compared with a real scheduler: all blue nodes cordoned, their pods deleted, and its messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import MANAGED_GROUP, UNSCHEDULABLE_TAINT, Pod, Taint
from tests import raw_facts
from tests.kubernetes.scheduling import observed

NO_PLACE = {
    "ReplicaSet/quorum": 3,
    "ReplicaSet/blue-only": 2,
    "StatefulSet/local-db": 1,
    "ReplicaSet/too-big": 1,
}


@cache
def before() -> Cluster:
    return DumpReader(str(raw_facts.DATA / "clusters" / "landing.tar.gz")).read(kinds.ALL)


def owner(pod: Pod) -> str:
    """``ReplicaSet/quorum``: without the hash of the pod template."""
    assert pod.owner is not None
    return _short(f"{pod.owner.kind}/{pod.owner.name}")


def _short(text: str) -> str:
    return re.sub(r"^(ReplicaSet/.*)-[a-z0-9]+$", r"\1", text)


def stays(pod: Pod) -> bool:
    return pod.is_mirror or (pod.owner is not None and pod.owner.kind == "DaemonSet")


def emptied() -> tuple[Occupancy, list[Pod]]:
    """The cluster with every blue node cordoned and emptied, and the pods that need a new place.

    No controller recreates a bare pod, and a pod whose template names its node bypasses the scheduler.
    """
    held = before()
    fence = Taint(UNSCHEDULABLE_TAINT, "", "NoSchedule")
    blue = {n.name for n in held.nodes if n.labels.get(MANAGED_GROUP) == "blue"}
    nodes = [replace(n, unschedulable=True, taints=(*n.taints, fence)) if n.name in blue else n for n in held.nodes]
    occupancy = Occupancy.of(nodes, held.pods, {n.name: n.labels for n in held.namespaces}, observed.storage(held))
    pinned = {w.uid for w in held.workloads if w.pinned_to}
    homeless = []
    for pod in held.pods:
        if pod.finished or stays(pod) or (pod.node and pod.node not in blue):
            continue
        if pod.node:
            occupancy.take(occupancy.class_of(pod), pod.node)
        if pod.owner is not None and pod.owner.uid not in pinned:
            homeless.append(pod)
    assert len(blue) == 12
    return occupancy, homeless


def greedily(occupancy: Occupancy, homeless: list[Pod]) -> list[Pod]:
    """Each pod takes the feasible node with the most free memory; return the pods without a node."""
    left = []
    for pod in homeless:
        kind = occupancy.successor_of(pod)
        open_to = [seat for seat in occupancy.candidates(kind).values() if occupancy.fits_now(kind, seat)]
        if open_to:
            occupancy.put(kind, max(open_to, key=lambda seat: (seat.room.memory, seat.node.name)).node.name)
        else:
            left.append(pod)
    return left


@cache
def after() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for line in raw_facts.lines("clusters/landing-after.jsonl"):
        found.setdefault(_short(line["owner"] or ""), []).append(line)
    return found


def recorded_reasons(of: str) -> Iterator[Counter[str]]:
    """The scheduler's counts of reasons for each Pending pod of that owner."""
    for line in after()[of]:
        if line["unschedulable"]:
            told = line["unschedulable"].partition("available: ")[2].partition(". no new claims")[0]
            parts = (part.partition(" ") for part in told.split(", "))
            yield Counter({reason: int(count) for count, _, reason in parts})


@pytest.mark.parametrize("step", [1, -1])
def test_exactly_the_recorded_seven_find_no_place_in_either_order(step: int) -> None:
    occupancy, homeless = emptied()
    left = greedily(occupancy, homeless[::step])
    assert Counter(map(owner, left)) == NO_PLACE
    assert {of: sum(1 for _ in recorded_reasons(of)) for of in NO_PLACE} == NO_PLACE
    assert all(occupancy.uncertainties(occupancy.successor_of(pod)) == () for pod in homeless)


def place_of(line: dict[str, Any]) -> tuple[str, str]:
    """The key of a recorded node: a StatefulSet's pod returns under its name, other pods are known by their owner."""
    of = line["owner"] or ""
    return line["namespace"], line["pod"] if of.startswith("StatefulSet") else of


def new_places() -> dict[tuple[str, str], list[str]]:
    """The nodes of recorded pods that were created after the drain began."""
    there = {p.key for p in before().pods}
    found: dict[tuple[str, str], list[str]] = {}
    for line in raw_facts.lines("clusters/landing-after.jsonl"):
        again = (line["owner"] or "").startswith("StatefulSet")
        if line["node"] and (again or f"{line['namespace']}/{line['pod']}" not in there):
            found.setdefault(place_of(line), []).append(line["node"])
    return found


def replayed() -> tuple[Occupancy, list[Pod], int]:
    """Put every pod where the scheduler put it; return the pods without a place, and the number of placed ones.

    A pod gets the first recorded node of its owner that the rules allow; if they allow none, the test fails.
    """
    occupancy, homeless = emptied()
    places, left, put = new_places(), [], 0
    for pod in homeless:
        assert pod.owner is not None
        kind = occupancy.successor_of(pod)
        line = {"namespace": pod.namespace, "pod": pod.name, "owner": f"{pod.owner.kind}/{pod.owner.name}"}
        options = places.get(place_of(line), [])
        allowed = [node for node in options if occupancy.refusal(kind, node) is None]
        assert allowed or not options, (pod.key, [occupancy.refusal(kind, node) for node in options])
        if allowed:
            occupancy.put(kind, allowed[0])
            options.remove(allowed[0])
            put += 1
        else:
            left.append(pod)
    return occupancy, left, put


def test_the_scheduler_put_no_pod_where_the_rules_forbid_it_and_the_reasons_are_its_node_by_node() -> None:
    """Its message is of its last attempt: for local-db, whose volume excludes every preemption, at a time when nodes
    had room."""
    full, left, put = replayed()
    assert Counter(map(owner, left)) == NO_PLACE and put > 100
    for pod in left:
        at = emptied()[0] if owner(pod) == "StatefulSet/local-db" else full
        told = at.refusal_reasons(at.successor_of(pod))
        assert list(recorded_reasons(owner(pod))) == [told] * NO_PLACE[owner(pod)], pod.key
