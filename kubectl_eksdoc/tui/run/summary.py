"""What came of a run, in a few lines: against its plan, what is left, and what can be done next."""

from __future__ import annotations

from kubectl_eksdoc.core.run.chronicle import NodeState
from kubectl_eksdoc.render.look import Tone
from kubectl_eksdoc.render.record.words import cordoned_only, placed
from kubectl_eksdoc.render.run import stands
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.tui.run.state import RunState
from kubectl_eksdoc.tui.sheets.sheet import Line


def summary(state: RunState) -> list[Line]:
    outcome = state.outcome
    if outcome is None:
        return _so_far(state)
    sign, tone = outcome.sign
    lines: list[Line] = [(f"{sign} {outcome.said}", tone), *outcome.more]
    nodes = state.chronicle.nodes.values()
    drained = [node.node for node in nodes if node.state in (NodeState.DONE, NodeState.EMPTY)]
    if drained and outcome.view is not None:
        lines += ["", f"{counted(len(drained), 'node')} cordoned and empty; eksdoc does not delete nodes"]
    kept = sum(node.state in (NodeState.CORDONED, NodeState.EVICTING, NodeState.ALONE) for node in nodes)
    if kept and outcome.view is not None:
        lines += ["", f"{counted(kept, 'node')} cordoned and not empty: {'it stays' if kept == 1 else 'they stay'} so"]
    if outcome.view is not None:
        record = outcome.view.record
        lines += [line for text in (placed(record), cordoned_only(record)) if text for line in ("", text)]
        for step in outcome.view.steps:
            lines += ["", f"{step.text}:", (f"    {step.command}", Tone.GOOD)]
    return lines


def in_markdown(state: RunState, cluster: str, command: str) -> str:
    """Of a run that ended before anything could be made of it: what was said, and how its nodes stand. `command` tells
    more."""
    assert state.outcome is not None, "it is over"
    lines = [f"# Run {state.live.run} on {cluster}", "", f"{state.outcome.sign[0]} {state.outcome.said}", ""]
    lines += [f"- {line}" for line in (*state.outcome.more, state.pods_gone)]
    for node in state.chronicle.nodes.values():
        lines.append(f"- {node.node}: {node.state.value}{f': {node.why}' if node.why else ''}")
    return "\n".join([*lines, "", "```sh", command, "```", ""])


def _so_far(state: RunState) -> list[Line]:
    chronicle = state.chronicle
    ended = sum(node.ended_s is not None for node in chronicle.nodes.values())
    lines: list[Line] = [
        f"{ended} of {counted(len(chronicle.nodes), 'node')} ended, {state.pods_gone}, "
        f"{counted(chronicle.refusals, 'refusal')}"
    ]
    if state.standing is not None and state.drains:
        lines.append(stands.stop_in_full(state.standing))
    return lines
