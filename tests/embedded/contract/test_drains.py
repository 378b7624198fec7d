"""Replay real kubectl drains, request by request, on the embedded server in virtual time.

The requests are sent in the order in which they were answered, and none earlier than it was recorded. A granted
eviction is sent when its pod was seen to be marked: of two at the same moment under one budget the second waits for
half a second. The simulated kubelets take the recorded time for each pod.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import pytest

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.requests import Reply
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.kubelets import NEVER
from tests import raw_facts
from tests.embedded.contract.comparing import without_hashes
from tests.embedded.contract.recorded import Doc, when
from tests.embedded.contract.worlds import ACCESS, BUILD, request_of
from tests.recorded_drains import DRAINS, evicted

RESOURCES = {"Pod": "pods", "Node": "nodes", "PodDisruptionBudget": "poddisruptionbudgets.policy"}
CLOSE_S = 0.02
"""Of the two clocks no more is known: a pod may be seen, or not be seen any more, so much earlier or later."""

SETS = {"ReplicaSet": "replicasets.apps", "StatefulSet": "statefulsets.apps"}


class AsRecorded:
    """A `Pace`: the recorded stop time of each evicted pod, and the recorded start time of each owner's new pods.

    Pods stop at the latest possible moment, and start early enough to be Ready at the recorded moment.
    """

    def __init__(self, watch: str) -> None:
        self._stops = {each.pod.uid: each.gone_s - each.evicted_s for each in evicted(watch)}
        self._starts: dict[str, list[float]] = defaultdict(list)
        for each in evicted(watch):
            assert each.pod.owner is not None
            self._starts[each.pod.owner.uid].append(each.ready_s - each.created_s - 2 * CLOSE_S)
        self._given: dict[str, float] = {}

    def start_s(self, pod: Pod) -> float:
        left = self._starts[pod.owner.uid] if pod.owner else []
        if pod.uid not in self._given:
            self._given[pod.uid] = left.pop(0) if left else NEVER
        return self._given[pod.uid]

    def stop_s(self, pod: Pod) -> float:
        return self._stops.get(pod.uid, NEVER) + CLOSE_S

    def run_s(self, pod: Pod) -> float:
        return NEVER


def cluster(watch: str) -> ControlPlane:
    # The objects at the start of the watch.
    lines = raw_facts.lines(f"recordings/{watch}.jsonl.gz")
    docs = [event["object"] for event in lines if event["type"] == "ADDED" and event["t"] < 1]
    plane = ControlPlane(when("2026-11-20T08:53:00Z"), StoredFacts())
    for name in ("default", "kube-system"):
        plane.load("namespaces", [{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name, "uid": name}}])
    for doc in docs:
        plane.load(RESOURCES[doc["kind"]], [doc])
    by_owner: dict[str, list[Doc]] = defaultdict(list)
    for doc in docs:
        for owner in doc["metadata"].get("ownerReferences", ()):
            if owner["kind"] in SETS:
                by_owner[owner["uid"]].append(doc)
    for pods in by_owner.values():
        owner = an_owner(pods[0], len(pods))
        plane.load(SETS[owner["kind"]], [owner])
    plane.load("daemonsets.apps", [_agents()])
    return plane


def an_owner(pod: Doc, replicas: int) -> Doc:
    """The workload that created a pod, as far as its pods show it."""
    owner = pod["metadata"]["ownerReferences"][0]
    given = ("controller-revision-hash", "statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index")
    zones = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
    labels = {key: value for key, value in pod["metadata"]["labels"].items() if key not in (*given, *zones)}
    left_out = ("nodeName", "hostname", "subdomain")
    template = {"labels": labels}, {key: value for key, value in pod["spec"].items() if key not in left_out}
    spec: Doc = {"replicas": replicas, "selector": {"matchLabels": labels}}
    spec["template"] = {"metadata": template[0], "spec": template[1]}
    status: Doc = {}
    if owner["kind"] == "StatefulSet":
        spec |= {"podManagementPolicy": "Parallel", "serviceName": owner["name"]}
        status = {"observedGeneration": 1, "updateRevision": pod["metadata"]["labels"]["controller-revision-hash"]}
    meta = {"name": owner["name"], "namespace": pod["metadata"]["namespace"], "uid": owner["uid"], "generation": 1}
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "metadata": meta, "spec": spec, "status": status}


def _agents() -> Doc:
    """The DaemonSet whose pods kubectl leaves; requests only check that it exists."""
    meta = {"name": "aws-node", "namespace": "kube-system", "uid": "aws-node", "generation": 1}
    labels = {"app": "aws-node"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": meta, "spec": spec, "status": {}}


def answered(watch: str) -> Iterator[tuple[Doc, Reply]]:
    """Each recorded request with our answer."""
    lines = list(raw_facts.lines(f"recordings/{DRAINS[watch]}.jsonl.gz"))
    plane = cluster(watch)
    plane.start(AsRecorded(watch), workload_controllers)
    api = Api(plane, ApiSetup(ACCESS, BUILD))
    for line, sent_s in zip(lines, accumulate(moments(watch, lines), max), strict=True):
        plane.virtual_time.run_until(1.0 + sent_s)
        reply = api.handle(request_of({**line, "user": "cluster-admin"}))
        if line["method"] == "GET" and reply.status != line["status"]:
            plane.virtual_time.run_until(1.0 + sent_s + 2 * CLOSE_S)
            reply = api.handle(request_of({**line, "user": "cluster-admin"}))
        yield line, reply


def moments(watch: str, lines: list[Doc]) -> list[float]:
    """Seconds since the first request, by kubectl's clock. Its offset from the watch's clock follows from the quickest
    answer to an eviction, after which kubectl requests the pod at once."""
    marked = {each.pod.name: each.evicted_s for each in evicted(watch)}
    asked: dict[str, float] = {}
    for line in lines:
        asked.setdefault(line["path"].rpartition("/")[2], line["t"] - lines[0]["t"])
    behind_s = max(marked[name] - asked[name] for name in marked)
    return [
        marked[line["path"].split("/")[-2]] - behind_s
        if line["method"] == "POST" and line["status"] == 201
        else line["t"] - lines[0]["t"]
        for line in lines
    ]


def told(line: Doc) -> Any:
    """The part of a recorded answer that is the same in any cluster: without a node's own numbers and owners."""
    body = line["response"]
    if line["responseType"] != "application/json" or "bytes" in body:
        return None
    return _of_any_cluster(body)


def _of_any_cluster(body: Doc) -> Any:
    if body.get("kind") == "Node":
        kept = {name: body["metadata"][name] for name in ("name", "uid", "labels", "creationTimestamp")}
        return {"metadata": kept, "spec": {**body["spec"], "taints": None}, "status": body["status"]}
    return without_hashes(body) if body.get("kind") == "APIResourceList" else body


@pytest.mark.parametrize("watch", sorted(DRAINS))
def test_every_request_of_a_drain_is_answered_alike(watch: str) -> None:
    for line, reply in answered(watch):
        asked = f"{line['method']} {line['path']} after {line['t']}"
        assert reply.status == line["status"], f"{asked}: {reply.body!r}"
        theirs = told(line)
        if theirs is not None:
            assert _of_any_cluster(json.loads(reply.body)) == theirs, asked
        assert reply.headers.get("Retry-After") == line["retryAfter"], asked
