"""What all formats are made from: the rows of a drain in their one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from kubectl_eksdoc import __version__
from kubectl_eksdoc.drain.course import Span
from kubectl_eksdoc.drain.outcome import Target
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.moments import ASKED, Happened, Moment
from kubectl_eksdoc.drain.run.patience import Soak
from kubectl_eksdoc.drain.run.record import Record
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.render.drain.view import DrainView


class NodeRun(NamedTuple):
    """A node that the plan drains. Times from the start, None for what did not happen; `left` are the pods (ns/name)
    that should have gone and did not, `why` the run left it alone ("": it did not)."""

    target: Target
    begun_s: float | None
    empty_s: float | None
    done_s: float | None
    evictions: int
    refusals: int
    emptied: bool
    left: tuple[str, ...]
    why: str = ""

    @property
    def name(self) -> str:
        return self.target.node.name

    @property
    def seen_empty(self) -> bool:
        """Of one that was not emptied: the run ended before it was looked at once more, as a drained node is."""
        return not self.emptied and self.empty_s is not None and not self.left and not self.why


class Refused(NamedTuple):
    """How often a cause was given; "" where the server said none."""

    cause: str
    times: int


class StillWaiting(NamedTuple):
    """A pod without a node at the end: what the scheduler said ("": nothing), and whether it waited before."""

    pod: str
    why: str
    before: bool


@dataclass(frozen=True)
class RecordView:
    """What came of a drain, the facts that its plan was made from, and the options as given (JSON values by name).

    Without slots, because the rows are made once, when first asked for.
    """

    record: Record
    cluster: Cluster
    options: Mapping[str, object] = field(default_factory=dict)
    tool_version: str = __version__
    soak: Soak | None = None

    @property
    def late_s(self) -> float | None:
        """As `Record.late_s`, but for what it waited as it was told to: between waves, and while it was paused."""
        late_s = self.record.late_s
        return None if late_s is None else late_s - self.waited_s

    @property
    def waited_s(self) -> float:
        """So long it waited because somebody wanted it so."""
        return self.soaked_s + self.record.paused_s

    @property
    def soaked_s(self) -> float:
        return 0.0 if self.soak is None else self.soak.total_s

    @property
    def plan(self) -> DrainPlan:
        return self.record.plan

    @property
    def ended_s(self) -> float:
        return self.record.ended_s

    @cached_property
    def planned(self) -> DrainView:
        """The plan as it is shown by itself."""
        return DrainView(self.plan, self.cluster, self.options, self.tool_version, soak=self.soak)

    @cached_property
    def moments(self) -> tuple[Moment, ...]:
        """By time; what happened at one moment as it happened."""
        return tuple(sorted(self.record.moments, key=lambda moment: moment.at_s))

    @cached_property
    def nodes(self) -> tuple[NodeRun, ...]:
        """Those that the plan drains, in its order."""
        evictions = Counter(m.node for m in self.moments if m.what in ASKED)
        refusals = Counter(m.node for m in self.moments if m.what is Happened.REFUSED)
        alone = {m.subject: m.why for m in self.moments if m.what is Happened.LEFT_ALONE}
        undone = self.record.undone
        runs = []
        for target in self.planned.targets:
            name = target.node.name
            if target.order:
                begun, empty, done = (
                    self._when.get((what, name)) for what in (Happened.BEGUN, Happened.EMPTY, Happened.DONE)
                )
                counts = evictions[name], refusals[name]
                left = tuple(sorted(undone.get(name, ())))
                runs.append(NodeRun(target, begun, empty, done, *counts, name not in undone, left, alone.get(name, "")))
        return tuple(runs)

    @cached_property
    def not_emptied(self) -> tuple[NodeRun, ...]:
        return tuple(node for node in self.nodes if not node.emptied)

    @cached_property
    def refusals(self) -> tuple[Refused, ...]:
        """The most frequent cause first."""
        counts = self.record.refusals.items()
        return tuple(Refused(*each) for each in sorted(counts, key=lambda item: (-item[1], item[0])))

    @cached_property
    def pending(self) -> tuple[StillWaiting, ...]:
        """Those that the drain leaves without a node first, then those that had none before; by name."""
        before = {pod.key for pod in self.cluster.pods if not pod.node}
        rows = (StillWaiting(each.pod, each.why, each.pod in before) for each in self.record.pending)
        return tuple(sorted(rows, key=lambda row: (row.before, row.pod)))

    @cached_property
    def re_evicted(self) -> tuple[str, ...]:
        return self.record.re_evicted

    @cached_property
    def asked(self) -> Counter[Happened]:
        """How many pods were asked to go in which way."""
        return Counter(moment.what for moment in self.moments if moment.what in ASKED)

    @property
    def evictions(self) -> int:
        """Of all pods that were asked to go, in whatever way, as a plan counts them."""
        return sum(self.asked.values())

    @cached_property
    def joined(self) -> tuple[Moment, ...]:
        """New nodes."""
        return tuple(moment for moment in self.moments if moment.what is Happened.JOINED)

    @cached_property
    def missing(self) -> tuple[Moment, ...]:
        """New nodes that did not join."""
        return tuple(moment for moment in self.moments if moment.what is Happened.MISSING)

    @cached_property
    def faults(self) -> tuple[Moment, ...]:
        """What befell the cluster because it was asked for."""
        return tuple(moment for moment in self.moments if moment.what is Happened.BEFALLEN)

    @cached_property
    def spans(self) -> dict[str, Span]:
        """When each node was begun, empty and done: those that were."""
        return {
            node.name: Span(node.name, node.begun_s, node.empty_s, node.done_s)
            for node in self.nodes
            if node.begun_s is not None and node.empty_s is not None and node.done_s is not None
        }

    @property
    def wave_of(self) -> Mapping[str, int]:
        return self.planned.wave_of

    @cached_property
    def _when(self) -> dict[tuple[Happened, str], float]:
        """The first time of each."""
        return {(moment.what, moment.subject): moment.at_s for moment in reversed(self.moments)}
