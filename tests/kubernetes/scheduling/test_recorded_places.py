"""Each pod of the recorded clusters is on a node that the rules allow, and each Pending pod gets the scheduler's
refusal."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from kubectl_eksdoc.host.dump import DumpReader
from kubectl_eksdoc.kubernetes.scheduling.occupancy import Occupancy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Pod
from tests import raw_facts
from tests.kubernetes.scheduling import observed

CLUSTERS = ("small-traps", "medium", "rich", "landing")


@cache
def read(name: str) -> Cluster:
    return DumpReader(str(raw_facts.DATA / "clusters" / f"{name}.tar.gz")).read(kinds.ALL)


def occupancy(held: Cluster) -> Occupancy:
    return Occupancy.of(held.nodes, held.pods, {n.name: n.labels for n in held.namespaces}, observed.storage(held))


def pinned(held: Cluster) -> set[str]:
    """UIDs of workloads whose template names the node: their pods bypassed the scheduler."""
    return {w.uid for w in held.workloads if w.pinned_to}


@pytest.mark.parametrize("name", CLUSTERS)
def test_every_running_pod_is_where_it_may_be(name: str) -> None:
    held = read(name)
    taken, bypassing = occupancy(held), pinned(held)
    refused, asked = [], 0
    for pod in held.pods:
        if not pod.node or pod.finished or pod.is_mirror or (pod.owner and pod.owner.uid in bypassing):
            continue
        kind = taken.class_of(pod)
        taken.take(kind, pod.node)
        if (found := taken.refusal(kind, pod.node)) is not None:
            refused.append((pod.key, pod.node, found))
        taken.put(kind, pod.node)
        asked += 1
    assert refused == []
    assert asked > 0.9 * len(held.pods)


def pending(held: Cluster) -> list[Pod]:
    return [p for p in held.pods if not p.node and p.phase == "Pending"]


@pytest.mark.parametrize(("name", "not_reported"), [("landing", ""), ("rich", "new-0")])
def test_a_pending_pod_is_refused_in_the_schedulers_words(name: str, not_reported: str) -> None:
    """In `rich` the message is from a moment when one of the new nodes had not yet reported its resources."""
    held = read(name)
    taken = occupancy(held)
    if not_reported:
        taken.change_node(replace(taken.by_node[not_reported].node, allocatable={}))
    (pod,) = pending(held)
    told = taken.refusal_reasons(taken.class_of(pod))
    recorded = re.findall(r"(\d+) ([^,]+?)(?:, |\. )", pod.not_ready_because.partition("available: ")[2])
    assert told == Counter({reason: int(count) for count, reason in recorded if "Preemption" not in reason})
