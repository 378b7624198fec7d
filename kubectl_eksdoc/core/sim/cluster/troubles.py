"""A control plane that is started with troubles: mishaps at a time or now and then, pods that hang, budgets seen late.

What befalls the cluster is told, so that whoever has to live with it can say why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.sim.cluster.chance import Chance
from kubectl_eksdoc.core.sim.cluster.controllers import in_time
from kubectl_eksdoc.core.sim.cluster.kubelets import Pace, none_is
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane, Lags, Workloads

EVERY_S = 60.0
"""What happens by chance has it once in each of these."""


class Befallen(NamedTuple):
    """`at_s` of the agenda; `subject` is a node, a pod (ns/name), some pods or the control plane; `what` is what has
    become of it."""

    at_s: float
    subject: str
    what: str

    @property
    def said(self) -> str:
        return f"{self.subject} {self.what}"


Note = Callable[[str, str], None]
"""Called with the subject and what has become of it."""

Mishap = Callable[[ControlPlane, Chance, Note], None]
"""One thing that happens now; it notes what it did, and does nothing where there is nothing to do it to."""


def as_it_is(pace: Pace) -> Pace:
    return pace


def joins() -> bool:
    """Every node does that is asked for."""
    return True


@dataclass(frozen=True, slots=True)
class Trouble:
    """`mishap` happens once at `at_s` (virtual seconds from the start), or with the chance `share` in each minute
    where `at_s` is None. `paced` makes another pace of the kubelets'. `stuck` pods never stop. `late_s`: how much
    later the budgets' controller looks, asked each time, and whose pods' ends it does not see (`missed`); `joins`:
    whether a node that is asked for comes."""

    mishap: Mishap | None = None
    at_s: float | None = None
    share: float = 0.0
    paced: Callable[[Pace], Pace] = as_it_is
    stuck: Callable[[Pod], bool] = none_is
    late_s: Callable[[], float] = in_time
    joins: Callable[[], bool] = joins
    missed: Callable[[Pod], bool] = none_is


class Troubled:
    """A control plane and its troubles. Mutable."""

    def __init__(
        self, plane: ControlPlane, troubles: Iterable[Trouble], told: Callable[[Befallen], object], seed: int = 0
    ) -> None:
        """`told` is called with all that befalls it."""
        self._plane = plane
        self._troubles = tuple(troubles)
        self._told = told
        self._seed = seed

    def start(self, pace: Pace, workloads: Workloads, lags: Lags = Lags()) -> None:
        """As `ControlPlane.start`."""
        troubles, late_s = self._troubles, lags.disruptions_late_s
        if troubles:
            lags = replace(lags, disruptions_late_s=lambda: late_s() + sum(each.late_s() for each in troubles))
            lags = replace(lags, missed=lambda pod: any(each.missed(pod) for each in troubles))
        for each in troubles:
            pace = each.paced(pace)
        self._plane.start(pace, workloads, lags, lambda pod: any(each.stuck(pod) for each in troubles))
        for place, each in enumerate(troubles):
            if each.mishap is not None:
                self._begin(each, each.mishap, Chance(self._seed * 1000 + place))

    def joins(self) -> bool:
        """Whether the node that is asked for now comes."""
        answers = [each.joins() for each in self._troubles]  # each draws its chance, whatever the others say
        return all(answers)

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
        self._told(Befallen(self._plane.agenda.seconds, subject, what))
