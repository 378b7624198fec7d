"""What came of a recorded run, for its summary: how it ended by what was written down, and what took longest."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.journal import DONE, ROLLED_BACK
from kubectl_eksdoc.core.run.chronicle import Chronicle, NodeCourse, NodeState
from kubectl_eksdoc.core.run.recording import Recording
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.text import counted, listing
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.run.desk import Outcome

_MOST = 5
MOST_DROPPED = 20

_ENDS = {DONE: "it came to its end: every node is empty", ROLLED_BACK: "it was rolled back: nodes are as before it"}
_NO_END = "nobody wrote down that it came to an end: what was written ends here"


def outcome_of(recording: Recording) -> Outcome:
    said = _ENDS.get(recording.ended, recording.ended) or _NO_END
    return Outcome(said, tuple(_lines(recording)), bad=not recording.whole)


def _lines(recording: Recording) -> Iterator[str]:
    chronicle = Chronicle(recording.aims)
    chronicle.take(recording.moments)
    nodes = list(chronicle.nodes.values())
    drained = sum(node.state in (NodeState.DONE, NodeState.GONE) for node in nodes)
    yield (
        f"{drained} of {counted(len(nodes), 'node')} drained in {duration(recording.length_s)}, "
        f"{counted(chronicle.pods, 'pod')} asked to go, {counted(chronicle.refusals, 'refusal')}"
    )
    slow = sorted(((_lasted(node), node.node) for node in nodes if node.ended_s is not None), reverse=True)
    if slow:
        yield f"Longest: {listing([f'{name} {duration(lasted)}' for lasted, name in slow], _MOST, Look())}"
    pods = (pod for node in nodes for pod in node.pods.values() if pod.refused)
    often = [f"{pod.pod} {pod.refused}x" for pod in sorted(pods, key=lambda pod: -pod.refused)]
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
    """From its first eviction; of one that had none, nothing."""
    return (node.ended_s or 0.0) - node.begun_s if node.begun_s is not None else 0.0
