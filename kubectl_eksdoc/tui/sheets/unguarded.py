"""Workloads of which no budget counts the pods on marked nodes: how many go, and how many of them at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.plan.drain.manners import Means
from kubectl_eksdoc.core.plan.drain.verdicts.copies import SCALED_BY_HAND
from kubectl_eksdoc.render.drain.verdict import BAD, WARN
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.tui.sheets.sheet import Line, Sheet, of_rows

COLUMNS = (
    Column("WORKLOAD", middle=True, floor=14),
    Column("KIND", drop=2),
    Column("GO", right=True),
    Column("OF", right=True),
    Column("AT ONCE", right=True),
    Column("WHAT IT MEANS", floor=24),
)

NOTHING = "No pod without a budget is evicted."


@dataclass(frozen=True, slots=True)
class Unguarded:
    """`at_once` of its `going` pods go in the same round; `workload` None: nobody told how many it should have."""

    namespace: str
    kind: str
    name: str
    going: int
    at_once: int
    workload: Workload | None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def replicas(self) -> int:
        """0 where that is not known."""
        return self.workload.replicas if self.workload is not None else 0


def unguarded(view: DrainView) -> tuple[Unguarded, ...]:
    """The worst first: those that are away as a whole, then those that lose most at once."""
    rounds: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for each in view.plan.evictions:
        if not each.budget and each.manner.means is not Means.RESTART:
            rounds[each.pod.namespace, view.app(each.pod)][each.round] += 1
    known = {(each.namespace, f"{each.kind}/{each.name}"): each for each in view.cluster.workloads}
    found = []
    for (namespace, app), by_round in rounds.items():
        kind, _, name = app.partition("/")
        if kind and kind != "Job":
            going, at_once = sum(by_round.values()), max(by_round.values())
            found.append(Unguarded(namespace, kind, name, going, at_once, known.get((namespace, app))))
    return tuple(sorted(found, key=lambda each: (-_badness(each), -each.at_once, each.key)))


def _badness(each: Unguarded) -> int:
    if each.replicas > 1 and each.at_once >= each.replicas:
        return 3
    return 2 if each.at_once > 1 else 1 if each.replicas != 1 else 0


def sheet(found: tuple[Unguarded, ...]) -> Sheet:
    rows = [(each.key, _cells(each)) for each in found]
    return of_rows(COLUMNS, rows, NOTHING, fill=len(COLUMNS) - 1)


def _cells(each: Unguarded) -> list[str | Cell]:
    of = str(each.replicas) if each.workload is not None else "?"
    return [each.key, each.kind, str(each.going), of, str(each.at_once), _means(each)]


def _means(each: Unguarded) -> Cell:
    if each.workload is None:
        return Cell("? how many it should have is not known", Tone.UNKNOWN)
    if each.replicas == 1:
        return Cell("· down while it moves", Tone.FAINT)
    if each.at_once >= each.replicas:
        return Cell(f"{BAD[0]} all of it goes at once", BAD[1])
    if each.at_once > 1:
        return Cell(f"{WARN[0]} {each.at_once} of {each.replicas} away together", WARN[1])
    return Cell("· one at a time, by this plan", Tone.FAINT)


def starters(found: tuple[Unguarded, ...], view: DrainView) -> tuple[Workload, ...]:
    """Those of 2 and more replicas that a budget of their own selector would guard, and nothing else."""
    tops = [each for each in view.cluster.workloads if each.owner is None]
    return tuple(
        each.workload
        for each in found
        if each.workload is not None
        and each.workload.kind in SCALED_BY_HAND
        and each.replicas > 1
        and each.workload.selector.valid
        and not any(_also(each.workload, other) for other in tops)
    )


def _also(workload: Workload, other: Workload) -> bool:
    """Whether its selector finds pods of the other one as well: two budgets on a pod refuse every eviction."""
    near = other.namespace == workload.namespace and other.uid != workload.uid
    return near and workload.selector.matches(other.template_labels)


def about(found: tuple[Unguarded, ...], view: DrainView) -> list[Line]:
    """Why it matters that there is no budget, and what helps."""
    if not view.cluster.read_of(kinds.BUDGETS).known:
        return [("? Budgets could not be read: whether there are any is not known.", Tone.UNKNOWN), "! says why."]
    if view.cluster.budgets:
        lines: list[Line] = ["No PodDisruptionBudget counts a pod on a marked node."]
    else:
        lines = [("! There is no PodDisruptionBudget in this cluster.", Tone.WARN)]
    lines.append("The API refuses none of these evictions: all replicas on marked nodes may go at the same moment.")
    count = len(starters(found, view))
    if count:
        lines.append(f"y    copies a budget for each of the {counted(count, 'workload')} with 2 replicas and more")
    lines.append("{ }  fewer nodes at once, and so fewer replicas")
    whole = sum(each.replicas > 1 and each.at_once >= each.replicas for each in found)
    single = sum(each.replicas == 1 for each in found)
    if whole:
        lines.append((f"✗ {counted(whole, 'workload')} would be away as a whole.", Tone.BAD))
    if single:
        lines.append(f"· {counted(single, 'single replica')} would be down while it moves.")
    return lines
