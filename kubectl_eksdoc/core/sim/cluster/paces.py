"""Paces at which some pods take longer than they should, or never come to an end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.sim.cluster.kubelets import Pace


@dataclass(frozen=True, slots=True)
class Slower:
    """A pace at which `which` pods take so many seconds more: `NEVER` for what they never do by themselves. Who never
    stops is killed when the grace period is over."""

    pace: Pace
    which: Callable[[Pod], bool]
    more_to_start_s: float = 0.0
    more_to_stop_s: float = 0.0

    def start_s(self, pod: Pod) -> float:
        return self.pace.start_s(pod) + (self.more_to_start_s if self.which(pod) else 0.0)

    def stop_s(self, pod: Pod) -> float:
        return self.pace.stop_s(pod) + (self.more_to_stop_s if self.which(pod) else 0.0)

    def run_s(self, pod: Pod) -> float:
        return self.pace.run_s(pod)
