"""The rights of one command, and those of several put together: each once, with all that rests on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.opt_ins import OptIn, opt_ins_of
from kubectl_eksdoc.core.model.permissions import Permission


@dataclass(frozen=True, slots=True)
class Needed:
    """A right in the cluster. `required`: of these commands one cannot answer at all without it. `lost`: what is not
    known, or not done, without it, each said once."""

    permission: Permission
    required: bool
    lost: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """An action of IAM, as `Needed`."""

    action: str
    lost: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """`commands` as they are typed, without the program. Rights and actions are sorted, and none is there twice."""

    commands: tuple[str, ...]
    needed: tuple[Needed, ...]
    asked: tuple[Asked, ...]

    @property
    def changes(self) -> bool:
        """Whether something can be changed with it, in the cluster or in AWS."""
        return any(each.permission.verb not in READING for each in self.needed) or any(
            not each.action.partition(":")[2].startswith(_ASKING) for each in self.asked
        )

    @property
    def opt_ins(self) -> tuple[OptIn, ...]:
        """Those that its rights are of."""
        return opt_ins_of(each.right for each in self.permissions)

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return tuple(each.permission for each in self.needed)

    @property
    def actions(self) -> tuple[str, ...]:
        return tuple(each.action for each in self.asked)


READING = ("get", "list", "watch")
_ASKING = ("Describe", "Get", "List")
"""How the names begin of the actions of IAM that only read (the service authorization reference, access level)."""


def together(parts: Sequence[Wanted]) -> Wanted:
    """What is needed everywhere is not asked for once more in a namespace."""
    needed: dict[Permission, Needed] = {}
    for each in (one for part in parts for one in part.needed):
        there = needed.get(each.permission)
        needed[each.permission] = each if there is None else _both(there, each)
    for namespaced in [each for each in needed if each.namespace]:
        everywhere = needed.get(namespaced._replace(namespace=""))
        if everywhere is not None:
            needed[everywhere.permission] = _both(everywhere, needed.pop(namespaced))
    asked: dict[str, Asked] = {}
    for one in (one for part in parts for one in part.asked):
        known = asked.get(one.action)
        asked[one.action] = (
            one
            if known is None
            else replace(known, lost=_once(known.lost, one.lost), commands=_once(known.commands, one.commands))
        )
    return Wanted(
        _once(*(part.commands for part in parts)),
        tuple(sorted(needed.values(), key=_order)),
        tuple(asked[action] for action in sorted(asked)),
    )


def _both(one: Needed, other: Needed) -> Needed:
    return Needed(
        one.permission,
        one.required or other.required,
        _once(one.lost, other.lost),
        _once(one.commands, other.commands),
    )


def _once(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for part in parts for each in part))


def _order(each: Needed) -> tuple[bool, str, bool, str, str, str]:
    """What nothing is said without comes first, and what is needed everywhere before the rest."""
    asked = each.permission
    return (
        not each.required,
        asked.namespace,
        asked.verb not in READING,
        asked.resource.group,
        asked.resource.plural,
        (f"{asked.subresource} {asked.verb}"),
    )
