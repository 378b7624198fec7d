"""How long the pods of a cluster take to stop and to start, as the simulator wants it."""

from __future__ import annotations

from kubectl_eksdoc.drain.duration.generations import EvictionTimes
from kubectl_eksdoc.drain.nodes import survey
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.simulator.kubelets import KubeletTimes


@frozen
class PlannedPace:
    """As long as the plan's p50 has them take, with its `level`."""

    _clock: EvictionTimes
    _level: float = 0.0

    def start_s(self, pod: Pod) -> float:
        return self._clock.times_at(pod, self._level)[1]

    def stop_s(self, pod: Pod) -> float:
        return self._clock.times_at(pod, self._level)[0]

    def run_s(self, pod: Pod) -> float:
        """Of Jobs nothing tells how long they run."""
        return float("inf")


def pace_of(cluster: Cluster) -> KubeletTimes:
    """How long the pods of a cluster take, learned from those that run."""
    return PlannedPace(EvictionTimes(survey(cluster, (), DrainPolicy())))
