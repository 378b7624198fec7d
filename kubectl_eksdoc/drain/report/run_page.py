"""HTML page of a recorded run: its result, its nodes over time, what it waited for, and its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType

from kubectl_eksdoc import __version__
from kubectl_eksdoc.model.journal import DONE, ROLLED_BACK
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.pages import (
    STYLE,
    Html,
    Section,
    el,
    folded,
    framed,
    lines,
    more,
    put,
    table,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Look,
    Row,
    Tone,
    columns_of,
    counted,
    listing,
    number_column,
    rfc3339,
)

from ..course import Span
from ..run.events import WENT_WRONG
from ..run.history import NodeCourse, NodeState, RunHistory
from ..run.progress import SEEN_FOR
from ..run.replay import ReplaySource, RunReplay
from ..run.result import WAITED_S
from .record import requests
from .rows import NONE
from .timeline import axis, colour, grid, rect, ticks

_MOST = 5
MOST_DROPPED = 20
MOST_ROWS = 1000
"""Maximum rows of nodes, pods and reasons; the rest is counted. Of the log, the last five times as many rows."""

_ENDS = {DONE: "it came to its end: every node is empty", ROLLED_BACK: "it was rolled back: nodes are as before it"}
NO_END = "its end was not recorded: the journal ends here"
KNOWN_BY = {
    ReplaySource.JOURNAL: "made from its journal, which does not have when a pod was gone, the estimate and why pods "
    "waited: these are unknown here",
    ReplaySource.EVENTS: "made from its events, which have neither UIDs nor HTTP codes",
}


def ended(recording: RunReplay) -> str:
    """How the run ended, as a clause."""
    return _ENDS.get(recording.ended, recording.ended) or NO_END


def history(recording: RunReplay) -> RunHistory:
    chronicle = RunHistory(recording.aims)
    chronicle.take(recording.moments)
    return chronicle


def figures(recording: RunReplay) -> Iterator[str]:
    """What took longest, what was refused, and what was not evicted, line by line."""
    chronicle = history(recording)
    nodes = list(chronicle.nodes.values())
    drained_s = recording.length_s if chronicle.drained_s is None else chronicle.drained_s
    after_s = recording.length_s - drained_s
    waited = f", {duration(after_s)} more until its end" if after_s >= WAITED_S else ""
    yield (
        f"{chronicle.drained} of {counted(len(nodes), 'node')} drained in {duration(drained_s)}{waited}; "
        f"{requests(chronicle.asked.total(), chronicle.refusals)}"
    )
    slow = sorted(((_lasted(node), node.node) for node in nodes if node.ended_s is not None), reverse=True)
    if slow:
        yield f"Longest: {listing([f'{name} {duration(lasted)}' for lasted, name in slow], _MOST, Look())}"
    pods = (pod for node in nodes for pod in node.pods.values() if pod.refused > 1)
    often = [f"{pod.pod} {pod.refused} times" for pod in sorted(pods, key=lambda pod: -pod.refused)]
    if often:
        yield f"Refused most often: {listing(often, _MOST, Look())}"
    alone = [node for node in nodes if node.state is NodeState.ALONE]
    yield from (f"Left alone: {node.node}: {node.why}" for node in alone)
    yield from recording.said
    if recording.dropped:
        yield "Not taken into account:"
        yield from (f"    {said}" for said in recording.dropped[:MOST_DROPPED])
    if len(recording.dropped) > MOST_DROPPED:
        yield f"    and {len(recording.dropped) - MOST_DROPPED} more: drain status --replay says all of them"


def _lasted(node: NodeCourse) -> float:
    """Seconds from its first eviction to its end; 0 without an eviction."""
    return (node.ended_s or 0.0) - node.begun_s if node.begun_s is not None else 0.0


def page(recording: RunReplay, look: Look, planned: Mapping[str, Span] = MappingProxyType({})) -> str:
    """`planned`: when each node was planned to be drained, as far as known."""
    nodes = tuple(history(recording).nodes.values())
    origin = [f"run {recording.run or 'unknown'}", f"began {rfc3339(recording.began_at)}", f"by {recording.by or '?'}"]
    head = put(*(el("span", each) for each in origin), between=" · ")
    first, *others = figures(recording)
    said = (el("strong", ended(recording)), el("span", first), *(el("p", line) for line in others))
    verdict = el("div", *said, class_=f"verdict {'good' if recording.whole else 'warn'}")
    foot = f"kubectl eksdoc {__version__} · {KNOWN_BY[recording.source]}"
    name = f"Drain run {recording.run}".strip()
    sections = _sections(recording, nodes, planned)
    return framed(name, STYLE, el("p", head, class_="origin"), verdict, sections, foot, look)


def _sections(recording: RunReplay, nodes: tuple[NodeCourse, ...], planned: Mapping[str, Span]) -> Iterator[Section]:
    yield Section("timeline", "Timeline", "Timeline", _gantt(recording, nodes, planned))
    yield Section("nodes", "Nodes", "Nodes", _nodes(nodes))
    yield Section("waits", "Waits", "What it waited for, the longest first", _waits(recording))
    yield Section("refused", "Refused", "Pods whose eviction was refused", _refused(nodes))
    yield Section("log", "Log", "Log", _log(recording))


def _gantt(recording: RunReplay, nodes: tuple[NodeCourse, ...], planned: Mapping[str, Span]) -> Html:
    """A row for each node that was begun, from its first eviction to its end, with the planned time behind it."""
    begun = [node for node in nodes if node.begun_s is not None]
    if not begun:
        return Html("")
    end = max([recording.length_s, *(span.done_s for span in planned.values())]) or 1.0
    marks = ticks(end)
    rows = [el("span"), axis(marks, end), el("span")]
    for node in begun[:MOST_ROWS]:
        start_s, stop_s = node.begun_s or 0.0, node.ended_s if node.ended_s is not None else recording.length_s
        is_drained = node.state in (NodeState.DONE, NodeState.THEIRS)
        took = duration(stop_s - start_s) if is_drained else "not drained"
        aim = planned.get(node.node)
        ghost = rect("slow", aim.start_s, aim.done_s, end) if aim is not None else ""
        meant = f", planned {duration(aim.start_s)} to {duration(aim.done_s)}" if aim is not None else ""
        said = el("title", f"{node.node}: {duration(start_s)} to {duration(stop_s)}, {node.state.value}{meant}")
        drawn = rect("bar" if is_drained else "rest", start_s, stop_s, end)
        rows += [el("span", node.node, class_="name"), el("svg", said, *grid(marks, end), ghost, drawn, role="img")]
        rows.append(el("span", took, class_="t"))
    key = [colour("bar"), "drained", colour("rest"), "not drained"]
    key += [colour("slow"), "as planned (p50)"] if planned else []
    chart = el("div", lines(rows), class_="gantt")
    return el("div", chart, more(len(begun) - MOST_ROWS, "nodes"), el("p", *key, class_="key"), class_="card")


_NODE_TONE = {NodeState.DONE: Tone.GOOD, NodeState.ALONE: Tone.BAD, NodeState.GONE: Tone.WARN}


def _nodes(nodes: tuple[NodeCourse, ...]) -> Html:
    columns = columns_of("NODE", number_column("WAVE"), "RESULT", number_column("PODS"))
    columns += columns_of(number_column("REFUSALS"), number_column("TOOK"), "WHY")
    rows: list[Row] = [
        [
            node.node,
            node.wave or NONE,
            Cell(node.state.value, _NODE_TONE.get(node.state)),
            len(node.pods),
            sum(pod.refused for pod in node.pods.values()),
            duration(_lasted(node)) if node.ended_s is not None and node.begun_s is not None else NONE,
            node.why,
        ]
        for node in nodes[:MOST_ROWS]
    ]
    return put(table(columns, rows, frozenset({"NODE"})), more(len(nodes) - MOST_ROWS, "nodes")) if rows else Html("")


def _waits(recording: RunReplay) -> Html:
    """Each reason once, with the longest wait; a journal does not hold any."""
    longest: dict[tuple[str, str], tuple[float, str, str, str]] = {}
    for stands in recording.standings:
        for each in stands.why:
            key, for_s = (each.of, each.why.partition(SEEN_FOR)[0]), each.for_s or 0.0
            if each.for_s is not None and each.for_s < WAITED_S:
                continue  # no wait for this reason
            if for_s >= longest.get(key, (0.0,))[0]:
                longest[key] = for_s, each.why, each.usual, each.remedy
    kept = sorted(longest.items(), key=lambda item: -item[1][0])
    if not kept:
        unknown = recording.source is ReplaySource.JOURNAL
        return el("p", "Unknown: a journal does not have it." if unknown else "Nothing that was written down.")
    columns = columns_of("WHAT", number_column("WAITED"), "WHY", "USUAL", "COMMAND")
    rows = [
        [of or "the run", duration(for_s) if for_s else NONE, why, usual or NONE, remedy]
        for (of, _), (for_s, why, usual, remedy) in kept[:MOST_ROWS]
    ]
    return put(table(columns, rows, frozenset({"WHAT"})), more(len(kept) - MOST_ROWS, "reasons"))


def _refused(nodes: tuple[NodeCourse, ...]) -> Html:
    found = [(pod, node.node) for node in nodes for pod in node.pods.values() if pod.refused]
    found.sort(key=lambda each: -each[0].refused)
    columns = columns_of("POD", "NODE", number_column("TIMES"), "AT THE END", "WHY")
    rows = [[pod.pod, node, pod.refused, pod.state.value, pod.why or NONE] for pod, node in found[:MOST_ROWS]]
    kept = put(table(columns, rows, frozenset({"POD", "NODE"})), more(len(found) - MOST_ROWS, "pods"))
    return kept if rows else Html("")


def _log(recording: RunReplay) -> Html:
    columns = columns_of("TIME", number_column("AFTER"), "WHAT", "OF", "NODE", "WHY")
    rows: list[Row] = [
        [
            f"{recording.began_at + timedelta(seconds=each.at_s):%H:%M:%S}Z",
            duration(each.at_s),
            Cell(each.what.value, Tone.WARN if each.what in WENT_WRONG else None),
            each.subject,
            each.node,
            each.why,
        ]
        for each in recording.moments[-5 * MOST_ROWS :]
    ]
    if not rows:
        return Html("")
    earlier = more(len(recording.moments) - len(rows), "earlier entries")
    return folded(counted(len(recording.moments), "entry", "entries"), earlier, table(columns, rows, {"OF", "NODE"}))
