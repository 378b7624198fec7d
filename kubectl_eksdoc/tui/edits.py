"""Edits of the plan selection by keys: the next selection, or a clause why nothing changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from kubectl_eksdoc.drain.nodes import IMAGE
from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.findings import FLAGS
from kubectl_eksdoc.drain.report.plan import in_brief
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.quantities import parse
from kubectl_eksdoc.report.text import counted

from . import knobs, words
from .model import EditHistory, Model

Edited = EditHistory | str


@frozen
class CursorPlace:
    """The place of the cursor: `node` is None on a row without a node; `range_start` is the node marked last; `cause`:
    the code of a blocker, only on the page of blockers."""

    node: str | None
    start: str | None = None
    cause: str | None = None


def marked(model: Model, node: str | None) -> Edited:
    return "the row under the cursor is no node" if node is None else model.choice.toggled(node)


def as_if_fixed(model: Model, code: str) -> Edited:
    """Toggle whether a cause is assumed fixed."""
    policy = model.choice.ask.policy
    blocking = {found.code.name for found in model.view.blockers} if model.view is not None else set()
    if code not in blocking | policy.assume_fixed:
        return "no cause of a blocker is on this row"
    said = f"{in_brief(code)}: {'no longer assumed fixed' if code in policy.assume_fixed else 'assumed fixed'}"
    return model.choice.with_policy(replace(policy, assume_fixed=policy.assume_fixed ^ {code}), said)


def allowed(model: Model, code: str) -> Edited:
    """Toggle a drain flag that allows evicting such pods in this run; the run asks for each pod by name."""
    flag = next((flag for flagged, flag, _ in FLAGS if flagged == code), "")
    if not flag:
        return f"no flag allows this: y copies the fix{f' of {in_brief(code)}' if code else ''}"
    policy, field = model.choice.ask.policy, flag.replace("-", "_")
    is_allowed = not getattr(policy, field)
    policy = replace(policy, assume_fixed=policy.assume_fixed - {code}, **{field: is_allowed})  # type: ignore[arg-type]
    said = "allowed in this run" if is_allowed else "no longer allowed"
    return model.choice.with_policy(policy, f"{in_brief(code)}: {said} (--{flag})")


def marked_up_to(model: Model, start: str | None, node: str | None) -> Edited:
    """Mark all visible nodes between the two, inclusive; without a start, from the first node on."""
    names = model.shown_nodes
    if node is None or node not in names:
        return "the row under the cursor is no node"
    ends = sorted((names.index(start) if start in names and start is not None else 0, names.index(node)))
    between = names[ends[0] : ends[1] + 1]
    said = f"{counted(len(between), 'node')} in a row {'is' if len(between) == 1 else 'are'} marked"
    return model.choice.marked_are(model.choice.ask.marked | set(between), said)


def unmarked(model: Model) -> Edited:
    return model.choice.marked_are((), "no node is marked any more")


def parallel(model: Model, by: int) -> Edited:
    policy = knobs.with_parallel(model.choice.ask.policy, by, len(model.choice.ask.marked))
    return _turned(model, policy, f"nodes at once: {words.at_once(policy)}")


def grace(model: Model, by: int) -> Edited:
    policy = knobs.with_grace(model.choice.ask.policy, by)
    return _turned(model, policy, f"grace period: {words.grace(policy)}")


def turned(model: Model, knob_id: str, by: int) -> Edited:
    """Turn a knob of the form."""
    knob = knobs.BY_ID[knob_id]
    policy = knob.turned(model.choice.ask.policy, by, len(model.choice.ask.marked))
    return _turned(model, policy, f"{knob.name}: {knob.said(policy)}")


def moved(model: Model, node: str | None, by: int) -> Edited:
    """Move a node one wave later, or earlier if `by` is negative."""
    waves = _waves(model)
    if node is None or node not in waves:
        return _not_drained(node)
    policy = knobs.moved(model.choice.ask.policy, node, by, waves)
    return _turned(model, policy, f"{node}: wave {dict(policy.pins)[node]}")


def pinned(model: Model, node: str | None) -> Edited:
    """Pin a node to its wave; a pinned node is released."""
    waves, policy = _waves(model), model.choice.ask.policy
    if node is not None and node in dict(policy.pins):
        return _turned(model, knobs.pinned(policy, node, None), f"{node}: pinned no more")
    if node is None or node not in waves:
        return _not_drained(node)
    return _turned(model, knobs.pinned(policy, node, waves[node]), f"{node}: pinned to wave {waves[node]}")


def pinned_last(model: Model, node: str | None) -> Edited:
    waves = _waves(model)
    if node is None or node not in waves:
        return _not_drained(node)
    last = max((wave for name, wave in waves.items() if name != node), default=0) + 1
    return _turned(model, knobs.pinned(model.choice.ask.policy, node, last), f"{node}: behind all others")


def _waves(model: Model) -> dict[str, int]:
    return model.view.wave_of if model.view is not None else {}


def _not_drained(node: str | None) -> str:
    return f"{node or 'the row under the cursor'} is not drained by this plan"


def _turned(model: Model, policy: DrainPolicy, said: str) -> Edited:
    if policy == model.choice.ask.policy:
        return f"nothing changes: {said}"
    return model.choice.with_policy(policy, said)


EDITS: Mapping[str, Callable[[Model, CursorPlace, int], Edited]] = {
    "mark": lambda model, at, given: marked(model, at.node) if at.cause is None else as_if_fixed(model, at.cause),
    "allow": lambda model, at, given: allowed(model, at.cause or ""),
    "mark_range": lambda model, at, given: marked_up_to(model, at.start, at.node),
    "mark_none": lambda model, at, given: unmarked(model),
    "parallel": lambda model, at, given: parallel(model, given),
    "grace": lambda model, at, given: grace(model, given),
    "move_node": lambda model, at, given: moved(model, at.node, given),
    "pin": lambda model, at, given: pinned(model, at.node),
    "pin_last": lambda model, at, given: pinned_last(model, at.node),
}
"""The edits by action of the key, with its argument."""


# The key after m: marks groups of nodes.


MENU = (
    ("o", "older kubelet", "old kubelet"),
    ("a", "older AMI", "AMI"),
    ("g", "group", "group"),
    ("f", "shown", "shown"),
    ("i", "invert", "invert"),
    ("n", "none", "none"),
)
"""Keys, the nodes that they mark, and a short form."""

Found = tuple[frozenset[str], str]


def marked_group(key: str, model: Model, here: str | None) -> Found | str:
    """The new marks and a description, or the reason why nothing changes."""
    assert model.facts is not None, "there are nodes"
    nodes, now = model.facts.nodes.nodes, model.choice.ask.marked
    if key == "n":
        return frozenset(), "no node is marked any more"
    if key == "i":
        return frozenset(nodes) - now, "the marks are inverted"
    if key == "f":
        return _more(now, model.shown_nodes, "that are shown")
    if key == "g":
        group = nodes[here].group if here in nodes and here is not None else ""
        if not group:
            return "m g: the node under the cursor has no group"
        return _more(now, (name for name, node in nodes.items() if node.group == group), f"of {group}")
    if key == "o":
        assert model.facts is not None, "there are nodes"
        said = model.facts.cluster.identity.server_version
        server = parse(said)
        if server is None:
            return f"m o: the control plane's version is not known ({said or 'nothing said it'})"
        return _more(now, model.facts.nodes.behind, f"with a kubelet before {server.major}.{server.minor}")
    if key == "a":
        return _old_images(model, now)
    return f"m {key} marks nothing: o, a, g, f, i or n"


def next_group(model: Model, drained: Collection[str]) -> Found | str:
    """Mark the first group (by name) with schedulable nodes that have an older kubelet or AMI."""
    assert model.facts is not None, "there are nodes"
    known = model.facts.nodes
    groups: dict[str, set[str]] = defaultdict(set)
    for name in (known.behind | known.old_images) - set(drained):
        if known.nodes[name].group and not known.nodes[name].unschedulable:
            groups[known.nodes[name].group].add(name)
    if not groups:
        if parse(model.facts.cluster.identity.server_version) is None:
            return "the control plane's version is not known, so neither is whether a kubelet is older"
        behind = (known.behind | known.old_images) - set(drained)
        kept = [name for name in behind if known.nodes[name].group]
        beside = f"; {counted(len(kept), 'cordoned node')} not drained by this run: 4 says what to fix" if kept else ""
        return f"no group has another node that takes pods and has an older kubelet or AMI, as far as is read{beside}"
    group = min(groups)
    return _more(frozenset(), groups[group], f"of {group} with an older kubelet or AMI")


def _old_images(model: Model, now: frozenset[str]) -> Found | str:
    """The youngest node of a group determines its newest AMI."""
    assert model.facts is not None, "there are nodes"
    if not any(IMAGE in node.labels for node in model.facts.nodes.nodes.values()):
        return "m a: no node says which AMI it was made from"
    return _more(now, model.facts.nodes.old_images, "that are not made from the AMI of their group's youngest node")


def _more(now: frozenset[str], names: object, which: str) -> Found | str:
    found = frozenset(names)  # type: ignore[call-overload]
    if not found:
        return f"there are no nodes {which}"
    return now | found, f"{counted(len(found), 'node')} {which} {'is' if len(found) == 1 else 'are'} marked"
