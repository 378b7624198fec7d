"""A control plane that is started with troubles: mishaps at a time or now and then, pods that hang, budgets seen late.

What became of each is kept, so that whoever had to live with it can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.sim.cluster.chance import Chance
from kubectl_eksdoc.core.sim.cluster.controllers import in_time
from kubectl_eksdoc.core.sim.cluster.kubelets import NEVER, Pace, none_is
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane, Lags, Workloads

EVERY_S = 60.0
"""What happens by chance has it once in each of these."""


class Befallen(NamedTuple):
    """`at_s` of the agenda; `subject` is a node or a pod (ns/name), `what` has become of it: ``disappeared``."""

    at_s: float
    subject: str
    what: str


Note = Callable[[str, str], None]
"""Called with the subject and what has become of it."""

Mishap = Callable[[ControlPlane, Chance, Note], None]
"""One thing that happens now; it notes what it did, and does nothing where there is nothing to do it to."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """`mishap` happens once at `at_s` (virtual seconds from the start), or with `share` of chance in each minute where
    `at_s` is None. `stuck` pods never stop; those of `never_ready` never start. `late_s`: how much later the budgets'
    controller looks, asked each time."""

    mishap: Mishap | None = None
    at_s: float | None = None
    share: float = 0.0
    stuck: Callable[[Pod], bool] = none_is
    never_ready: Callable[[Pod], bool] = none_is
    late_s: Callable[[], float] = in_time


class Troubled:
    """A control plane and its troubles; `befallen` grows as they come. Mutable."""

    def __init__(self, plane: ControlPlane, troubles: Iterable[Trouble] = (), seed: int = 0) -> None:
        self._plane = plane
        self._troubles = tuple(troubles)
        self._seed = seed
        self.befallen: list[Befallen] = []

    def start(self, pace: Pace, workloads: Workloads, lags: Lags = Lags()) -> None:
        """As `ControlPlane.start`."""
        troubles = self._troubles
        if troubles:
            pace = _Stalling(pace, lambda pod: any(each.never_ready(pod) for each in troubles))
            late_s = lags.disruptions_late_s
            lags = replace(lags, disruptions_late_s=lambda: late_s() + sum(each.late_s() for each in troubles))
        self._plane.start(pace, workloads, lags, lambda pod: any(each.stuck(pod) for each in troubles))
        for place, each in enumerate(troubles):
            if each.mishap is not None:
                self._begin(each, each.mishap, Chance(self._seed * 1000 + place))

    def _begin(self, trouble: Trouble, mishap: Mishap, chance: Chance) -> None:
        plane = self._plane

        def once() -> None:
            mishap(plane, chance, self._note)

        def now_and_then() -> None:
            if chance.next() < trouble.share:
                once()
            plane.agenda.after(EVERY_S, now_and_then)

        if trouble.at_s is None:
            plane.agenda.after(EVERY_S, now_and_then)
        else:
            plane.agenda.after(trouble.at_s, once)

    def _note(self, subject: str, what: str) -> None:
        self.befallen.append(Befallen(self._plane.agenda.seconds, subject, what))


@dataclass(frozen=True, slots=True)
class _Stalling:
    """A pace at which some pods never become Ready."""

    pace: Pace
    stalled: Callable[[Pod], bool]

    def start_s(self, pod: Pod) -> float:
        return NEVER if self.stalled(pod) else self.pace.start_s(pod)

    def stop_s(self, pod: Pod) -> float:
        return self.pace.stop_s(pod)

    def run_s(self, pod: Pod) -> float:
        return self.pace.run_s(pod)
