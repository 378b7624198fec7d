"""The pods of a node, in the order in which they are evicted; the pods of a budget, wherever they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kubectl_eksdoc.drain.outcome import Eviction, NotEvictedPod, PodVerdict
from kubectl_eksdoc.drain.policy import Means
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.pods import ControllerOwner, Pod
from kubectl_eksdoc.render.drain.plan import DrainView
from kubectl_eksdoc.render.drain.signs import BAD, GOOD, OPEN, POD_SIGN
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.text import age, between, counted, duration
from kubectl_eksdoc.tui.sheets.sheet import Cells, Sheet, of_rows

NONE, UNKNOWN = "·", "?"

OF_NODE = (
    Column("#", right=True),
    Column("POD", middle=True, floor=20),
    Column("WORKLOAD", middle=True, floor=12, drop=4),
    Column("READY", floor=8),
    Column("AGE", right=True, drop=5),
    Column("GRACE", right=True, drop=3),
    Column("BUDGET", middle=True, floor=10, drop=2),
    Column("VERDICT"),
    Column("WHY"),
)
OF_BUDGET = (
    Column("POD", middle=True, floor=20),
    Column("NODE", middle=True, floor=14),
    Column("READY", floor=8),
    Column("AGE", right=True, drop=3),
    Column("GRACE", right=True, drop=2),
    Column("IN PLAN", drop=1),
    Column("WHY"),
)
_MEANS = {Means.RESTART: "restart", Means.DELETION: "delete", Means.PATIENCE: "wait"}
_FIRST = (PodVerdict.BLOCKED, PodVerdict.UNKNOWN, PodVerdict.HELD, PodVerdict.STAY, PodVerdict.EVICT)


@dataclass(frozen=True, slots=True)
class Listed:
    """A page of pods: what stands above them, and the rows by the uids of the pods; the last cell says why."""

    title: str
    sheet: Sheet
    verdict: int = len(OF_NODE) - 2  # the column that says what becomes of the pod


def of_node(name: str, cluster: Cluster, view: DrainView | None, marked: bool) -> Listed:
    """Evictions in their order, then what is left on it, the blocked first. `view`: None while there is no plan."""
    pods = sorted((pod for pod in cluster.pods if pod.node == name), key=lambda pod: pod.key)
    facts = _Facts(cluster)
    going, left = _in_plan(view, pods)

    def place(pod: Pod) -> tuple[int, int]:
        if pod.uid in going:
            return 0, going[pod.uid].position
        return (1, _FIRST.index(left[pod.uid].verdict)) if pod.uid in left else (2, 0)

    rows: list[tuple[str, Cells]] = []
    for pod in sorted(pods, key=place):
        eviction, row = going.get(pod.uid), left.get(pod.uid)
        verdict, why = _verdict(eviction, row, marked)
        cells: Cells = [
            str(eviction.position) if eviction is not None else Cell(NONE, Tone.FAINT),
            pod.key,
            facts.workload(pod),
            _ready(pod),
            facts.age(pod),
            _grace(pod, view),
            facts.budgets(pod),
            verdict,
            why,
        ]
        rows.append((pod.uid, cells))
    known = "" if any(node.name == name for node in cluster.nodes) else "It is not there any more. "
    sheet = of_rows(OF_NODE, rows, f"{known}{facts.no_pods}", fill=len(OF_NODE) - 1)
    return Listed(_title(name, len(pods), len(going), view, marked), sheet)


def of_budget(key: str, cluster: Cluster, view: DrainView | None) -> Listed:
    """`key`: ns/name. Those that go come first, in their order."""
    facts = _Facts(cluster)
    budget = next((each for each in cluster.budgets if each.key == key), None)
    if budget is None:
        return Listed(key, of_rows(OF_BUDGET, [], "It is not there any more."))
    pods = [pod for pod in cluster.pods if pod.namespace == budget.namespace and budget.selector.matches(pod.labels)]
    going, left = _in_plan(view, pods)
    pods.sort(key=lambda pod: (going[pod.uid].position if pod.uid in going else 1 << 30, pod.uid not in left, pod.key))
    rows: list[tuple[str, Cells]] = []
    for pod in pods:
        eviction, row = going.get(pod.uid), left.get(pod.uid)
        verdict, why = _verdict(eviction, row, row is not None)
        wave = view.wave_of.get(pod.node, 0) if view is not None else 0
        planned = verdict if eviction is None else f"wave {wave}, round {eviction.round}"
        rows.append(
            (pod.uid, [pod.key, pod.node or NONE, _ready(pod), facts.age(pod), _grace(pod, view), planned, why])
        )
    title = f"{key} · {budget.rule} · {counted(len(pods), 'pod')}, {len(going)} to evict"
    sheet = of_rows(OF_BUDGET, rows, facts.no_pods, fill=len(OF_BUDGET) - 1)
    return Listed(title, sheet, verdict=len(OF_BUDGET) - 2)


def _in_plan(view: DrainView | None, pods: list[Pod]) -> tuple[dict[str, Eviction], dict[str, NotEvictedPod]]:
    """By uid: those of them that go, and those that are left on a node that is marked."""
    if view is None:
        return {}, {}
    ours = {pod.uid for pod in pods}
    going = {each.pod.uid: each for each in view.evictions if each.pod.uid in ours}
    return going, {row.pod.uid: row for row in view.left if row.pod.uid in ours}


def _verdict(eviction: Eviction | None, row: NotEvictedPod | None, marked: bool) -> tuple[Cell, str]:
    if eviction is not None:
        to = f"scheduled on {eviction.lands_on}: " if eviction.lands_on else ""
        return Cell(f"{GOOD[0]} {_MEANS.get(eviction.manner.means, 'evict')}", GOOD[1]), f"{to}{eviction.reason}"
    if row is not None:
        sign, tone = POD_SIGN[row.verdict]
        return Cell(f"{sign} {row.verdict.value}", tone), row.reason
    return (Cell(UNKNOWN, OPEN[1]), "not planned yet") if marked else (Cell(NONE, Tone.FAINT), "its node is not marked")


def _ready(pod: Pod) -> Cell:
    if pod.ready:
        return Cell(f"{GOOD[0]} yes", GOOD[1])
    if pod.finished:
        return Cell(f"{NONE} {pod.phase}", Tone.FAINT)
    return Cell(f"{BAD[0]} {pod.not_ready_because or pod.phase}", BAD[1])


def _grace(pod: Pod, view: DrainView | None) -> str:
    """Under this plan."""
    return duration(pod.grace_seconds if view is None else view.grace(pod))


def _title(name: str, total: int, going: int, view: DrainView | None, marked: bool) -> str:
    if not marked:
        return f"{name} · not marked · {counted(total, 'pod')}"
    wave = view.wave_of.get(name) if view is not None else None
    planned = "not planned yet" if view is None else f"wave {wave}" if wave else "not drained"
    return f"{name} · marked, {planned} · {counted(total, 'pod')}, {going} to evict"


class _Facts:
    """Mutable by nobody: what is looked up for every pod, put together once."""

    def __init__(self, cluster: Cluster) -> None:
        self._now = cluster.observed_at
        self._owners: Mapping[str, ControllerOwner] = {each.uid: each.owner for each in cluster.workloads if each.owner}
        self._budgets = cluster.budgets
        unread = cluster.unread(kinds.PODS)
        self._budgets_known = not cluster.unread(kinds.BUDGETS)
        self.no_pods = f"Pods could not be read: {unread[0].detail}" if unread else "There is no pod."

    def workload(self, pod: Pod) -> str:
        """The outermost owner that is known."""
        owner = pod.owner
        while owner is not None and owner.uid in self._owners:
            owner = self._owners[owner.uid]
        return f"{owner.kind}/{owner.name}" if owner is not None else "none: bare pod"

    def age(self, pod: Pod) -> str:
        return UNKNOWN if pod.created_at is None else age(between(pod.created_at, self._now))

    def budgets(self, pod: Pod) -> str:
        names = [
            each.name for each in self._budgets if each.namespace == pod.namespace and each.selector.matches(pod.labels)
        ]
        if not self._budgets_known:
            names.append(UNKNOWN)
        return ", ".join(names) or NONE
