"""Blockers by what causes them: on which nodes, what the fix of each frees, and one command that fixes it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.drain.nodes import natural
from kubectl_eksdoc.model.findings import Remedy, When
from kubectl_eksdoc.render.drain.groups import Group, advice, grouped
from kubectl_eksdoc.render.drain.invocation import again
from kubectl_eksdoc.render.drain.steps import FLAGS
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.text import counted


@dataclass(frozen=True, slots=True)
class Cause:
    """All blockers of one code. `freed`: nodes that its fix frees once those before it in the list are fixed, too;
    `alone`: of these the ones that need no other. `command` fixes the first of what it is about, or is "" where only
    `text` says what to do."""

    code: str
    subjects: tuple[str, ...]
    nodes: tuple[str, ...]
    freed: tuple[str, ...]
    alone: int
    text: str
    command: str

    @property
    def frees(self) -> str:
        """``frees 2 nodes``, ``frees 1 node with those above``, ``frees no node by itself``."""
        if not self.freed:
            return "frees no node by itself"
        with_others = "" if self.alone == len(self.freed) else " with those above"
        return f"frees {counted(len(self.freed), 'node')}{with_others}"


def causes_of(view: DrainView) -> tuple[Cause, ...]:
    """In the order in which fixing them frees nodes: those of the node with the fewest causes first."""
    groups: dict[str, list[Group]] = defaultdict(list)
    for group in grouped(view.blockers, view):
        groups[group.first.code.name].append(group)
    keeps = _keeps(view, groups)
    freed: dict[str, tuple[str, ...]] = {}
    done: set[str] = set()
    for code in _ordered(keeps, tuple(groups)):
        done.add(code)
        freed[code] = tuple(node for node, codes in keeps.items() if code in codes and codes <= done)
    return tuple(_cause(code, groups[code], freed[code], keeps, view) for code in freed)


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
    left = dict(keeps)
    while left:
        node = min(left, key=lambda each: (not left[each] <= {*known}, len(left[each] - done.keys())))
        done.update((code, None) for code in known if code in left[node])
        del left[node]
    return (*done, *(code for code in known if code not in done))


def _cause(
    code: str, groups: list[Group], freed: tuple[str, ...], keeps: Mapping[str, frozenset[str]], view: DrainView
) -> Cause:
    nodes = tuple(node for node in keeps if any(node in group.nodes for group in groups))
    subjects = tuple(dict.fromkeys(_about(group) for group in groups))
    text, command = _fix(code, groups, view)
    return Cause(code, subjects, nodes, freed, sum(keeps[node] == {code} for node in freed), text, command)


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
