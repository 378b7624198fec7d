"""The registered rights of commands, each where it is needed."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.in_cluster.options import IN_CLUSTER
from kubectl_eksdoc.cli.permissions.naming import Invocation, known, plain
from kubectl_eksdoc.cli.rights import Places, Right, asked, checks, lost, placing
from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.model.commands import shell
from kubectl_eksdoc.core.model.coredns import SYSTEM
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.core.plan.permissions.wanted import Asked, Needed, Wanted, together

_COMPLETION = "completion"
_READING_VERBS = ("get", "list", "watch")
_READING_ACTIONS = ("Describe", "Get", "List", "Lookup")


def reading() -> tuple[Invocation, ...]:
    """The commands that change nothing, neither in the cluster nor in AWS, sorted. Completion is none that answers: it
    offers what these may list."""
    every = map(plain, known())
    return tuple(each for each in every if each.names != (_COMPLETION,) and not wanted([each], Places()).changes)


def doubts(commands: Sequence[Invocation]) -> tuple[str, ...]:
    """What actions of these may need besides, in sentences."""
    questions = (question for each in commands for name in each.names for question in _of_aws(each, name))
    return tuple(lost.DOUBTS[question] for question in dict.fromkeys(questions) if question in lost.DOUBTS)


_MAPS_ROLES = Permission("patch", kinds.CONFIG_MAPS, "", SYSTEM)
_TAKES_OVER = (
    f"{_MAPS_ROLES.said} also changes aws-auth, by which many clusters map IAM roles to groups: whoever has it can "
    "become administrator."
)
_ELSEWHERE = " Journals of runs need not be there: --journal-namespace NAME, here and with drain run."


def cautions(found: Wanted) -> tuple[str, ...]:
    """What a right that is no opt-in allows besides, in sentences."""
    of = next((each for each in found.needed if each.permission == _MAPS_ROLES), None)
    if of is None:
        return ()
    return (_TAKES_OVER + (_ELSEWHERE if any(each.startswith("drain ") for each in of.commands) else ""),)


def wanted(commands: Sequence[Invocation], places: Places, opted: Collection[str] = ()) -> Wanted:
    return together([_wanted_by(each, name, places, opted) for each in commands for name in each.names])


def _wanted_by(command: Invocation, name: str, places: Places, opted: Collection[str]) -> Wanted:
    typed = shell(*command.words)
    needed = tuple(
        Needed(places.permission(right), right.required, (_lost(right),), (typed,))
        for right in _in_cluster(command, name, opted)
        if not command.only_reads or right.verb in _READING_VERBS
    )
    actions = tuple(
        Asked(action, (lost.OF[question],), (typed,))
        for question in _of_aws(command, name)
        for action in question.actions
        if not command.only_reads or action.partition(":")[2].startswith(_READING_ACTIONS)
    )
    return together([Wanted((typed,), needed, actions)])


def _in_cluster(command: Invocation, name: str, opted: Collection[str]) -> tuple[Right, ...]:
    if not _chooses(command):
        return rights.in_cluster(name, command.flags, opted)
    past = checks.CHANGED if any("--changed-since" in each for each in command.names) else ()
    held = () if command.args.kubeconfig_secret else (*_narrowed(command.args), *past)
    if name.endswith(IN_CLUSTER):
        return rights.needed_with(placing.of_check(rights.needed_with(held, (), opted)), command.flags, opted)
    return rights.needed_with(held, command.flags, opted)


def _of_aws(command: Invocation, name: str) -> tuple[Question, ...]:
    found = rights.of_aws(name)
    if _chooses(command) and not name.endswith(IN_CLUSTER):
        from kubectl_eksdoc.cli.check.choosing import chosen_from
        from kubectl_eksdoc.core.plan.check.registry import needs_of

        besides = rights.ASKED_OF_AWS.get(name, ()) if name in rights.BESIDES else ()
        return (*checks.asked(needs_of(chosen_from(command.args))), *besides)
    others = [each for fix, those in asked.OF_FIX.items() if fix != getattr(command.args, "fix", "") for each in those]
    return tuple(each for each in found if each not in others) if getattr(command.args, "fix", "") else found


def _chooses(command: Invocation) -> bool:
    """Whether it is a ``check`` that looks at less, or further, than without its flags, or elsewhere."""
    flags = ("only", "gate", "symptom", "target", "without", "kubeconfig_secret")
    return command.words[0] == "check" and any(getattr(command.args, each, None) for each in flags)


def _narrowed(args: argparse.Namespace) -> tuple[Right, ...]:
    from kubectl_eksdoc.cli.check.choosing import chosen_from
    from kubectl_eksdoc.core.plan.check.registry import needs_of
    from kubectl_eksdoc.flows.check.looking import kinds_for

    chosen = chosen_from(args)
    return checks.narrowed(kinds_for(chosen), needs_of(chosen), args.target or checks.NEXT)


def _lost(right: Right) -> str:
    if right.required:
        return right.lost or "the command ends with exit code 3"
    codes = rights.codes_lost(right)
    return "; ".join(filter(None, (f"unknown: {', '.join(codes)}" if codes else "", right.lost)))
