"""Table of nodes: facts and plan status, filter and sort order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.drain.nodes import IMAGE, behind, natural, older_images
from kubectl_eksdoc.drain.outcome import DrainTarget, TargetVerdict
from kubectl_eksdoc.drain.report.plan import (
    BAD,
    GOOD,
    OPEN,
    TARGET_SIGN,
    WARN,
    DrainView,
    in_brief,
)
from kubectl_eksdoc.drain.report.rows import OF_NODE, of_node
from kubectl_eksdoc.errors import matches
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.selectors import InvalidSelector, Selector, parse
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.report.text import Cell, Column, Tone, counted

from .pods import Cells, Sheet, Widths, once_a_view
from .pods import cells as room_of

NONE = "·"
UNKNOWN = "?"

COLUMNS = (
    Column("NODE", middle=True, floor=14),
    replace(OF_NODE["GROUP"], floor=6),
    OF_NODE["TYPE"],
    replace(OF_NODE["CAPACITY"], short="CAP", drop=5),
    OF_NODE["KUBELET"],
    Column("AMI", drop=8),
    OF_NODE["AGE"],
    Column("PODS", right=True, drop=1),
    Column("WAVE", right=True),
    Column("STATUS", floor=28),
)
_STATUS = len(COLUMNS) - 1
_KUBELET, _AMI = 4, 5
_IMAGE = 6
OLD = "!"
"""Marks an outdated version beside its colour, which is missing on the cursor row and with NO_COLOR."""


@frozen
class NodeFacts:
    """Facts of the nodes that do not depend on a plan: computed once per read."""

    nodes: Mapping[str, Node]
    texts: Mapping[str, tuple[str, ...]]  # by name: the columns before WAVE
    widths: tuple[int, ...]
    ascii_widths: tuple[int, ...]
    pods: Mapping[str, int]  # by name: the number of its pods
    behind: frozenset[str] = frozenset()  # kubelets older than the control plane
    old_images: frozenset[str] = frozenset()


def facts_of(cluster: Cluster) -> NodeFacts:
    pods = Counter(pod.node for pod in cluster.pods if pod.node)
    return _facts(cluster.nodes, pods, cluster.observed_at, cluster.identity.server_version)


def facts_of_last(view: LastView) -> NodeFacts:
    return _facts(view.nodes, view.pods, view.observed_at, view.identity.server_version)


def _facts(nodes: Sequence[Node], pods: Mapping[str, int], at: datetime, server: str) -> NodeFacts:
    widths = Widths(COLUMNS[: _STATUS - 1])
    old, old_images = behind(nodes, server), older_images(nodes)
    texts = {}
    for node in sorted(nodes, key=lambda each: natural(each.name)):
        told = of_node(node, at)
        texts[node.name] = cells = (
            node.name,
            *(told[title] or UNKNOWN for title in ("GROUP", "TYPE", "CAPACITY")),
            (told["KUBELET"] or UNKNOWN) + OLD * (node.name in old),
            _image(node) + OLD * (node.name in old_images),
            told["AGE"] or UNKNOWN,
            f"{pods.get(node.name, 0)}/{node.pods_allocatable or UNKNOWN}",
        )
        widths.see(cells)
    by_name = {node.name: node for node in nodes}
    wide, plain = (*widths.widest, 4, 10), (*widths.in_ascii, 4, 10)
    counts = {name: pods.get(name, 0) for name in by_name}
    return NodeFacts(by_name, texts, wide, plain, counts, old, old_images)


def wave_tone(wave: int) -> Tone | None:
    """Alternating colours of waves; the wave number says the same."""
    return Tone.GOOD if wave % 2 else None


def _image(node: Node) -> str:
    """The end of the AMI id, which distinguishes two AMIs."""
    image = node.labels.get(IMAGE, "")
    return f"…{image[-_IMAGE:]}" if image else UNKNOWN


def sheet(
    facts: NodeFacts,
    names: Iterable[str],
    view: DrainView | None,
    empty: str = "",
    columns: Sequence[Column] = COLUMNS,
) -> Sheet:
    """The nodes of these names. `view`: the plan, None without one; `empty_text`: shown without names; `columns` may
    have other titles."""
    targets = targets_of(view) if view is not None else {}

    def cells(name: str) -> Cells:
        target = targets.get(name)
        wave = Cell(NONE, Tone.FAINT)
        if target is not None and target.wave:
            wave = Cell(str(target.wave), wave_tone(target.wave))
        texts: list[str | Cell] = list(facts.texts[name])
        for old, at in ((facts.behind, _KUBELET), (facts.old_images, _AMI)):
            if name in old:
                texts[at] = Cell(facts.texts[name][at], Tone.WARN)
        return (*texts, wave, status(facts.nodes[name], target, view))

    def stands(name: str, room: int) -> Cell:
        return status(facts.nodes[name], targets.get(name), view, room)

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
def targets_of(view: DrainView) -> Mapping[str, DrainTarget]:
    return {target.node.name: target for target in view.targets}


def status(node: Node, target: DrainTarget | None, view: DrainView | None, room: int = 0) -> Cell:
    """Reasons against draining take precedence over the node's own state; within `width` columns as many as fit, and
    the number of the others."""
    if target is not None and view is not None and target.verdict is not TargetVerdict.DRAINS:
        sign, tone = TARGET_SIGN[target.verdict]
        codes = dict.fromkeys(in_brief(code) for row in view.blocking(target) for code in row.codes)
        said = list(codes) or ["; ".join(target.why) or target.verdict.value]
        return Cell(f"{sign} {_as_many(said, room - 2) if room else ', '.join(said)}", tone)
    if node.deletion_at is not None:
        return Cell(f"{WARN[0]} being deleted", WARN[1])
    if node.ready != "True":
        sign, tone = BAD if node.ready == "False" else OPEN
        return Cell(f"{sign} {'NotReady' if node.ready == 'False' else 'Ready unknown'}", tone)
    if node.unschedulable:
        return Cell("⊘ cordoned", Tone.WARN)
    return Cell(f"{GOOD[0]} Ready", GOOD[1])


def _as_many(said: Sequence[str], room: int) -> str:
    """``bare pod +1``"""
    for count in range(len(said), 1, -1):
        more = f" +{len(said) - count}" if count < len(said) else ""
        if room_of(text := ", ".join(said[:count]) + more) <= room:
            return text
    return said[0] + (f" +{len(said) - 1}" if len(said) > 1 else "")


# Filter: nodes that match a text or labels, and nodes with a problem.


LABELS = "-l"

MOST_NAMES = 500
"""With more nodes, names are not searched for a suggestion: that is slower than typing."""

NO_FAULTS = "Nothing is the matter with any node: all are Ready, none is cordoned or left out.\nesc shows them all."


@frozen
class _Filter:
    """`text` (lower case) must be in the line of a node, or must not (`inverse`); or its labels must match `selector`.
    `error`: why the selector is invalid; then nothing matches."""

    wanted: str = ""
    inverse: bool = False
    selector: Selector | None = None
    wrong: str = ""


def read(typed: str) -> _Filter:
    """``spot``, ``!spot``, ``-l zone=a,!gpu`` as ``--selector`` takes it."""
    text = typed.strip()
    if text == LABELS or text.startswith(f"{LABELS} "):
        labels = text[len(LABELS) :].strip()
        if not labels:
            return _Filter(wrong="labels stand behind it: -l key=value,key2!=x")
        try:
            return _Filter(selector=parse(labels))
        except InvalidSelector as error:
            return _Filter(wrong=str(error))
    return _Filter(text.lower().lstrip("!"), text.startswith("!"))


def like(facts: NodeFacts, typed: str) -> tuple[str, ...]:
    """The names of matching nodes, in natural order."""
    filter = read(typed)
    if filter.wrong:
        return ()
    if filter.selector is not None:
        return tuple(name for name in facts.texts if filter.selector.matches(facts.nodes[name].labels))
    if not filter.wanted:
        return tuple(facts.texts)
    return tuple(
        name for name, cells in facts.texts.items() if (filter.wanted in " ".join(cells).lower()) is not filter.inverse
    )


def faulty(names: Iterable[str], facts: NodeFacts, view: DrainView | None) -> tuple[str, ...]:
    """Nodes that are not Ready, cordoned, being deleted, or marked and not drained by the plan."""
    drains = TargetVerdict.DRAINS
    kept_from = {t.node.name for t in view.targets if t.verdict is not drains} if view is not None else frozenset()

    def at_fault(name: str) -> bool:
        node = facts.nodes[name]
        return node.ready != "True" or node.unschedulable or node.deletion_at is not None or name in kept_from

    return tuple(name for name in names if at_fault(name))


def why_none(facts: NodeFacts, typed: str, faults: bool) -> str:
    """The text shown without rows."""
    total = len(facts.texts)
    if not typed.strip() or like(facts, typed):
        where = f"Of those that match /{typed}, none is at fault.\nesc shows all." if typed.strip() else NO_FAULTS
        return where if faults else "The cluster has no node. Is it the right one? x shows other contexts."
    filter = read(typed)
    away = "esc takes the filter away."
    if filter.wrong:
        return f"/{typed}: {filter.wrong}\n{away}"
    near = _near_labels(facts, filter.selector) if filter.selector is not None else _near_word(facts, filter)
    return f"0 of {counted(total, 'node')} match /{typed}{near}\n{away}"


def _near_word(facts: NodeFacts, filter: _Filter) -> str:
    """A similar group, type or version; in a small cluster also a node name."""
    if filter.inverse:
        return ""
    named = len(facts.texts) <= MOST_NAMES
    told = {cell for name, *cells in facts.texts.values() for cell in (*cells, *([name] if named else []))}
    words = {word.lower() for cell in told for word in (cell, *cell.split("-"))}
    return _nearest(filter.wanted, (word for word in words if len(word) > 1 and not word.isdigit()))


def _nearest(word: str, known: Iterable[str]) -> str:
    found = matches(word, known)
    return f" (did you mean {found[0]}?)" if found else ""


def _near_labels(facts: NodeFacts, selector: Selector) -> str:
    """A suggestion for the first requirement that no node meets."""
    everyone = [node.labels for node in facts.nodes.values()]
    for wanted in selector.requirements:
        if not any(wanted.matches(labels) for labels in everyone):
            known = {key: {labels.get(key, "") for labels in everyone} for key in _all(facts)}
            if wanted.key not in known:
                return f": no node has a label {wanted.key}{_nearest(wanted.key, known)}"
            values = known[wanted.key] - {""}
            near = next(filter(None, (_nearest(value, values) for value in wanted.values)), "")
            return f": no node has that {wanted.key}{near}"
    return ": each of these has some, but none has all"


def _all(facts: NodeFacts) -> set[str]:
    return {key for node in facts.nodes.values() for key in node.labels}


# Sort order: by one column, ascending or descending; unknown values are always last.


FORTH, BACK = "▲", "▼"


@frozen
class SortOrder:
    """`column` is a column title; `is_descending`: the last value first."""

    column: str = COLUMNS[0].title
    back: bool = False

    def by(self, column: str) -> SortOrder:
        """Sort by that column; the same column again reverses the order."""
        return replace(self, back=not self.back) if column == self.column else SortOrder(column)

    def next(self) -> SortOrder:
        """The next column, cyclically."""
        titles = [column.title for column in COLUMNS]
        return SortOrder(titles[(titles.index(self.column) + 1) % len(titles)])


def sign(order: SortOrder) -> str:
    return BACK if order.back else FORTH


def marked(columns: Iterable[Column], order: SortOrder) -> tuple[Column, ...]:
    """The sorted column has a symbol in its title."""
    return tuple(
        replace(each, title=each.title + sign(order), short=(each.short or each.title) + sign(order))
        if each.title == order.column
        else each
        for each in columns
    )


def in_order(names: Iterable[str], order: SortOrder, facts: NodeFacts, view: DrainView | None) -> tuple[str, ...]:
    """`names` are in natural order; the sort is stable."""
    given = tuple(names)
    if order == SortOrder():
        return given
    key = _keys(facts, view)[order.column]
    keys = {name: key(name) for name in given}
    known = sorted((name for name in given if keys[name] is not None), key=keys.__getitem__, reverse=order.back)
    return (*known, *(name for name in given if keys[name] is None))


# Sort keys of one column have one type; None is unknown.
Key = Callable[[str], Any]
_NOT_DRAINED = (TargetVerdict.SKIPPED, TargetVerdict.REFUSED, TargetVerdict.UNKNOWN, TargetVerdict.PARTIAL)


def _keys(facts: NodeFacts, view: DrainView | None) -> Mapping[str, Key]:
    nodes = facts.nodes
    waves = view.wave_of if view is not None else {}
    return {
        "NODE": natural,
        "GROUP": lambda name: natural(nodes[name].group) or None,
        "TYPE": lambda name: natural(nodes[name].instance_type) or None,
        "CAPACITY": lambda name: nodes[name].capacity_type or None,
        "KUBELET": lambda name: nodes[name].kubelet,
        "AMI": lambda name: nodes[name].labels.get(IMAGE) or None,
        "AGE": lambda name: _youth(nodes[name]),
        "PODS": lambda name: facts.pods[name],
        "WAVE": waves.get,
        "STATUS": _trouble(facts, view),
    }


def _youth(node: Node) -> float | None:
    """A smaller value for a younger node."""
    created = node.created_at
    if created is None:
        return None
    aware: datetime = created if created.tzinfo else created.replace(tzinfo=timezone.utc)
    return -aware.timestamp()


def _trouble(facts: NodeFacts, view: DrainView | None) -> Key:
    """Nodes that are not drained first, then not Ready, being deleted, cordoned."""
    verdicts = {target.node.name: target.verdict for target in view.targets} if view is not None else {}

    def key(name: str) -> int:
        node, verdict = facts.nodes[name], verdicts.get(name)
        if verdict in _NOT_DRAINED:
            return _NOT_DRAINED.index(verdict)
        if node.ready != "True":
            return 4 if node.ready == "False" else 5
        if node.deletion_at is not None:
            return 6
        return 7 if node.unschedulable else 8

    return key
