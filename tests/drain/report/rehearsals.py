"""Hand-written rehearsals of the plan in `plans`: one without problems, and one with many problems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.events import DrainEvent, DrainEventKind
from kubectl_eksdoc.drain.run.result import PendingPod, Record
from kubectl_eksdoc.drain.timeline import NodeSpan
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.rehearse.report import RehearsalReport
from tests.builders import a_pod
from tests.drain.report.plans import CLUSTER, OPTIONS, PLAN, SPOT, WEB

WAVES = {"old-1": 1, "old-0": 1, "spot-0": 2}

SPANS = (NodeSpan("old-1", 0.0, 30.0, 40.0), NodeSpan("old-0", 0.0, 64.0, 74.0), NodeSpan("spot-0", 74.0, 164.0, 174.0))

TIMED = replace(
    PLAN,
    targets=tuple(replace(target, wave=WAVES.get(target.node.name, 0)) for target in PLAN.targets),
    estimate=Estimate(174.0, 299.0, SPANS, 1, ()),
)
"""The plan by hand, with waves and times."""

WAITED = a_pod("report-1", "shop", owner="ReplicaSet/report", node="", phase="Pending")

BEFORE = replace(CLUSTER, pods=(*(eviction.pod for eviction in PLAN.evictions), WAITED))
"""What was read before the drain: one pod waits already."""


def at(at_s: float, what: DrainEventKind, subject: str, node: str = "", why: str = "") -> DrainEvent:
    return DrainEvent(at_s, what, subject, node, why)


def cordons() -> tuple[DrainEvent, ...]:
    return tuple(at(0.0, DrainEventKind.CORDONED, name) for name in WAVES)


def of_pod(pod: str, node: str, evicted_s: float, gone_s: float) -> tuple[DrainEvent, ...]:
    return at(evicted_s, DrainEventKind.EVICTED, pod, node), at(gone_s, DrainEventKind.GONE, pod, node)


def of_node(span: NodeSpan) -> tuple[DrainEvent, ...]:
    times = zip((DrainEventKind.BEGUN, DrainEventKind.EMPTY, DrainEventKind.DONE), span[1:], strict=True)
    return tuple(at(when, what, span.node) for what, when in times)


def in_time(*moments: DrainEvent) -> tuple[DrainEvent, ...]:
    """Sort by time; events of one moment have a fixed order."""
    return tuple(sorted(moments, key=lambda moment: (moment.at_s, list(DrainEventKind).index(moment.what))))


def a_rehearsal(
    moments: tuple[DrainEvent, ...],
    ended_s: float,
    pending: tuple[PendingPod, ...] = (),
    undone: Mapping[str, tuple[str, ...]] | None = None,
    plan: DrainPlan = TIMED,
) -> Record:
    return Record(plan, moments, ended_s, pending, undone or {})


def a_rehearsal_view(
    rehearsal: Record | None = None, cluster: Cluster | None = None, **more: object
) -> RehearsalReport:
    """The rehearsal without problems unless arguments replace parts of it; its tool version never changes."""
    fields: dict[str, object] = {"options": OPTIONS, "tool_version": "1.2.3"} | more
    return RehearsalReport(rehearsal or WELL, cluster or BEFORE, **fields)  # type: ignore[arg-type]


def as_planned(late_s: float = 0.0) -> tuple[DrainEvent, ...]:
    """Every node at its planned time; the last one is done `late_s` later."""
    last = SPANS[-1]._replace(done_s=SPANS[-1].done_s + late_s)
    return in_time(
        *cordons(),
        *(moment for span in (*SPANS[:-1], last) for moment in of_node(span)),
        *of_pod(WEB[1].key, "old-1", 0.0, 30.0),
        *of_pod(WEB[0].key, "old-0", 32.0, 64.0),
        *of_pod(SPOT.key, "spot-0", 74.0, 164.0),
    )


WELL = a_rehearsal(
    as_planned(), 174.0, pending=(PendingPod(WAITED.key, "0/7 nodes are available: 7 Insufficient cpu."),)
)

BADLY = a_rehearsal(
    in_time(
        at(0.0, DrainEventKind.JOINED, "old-0-surge-1"),
        *cordons(),
        *of_node(NodeSpan("old-1", 0.0, 51.0, 61.0)),
        *of_pod(WEB[1].key, "old-1", 0.0, 51.0),
        *of_node(NodeSpan("old-0", 0.0, 190.5, 200.5)),
        *(at(when, DrainEventKind.REFUSED, WEB[0].key, "old-0", "DisruptionBudget") for when in (60.0, 65.0, 70.0)),
        *of_pod(WEB[0].key, "old-0", 75.0, 105.0),
        at(
            106.0,
            DrainEventKind.REFUSED,
            WEB[0].key,
            "old-0",
            'admission webhook "guard.example.com" denied the request',
        ),
        *of_pod(WEB[0].key, "old-0", 111.0, 190.5),
        at(120.0, DrainEventKind.BEFALLEN, "spot-0", why="is NotReady: its kubelet is not heard of"),
        at(130.0, DrainEventKind.MISSING, "old-0-new"),
        at(200.5, DrainEventKind.BEGUN, "spot-0"),
        at(230.5, DrainEventKind.JOINED, "old-1-new"),
    ),
    230.5,
    pending=(
        PendingPod(WAITED.key, "0/7 nodes are available: 7 Insufficient cpu."),
        PendingPod(
            "shop/web-5f7-9",
            "0/7 nodes are available: 3 node(s) were unschedulable, 4 Insufficient memory. preemption: 0/7 nodes are "
            "available: 7 Preemption is not helpful for scheduling.",
        ),
        PendingPod("shop/web-5f7-8", ""),
    ),
    undone={"spot-0": (SPOT.key,)},
)
