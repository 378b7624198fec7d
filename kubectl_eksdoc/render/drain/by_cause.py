"""Blockers by what causes them: on which nodes, what the fix of each frees, and one command that fixes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.model.findings import Remedy, When
from kubectl_eksdoc.render.drain.groups import Group, advice, command_of, grouped
from kubectl_eksdoc.render.drain.invocation import again
from kubectl_eksdoc.render.drain.steps import FLAGS
from kubectl_eksdoc.render.drain.verdict import in_brief
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.text import counted

_FROM_CREATION = frozenset(
    {"pod-unmanaged", "pod-emptydir", "pod-hostpath", "pod-local-volume", "pod-ephemeral-volume"}
)
"""What does not change in the life of a pod."""


@dataclass(frozen=True, slots=True)
class Cause:
    """All blockers of one code. `freed`: nodes that its fix frees once those before it in the list are fixed, too;
    `alone`: of these the ones that need no other. `command` fixes the first of what it is about, or is "" where only
    `text` says what to do. `groups`: the blockers; `since`: when the oldest pod began that has it from its creation on,
    None where that is not known."""

    code: str
    subjects: tuple[str, ...]
    nodes: tuple[str, ...]
    freed: tuple[str, ...]
    alone: int
    text: str
    command: str
    groups: tuple[Group, ...] = ()
    since: datetime | None = None

    @property
    def commands(self) -> str:
        """For all that it is about; "" where a person must decide."""
        each = (command_of([group]) for group in self.groups)
        return "\n".join(dict.fromkeys(filter(None, each))) or self.command

    @property
    def frees_in_brief(self) -> str:
        """``2 nodes``, ``1 with above``, ``none alone``."""
        if not self.freed:
            return "none alone"
        return counted(len(self.freed), "node") if self.alone == len(self.freed) else f"{len(self.freed)} with above"

    @property
    def frees(self) -> str:
        """``frees 2 nodes``, ``frees 1 node with those above``, ``frees no node by itself``."""
        if not self.freed:
            return "frees no node by itself"
        with_others = "" if self.alone == len(self.freed) else " with those above"
        return f"frees {counted(len(self.freed), 'node')}{with_others}"


def causes_of(view: DrainView, order: Sequence[str] = ()) -> tuple[Cause, ...]:
    """In the order in which fixing them frees nodes: those of the node with the fewest causes first. Codes of `order`
    come before all others."""
    groups: dict[str, list[Group]] = defaultdict(list)
    for group in grouped(view.blockers, view):
        groups[group.first.code.name].append(group)
    keeps = _keeps(view, groups)
    freed: dict[str, tuple[str, ...]] = {}
    done: set[str] = set()
    known = [code for code in order if code in groups]
    for code in (*known, *(code for code in _ordered(keeps, tuple(groups)) if code not in known)):
        done.add(code)
        freed[code] = tuple(node for node, codes in keeps.items() if code in codes and codes <= done)
    return tuple(_cause(code, groups[code], freed[code], keeps, view) for code in freed)


def assumed_fixed(view: DrainView) -> tuple[tuple[str, tuple[Group, ...]], ...]:
    """The codes that the plan takes for fixed and that are in the way of nothing, with what they are about: none where
    it is fixed already."""
    blocking = {found.code.name for found in view.blockers}
    codes = sorted(view.plan.policy.assume_fixed - blocking)
    return tuple((code, grouped((f for f in view.warnings if f.code.name == code), view)) for code in codes)


def no_longer(before: DrainView, now: DrainView) -> tuple[str, ...]:
    """What was in the way and is not any more: ``shop/sale (PDB never allows)``."""
    was, still = ({(group.first.code.name, _about(group)) for group in grouped(v.blockers, v)} for v in (before, now))
    return tuple(f"{about} ({in_brief(code)})" for code, about in sorted(was - still))


def _since(code: str, view: DrainView) -> datetime | None:
    if code not in _FROM_CREATION:
        return None
    created = [row.pod.created_at for row in view.left if code in row.codes]
    return min((each for each in created if each is not None), default=None)


def _keeps(view: DrainView, groups: Mapping[str, list[Group]]) -> dict[str, frozenset[str]]:
    """By node that is not drained in full, the codes that keep it; what is unknown keeps it, too."""
    found: dict[str, set[str]] = defaultdict(set)
    for code, of in groups.items():
        for group in of:
            for node in group.nodes:
                found[node].add(code)
    for target in view.targets:
        for row in view.blocking(target):
            found[target.node.name].update(row.codes)
    return {node: frozenset(found[node]) for node in sorted(found, key=natural)}


def _ordered(keeps: Mapping[str, frozenset[str]], known: tuple[str, ...]) -> Iterable[str]:
    """Each of `known` once. A node whose cause is none of them is never free, so it comes last."""
    done: dict[str, None] = {}
    left = list(dict.fromkeys(keeps.values()))
    while left:
        codes = min(left, key=lambda each: (not each <= {*known}, len(each - done.keys())))
        done.update((code, None) for code in known if code in codes)
        left.remove(codes)
    return (*done, *(code for code in known if code not in done))


def _cause(
    code: str, groups: list[Group], freed: tuple[str, ...], keeps: Mapping[str, frozenset[str]], view: DrainView
) -> Cause:
    nodes = tuple(node for node in keeps if any(node in group.nodes for group in groups))
    subjects = tuple(dict.fromkeys(_about(group) for group in groups))
    text, command = _fix(code, groups, view)
    alone = sum(keeps[node] == {code} for node in freed)
    return Cause(code, subjects, nodes, freed, alone, text, command, tuple(groups), _since(code, view))


def _about(group: Group) -> str:
    """Of the whole cluster: what is wrong, as its name says nothing."""
    return group.first.message if group.first.subject.kind == "Cluster" else group.short or ", ".join(group.names)


def _fix(code: str, groups: list[Group], view: DrainView) -> tuple[str, str]:
    """What helps now comes before what helps later, and a command before a sentence."""
    for flagged, flag, text in FLAGS:
        if flagged == code and not view.options.get(flag):
            return text, again(view, f"--{flag}")
    remedies: list[tuple[Remedy, tuple[str, ...]]] = list(advice(found for group in groups for found in group.findings))
    for when in When:
        for remedy, commands in remedies:
            if remedy.when is when and commands:
                return remedy.text, commands[0]
    return (remedies[0][0].text, "") if remedies else ("see -o wide", "")
