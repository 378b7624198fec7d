"""Table of nodes: facts and plan status, filter and sort order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.drain.nodes import IMAGE_LABEL, natural_key, older_images, older_kubelets
from kubectl_eksdoc.drain.outcome import DrainTarget, TargetVerdict
from kubectl_eksdoc.drain.report.plan import (
    BAD,
    GOOD,
    TARGET_SYMBOLS,
    UNKNOWN_SYMBOL,
    WARN,
    DrainView,
    short_code,
)
from kubectl_eksdoc.drain.report.rows import NODE_COLUMNS, node_cells
from kubectl_eksdoc.errors import close_matches
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.selectors import InvalidSelector, Selector, parse
from kubectl_eksdoc.model.snapshots import LastView
from kubectl_eksdoc.report.text import Cell, Column, Tone, pluralize

from .pods import Cells, ColumnWidths, Sheet, cached_per_view
from .pods import cell_width as room_of

NO_VALUE = "·"
UNKNOWN_VALUE = "?"

NODE_TABLE_COLUMNS = (
    Column("NODE", cut_middle=True, min_width=14),
    replace(NODE_COLUMNS["GROUP"], min_width=6),
    NODE_COLUMNS["TYPE"],
    replace(NODE_COLUMNS["CAPACITY"], short_title="CAP", drop_order=5),
    NODE_COLUMNS["KUBELET"],
    Column("AMI", drop_order=8),
    NODE_COLUMNS["AGE"],
    Column("PODS", align_right=True, drop_order=1),
    Column("WAVE", align_right=True),
    Column("STATUS", min_width=28),
)
_STATUS_COLUMN = len(NODE_TABLE_COLUMNS) - 1
_KUBELET_COLUMN, _AMI_COLUMN = 4, 5
_IMAGE_SUFFIX = 6
OUTDATED_MARK = "!"
"""Marks an outdated version beside its colour, which is missing on the cursor row and with NO_COLOR."""


@frozen
class NodeFacts:
    """Facts of the nodes that do not depend on a plan: computed once per read."""

    nodes: Mapping[str, Node]
    texts: Mapping[str, tuple[str, ...]]  # by name: the columns before WAVE
    widths: tuple[int, ...]
    ascii_widths: tuple[int, ...]
    pods: Mapping[str, int]  # by name: the number of its pods
    old_kubelets: frozenset[str] = frozenset()  # kubelets older than the control plane
    old_images: frozenset[str] = frozenset()


def node_facts(cluster: Cluster) -> NodeFacts:
    pods = Counter(pod.node for pod in cluster.pods if pod.node)
    return _build_facts(cluster.nodes, pods, cluster.observed_at, cluster.identity.server_version)


def node_facts_of_view(view: LastView) -> NodeFacts:
    return _build_facts(view.nodes, view.pods, view.observed_at, view.identity.server_version)


def _build_facts(nodes: Sequence[Node], pods: Mapping[str, int], now: datetime, server_version: str) -> NodeFacts:
    widths = ColumnWidths(NODE_TABLE_COLUMNS[: _STATUS_COLUMN - 1])
    old_kubelets, old_images = older_kubelets(nodes, server_version), older_images(nodes)
    texts = {}
    for node in sorted(nodes, key=lambda each: natural_key(each.name)):
        columns = node_cells(node, now)
        texts[node.name] = cells = (
            node.name,
            *(columns[title] or UNKNOWN_VALUE for title in ("GROUP", "TYPE", "CAPACITY")),
            (columns["KUBELET"] or UNKNOWN_VALUE) + OUTDATED_MARK * (node.name in old_kubelets),
            _image_text(node) + OUTDATED_MARK * (node.name in old_images),
            columns["AGE"] or UNKNOWN_VALUE,
            f"{pods.get(node.name, 0)}/{node.pods_allocatable or UNKNOWN_VALUE}",
        )
        widths.add_row(cells)
    by_name = {node.name: node for node in nodes}
    widths_needed, ascii_widths = (*widths.widest, 4, 10), (*widths.widest_ascii, 4, 10)
    counts = {name: pods.get(name, 0) for name in by_name}
    return NodeFacts(by_name, texts, widths_needed, ascii_widths, counts, old_kubelets, old_images)


def wave_tone(wave: int) -> Tone | None:
    """Alternating colours of waves; the wave number says the same."""
    return Tone.GOOD if wave % 2 else None


def _image_text(node: Node) -> str:
    """The end of the AMI id, which distinguishes two AMIs."""
    image = node.labels.get(IMAGE_LABEL, "")
    return f"…{image[-_IMAGE_SUFFIX:]}" if image else UNKNOWN_VALUE


def nodes_sheet(
    facts: NodeFacts,
    names: Iterable[str],
    view: DrainView | None,
    empty_text: str = "",
    columns: Sequence[Column] = NODE_TABLE_COLUMNS,
) -> Sheet:
    """The nodes of these names. `view`: the plan, None without one; `empty_text`: shown without names; `columns` may
    have other titles."""
    targets = targets_by_node(view) if view is not None else {}

    def cells(name: str) -> Cells:
        target = targets.get(name)
        wave = Cell(NO_VALUE, Tone.FAINT)
        if target is not None and target.wave:
            wave = Cell(str(target.wave), wave_tone(target.wave))
        texts: list[str | Cell] = list(facts.texts[name])
        for outdated, index in ((facts.old_kubelets, _KUBELET_COLUMN), (facts.old_images, _AMI_COLUMN)):
            if name in outdated:
                texts[index] = Cell(facts.texts[name][index], Tone.WARN)
        return (*texts, wave, status_cell(facts.nodes[name], target, view))

    def status_in_width(name: str, width: int) -> Cell:
        return status_cell(facts.nodes[name], targets.get(name), view, width)

    def status_width() -> int:
        return max((room_of(status_in_width(name, 0).text) for name in keys), default=0)

    keys = tuple(names)
    return Sheet(
        columns,
        facts.widths,
        keys,
        cells,
        fill_column=_STATUS_COLUMN,
        fill_cell=status_in_width,
        empty_text=empty_text,
        fill_width=status_width,
        ascii_widths=facts.ascii_widths,
    )


@cached_per_view
def targets_by_node(view: DrainView) -> Mapping[str, DrainTarget]:
    return {target.node.name: target for target in view.targets}


def status_cell(node: Node, target: DrainTarget | None, view: DrainView | None, width: int = 0) -> Cell:
    """Reasons against draining take precedence over the node's own state; within `width` columns as many as fit, and
    the number of the others."""
    if target is not None and view is not None and target.verdict is not TargetVerdict.DRAINS:
        symbol, tone = TARGET_SYMBOLS[target.verdict]
        codes = dict.fromkeys(short_code(code) for row in view.blocking(target) for code in row.codes)
        causes = list(codes) or ["; ".join(target.why) or target.verdict.value]
        return Cell(f"{symbol} {_fit_causes(causes, width - 2) if width else ', '.join(causes)}", tone)
    if node.deletion_at is not None:
        return Cell(f"{WARN[0]} being deleted", WARN[1])
    if node.ready != "True":
        symbol, tone = BAD if node.ready == "False" else UNKNOWN_SYMBOL
        return Cell(f"{symbol} {'NotReady' if node.ready == 'False' else 'Ready unknown'}", tone)
    if node.unschedulable:
        return Cell("⊘ cordoned", Tone.WARN)
    return Cell(f"{GOOD[0]} Ready", GOOD[1])


def _fit_causes(causes: Sequence[str], width: int) -> str:
    """``bare pod +1``"""
    for count in range(len(causes), 1, -1):
        more = f" +{len(causes) - count}" if count < len(causes) else ""
        if room_of(text := ", ".join(causes[:count]) + more) <= width:
            return text
    return causes[0] + (f" +{len(causes) - 1}" if len(causes) > 1 else "")


# Filter: nodes that match a text or labels, and nodes with a problem.


LABELS_FLAG = "-l"

MAX_SUGGESTED_NAMES = 500
"""With more nodes, names are not searched for a suggestion: that is slower than typing."""

NO_FAULTS_TEXT = (
    "Nothing is the matter with any node: all are Ready, none is cordoned or left out.\nesc shows them all."
)


@frozen
class _NodeFilter:
    """`text` (lower case) must be in the line of a node, or must not (`inverse`); or its labels must match `selector`.
    `error`: why the selector is invalid; then nothing matches."""

    text: str = ""
    inverse: bool = False
    selector: Selector | None = None
    error: str = ""


def parse_filter(typed: str) -> _NodeFilter:
    """``spot``, ``!spot``, ``-l zone=a,!gpu`` as ``--selector`` takes it."""
    text = typed.strip()
    if text == LABELS_FLAG or text.startswith(f"{LABELS_FLAG} "):
        labels = text[len(LABELS_FLAG) :].strip()
        if not labels:
            return _NodeFilter(error="labels stand behind it: -l key=value,key2!=x")
        try:
            return _NodeFilter(selector=parse(labels))
        except InvalidSelector as error:
            return _NodeFilter(error=str(error))
    return _NodeFilter(text.lower().lstrip("!"), text.startswith("!"))


def matching_nodes(facts: NodeFacts, typed: str) -> tuple[str, ...]:
    """The names of matching nodes, in natural order."""
    node_filter = parse_filter(typed)
    if node_filter.error:
        return ()
    if node_filter.selector is not None:
        return tuple(name for name in facts.texts if node_filter.selector.matches(facts.nodes[name].labels))
    if not node_filter.text:
        return tuple(facts.texts)
    return tuple(
        name
        for name, cells in facts.texts.items()
        if (node_filter.text in " ".join(cells).lower()) is not node_filter.inverse
    )


def faulty_nodes(names: Iterable[str], facts: NodeFacts, view: DrainView | None) -> tuple[str, ...]:
    """Nodes that are not Ready, cordoned, being deleted, or marked and not drained by the plan."""
    drains = TargetVerdict.DRAINS
    not_drained = {t.node.name for t in view.targets if t.verdict is not drains} if view is not None else frozenset()

    def at_fault(name: str) -> bool:
        node = facts.nodes[name]
        return node.ready != "True" or node.unschedulable or node.deletion_at is not None or name in not_drained

    return tuple(name for name in names if at_fault(name))


def empty_text(facts: NodeFacts, typed: str, faults: bool) -> str:
    """The text shown without rows."""
    total = len(facts.texts)
    if not typed.strip() or matching_nodes(facts, typed):
        no_fault_text = (
            f"Of those that match /{typed}, none is at fault.\nesc shows all." if typed.strip() else NO_FAULTS_TEXT
        )
        return no_fault_text if faults else "The cluster has no node. Is it the right one? x shows other contexts."
    node_filter = parse_filter(typed)
    clear_hint = "esc takes the filter away."
    if node_filter.error:
        return f"/{typed}: {node_filter.error}\n{clear_hint}"
    suggestion = (
        _label_suggestion(facts, node_filter.selector)
        if node_filter.selector is not None
        else _word_suggestion(facts, node_filter)
    )
    return f"0 of {pluralize(total, 'node')} match /{typed}{suggestion}\n{clear_hint}"


def _word_suggestion(facts: NodeFacts, node_filter: _NodeFilter) -> str:
    """A similar group, type or version; in a small cluster also a node name."""
    if node_filter.inverse:
        return ""
    searches_names = len(facts.texts) <= MAX_SUGGESTED_NAMES
    cell_texts = {
        cell for name, *cells in facts.texts.values() for cell in (*cells, *([name] if searches_names else []))
    }
    words = {word.lower() for cell in cell_texts for word in (cell, *cell.split("-"))}
    return _suggestion(node_filter.text, (word for word in words if len(word) > 1 and not word.isdigit()))


def _suggestion(word: str, candidates: Iterable[str]) -> str:
    similar = close_matches(word, candidates)
    return f" (did you mean {similar[0]}?)" if similar else ""


def _label_suggestion(facts: NodeFacts, selector: Selector) -> str:
    """A suggestion for the first requirement that no node meets."""
    node_labels = [node.labels for node in facts.nodes.values()]
    for requirement in selector.requirements:
        if not any(requirement.matches(labels) for labels in node_labels):
            values_by_key = {key: {labels.get(key, "") for labels in node_labels} for key in _label_keys(facts)}
            if requirement.key not in values_by_key:
                return f": no node has a label {requirement.key}{_suggestion(requirement.key, values_by_key)}"
            values = values_by_key[requirement.key] - {""}
            suggestion = next(filter(None, (_suggestion(value, values) for value in requirement.values)), "")
            return f": no node has that {requirement.key}{suggestion}"
    return ": each of these has some, but none has all"


def _label_keys(facts: NodeFacts) -> set[str]:
    return {key for node in facts.nodes.values() for key in node.labels}


# Sort order: by one column, ascending or descending; unknown values are always last.


ASCENDING, DESCENDING = "▲", "▼"


@frozen
class SortOrder:
    """`column` is a column title; `is_descending`: the last value first."""

    column: str = NODE_TABLE_COLUMNS[0].title
    is_descending: bool = False

    def by_column(self, column: str) -> SortOrder:
        """Sort by that column; the same column again reverses the order."""
        return replace(self, is_descending=not self.is_descending) if column == self.column else SortOrder(column)

    def next_column(self) -> SortOrder:
        """The next column, cyclically."""
        titles = [column.title for column in NODE_TABLE_COLUMNS]
        return SortOrder(titles[(titles.index(self.column) + 1) % len(titles)])


def sort_symbol(order: SortOrder) -> str:
    return DESCENDING if order.is_descending else ASCENDING


def with_sort_symbol(columns: Iterable[Column], order: SortOrder) -> tuple[Column, ...]:
    """The sorted column has a symbol in its title."""
    return tuple(
        replace(
            each,
            title=each.title + sort_symbol(order),
            short_title=(each.short_title or each.title) + sort_symbol(order),
        )
        if each.title == order.column
        else each
        for each in columns
    )


def sort_nodes(names: Iterable[str], order: SortOrder, facts: NodeFacts, view: DrainView | None) -> tuple[str, ...]:
    """`names` are in natural order; the sort is stable."""
    all_names = tuple(names)
    if order == SortOrder():
        return all_names
    sort_key = _sort_keys(facts, view)[order.column]
    sort_keys = {name: sort_key(name) for name in all_names}
    sorted_names = sorted(
        (name for name in all_names if sort_keys[name] is not None),
        key=sort_keys.__getitem__,
        reverse=order.is_descending,
    )
    return (*sorted_names, *(name for name in all_names if sort_keys[name] is None))


# Sort keys of one column have one type; None is unknown.
SortKey = Callable[[str], Any]
_NOT_DRAINED_ORDER = (TargetVerdict.SKIPPED, TargetVerdict.REFUSED, TargetVerdict.UNKNOWN, TargetVerdict.PARTIAL)


def _sort_keys(facts: NodeFacts, view: DrainView | None) -> Mapping[str, SortKey]:
    nodes = facts.nodes
    waves = view.wave_of if view is not None else {}
    return {
        "NODE": natural_key,
        "GROUP": lambda name: natural_key(nodes[name].group) or None,
        "TYPE": lambda name: natural_key(nodes[name].instance_type) or None,
        "CAPACITY": lambda name: nodes[name].capacity_type or None,
        "KUBELET": lambda name: nodes[name].kubelet,
        "AMI": lambda name: nodes[name].labels.get(IMAGE_LABEL) or None,
        "AGE": lambda name: _age_key(nodes[name]),
        "PODS": lambda name: facts.pods[name],
        "WAVE": waves.get,
        "STATUS": _status_key(facts, view),
    }


def _age_key(node: Node) -> float | None:
    """A smaller value for a younger node."""
    created = node.created_at
    if created is None:
        return None
    aware: datetime = created if created.tzinfo else created.replace(tzinfo=timezone.utc)
    return -aware.timestamp()


def _status_key(facts: NodeFacts, view: DrainView | None) -> SortKey:
    """Nodes that are not drained first, then not Ready, being deleted, cordoned."""
    verdicts = {target.node.name: target.verdict for target in view.targets} if view is not None else {}

    def key(name: str) -> int:
        node, verdict = facts.nodes[name], verdicts.get(name)
        if verdict in _NOT_DRAINED_ORDER:
            return _NOT_DRAINED_ORDER.index(verdict)
        if node.ready != "True":
            return 4 if node.ready == "False" else 5
        if node.deletion_at is not None:
            return 6
        return 7 if node.unschedulable else 8

    return key
