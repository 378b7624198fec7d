"""In which order the nodes stand: by one column, forth or back; what is not known stands last either way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.core.plan.drain.targets import natural
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.tables import Column
from kubectl_eksdoc.tui.sheets.nodes import COLUMNS, IMAGE, NodeFacts

FORTH, BACK = "▲", "▼"


@dataclass(frozen=True, slots=True)
class Order:
    """`column` is the title of one; `back`: the last of them first."""

    column: str = COLUMNS[0].title
    back: bool = False

    def by(self, column: str) -> Order:
        """That column; the same one again is reversed."""
        return replace(self, back=not self.back) if column == self.column else Order(column)

    def next(self) -> Order:
        """The next column, after the last the first."""
        titles = [column.title for column in COLUMNS]
        return Order(titles[(titles.index(self.column) + 1) % len(titles)])


def sign(order: Order) -> str:
    return BACK if order.back else FORTH


def marked(columns: Iterable[Column], order: Order) -> tuple[Column, ...]:
    """The column that they are in the order of has a sign at its title."""
    return tuple(
        replace(each, title=each.title + sign(order), short=(each.short or each.title) + sign(order))
        if each.title == order.column
        else each
        for each in columns
    )


def in_order(names: Iterable[str], order: Order, facts: NodeFacts, view: DrainView | None) -> tuple[str, ...]:
    """`names` stand in natural order, and those that are alike stay so."""
    given = tuple(names)
    if order == Order():
        return given
    key = _keys(facts, view)[order.column]
    keys = {name: key(name) for name in given}
    known = sorted((name for name in given if keys[name] is not None), key=keys.__getitem__, reverse=order.back)
    return (*known, *(name for name in given if keys[name] is None))


# What is compared is of one type in one column; None is not known.
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
    """Less for the younger one."""
    created = node.created_at
    if created is None:
        return None
    aware: datetime = created if created.tzinfo else created.replace(tzinfo=timezone.utc)
    return -aware.timestamp()


def _trouble(facts: NodeFacts, view: DrainView | None) -> Key:
    """What keeps nodes from being drained first, then what is not Ready, what goes, what is cordoned."""
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
