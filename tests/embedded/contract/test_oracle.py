"""Evictions through the whole server, with all controllers at work: 160 random small worlds and their 979 evictions.

In the recording replacements get no node and evicted pods never stop; here the nodes accept no pods and the kubelets
are slow. The Job controller's retry delay is longer than the recording of any world.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from kubectl_eksdoc.embedded.loading import StoredFacts
from kubectl_eksdoc.embedded.serving.api import Api, ApiSetup
from kubectl_eksdoc.embedded.serving.requests import Reply, ServedRequest
from kubectl_eksdoc.simulator.control_plane import ControlPlane, workload_controllers
from kubectl_eksdoc.simulator.kubelets import NEVER
from tests import raw_facts
from tests.embedded.contract.recorded import Doc, when
from tests.embedded.contract.worlds import ACCESS
from tests.simulator.control_planes import Steady

WORLDS = tuple(raw_facts.lines("recordings/eviction-oracle.jsonl.gz"))
NUMBERS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
STEP_S = 0.5
"""From one eviction to the next."""

WOKEN = {"w4-046": 1}
"""World to the budget (by position) whose expectedPods differ after a refused eviction.

Two budgets cover the pod of this world. A pod event re-queues one of them only, the first of a list in no order
(`getPdbForPod` of the disruption controller), so which of them is counted again is chance.
"""

KINDS = {
    "strategy": ("Deployment", "deployments.apps", "apps/v1"),
    "updateStrategy": ("StatefulSet", "statefulsets.apps", "apps/v1"),
    "completions": ("Job", "jobs.batch", "batch/v1"),
    "replicas": ("ReplicaSet", "replicasets.apps", "apps/v1"),
}
"""The recorded owners carry no kind, but a field of their spec tells it: the first of these that is there."""


class World:
    def __init__(self, raw: Doc) -> None:
        self.namespace = raw["namespace"]
        self.plane = ControlPlane(when(raw["pods"][0]["metadata"]["creationTimestamp"]), StoredFacts())
        self._load("namespaces", "Namespace", "v1", [_named(self.namespace)])
        nodes = {pod["spec"].get("nodeName", "") for pod in raw["pods"]} - {""}
        full = {"spec": {"unschedulable": True}, "status": {}}
        self._load("nodes", "Node", "v1", [{**_named(node), **full} for node in sorted(nodes)])
        for owner in raw["owners"]:
            kind, resource, version = next(KINDS[field] for field in KINDS if field in owner["spec"])
            self._load(resource, kind, version, [owner])
        self._load("pods", "Pod", "v1", raw["pods"])
        self._load("poddisruptionbudgets.policy", "PodDisruptionBudget", "policy/v1", raw["budgets"])
        self.plane.start(Steady(NEVER, NEVER, NEVER), workload_controllers)  # nothing starts, and nothing stops early
        self.api = Api(self.plane, ApiSetup(ACCESS))

    def evict(self, step: Doc) -> Doc:
        """The answer, in the recording's format."""
        options = {"deleteOptions": {"dryRun": ["All"]}} if step["dryRun"] else {}
        named = {"name": step["pod"], "namespace": self.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": named, **options}
        path = f"/api/v1/namespaces/{self.namespace}/pods/{step['pod']}/eviction"
        reply = self._ask("POST", path, json.dumps(body).encode())
        said = json.loads(reply.body)
        self.plane.virtual_time.run_until(self.plane.virtual_time.seconds + STEP_S)
        return {
            "code": reply.status,
            "reason": said.get("reason"),
            "message": said.get("message"),
            "causes": said.get("details", {}).get("causes"),
            "retryAfter": reply.headers.get("Retry-After"),
            "budgetsAfter": [_numbers(each) for each in self._budgets()],
        }

    def _budgets(self) -> list[Doc]:
        reply = self._ask("GET", f"/apis/policy/v1/namespaces/{self.namespace}/poddisruptionbudgets")
        items: list[Doc] = json.loads(reply.body)["items"]
        return items

    def _ask(self, method: str, path: str, body: bytes = b"") -> Reply:
        return self.api.handle(ServedRequest(method, path, {}, {"authorization": "Bearer admin"}, body))

    def _load(self, resource: str, kind: str, version: str, docs: list[Doc]) -> None:
        self.plane.load(resource, [{"kind": kind, "apiVersion": version, **doc} for doc in docs])


def _named(name: str) -> Doc:
    return {"metadata": {"name": name, "uid": name, "creationTimestamp": "2026-11-20T08:00:00Z"}}


def _numbers(budget: Doc) -> dict[str, Any]:
    status = budget["status"]
    return {"name": budget["metadata"]["name"], **{name: status.get(name, 0) for name in NUMBERS}}


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(
            world,
            id=world["namespace"],
            marks=() if place % 4 == 0 or world["namespace"] in WOKEN else pytest.mark.long,
        )
        for place, world in enumerate(WORLDS)
    ],
)
def test_every_answer_and_every_status_agree(raw: Doc) -> None:
    world = World(raw)
    differing = set()
    for step in raw["steps"]:
        said = world.evict(step)
        recorded = {name: step[name] for name in said}
        if raw["namespace"] in WOKEN:
            differing |= _without_woken(WOKEN[raw["namespace"]], said, recorded)
        assert said == recorded
    assert bool(differing) == (raw["namespace"] in WOKEN), "it agrees now: take it out of WOKEN"


def _without_woken(which: int, said: Doc, recorded: Doc) -> set[tuple[int, int]]:
    """Remove the expectedPods of one budget from both, and return the two values if they differ."""
    counts = (said["budgetsAfter"][which].pop("expectedPods"), recorded["budgetsAfter"][which].pop("expectedPods"))
    return {counts} if counts[0] != counts[1] else set()


def test_the_recording_is_whole() -> None:
    codes = Counter(step["code"] for world in WORLDS for step in world["steps"])
    assert (len(WORLDS), codes.total()) == (160, 979)
    assert {201, 429, 500} <= codes.keys()
