"""Which nodes are shown: those that are like a text or have labels, and those that something is the matter with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubectl_eksdoc.core.model.selectors import InvalidSelector, Requirement, Selector, parse
from kubectl_eksdoc.core.model.spelling import matches
from kubectl_eksdoc.core.plan.drain.outcome import TargetVerdict
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.tui.sheets.nodes import NodeFacts

LABELS = "-l"

MOST_NAMES = 500
"""Of more nodes the names are not searched for one that is near: that is slower than one types."""

NO_FAULTS = "Nothing is the matter with any node: all are Ready, none is cordoned or left out.\nesc shows them all."


@dataclass(frozen=True, slots=True)
class Filter:
    """`wanted` is in the line of a node, in lower case, or is not (`inverse`); or its labels are like `selector`.
    `wrong`: why it is no selector; nothing is like that."""

    wanted: str = ""
    inverse: bool = False
    selector: Selector | None = None
    wrong: str = ""


def read(typed: str) -> Filter:
    """``spot``, ``!spot``, ``-l zone=a,!gpu`` as ``--selector`` takes it."""
    text = typed.strip()
    if text == LABELS or text.startswith(f"{LABELS} "):
        labels = text[len(LABELS) :].strip()
        if not labels:
            return Filter(wrong="labels stand behind it: -l key=value,key2!=x")
        try:
            return Filter(selector=parse(labels))
        except InvalidSelector as error:
            return Filter(wrong=str(error))
    return Filter(text.lower().lstrip("!"), text.startswith("!"))


def like(facts: NodeFacts, typed: str) -> tuple[str, ...]:
    """The names of those that the filter lets through, in their natural order."""
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
    """Not Ready, cordoned, being deleted, or marked and not drained by the plan."""
    drains = TargetVerdict.DRAINS
    kept_from = {t.node.name for t in view.targets if t.verdict is not drains} if view is not None else frozenset()

    def at_fault(name: str) -> bool:
        node = facts.nodes[name]
        return node.ready != "True" or node.unschedulable or node.deletion_at is not None or name in kept_from

    return tuple(name for name in names if at_fault(name))


def why_none(facts: NodeFacts, typed: str, faults: bool) -> str:
    """What is said instead of rows, by lines."""
    total = len(facts.texts)
    if not typed.strip() or like(facts, typed):
        where = f"Of those that are like /{typed}, none is at fault.\nesc shows all." if typed.strip() else NO_FAULTS
        return where if faults else "There is no node."
    filter = read(typed)
    away = "esc takes the filter away."
    if filter.wrong:
        return f"/{typed}: {filter.wrong}\n{away}"
    near = _near_labels(facts, filter.selector) if filter.selector is not None else _near_word(facts, filter)
    return f"0 of {counted(total, 'node')} are like /{typed}{near}\n{away}"


def _near_word(facts: NodeFacts, filter: Filter) -> str:
    """The group, type or version that looks like it, and of as many nodes as one can know by name, the name."""
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
    """What the first requirement that no node has was meant to be."""
    everyone = [node.labels for node in facts.nodes.values()]
    for wanted in selector.requirements:
        if not any(wanted.matches(labels) for labels in everyone):
            return _near_requirement(wanted, {key: {labels.get(key, "") for labels in everyone} for key in _all(facts)})
    return ": each of these has some, but none has all"


def _near_requirement(wanted: Requirement, known: dict[str, set[str]]) -> str:
    if wanted.key not in known:
        return f": no node has a label {wanted.key}{_nearest(wanted.key, known)}"
    values = known[wanted.key] - {""}
    near = next(filter(None, (_nearest(value, values) for value in wanted.values)), "")
    return f": no node has that {wanted.key}{near}"


def _all(facts: NodeFacts) -> set[str]:
    return {key for node in facts.nodes.values() for key in node.labels}
