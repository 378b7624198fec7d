"""Every node of the cluster: what it is, whether it is marked, and what the plan does with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.last_view import LastView
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.plan.drain.outcome import Target, TargetVerdict
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.render.drain.verdict import BAD, GOOD, OPEN, TARGET_SIGN, WARN
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.tables import Cell, Column
from kubectl_eksdoc.render.times import age, between
from kubectl_eksdoc.tui.sheets.cells import cells as room_of
from kubectl_eksdoc.tui.sheets.once import once_a_view
from kubectl_eksdoc.tui.sheets.sheet import Cells, Sheet, Widths

NONE = "·"
UNKNOWN = "?"

IMAGE = "eks.amazonaws.com/nodegroup-image"
"""The AMI of a managed node group's node."""

COLUMNS = (
    Column("NODE", middle=True, floor=14),
    Column("GROUP", floor=6, drop=2),
    Column("TYPE", drop=5),
    Column("CAPACITY", short="CAP", drop=4),
    Column("KUBELET", drop=3),
    Column("AMI", drop=6),
    Column("AGE", right=True, drop=7),
    Column("PODS", right=True, drop=1),
    Column("WAVE", right=True),
    Column("STATUS", floor=28),
)
_STATUS = len(COLUMNS) - 1
_IMAGE = 6


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What of the nodes does not change with a plan: made once for what was read."""

    nodes: Mapping[str, Node]
    texts: Mapping[str, tuple[str, ...]]  # by name: the columns before WAVE
    widths: tuple[int, ...]
    ascii_widths: tuple[int, ...]
    pods: Mapping[str, int]  # by name: how many there are on it


def facts_of(cluster: Cluster) -> NodeFacts:
    pods = Counter(pod.node for pod in cluster.pods if pod.node)
    return _facts(cluster.nodes, pods, cluster.observed_at)


def facts_of_last(view: LastView) -> NodeFacts:
    return _facts(view.nodes, view.pods, view.observed_at)


def _facts(nodes: Sequence[Node], pods: Mapping[str, int], at: datetime) -> NodeFacts:
    widths = Widths(COLUMNS[: _STATUS - 1])
    texts = {}
    for node in sorted(nodes, key=lambda each: natural(each.name)):
        created = node.created_at
        texts[node.name] = cells = (
            node.name,
            node.group or UNKNOWN,
            node.instance_type or UNKNOWN,
            node.capacity_type or UNKNOWN,
            str(node.kubelet or node.kubelet_text or UNKNOWN),
            _image(node),
            UNKNOWN if created is None else age(between(created, at)),
            f"{pods.get(node.name, 0)}/{node.pods_allocatable or UNKNOWN}",
        )
        widths.see(cells)
    by_name = {node.name: node for node in nodes}
    wide, plain = (*widths.widest, 4, 10), (*widths.in_ascii, 4, 10)
    return NodeFacts(by_name, texts, wide, plain, {name: pods.get(name, 0) for name in by_name})


def _image(node: Node) -> str:
    """The end of it, by which two are told apart."""
    image = node.labels.get(IMAGE, "")
    return f"…{image[-_IMAGE:]}" if image else UNKNOWN


def sheet(
    facts: NodeFacts,
    names: Iterable[str],
    view: DrainView | None,
    empty: str = "",
    columns: Sequence[Column] = COLUMNS,
) -> Sheet:
    """The nodes of these names. `view`: the plan, None while there is none; `empty`: what is said where there is no
    name; `columns` with other titles."""
    targets = targets_of(view) if view is not None else {}

    def cells(name: str) -> Cells:
        target = targets.get(name)
        wave = Cell(str(target.wave)) if target is not None and target.wave else Cell(NONE, Tone.FAINT)
        return (*facts.texts[name], wave, status(facts.nodes[name], target, view))

    def stands(name: str, room: int) -> Cell:
        return status(facts.nodes[name], targets.get(name), view)

    def full() -> int:
        return max((room_of(stands(name, 0).text) for name in keys), default=0)

    keys = tuple(names)
    return Sheet(
        columns,
        facts.widths,
        keys,
        cells,
        fill=_STATUS,
        filled=stands,
        empty=empty,
        full=full,
        ascii_widths=facts.ascii_widths,
    )


@once_a_view
def targets_of(view: DrainView) -> Mapping[str, Target]:
    return {target.node.name: target for target in view.targets}


def status(node: Node, target: Target | None, view: DrainView | None) -> Cell:
    """What keeps it from being drained, by code, comes before what it is."""
    if target is not None and view is not None and target.verdict is not TargetVerdict.DRAINS:
        sign, tone = TARGET_SIGN[target.verdict]
        codes = dict.fromkeys(code for row in view.blocking(target) for code in row.codes)
        return Cell(f"{sign} {', '.join(codes) or '; '.join(target.why) or target.verdict.value}", tone)
    if node.deletion_at is not None:
        return Cell(f"{WARN[0]} being deleted", WARN[1])
    if node.ready != "True":
        sign, tone = BAD if node.ready == "False" else OPEN
        return Cell(f"{sign} {'NotReady' if node.ready == 'False' else 'Ready unknown'}", tone)
    if node.unschedulable:
        return Cell("⊘ cordoned", Tone.WARN)
    return Cell(f"{GOOD[0]} Ready", GOOD[1])
