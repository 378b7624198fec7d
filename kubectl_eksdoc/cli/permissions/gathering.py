"""The registered rights of commands, each where it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.permissions.naming import known
from kubectl_eksdoc.cli.rights import Right, lost
from kubectl_eksdoc.core.model.coredns import SYSTEM
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.core.plan.permissions.wanted import Asked, Needed, Wanted, together

_DNS, _COMPLETION = "coredns-lameduck", "completion"


@dataclass(frozen=True, slots=True)
class Places:
    """Namespaces: `journal` of runs, and of what is made by ``--in-cluster``; `probe` of a probe's pods."""

    journal: str
    probe: str


def reading() -> tuple[str, ...]:
    """The commands that change nothing, neither in the cluster nor in AWS, sorted. Completion is none that answers: it
    offers what these may list."""
    anywhere = Places("", "")
    return tuple(each for each in known() if each != _COMPLETION and not wanted_by(each, anywhere).changes)


def doubts(commands: Sequence[str]) -> tuple[str, ...]:
    """What actions of these may need besides, in sentences."""
    asked = (question for each in commands for question in rights.of_aws(each))
    return tuple(lost.DOUBTS[question] for question in dict.fromkeys(asked) if question in lost.DOUBTS)


def wanted(commands: Sequence[str], places: Places) -> Wanted:
    return together([wanted_by(each, places) for each in commands])


def wanted_by(command: str, places: Places) -> Wanted:
    needed = tuple(
        Needed(_permission(command, right, places), right.required, (_lost(right),), (command,))
        for right in rights.in_cluster(command)
    )
    asked = tuple(
        Asked(action, (lost.OF[question],), (command,))
        for question in rights.of_aws(command)
        for action in question.actions
    )
    return together([Wanted((command,), needed, asked)])


def _lost(right: Right) -> str:
    if right.required:
        return right.lost or "the command ends with exit code 3"
    codes = rights.codes_lost(right)
    return "; ".join(filter(None, (f"unknown: {', '.join(codes)}" if codes else "", right.lost)))


def _permission(command: str, right: Right, places: Places) -> Permission:
    return Permission(right.verb, right.resource, right.subresource, _namespace(command, right, places))


def _namespace(command: str, right: Right, places: Places) -> str:
    """ "" for everywhere."""
    if right.journal:
        return places.journal
    if right.probe:
        return places.probe
    of_dns = [each for those in rights.MEASURED_WITH.values() for each in those]
    if (command == f"{_DNS} --measure" and right in of_dns) or (command == f"{_DNS} --apply" and right.verb == "patch"):
        return SYSTEM
    return ""
