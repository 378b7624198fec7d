"""Recorded drains as facts: the pods and budgets before the drain, the result for each evicted pod, and every answer.

A real kubectl and a real control plane made the recordings; the kubelets were simulated. Seconds are those of the
watch; kubectl's own clock is not compared with it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from kubectl_eksdoc.kubernetes.replacement import ScaleIndex
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.workloads import Workload
from tests import raw_facts

DRAINS = {"drain-watch": "kubectl-drain", "drain-refused-watch": "kubectl-drain-refused"}

Pods = Mapping[str, Pod]


class Evicted(NamedTuple):
    """One observed eviction; the times of its replacement are those of the pod that its owner created for it."""

    pod: Pod
    evicted_s: float
    gone_s: float
    created_s: float
    ready_s: float


class Write(NamedTuple):
    at_s: float
    budget: Budget


class Ask(NamedTuple):
    """One eviction request of kubectl and its answer; `cause` is the cause of the DisruptionBudget."""

    pod: str
    code: int
    message: str
    cause: str


def events(watch: str) -> list[dict[str, Any]]:
    """The watch events of pods and budgets, in the order in which the server wrote them."""
    kept = [e for e in raw_facts.lines(f"recordings/{watch}.jsonl.gz") if e["type"] != "BOOKMARK"]
    return sorted(
        (e for e in kept if e["kind"] in ("Pod", "PodDisruptionBudget")),
        key=lambda e: int(e["object"]["metadata"]["resourceVersion"]),
    )


def before_the_drain(watch: str) -> dict[str, Pod]:
    added = [e["object"] for e in events(watch) if e["kind"] == "Pod" and e["type"] == "ADDED" and e["t"] < 1]
    return {p.name: p for p in map(raw_facts.pod, added)}


def scales_of(pods: Pods) -> ScaleIndex:
    """The owners in the recording; all their replicas were there when it began."""
    members = Counter((p.owner.kind, p.owner.name, p.owner.uid) for p in pods.values() if p.owner)
    return ScaleIndex.of(Workload(kind, "default", name, uid, count) for (kind, name, uid), count in members.items())


def writes(watch: str) -> dict[str, list[Write]]:
    """For each budget (by key) the statuses that were written, beginning with the status before the drain."""
    found: dict[str, list[Write]] = defaultdict(list)
    for event in events(watch):
        if event["kind"] == "PodDisruptionBudget":
            budget = raw_facts.budget(event["object"])
            found[budget.key].append(Write(event["t"], budget))
    return found


def evicted(watch: str) -> list[Evicted]:
    """The evictions in the order of the server's writes; an owner replaces its pods in that order, too."""
    before = before_the_drain(watch)
    uids = {pod.uid for pod in before.values()}
    times: dict[str, dict[str, float]] = {}  # by uid, each kind of event at its first time
    created: dict[str, list[str]] = defaultdict(list)  # by the owner's uid, the replacements
    for event in events(watch):
        if event["kind"] != "Pod":
            continue
        pod, at = raw_facts.pod(event["object"]), event["t"]
        seen = times.setdefault(pod.uid, {})
        if pod.uid not in uids and event["type"] == "ADDED":
            assert pod.owner is not None
            created[pod.owner.uid].append(pod.uid)
            seen["created"] = at
        if raw_facts.condition(event["object"], "DisruptionTarget"):
            seen.setdefault("evicted", at)
        if pod.ready:
            seen.setdefault("ready", at)
        if event["type"] == "DELETED":
            seen["gone"] = at
    told = []
    by_uid = {pod.uid: pod for pod in before.values()}
    for uid, seen in sorted(times.items(), key=lambda item: item[1].get("evicted", 0)):
        if "evicted" in seen:
            owner = by_uid[uid].owner
            assert owner is not None
            new = times[created[owner.uid].pop(0)]
            told.append(Evicted(by_uid[uid], seen["evicted"], seen["gone"], new["created"], new["ready"]))
    return told


def asks(watch: str) -> list[Ask]:
    """kubectl's requests in the order in which they were answered."""
    found = []
    for line in raw_facts.lines(f"recordings/{DRAINS[watch]}.jsonl.gz"):
        if line["method"] == "POST":
            said = line["response"]
            causes = said.get("details", {}).get("causes") or [{}]
            pod = line["path"].split("/")[-2]
            found.append(Ask(pod, line["status"], said.get("message", ""), causes[0].get("message", "")))
    return found
