"""The DisruptionTarget condition in pods' documents, and the part of the disruption controller that takes it back of
pods that nobody deleted.

Source: pkg/controller/disruption/disruption.go (syncStalePodDisruption), pkg/api/v1/pod/util.go (UpdatePodCondition),
Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.rules.disruption_targets import BY_EVICTION, EVICTING, DisruptionTarget, after_sync, stale_in
from kubectl_eksdoc.core.sim.cluster.conditions import condition, put
from kubectl_eksdoc.core.sim.cluster.facts import Facts
from kubectl_eksdoc.core.sim.cluster.registry import PODS, Registry
from kubectl_eksdoc.core.sim.cluster.store import Change, Key, What
from kubectl_eksdoc.core.sim.cluster.times import moment, rfc3339

TARGET = "DisruptionTarget"


def disrupted(pod: Doc, reason: str, message: str, now: str) -> Doc:
    """`pod` with the condition that says which controller is about to end it; the time stays if it held already."""
    return _with_target(pod, _true(pod, reason, message, now), counted=True)


def evicted(pod: Doc, now: str) -> Doc:
    """`pod` as the eviction endpoint marks it, which does not say of which generation it speaks."""
    return _with_target(pod, _true(pod, BY_EVICTION, EVICTING, now), counted=False)


def _true(pod: Doc, reason: str, message: str, now: str) -> Doc:
    held = condition(pod, TARGET) or {}
    since = held.get("lastTransitionTime", now) if held.get("status") == "True" else now
    return {"status": "True", "lastTransitionTime": since, "reason": reason, "message": message}


class StaleTargets:
    """A `Controller` whose keys are pods'."""

    resources = (PODS,)

    def __init__(self, registry: Registry, facts: Facts) -> None:
        self._registry = registry
        self._facts = facts

    def touched(self, change: Change) -> Iterable[Key]:
        if change.what is not What.DELETED and not change.item.leaving and condition(change.item.doc, TARGET):
            yield change.item.key

    def reconcile(self, key: Key) -> float | None:
        item = self._registry.store.get(PODS, key)
        if item is None:
            return None
        pod, held, now = self._facts.pod(item), _held(item.doc), self._registry.agenda.now
        left = stale_in(pod, held, now)
        if left is None or left.total_seconds() > 0:
            return None if left is None else left.total_seconds()
        taken = after_sync(pod, held, now)
        assert taken is not None, "it was held"
        doc = _with_target(item.doc, {"status": taken.status, "lastTransitionTime": rfc3339(now)}, counted=True)
        self._registry.update(item, doc, status=True)
        return None


def _held(pod: Doc) -> DisruptionTarget | None:
    held = condition(pod, TARGET)
    if held is None:
        return None
    since = held.get("lastTransitionTime")
    return DisruptionTarget(str(held.get("status")), moment(since) if since else None, str(held.get("reason") or ""))


def _with_target(pod: Doc, new: Doc, *, counted: bool) -> Doc:
    """The condition is written anew as a whole."""
    made = {"type": TARGET, "lastProbeTime": None, **new}
    if counted and (generation := at(pod, "metadata", "generation")):
        made["observedGeneration"] = generation
    return with_value(pod, ("status", "conditions"), put(at(pod, "status", "conditions") or (), made))
