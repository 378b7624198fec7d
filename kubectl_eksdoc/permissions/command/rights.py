"""Commands named on the command line of ``permissions``: ``drain run --surge-singles check addon-diff --apply`` are
three."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, replace

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.parser import Parser, spelled_out, strays, unknown_flag
from kubectl_eksdoc.cli.rights import Places, Right, asked
from kubectl_eksdoc.cli.rights import commands as registered
from kubectl_eksdoc.errors import UsageError, maybe
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.command import IN_CLUSTER
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import SYSTEM
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.quantities import Version

from ..grants import (
    READING_ACTIONS,
    IamAction,
    NeededRight,
    WantedPermissions,
    together,
)

_OWN, _CHANGES = "permissions", "changes"
_NAMELESS = "%(prog)s [flags]"
"""The usage of a command that takes no names."""
_NARROWING = ("--only", "--gate", "--symptom", "--target", "--without", "--kubeconfig-secret")
"""Flags whose values change how much a command reads."""
_NO_SLUG = re.compile(r"[^A-Za-z0-9.]+")
_ALIASES = {"drain rehearse": "rehearse"}


Grown = Callable[[tuple[str, ...]], "Parser"]
"""Returns the parser that contains the command with these words."""


@frozen
class Invocation:
    """A command with its flags.

    `words`: as the user typed them. `names`: the names under which its rights are registered. `flags`: the flags that
    need more rights (`Right.flag`). `args`: the result of the command's own parser. `narrowed`: other values that
    decide which rights the command needs.
    """

    words: tuple[str, ...]
    names: tuple[str, ...]
    flags: frozenset[str] = frozenset()
    args: argparse.Namespace = field(default_factory=argparse.Namespace, compare=False)
    narrowed: tuple[str, ...] = ()

    @property
    def only_reads(self) -> bool:
        """A client-side dry run sends no write; a server-side dry run needs the rights of the writes."""
        return getattr(self.args, "dry", "") == "client"

    @property
    def slug(self) -> str:
        """The part of a role's name: ``drain-run-surge-singles``, ``coredns-lameduck-measure-rollout``,
        ``check-only-kubelet-skew``."""
        names = [
            " ".join(
                (
                    each,
                    *(flag.removeprefix(each.split()[-1]).removesuffix("/NAME") for flag in sorted(self.flags)),
                    *self.narrowed,
                )
            )
            for each in self.names
        ]
        return ".".join(_NO_SLUG.sub("-", each) for each in names)


def known() -> tuple[str, ...]:
    """All commands with rights of their own, sorted; ``permissions --check`` needs none."""
    every = {*rights.BY_COMMAND, *rights.ASKED_OF_AWS}
    return tuple(sorted(each for each in every if each.split()[0] != _OWN))


def plain(name: str) -> Invocation:
    """One of `registered_commands`, without flags."""
    return Invocation(tuple(name.split()), (name,))


def named(words: Sequence[str], grown: Grown) -> tuple[Invocation, ...]:
    """The commands that `words` name, in order, without duplicates.

    Raises:
        UsageError: a word is not a command, or what follows a command is not valid for it.
    """
    at, found = 0, []
    while at < len(words):
        if words[at].startswith("-"):
            flag = words[at].partition("=")[0]
            with_it = next((each for each in known() if each.endswith(f" {flag}")), f"drain run {flag}")
            raise UsageError(f"{flag} is a flag of a command, and stands before any", f"As in: {with_it}")
        base = _longest(words[at:])
        begin, at = at, at + len(base.split())
        parser = grown(tuple(base.split()))
        for word in base.split():
            parser = (parser.under() or {})[word]
        typed = _Typed(base, parser, parser.bare())
        at = typed.take(words, at)
        found.append(typed.invocation(words[begin:at]))
    return tuple(dict.fromkeys(found))


class _Typed:
    """Reads the arguments of one command. Mutable."""

    def __init__(self, base: str, parser: Parser, bare: dict[str, str]) -> None:
        self._base, self._parser, self._bare = base, parser, bare
        self._given: list[str] = []
        self._alone: set[str] = set()

    def take(self, words: Sequence[str], at: int) -> int:
        """Read up to the next command, and return the index where that begins.

        Raises:
            UsageError: a word is neither a command nor an argument of this one.
        """
        while at < len(words) and not _begins(words[at:]):
            word, rest = words[at], words[at + 1 :]
            flag = self._flag(word) if word.startswith("-") else None
            if flag is None:
                self._check_name(words[at:])
            if flag is None or word not in flag.option_strings or word in self._bare or flag.nargs == 0:
                self._given.append(word)
            elif rest and not _begins(rest):
                self._given += [word, rest[0]]
                at += 1
            else:
                self._alone.add(flag.option_strings[-1])
            at += 1
        return at

    def _flag(self, word: str) -> argparse.Action:
        """The flag in `word`, which may contain the value too: ``--set=…``, ``-la=b``."""
        found = self._parser.flag(word.partition("=")[0])
        if found is None and not word.startswith("--"):
            found = self._parser.flag(word[:2])
        if found is None:
            raise unknown_flag(word, self._parser)
        return found

    def _check_name(self, words: Sequence[str]) -> None:
        """Reject a flag that was typed without its dashes: it would change the rights, and is not a name."""
        usage, flag = self._parser.usage or "", f"--{words[0]}"
        if usage == _NAMELESS:
            _longest(words)
        if self._parser.flag(flag) is not None or ("/NAME" in usage and "/" not in words[0]):
            close = maybe(flag, self._parser.long_flags())
            raise UsageError(
                f"{words[0]!r} is no name that {self._base!r} takes{close}", f"See kubectl eksdoc {self._base} --help."
            )

    def invocation(self, words: Sequence[str]) -> Invocation:
        """Raises UsageError: a flag or its value is not valid."""
        path = self._base.split()
        args, extras = self._parser.parse_known_args(spelled_out(self._given, self._bare))
        kinds = {f"{word.partition('/')[0]}/NAME" for word in strays(extras, self._parser)}
        name = _ALIASES.get(self._base, self._base)
        variants = [each for each in known() if each.startswith(f"{name} --")]
        names = tuple(each for each in variants if self._has(args, each.rpartition(" ")[2])) or (name,)
        flags = (flag for each in names for flag in rights.flags_of(each) if flag in kinds or self._has(args, flag))
        narrowed = [f"{each[2:]} {self._said(args, each)}" for each in _NARROWING if self._has(args, each)]
        made = Invocation((*name.split(), *words[len(path) :]), names, frozenset(flags), args, tuple(narrowed))
        return replace(made, narrowed=(*narrowed, "dry-run")) if made.only_reads else made

    def _said(self, args: argparse.Namespace, flag: str) -> str:
        """The flag's value, in characters that a name may have, in a fixed order."""
        action = self._parser.flag(flag)
        given = getattr(args, action.dest, "") if action else ""
        if isinstance(given, (str, Version)):
            return str(given)
        return " ".join(sorted({word for each in given for word in ([each] if isinstance(each, str) else each)}))

    def _has(self, args: argparse.Namespace, flag: str) -> bool:
        """Whether the flag is given; for ``--flag=value``, with that value."""
        long, _, value = flag.partition("=")
        action = self._parser.flag(long)
        if action is None:
            return False
        given = getattr(args, action.dest, action.default)
        return str(given) == value if value else long in self._alone or given not in (None, action.default)


def _longest(words: Sequence[str]) -> str:
    """The longest command name with which `words` begin.

    Raises:
        UsageError: the words do not begin with a command.
    """
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in _bases():
            return name
    under = [each for each in _bases() if each.startswith(f"{words[0]} ")]
    if under:
        asked = " ".join(words[:2])
        raise UsageError(f"{asked!r} is no command with rights of its own{maybe(asked, under)}", _listed(under))
    if words[0] == _CHANGES:
        began = (f"kubectl eksdoc permissions {each}" for each in known() if each.endswith(" --apply"))
        raise UsageError(
            "'changes' has no rights of its own: a change is resumed or undone with those of the command that began it",
            f"As in: {', '.join(began)}",
        )
    raise UsageError(f"{words[0]!r} is no command with rights of its own{maybe(words[0], _bases())}", _listed(_bases()))


def _begins(words: Sequence[str]) -> bool:
    return any(" ".join(words[:count]) in _bases() for count in (1, 2))


def next_words(words: Sequence[str]) -> tuple[str, ...]:
    """Possible words after `words`: the second word of a command whose first word is the last one, or else the first
    word of any command."""
    under = [each.partition(" ")[2] for each in _bases() if words and each.startswith(f"{words[-1]} ")]
    return tuple(dict.fromkeys(sorted(under or [each.split()[0] for each in _bases()])))


def _bases() -> tuple[str, ...]:
    return tuple(sorted((*(each for each in known() if " --" not in each), *_ALIASES)))


def _listed(names: Iterable[str]) -> str:
    return f"Commands: {', '.join(names)}"


# The registered rights of commands, in the namespaces where they are needed.


_COMPLETION = "completion"
_READING_VERBS = ("get", "list", "watch")


def reading() -> tuple[Invocation, ...]:
    """The commands that change nothing in the cluster and in AWS, sorted, without ``completion``, which only lists what
    these may list."""
    every = map(plain, known())
    return tuple(each for each in every if each.names != (_COMPLETION,) and not wanted([each], Places()).changes)


def doubts(commands: Sequence[Invocation]) -> tuple[str, ...]:
    """What the IAM actions of `commands` may need in addition, in sentences."""
    questions = (question for each in commands for name in each.names for question in _of_aws(each, name))
    return tuple(asked.DOUBTS[question] for question in dict.fromkeys(questions) if question in asked.DOUBTS)


_MAPS_ROLES = Permission("patch", kinds.CONFIG_MAPS, "", SYSTEM)
_TAKES_OVER = (
    f"{_MAPS_ROLES.said} also changes aws-auth, by which many clusters map IAM roles to groups: a user with this "
    "permission can become administrator."
)
_ELSEWHERE = " Journals of runs need not be there: --journal-namespace NAME, here and with drain run."


def cautions(found: WantedPermissions) -> tuple[str, ...]:
    """What a right that is not an opt-in allows in addition, in sentences."""
    of = next((each for each in found.needed if each.permission == _MAPS_ROLES), None)
    if of is None:
        return ()
    return (_TAKES_OVER + (_ELSEWHERE if any(each.startswith("drain ") for each in of.commands) else ""),)


def wanted(commands: Sequence[Invocation], places: Places, opted: Collection[str] = ()) -> WantedPermissions:
    return together([_wanted_by(each, name, places, opted) for each in commands for name in each.names])


def _wanted_by(command: Invocation, name: str, places: Places, opted: Collection[str]) -> WantedPermissions:
    typed = shell(*command.words)
    needed = tuple(
        NeededRight(places.permission(right), right.required, (_lost(right),), (typed,))
        for right in _in_cluster(command, name, opted)
        if not command.only_reads or right.verb in _READING_VERBS
    )
    actions = tuple(
        IamAction(action, (question.lost,), (typed,))
        for question in _of_aws(command, name)
        for action in question.actions
        if not command.only_reads or action.partition(":")[2].startswith(READING_ACTIONS)
    )
    return together([WantedPermissions((typed,), needed, actions)])


def _in_cluster(command: Invocation, name: str, opted: Collection[str]) -> tuple[Right, ...]:
    if not _chooses(command):
        return rights.in_cluster(name, command.flags, opted)
    from kubectl_eksdoc.check.command.request import chosen_from
    from kubectl_eksdoc.check.read import kinds_for
    from kubectl_eksdoc.check.registry import needs_of

    held: tuple[Right, ...] = ()
    if not command.args.kubeconfig_secret:
        chosen = chosen_from(command.args)
        past = registered.CHANGED if any("--changed-since" in each for each in command.names) else ()
        to = command.args.target or registered.NEXT
        held = (*registered.narrowed(kinds_for(chosen), needs_of(chosen), to), *past)
    if name.endswith(IN_CLUSTER):
        return rights.needed_with(registered.of_check(rights.needed_with(held, (), opted)), command.flags, opted)
    return rights.needed_with(held, command.flags, opted)


def _of_aws(command: Invocation, name: str) -> tuple[AwsOperation, ...]:
    found = rights.of_aws(name)
    if _chooses(command) and not name.endswith(IN_CLUSTER):
        from kubectl_eksdoc.check.command.request import chosen_from
        from kubectl_eksdoc.check.registry import needs_of

        besides = rights.ASKED_OF_AWS.get(name, ()) if name in rights.BESIDES else ()
        return (*registered.asked(needs_of(chosen_from(command.args))), *besides)
    fix, sources = getattr(command.args, "fix", ""), getattr(command.args, "evidence", ())
    chosen = [(asked.OF_FIX, (fix,))] if fix else [(asked.OF_EVIDENCE, sources)] if sources else []
    others = {each for of, named in chosen for name, those in of.items() if name not in named for each in those}
    return tuple(each for each in found if each not in others)


def _chooses(command: Invocation) -> bool:
    """Whether it is a ``check`` with flags that make it read less, more, or another cluster."""
    flags = ("only", "area", "gate", "symptom", "target", "without", "kubeconfig_secret")
    return command.words[0] == "check" and any(getattr(command.args, each, None) for each in flags)


def _lost(right: Right) -> str:
    if right.required:
        return right.lost or "the command ends with exit code 3"
    codes = rights.codes_lost(right)
    return "; ".join(filter(None, (f"unknown: {', '.join(codes)}" if codes else "", right.lost)))
