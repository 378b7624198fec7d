"""The one fix that somebody names, of all that exist: what is done, or why it is not one thing that can be done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.aws.machines import NodeGroup
from kubectl_eksdoc.core.model.metadata_acts import Act, OnClass, OnInstances, OnTemplate
from kubectl_eksdoc.core.model.spelling import maybe
from kubectl_eksdoc.core.plan.metadata.facts import MetadataFacts
from kubectl_eksdoc.core.plan.metadata.fixes.fix import CARRIED_OUT, NAMES, Choice, Fix
from kubectl_eksdoc.core.plan.metadata.groups import NodesAlike

Offered = Sequence[tuple[NodesAlike, Choice]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """`fixes` are alike in all but whose nodes they are of, and `act` is all of them together. `groups`: the names of
    the nodes' groups, "" for those that have none."""

    name: str
    act: Act
    fixes: tuple[Fix, ...]
    groups: tuple[str, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Those that are changed or replaced."""
        return self.act.nodes


@dataclass(frozen=True, slots=True)
class NotChosen:
    """Why, a clause, and what to do, a sentence."""

    why: str
    hint: str


def chosen(offered: Offered, name: str) -> Chosen | NotChosen:
    """Of all groups that are looked at. Instances of several groups are one fix; templates and classes are not."""
    found = [(alike.name, fix) for alike, choice in offered for fix in choice.fixes if fix.name == name]
    if not found:
        # Whether it fits these pods is not looked into here: it is nothing that can be carried out either way.
        return _by_others(name) if name in NAMES and name not in CARRIED_OUT else _none(offered, name)
    fixes = tuple(fix for _, fix in found)
    groups = tuple(dict.fromkeys(group for group, _ in found))
    acts = tuple(dict.fromkeys(fix.act for fix in fixes if fix.act is not None))
    if not acts:
        return _by_others(name)
    if all(isinstance(act, OnInstances) for act in acts):
        each = tuple(one for act in acts if isinstance(act, OnInstances) for one in act.each)
        return Chosen(name, OnInstances(tuple(sorted(each, key=lambda one: one.node))), fixes, groups)
    if len(acts) > 1:
        names = ", ".join(sorted(_of(act) for act in acts))
        return NotChosen(f"{name} is of several: {names}", "Name one group: --nodegroup NAME.")
    return Chosen(name, acts[0], fixes, groups)


def _by_others(name: str) -> NotChosen:
    hint = f"Without --apply, -o wide has its commands; this tool carries out {', '.join(CARRIED_OUT)}."
    return NotChosen(f"{name} is done by whoever owns these nodes or pods", hint)


def _of(act: Act) -> str:
    match act:
        case OnTemplate():
            return f"node group {act.group}"
        case OnClass():
            return f"EC2NodeClass {act.name}"
        case OnInstances():
            return "instances"


def _none(offered: Offered, name: str) -> NotChosen:
    there = _names(offered)
    why = [each for _, choice in offered for each in choice.cannot]
    if not there:
        unaffected = "No pod there is known to be affected; name the groups that are to be changed all the same"
        hint = "; ".join(dict.fromkeys(why)) or unaffected
        return NotChosen("there is nothing to fix on these nodes", f"{hint}.")
    known = maybe(name, there)
    reasons = f" {'; '.join(dict.fromkeys(why))}." if why and name in NAMES else ""  # a slip of the pen needs none
    return NotChosen(f"there is no fix {name} for these nodes{known}", f"There are: {', '.join(there)}.{reasons}")


def _names(offered: Offered) -> list[str]:
    found: Iterable[str] = (fix.name for _, choice in offered for fix in choice.fixes)
    return list(dict.fromkeys(found))


_READY = ("", "ACTIVE", "DEGRADED")


def forbidden(act: Act, facts: MetadataFacts) -> str:
    """Why it must not be begun now, a clause; "" if nothing is known that forbids it."""
    if not isinstance(act, OnTemplate):
        return ""
    group = facts.told.node_groups.get(act.group)
    if isinstance(group, NodeGroup) and group.status not in _READY:
        return f"node group {act.group} is {group.status}, and takes no update now"
    return ""
