"""HTML page of a recorded run: its result, its nodes over time, what it waited for, and its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from types import MappingProxyType

from kubectl_eksdoc import __version__
from kubectl_eksdoc.model.journal import DONE, ROLLED_BACK
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.pages import (
    STYLE,
    Html,
    PageSection,
    collapsible,
    concat,
    element,
    html_lines,
    html_table,
    omitted_note,
    render_page,
)
from kubectl_eksdoc.report.text import (
    Appearance,
    Cell,
    Row,
    Tone,
    as_columns,
    list_names,
    number_column,
    pluralize,
    rfc3339,
)

from ..run.events import PROBLEM_EVENTS
from ..run.history import NodeHistory, NodeState, RunHistory
from ..run.progress import SEEN_FOR
from ..run.replay import ReplaySource, RunReplay
from ..run.result import MIN_WAIT_S
from ..timeline import NodeSpan
from .record import request_counts
from .rows import NONE
from .timeline import axis, color_key, grid, rect, ticks

_MAX_NAMES = 5
MAX_DROPPED = 20
MAX_ROWS = 1000
"""Maximum rows of nodes, pods and reasons; the rest is counted. Of the log, the last five times as many rows."""

_ENDS = {DONE: "it came to its end: every node is empty", ROLLED_BACK: "it was rolled back: nodes are as before it"}
END_UNKNOWN = "its end was not recorded: the journal ends here"
SOURCE_NOTES = {
    ReplaySource.JOURNAL: "made from its journal, which does not have when a pod was gone, the estimate and why pods "
    "waited: these are unknown here",
    ReplaySource.EVENTS: "made from its events, which have neither UIDs nor HTTP codes",
}


def end_text(replay: RunReplay) -> str:
    """How the run ended, as a clause."""
    return _ENDS.get(replay.outcome, replay.outcome) or END_UNKNOWN


def history(replay: RunReplay) -> RunHistory:
    history = RunHistory(replay.planned_nodes)
    history.add(replay.events)
    return history


def figures(replay: RunReplay) -> Iterator[str]:
    """What took longest, what was refused, and what was not evicted, line by line."""
    run_history = history(replay)
    nodes = list(run_history.nodes.values())
    drained_s = replay.length_s if run_history.drained_s is None else run_history.drained_s
    after_s = replay.length_s - drained_s
    wait_text = f", {format_duration(after_s)} more until its end" if after_s >= MIN_WAIT_S else ""
    yield (
        f"{run_history.drained} of {pluralize(len(nodes), 'node')} drained in {format_duration(drained_s)}{wait_text}; "
        f"{request_counts(run_history.granted.total(), run_history.refusals)}"
    )
    longest = sorted(((_node_seconds(node), node.node) for node in nodes if node.ended_s is not None), reverse=True)
    if longest:
        yield (
            "Longest: "
            f"{list_names([f'{name} {format_duration(node_s)}' for node_s, name in longest], _MAX_NAMES, Appearance())}"
        )
    pods = (pod for node in nodes for pod in node.pods.values() if pod.refusals > 1)
    often_refused = [f"{pod.pod} {pod.refusals} times" for pod in sorted(pods, key=lambda pod: -pod.refusals)]
    if often_refused:
        yield f"Refused most often: {list_names(often_refused, _MAX_NAMES, Appearance())}"
    left_alone = [node for node in nodes if node.state is NodeState.LEFT_ALONE]
    yield from (f"Left alone: {node.node}: {node.reason}" for node in left_alone)
    yield from replay.details_text
    if replay.dropped:
        yield "Not taken into account:"
        yield from (f"    {said}" for said in replay.dropped[:MAX_DROPPED])
    if len(replay.dropped) > MAX_DROPPED:
        yield f"    and {len(replay.dropped) - MAX_DROPPED} more: drain status --replay says all of them"


def _node_seconds(node: NodeHistory) -> float:
    """Seconds from its first eviction to its end; 0 without an eviction."""
    return (node.ended_s or 0.0) - node.started_s if node.started_s is not None else 0.0


def page(replay: RunReplay, appearance: Appearance, planned: Mapping[str, NodeSpan] = MappingProxyType({})) -> str:
    """`planned`: when each node was planned to be drained, as far as known."""
    nodes = tuple(history(replay).nodes.values())
    origin = [f"run {replay.run or 'unknown'}", f"began {rfc3339(replay.started_at)}", f"by {replay.started_by or '?'}"]
    origin_line = concat(*(element("span", each) for each in origin), between=" · ")
    first, *others = figures(replay)
    parts = (element("strong", end_text(replay)), element("span", first), *(element("p", line) for line in others))
    verdict = element("div", *parts, class_=f"verdict {'good' if replay.is_complete else 'warn'}")
    foot = f"kubectl eksdoc {__version__} · {SOURCE_NOTES[replay.source]}"
    name = f"Drain run {replay.run}".strip()
    sections = _sections(replay, nodes, planned)
    return render_page(name, STYLE, element("p", origin_line, class_="origin"), verdict, sections, foot, appearance)


def _sections(
    replay: RunReplay, nodes: tuple[NodeHistory, ...], planned: Mapping[str, NodeSpan]
) -> Iterator[PageSection]:
    yield PageSection("timeline", "Timeline", "Timeline", _gantt(replay, nodes, planned))
    yield PageSection("nodes", "Nodes", "Nodes", _nodes(nodes))
    yield PageSection("waits", "Waits", "What it waited for, the longest first", _waits(replay))
    yield PageSection("refused", "Refused", "Pods whose eviction was refused", _refused(nodes))
    yield PageSection("log", "Log", "Log", _log(replay))


def _gantt(replay: RunReplay, nodes: tuple[NodeHistory, ...], planned: Mapping[str, NodeSpan]) -> Html:
    """A row for each node that was begun, from its first eviction to its end, with the planned time behind it."""
    begun = [node for node in nodes if node.started_s is not None]
    if not begun:
        return Html("")
    end = max([replay.length_s, *(span.done_s for span in planned.values())]) or 1.0
    marks = ticks(end)
    rows = [element("span"), axis(marks, end), element("span")]
    for node in begun[:MAX_ROWS]:
        start_s, stop_s = node.started_s or 0.0, node.ended_s if node.ended_s is not None else replay.length_s
        is_drained = node.state in (NodeState.DONE, NodeState.EMPTIED_BY_OTHERS)
        took = format_duration(stop_s - start_s) if is_drained else "not drained"
        planned_span = planned.get(node.node)
        planned_bar = rect("slow", planned_span.start_s, planned_span.done_s, end) if planned_span is not None else ""
        planned_text = (
            f", planned {format_duration(planned_span.start_s)} to {format_duration(planned_span.done_s)}"
            if planned_span is not None
            else ""
        )
        label = element(
            "title",
            f"{node.node}: {format_duration(start_s)} to {format_duration(stop_s)}, {node.state.value}{planned_text}",
        )
        actual_bar = rect("bar" if is_drained else "rest", start_s, stop_s, end)
        rows += [
            element("span", node.node, class_="name"),
            element("svg", label, *grid(marks, end), planned_bar, actual_bar, role="img"),
        ]
        rows.append(element("span", took, class_="t"))
    legend = [color_key("bar"), "drained", color_key("rest"), "not drained"]
    legend += [color_key("slow"), "as planned (p50)"] if planned else []
    chart = element("div", html_lines(rows), class_="gantt")
    return element(
        "div", chart, omitted_note(len(begun) - MAX_ROWS, "nodes"), element("p", *legend, class_="key"), class_="card"
    )


_NODE_TONE = {NodeState.DONE: Tone.GOOD, NodeState.LEFT_ALONE: Tone.BAD, NodeState.GONE: Tone.WARN}


def _nodes(nodes: tuple[NodeHistory, ...]) -> Html:
    columns = as_columns("NODE", number_column("WAVE"), "RESULT", number_column("PODS"))
    columns += as_columns(number_column("REFUSALS"), number_column("TOOK"), "WHY")
    rows: list[Row] = [
        [
            node.node,
            node.wave or NONE,
            Cell(node.state.value, _NODE_TONE.get(node.state)),
            len(node.pods),
            sum(pod.refusals for pod in node.pods.values()),
            format_duration(_node_seconds(node)) if node.ended_s is not None and node.started_s is not None else NONE,
            node.reason,
        ]
        for node in nodes[:MAX_ROWS]
    ]
    return (
        concat(html_table(columns, rows, frozenset({"NODE"})), omitted_note(len(nodes) - MAX_ROWS, "nodes"))
        if rows
        else Html("")
    )


def _waits(replay: RunReplay) -> Html:
    """Each reason once, with the longest wait; a journal does not hold any."""
    longest: dict[tuple[str, str], tuple[float, str, str, str]] = {}
    for progress in replay.progress_records:
        for reason in progress.reasons:
            key, wait_s = (reason.subject, reason.reason.partition(SEEN_FOR)[0]), reason.for_s or 0.0
            if reason.for_s is not None and reason.for_s < MIN_WAIT_S:
                continue  # no wait for this reason
            if wait_s >= longest.get(key, (0.0,))[0]:
                longest[key] = wait_s, reason.reason, reason.typical, reason.remedy
    waits = sorted(longest.items(), key=lambda item: -item[1][0])
    if not waits:
        unknown = replay.source is ReplaySource.JOURNAL
        return element("p", "Unknown: a journal does not have it." if unknown else "Nothing that was written down.")
    columns = as_columns("WHAT", number_column("WAITED"), "WHY", "USUAL", "COMMAND")
    rows = [
        [subject or "the run", format_duration(wait_s) if wait_s else NONE, why, usual or NONE, remedy]
        for (subject, _), (wait_s, why, usual, remedy) in waits[:MAX_ROWS]
    ]
    return concat(html_table(columns, rows, frozenset({"WHAT"})), omitted_note(len(waits) - MAX_ROWS, "reasons"))


def _refused(nodes: tuple[NodeHistory, ...]) -> Html:
    refused_pods = [(pod, node.node) for node in nodes for pod in node.pods.values() if pod.refusals]
    refused_pods.sort(key=lambda each: -each[0].refusals)
    columns = as_columns("POD", "NODE", number_column("TIMES"), "AT THE END", "WHY")
    rows = [[pod.pod, node, pod.refusals, pod.state.value, pod.reason or NONE] for pod, node in refused_pods[:MAX_ROWS]]
    refused_table = concat(
        html_table(columns, rows, frozenset({"POD", "NODE"})), omitted_note(len(refused_pods) - MAX_ROWS, "pods")
    )
    return refused_table if rows else Html("")


def _log(replay: RunReplay) -> Html:
    columns = as_columns("TIME", number_column("AFTER"), "WHAT", "OF", "NODE", "WHY")
    rows: list[Row] = [
        [
            f"{replay.started_at + timedelta(seconds=each.at_s):%H:%M:%S}Z",
            format_duration(each.at_s),
            Cell(each.what.value, Tone.WARN if each.what in PROBLEM_EVENTS else None),
            each.subject,
            each.node,
            each.why,
        ]
        for each in replay.events[-5 * MAX_ROWS :]
    ]
    if not rows:
        return Html("")
    earlier = omitted_note(len(replay.events) - len(rows), "earlier entries")
    return collapsible(
        pluralize(len(replay.events), "entry", "entries"), earlier, html_table(columns, rows, {"OF", "NODE"})
    )
