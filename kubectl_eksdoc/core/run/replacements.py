"""The pods that are made for those that a run makes go: which they are, and onto which nodes they were scheduled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.outcome import Eviction
from kubectl_eksdoc.core.run.answers import made_for
from kubectl_eksdoc.core.run.seen import Seen


class Arrival(NamedTuple):
    """When a replacement was seen first, with a node and Ready, in seconds since the run began; `owner`: its uid."""

    owner: str
    since_s: float
    scheduled_s: float | None = None
    ready_s: float | None = None


class Replacements:
    """Mutable. `nodes`: of each that has one, by UID, its node; also of those that are gone by now. `arrivals`
    likewise, in the order in which they were seen."""

    def __init__(self, evictions: Iterable[Eviction], seen: Seen) -> None:
        self.nodes: dict[str, str] = {}
        self.arrivals: dict[str, Arrival] = {}
        self._owners: set[str] = set()  # whose pods are replaced
        self._restarted: set[tuple[str, str]] = set()  # namespace and name of what makes new ReplicaSets
        self._known = {pod.uid for pod in seen.pods()}
        self.expect(evictions)

    def expect(self, evictions: Iterable[Eviction]) -> None:
        """These go: pods of their owners that are new from now on replace them."""
        for each in evictions:
            if each.pod.owner is not None:
                self._owners.add(each.pod.owner.uid)
            if each.manner.restarts is not None:
                self._restarted.add((each.pod.namespace, each.manner.restarts.name))

    def __contains__(self, pod: Pod) -> bool:
        """Whether it takes the place of a pod that goes: its owner's, or of a new ReplicaSet of what is restarted."""
        if pod.uid in self._known or pod.owner is None:
            return False
        return pod.owner.uid in self._owners or (pod.namespace, made_for(pod.owner)) in self._restarted

    def see(self, pod: Pod, now_s: float) -> bool:
        """Whether it is one; its node is kept, and when it came to where it is."""
        if pod not in self or pod.owner is None:
            return False
        if pod.node:
            self.nodes[pod.uid] = pod.node
        known = self.arrivals.get(pod.uid) or Arrival(pod.owner.uid, now_s)
        if known.scheduled_s is None and pod.node:
            known = known._replace(scheduled_s=now_s)
        if known.ready_s is None and pod.ready:
            known = known._replace(ready_s=now_s)
        self.arrivals[pod.uid] = known
        return True
