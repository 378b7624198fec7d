"""How long the pods of a run took to stop, its replacements to start, and budgets to show them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import median

from kubectl_eksdoc.drain.duration.timing import template_of
from kubectl_eksdoc.drain.policy import Means
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.moments import ASKED, Happened, RunMoment
from kubectl_eksdoc.model.pods import Pod

LONGEST_LAG_S = 10.0
"""What comes later than this was not waited for by a budget alone."""


class MeasuredStopTimes:
    """Mutable: how long the pods of a plan took to stop in this run, by uid and by template, and replacements to get
    a node (`pending`) and then to start, by their owners' uids. `lag_s`: from then until the next pod of its budget was
    evicted."""

    def __init__(self, plan: DrainPlan) -> None:
        self._pods = {each.pod.key: each.pod for each in plan.evictions}
        self._evicted = {each.pod.uid for each in plan.evictions if each.manner.means is Means.EVICTION}
        self.asked_s: dict[str, float] = {}  # by uid
        self.gone_s: dict[str, float] = {}  # likewise
        self.stops: dict[str, list[float]] = defaultdict(list)
        self.starts: dict[str, list[float]] = {}
        self.pending: dict[str, list[float]] = {}
        self.lag_s: float | None = None
        self._looked = 0
        self._written: Counter[str] = Counter()

    def look(self, moments: Sequence[RunMoment]) -> None:
        for moment in moments[self._looked :]:
            pod = self._pods.get(moment.subject)
            if pod is None:
                continue
            if moment.what in ASKED:
                self.asked_s.setdefault(pod.uid, moment.at_s)
            elif moment.what is Happened.GONE and pod.uid not in self.gone_s:
                self.gone_s[pod.uid] = moment.at_s
                if (took_s := self.stop_s(pod)) is not None:
                    self.stops[template_of(pod)].append(took_s)
        self._looked = len(moments)

    def stop_s(self, pod: Pod) -> float | None:
        """From its eviction until it was gone; None where it was not evicted, has not gone or had finished before."""
        if pod.uid not in self._evicted or pod.finished or not self.asked_s.keys() & self.gone_s.keys() & {pod.uid}:
            return None
        return self.gone_s[pod.uid] - self.asked_s[pod.uid]

    def see(self, engine: Engine) -> None:
        self.starts, self.pending = defaultdict(list), defaultdict(list)
        ready_s: dict[str, list[float | None]] = defaultdict(list)
        for arrival in engine.arrivals.values():
            if arrival.ready_s is not None and arrival.scheduled_s is not None:
                self.starts[arrival.owner].append(arrival.ready_s - arrival.scheduled_s)
                self.pending[arrival.owner].append(arrival.scheduled_s - arrival.since_s)
            ready_s[arrival.owner].append(arrival.ready_s)
        lags = sorted(self._lags(engine, ready_s))
        self.lag_s = median(lags) if lags else None

    def _lags(self, engine: Engine, ready_s: Mapping[str, list[float | None]]) -> Iterator[float]:
        """From the readiness of a replacement to the next eviction, where a budget lets its pods go one by one."""
        asked_s: dict[str, list[float]] = defaultdict(list)
        owners: dict[str, set[str]] = defaultdict(set)
        for node in engine.nodes:
            for uid, pursuit in node.pursuits.items():
                budget, owner = pursuit.eviction.budget, pursuit.pod.owner
                if budget and owner is not None:
                    owners[budget].add(owner.uid)
                    if uid in self.asked_s:
                        asked_s[budget].append(self.asked_s[uid])
        one_by_one = {each.budget.key for each in engine.plan.budgets if each.per_round == 1}
        for budget in one_by_one & owners.keys():
            if len(owners[budget]) == 1:
                (only,) = owners[budget]
                for before_s, next_s in zip(ready_s[only], sorted(asked_s[budget])[1:], strict=False):
                    if before_s is not None and 0 <= next_s - before_s <= LONGEST_LAG_S:
                        yield next_s - before_s

    def unwritten(self) -> Iterator[tuple[str, Sequence[float]]]:
        """Stops by template that this was not asked for before."""
        for template, stops in self.stops.items():
            new = stops[self._written[template] :]
            if template and new:
                self._written[template] = len(stops)
                yield template, new


def held_for_s(moments: Iterable[RunMoment], ended_s: float) -> float:
    """So long the run asked for nothing, in all."""
    since_s, held_s = None, 0.0
    for moment in moments:
        if moment.what is Happened.HELD:
            since_s = moment.at_s if since_s is None else since_s
        elif moment.what is Happened.RELEASED and since_s is not None:
            held_s, since_s = held_s + moment.at_s - since_s, None
    return held_s + (ended_s - since_s if since_s is not None else 0.0)
