"""Edits of the plan selection by keys: the next selection, or a clause why nothing changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kubectl_eksdoc.drain.nodes import IMAGE_LABEL
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.findings import ALLOWING_FLAGS
from kubectl_eksdoc.drain.report.plan import short_code
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import parse_version
from kubectl_eksdoc.report.text import pluralize

from . import knobs, words
from .model import EditHistory, Model

EditResult = EditHistory | str


@frozen
class CursorPlace:
    """The place of the cursor: `node` is None on a row without a node; `range_start` is the node marked last; `cause`:
    the code of a blocker, only on the page of blockers."""

    node: str | None
    range_start: str | None = None
    cause: str | None = None


def toggle_mark(model: Model, node: str | None) -> EditResult:
    return "the row under the cursor is no node" if node is None else model.choice.with_mark_toggled(node)


def toggle_assume_fixed(model: Model, code: str) -> EditResult:
    """Toggle whether a cause is assumed fixed."""
    policy = model.choice.plan_input.policy
    blocking = {finding.code.name for finding in model.view.blockers} if model.view is not None else set()
    if code not in blocking | policy.assume_fixed:
        return "no cause of a blocker is on this row"
    description = f"{short_code(code)}: {'no longer assumed fixed' if code in policy.assume_fixed else 'assumed fixed'}"
    return model.choice.with_policy(replace(policy, assume_fixed=policy.assume_fixed ^ {code}), description)


def toggle_allowed(model: Model, code: str) -> EditResult:
    """Toggle a drain flag that allows evicting such pods in this run; the run asks for each pod by name."""
    flag = next((flag for flag_code, flag, _ in ALLOWING_FLAGS if flag_code == code), "")
    if not flag:
        return f"no flag allows this: y copies the fix{f' of {short_code(code)}' if code else ''}"
    policy, field = model.choice.plan_input.policy, flag.replace("-", "_")
    is_allowed = not getattr(policy, field)
    policy = replace(policy, assume_fixed=policy.assume_fixed - {code}, **{field: is_allowed})  # type: ignore[arg-type]
    effect = "allowed in this run" if is_allowed else "no longer allowed"
    return model.choice.with_policy(policy, f"{short_code(code)}: {effect} (--{flag})")


def mark_range(model: Model, range_start: str | None, node: str | None) -> EditResult:
    """Mark all visible nodes between the two, inclusive; without a start, from the first node on."""
    names = model.shown_nodes
    if node is None or node not in names:
        return "the row under the cursor is no node"
    ends = sorted(
        (names.index(range_start) if range_start in names and range_start is not None else 0, names.index(node))
    )
    range_nodes = names[ends[0] : ends[1] + 1]
    description = f"{pluralize(len(range_nodes), 'node')} in a row {'is' if len(range_nodes) == 1 else 'are'} marked"
    return model.choice.with_marks(model.choice.plan_input.marked | set(range_nodes), description)


def unmark_all(model: Model) -> EditResult:
    return model.choice.with_marks((), "no node is marked any more")


def change_parallel(model: Model, by: int) -> EditResult:
    policy = knobs.with_parallel(model.choice.plan_input.policy, by, len(model.choice.plan_input.marked))
    return _with_policy(model, policy, f"nodes at once: {words.parallel_value(policy)}")


def change_grace(model: Model, by: int) -> EditResult:
    policy = knobs.with_grace(model.choice.plan_input.policy, by)
    return _with_policy(model, policy, f"grace period: {words.grace_value(policy)}")


def turn_knob(model: Model, knob_id: str, by: int) -> EditResult:
    """Turn a knob of the form."""
    knob = knobs.BY_ID[knob_id]
    policy = knob.turn(model.choice.plan_input.policy, by, len(model.choice.plan_input.marked))
    return _with_policy(model, policy, f"{knob.name}: {knob.value_text(policy)}")


def move_node(model: Model, node: str | None, by: int) -> EditResult:
    """Move a node one wave later, or earlier if `by` is negative."""
    waves = _wave_of_nodes(model)
    if node is None or node not in waves:
        return _not_drained_message(node)
    policy = knobs.move_node(model.choice.plan_input.policy, node, by, waves)
    return _with_policy(model, policy, f"{node}: wave {dict(policy.pins)[node]}")


def toggle_pin(model: Model, node: str | None) -> EditResult:
    """Pin a node to its wave; a pinned node is released."""
    waves, policy = _wave_of_nodes(model), model.choice.plan_input.policy
    if node is not None and node in dict(policy.pins):
        return _with_policy(model, knobs.set_pin(policy, node, None), f"{node}: pinned no more")
    if node is None or node not in waves:
        return _not_drained_message(node)
    return _with_policy(model, knobs.set_pin(policy, node, waves[node]), f"{node}: pinned to wave {waves[node]}")


def pin_last(model: Model, node: str | None) -> EditResult:
    waves = _wave_of_nodes(model)
    if node is None or node not in waves:
        return _not_drained_message(node)
    last = max((wave for name, wave in waves.items() if name != node), default=0) + 1
    return _with_policy(model, knobs.set_pin(model.choice.plan_input.policy, node, last), f"{node}: behind all others")


def _wave_of_nodes(model: Model) -> dict[str, int]:
    return model.view.wave_of if model.view is not None else {}


def _not_drained_message(node: str | None) -> str:
    return f"{node or 'the row under the cursor'} is not drained by this plan"


def _with_policy(model: Model, policy: DrainPolicy, description: str) -> EditResult:
    if policy == model.choice.plan_input.policy:
        return f"nothing changes: {description}"
    return model.choice.with_policy(policy, description)


EDITS: Mapping[str, Callable[[Model, CursorPlace, int], EditResult]] = {
    "mark": lambda model, at, given: (
        toggle_mark(model, at.node) if at.cause is None else toggle_assume_fixed(model, at.cause)
    ),
    "allow": lambda model, at, given: toggle_allowed(model, at.cause or ""),
    "mark_range": lambda model, at, given: mark_range(model, at.range_start, at.node),
    "mark_none": lambda model, at, given: unmark_all(model),
    "parallel": lambda model, at, given: change_parallel(model, given),
    "grace": lambda model, at, given: change_grace(model, given),
    "move_node": lambda model, at, given: move_node(model, at.node, given),
    "pin": lambda model, at, given: toggle_pin(model, at.node),
    "pin_last": lambda model, at, given: pin_last(model, at.node),
}
"""The edits by action of the key, with its argument."""


# The key after m: marks groups of nodes.


MARK_MENU = (
    ("o", "older kubelet", "old kubelet"),
    ("a", "older AMI", "AMI"),
    ("g", "group", "group"),
    ("f", "shown", "shown"),
    ("i", "invert", "invert"),
    ("n", "none", "none"),
)
"""Keys, the nodes that they mark, and a short form."""

MarkedGroup = tuple[frozenset[str], str]


def mark_group(key: str, model: Model, cursor_node: str | None) -> MarkedGroup | str:
    """The new marks and a description, or the reason why nothing changes."""
    assert model.facts is not None, "there are nodes"
    nodes, marked_nodes = model.facts.nodes.nodes, model.choice.plan_input.marked
    if key == "n":
        return frozenset(), "no node is marked any more"
    if key == "i":
        return frozenset(nodes) - marked_nodes, "the marks are inverted"
    if key == "f":
        return _add_marks(marked_nodes, model.shown_nodes, "that are shown")
    if key == "g":
        group = nodes[cursor_node].group if cursor_node in nodes and cursor_node is not None else ""
        if not group:
            return "m g: the node under the cursor has no group"
        return _add_marks(marked_nodes, (name for name, node in nodes.items() if node.group == group), f"of {group}")
    if key == "o":
        assert model.facts is not None, "there are nodes"
        version_text = model.facts.cluster.identity.server_version
        server = parse_version(version_text)
        if server is None:
            return f"m o: the control plane's version is not known ({version_text or 'nothing said it'})"
        return _add_marks(
            marked_nodes, model.facts.nodes.old_kubelets, f"with a kubelet before {server.major}.{server.minor}"
        )
    if key == "a":
        return _mark_old_images(model, marked_nodes)
    return f"m {key} marks nothing: o, a, g, f, i or n"


def next_outdated_group(model: Model, drained: Collection[str]) -> MarkedGroup | str:
    """Mark the first group (by name) with schedulable nodes that have an older kubelet or AMI."""
    assert model.facts is not None, "there are nodes"
    node_facts = model.facts.nodes
    groups: dict[str, set[str]] = defaultdict(set)
    for name in (node_facts.old_kubelets | node_facts.old_images) - set(drained):
        if node_facts.nodes[name].group and not node_facts.nodes[name].unschedulable:
            groups[node_facts.nodes[name].group].add(name)
    if not groups:
        if parse_version(model.facts.cluster.identity.server_version) is None:
            return "the control plane's version is not known, so neither is whether a kubelet is older"
        outdated = (node_facts.old_kubelets | node_facts.old_images) - set(drained)
        cordoned = [name for name in outdated if node_facts.nodes[name].group]
        cordoned_note = (
            f"; {pluralize(len(cordoned), 'cordoned node')} not drained by this run: 4 says what to fix"
            if cordoned
            else ""
        )
        return (
            "no group has another node that takes pods and has an older kubelet or AMI, as far as is "
            f"read{cordoned_note}"
        )
    group = min(groups)
    return _add_marks(frozenset(), groups[group], f"of {group} with an older kubelet or AMI")


def _mark_old_images(model: Model, marked_nodes: frozenset[str]) -> MarkedGroup | str:
    """The youngest node of a group determines its newest AMI."""
    assert model.facts is not None, "there are nodes"
    if not any(IMAGE_LABEL in node.labels for node in model.facts.nodes.nodes.values()):
        return "m a: no node says which AMI it was made from"
    return _add_marks(
        marked_nodes, model.facts.nodes.old_images, "that are not made from the AMI of their group's youngest node"
    )


def _add_marks(marked_nodes: frozenset[str], names: object, qualifier: str) -> MarkedGroup | str:
    new_nodes = frozenset(names)  # type: ignore[call-overload]
    if not new_nodes:
        return f"there are no nodes {qualifier}"
    return (
        marked_nodes | new_nodes,
        f"{pluralize(len(new_nodes), 'node')} {qualifier} {'is' if len(new_nodes) == 1 else 'are'} marked",
    )
