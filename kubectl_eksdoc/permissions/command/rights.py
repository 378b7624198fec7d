"""Commands named on the command line of ``permissions``: ``drain run --surge-singles check addon-diff --apply`` are
three."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field, replace

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.cli.parser import Parser, expand_bare_flags, positional_words, unknown_flag_error
from kubectl_eksdoc.cli.rights import Right, RightNamespaces, definitions
from kubectl_eksdoc.cli.rights import commands as registered
from kubectl_eksdoc.errors import UsageError, did_you_mean
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.in_cluster.command import IN_CLUSTER
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import SYSTEM_NAMESPACE
from kubectl_eksdoc.model.permissions import Permission
from kubectl_eksdoc.model.quantities import Version

from ..grants import (
    READ_ACTION_PREFIXES,
    IamAction,
    NeededRight,
    RequiredPermissions,
    merge_permissions,
)

_PERMISSIONS, _CHANGES = "permissions", "changes"
_USAGE_WITHOUT_NAMES = "%(prog)s [flags]"
"""The usage of a command that takes no names."""
_NARROWING_FLAGS = ("--only", "--gate", "--symptom", "--target", "--without", "--kubeconfig-secret")
"""Flags whose values change how much a command reads."""
_NOT_IN_SLUG = re.compile(r"[^A-Za-z0-9.]+")
_ALIASES = {"drain rehearse": "rehearse"}


ParserFor = Callable[[tuple[str, ...]], "Parser"]
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
    def is_client_dry_run(self) -> bool:
        """A client-side dry run sends no write; a server-side dry run needs the rights of the writes."""
        return getattr(self.args, "dry", "") == "client"

    @property
    def slug(self) -> str:
        """The part of a role's name: ``drain-run-surge-singles``, ``coredns-lameduck-measure-rollout``,
        ``check-only-kubelet-skew``."""
        names = [
            " ".join(
                (
                    name,
                    *(flag.removeprefix(name.split()[-1]).removesuffix("/NAME") for flag in sorted(self.flags)),
                    *self.narrowed,
                )
            )
            for name in self.names
        ]
        return ".".join(_NOT_IN_SLUG.sub("-", name) for name in names)


def registered_commands() -> tuple[str, ...]:
    """All commands with rights of their own, sorted; ``permissions --check`` needs none."""
    names = {*rights.BY_COMMAND, *rights.AWS_OPERATIONS}
    return tuple(sorted(each for each in names if each.split()[0] != _PERMISSIONS))


def without_flags(name: str) -> Invocation:
    """One of `registered_commands`, without flags."""
    return Invocation(tuple(name.split()), (name,))


def parse_commands(words: Sequence[str], parser_for: ParserFor) -> tuple[Invocation, ...]:
    """The commands that `words` name, in order, without duplicates.

    Raises:
        UsageError: a word is not a command, or what follows a command is not valid for it.
    """
    index, invocations = 0, []
    while index < len(words):
        if words[index].startswith("-"):
            flag = words[index].partition("=")[0]
            example = next((each for each in registered_commands() if each.endswith(f" {flag}")), f"drain run {flag}")
            raise UsageError(f"{flag} is a flag of a command, and stands before any", f"As in: {example}")
        base = _command_name(words[index:])
        start, index = index, index + len(base.split())
        parser = parser_for(tuple(base.split()))
        for word in base.split():
            parser = (parser.command_parsers() or {})[word]
        command_parser = _InvocationParser(base, parser, parser.flags_without_value())
        index = command_parser.read_args(words, index)
        invocations.append(command_parser.invocation(words[start:index]))
    return tuple(dict.fromkeys(invocations))


class _InvocationParser:
    """Reads the arguments of one command. Mutable."""

    def __init__(self, base: str, parser: Parser, bare: dict[str, str]) -> None:
        self._base, self._parser, self._bare = base, parser, bare
        self._command_args: list[str] = []
        self._flags_without_value: set[str] = set()

    def read_args(self, words: Sequence[str], index: int) -> int:
        """Read up to the next command, and return the index where that begins.

        Raises:
            UsageError: a word is neither a command nor an argument of this one.
        """
        while index < len(words) and not _starts_command(words[index:]):
            word, rest = words[index], words[index + 1 :]
            flag = self._flag(word) if word.startswith("-") else None
            if flag is None:
                self._check_name(words[index:])
            if flag is None or word not in flag.option_strings or word in self._bare or flag.nargs == 0:
                self._command_args.append(word)
            elif rest and not _starts_command(rest):
                self._command_args += [word, rest[0]]
                index += 1
            else:
                self._flags_without_value.add(flag.option_strings[-1])
            index += 1
        return index

    def _flag(self, word: str) -> argparse.Action:
        """The flag in `word`, which may contain the value too: ``--set=…``, ``-la=b``."""
        action = self._parser.flag(word.partition("=")[0])
        if action is None and not word.startswith("--"):
            action = self._parser.flag(word[:2])
        if action is None:
            raise unknown_flag_error(word, self._parser)
        return action

    def _check_name(self, words: Sequence[str]) -> None:
        """Reject a flag that was typed without its dashes: it would change the rights, and is not a name."""
        usage, flag = self._parser.usage or "", f"--{words[0]}"
        if usage == _USAGE_WITHOUT_NAMES:
            _command_name(words)
        if self._parser.flag(flag) is not None or ("/NAME" in usage and "/" not in words[0]):
            close = did_you_mean(flag, self._parser.long_flags())
            raise UsageError(
                f"{words[0]!r} is no name that {self._base!r} takes{close}", f"See kubectl eksdoc {self._base} --help."
            )

    def invocation(self, words: Sequence[str]) -> Invocation:
        """Raises UsageError: a flag or its value is not valid."""
        path = self._base.split()
        args, extras = self._parser.parse_known_args(expand_bare_flags(self._command_args, self._bare))
        kinds = {f"{word.partition('/')[0]}/NAME" for word in positional_words(extras, self._parser)}
        name = _ALIASES.get(self._base, self._base)
        variants = [each for each in registered_commands() if each.startswith(f"{name} --")]
        names = tuple(each for each in variants if self._has_flag(args, each.rpartition(" ")[2])) or (name,)
        flags = (
            flag
            for each in names
            for flag in rights.flags_with_rights(each)
            if flag in kinds or self._has_flag(args, flag)
        )
        narrowed = [
            f"{each[2:]} {self._flag_value(args, each)}" for each in _NARROWING_FLAGS if self._has_flag(args, each)
        ]
        invocation = Invocation((*name.split(), *words[len(path) :]), names, frozenset(flags), args, tuple(narrowed))
        return replace(invocation, narrowed=(*narrowed, "dry-run")) if invocation.is_client_dry_run else invocation

    def _flag_value(self, args: argparse.Namespace, flag: str) -> str:
        """The flag's value, in characters that a name may have, in a fixed order."""
        action = self._parser.flag(flag)
        value = getattr(args, action.dest, "") if action else ""
        if isinstance(value, (str, Version)):
            return str(value)
        return " ".join(sorted({word for each in value for word in ([each] if isinstance(each, str) else each)}))

    def _has_flag(self, args: argparse.Namespace, flag: str) -> bool:
        """Whether the flag is given; for ``--flag=value``, with that value."""
        name, _, value = flag.partition("=")
        action = self._parser.flag(name)
        if action is None:
            return False
        given_value = getattr(args, action.dest, action.default)
        return (
            str(given_value) == value
            if value
            else name in self._flags_without_value or given_value not in (None, action.default)
        )


def _command_name(words: Sequence[str]) -> str:
    """The longest command name with which `words` begin.

    Raises:
        UsageError: the words do not begin with a command.
    """
    for count in (2, 1):
        name = " ".join(words[:count])
        if len(words) >= count and name in _base_commands():
            return name
    subcommands = [each for each in _base_commands() if each.startswith(f"{words[0]} ")]
    if subcommands:
        requested = " ".join(words[:2])
        raise UsageError(
            f"{requested!r} is no command with rights of its own{did_you_mean(requested, subcommands)}",
            _commands_hint(subcommands),
        )
    if words[0] == _CHANGES:
        apply_commands = (
            f"kubectl eksdoc permissions {each}" for each in registered_commands() if each.endswith(" --apply")
        )
        raise UsageError(
            "'changes' has no rights of its own: a change is resumed or undone with those of the command that began it",
            f"As in: {', '.join(apply_commands)}",
        )
    raise UsageError(
        f"{words[0]!r} is no command with rights of its own{did_you_mean(words[0], _base_commands())}",
        _commands_hint(_base_commands()),
    )


def _starts_command(words: Sequence[str]) -> bool:
    return any(" ".join(words[:count]) in _base_commands() for count in (1, 2))


def next_words(words: Sequence[str]) -> tuple[str, ...]:
    """Possible words after `words`: the second word of a command whose first word is the last one, or else the first
    word of any command."""
    subcommands = [each.partition(" ")[2] for each in _base_commands() if words and each.startswith(f"{words[-1]} ")]
    return tuple(dict.fromkeys(sorted(subcommands or [each.split()[0] for each in _base_commands()])))


def _base_commands() -> tuple[str, ...]:
    return tuple(sorted((*(each for each in registered_commands() if " --" not in each), *_ALIASES)))


def _commands_hint(names: Iterable[str]) -> str:
    return f"Commands: {', '.join(names)}"


# The registered rights of commands, in the namespaces where they are needed.


_COMPLETION = "completion"
_READ_VERBS = ("get", "list", "watch")


def read_only_commands() -> tuple[Invocation, ...]:
    """The commands that change nothing in the cluster and in AWS, sorted, without ``completion``, which only lists what
    these may list."""
    commands = map(without_flags, registered_commands())
    return tuple(
        each
        for each in commands
        if each.names != (_COMPLETION,) and not required_permissions([each], RightNamespaces()).changes
    )


def iam_notes(commands: Sequence[Invocation]) -> tuple[str, ...]:
    """What the IAM actions of `commands` may need in addition, in sentences."""
    operations = (question for each in commands for name in each.names for question in _aws_operations(each, name))
    return tuple(
        definitions.POSSIBLE_REQUIREMENTS[question]
        for question in dict.fromkeys(operations)
        if question in definitions.POSSIBLE_REQUIREMENTS
    )


_PATCH_KUBE_SYSTEM_CONFIG_MAPS = Permission("patch", kinds.CONFIG_MAPS, "", SYSTEM_NAMESPACE)
_AWS_AUTH_CAUTION = (
    f"{_PATCH_KUBE_SYSTEM_CONFIG_MAPS.scoped_right} also changes aws-auth, by which many clusters map IAM roles "
    "to groups: a user with this "
    "permission can become administrator."
)
_OTHER_NAMESPACE_HINT = " Journals of runs need not be there: --journal-namespace NAME, here and with drain run."


def cautions(required: RequiredPermissions) -> tuple[str, ...]:
    """What a right that is not an opt-in allows in addition, in sentences."""
    right = next((each for each in required.rights if each.permission == _PATCH_KUBE_SYSTEM_CONFIG_MAPS), None)
    if right is None:
        return ()
    return (
        _AWS_AUTH_CAUTION
        + (_OTHER_NAMESPACE_HINT if any(each.startswith("drain ") for each in right.commands) else ""),
    )


def required_permissions(
    commands: Sequence[Invocation], places: RightNamespaces, opt_ins: Collection[str] = ()
) -> RequiredPermissions:
    return merge_permissions([_permissions_of(each, name, places, opt_ins) for each in commands for name in each.names])


def _permissions_of(
    command: Invocation, name: str, places: RightNamespaces, opt_ins: Collection[str]
) -> RequiredPermissions:
    command_text = shell(*command.words)
    rights = tuple(
        NeededRight(places.permission(right), right.required, (_effect_without(right),), (command_text,))
        for right in _cluster_rights(command, name, opt_ins)
        if not command.is_client_dry_run or right.verb in _READ_VERBS
    )
    actions = tuple(
        IamAction(action, (operation.lost,), (command_text,))
        for operation in _aws_operations(command, name)
        for action in operation.actions
        if not command.is_client_dry_run or action.partition(":")[2].startswith(READ_ACTION_PREFIXES)
    )
    return merge_permissions([RequiredPermissions((command_text,), rights, actions)])


def _cluster_rights(command: Invocation, name: str, opt_ins: Collection[str]) -> tuple[Right, ...]:
    if not _is_narrowed_check(command):
        return rights.cluster_rights(name, command.flags, opt_ins)
    from kubectl_eksdoc.check.command.request import checks_from_args
    from kubectl_eksdoc.check.read import kinds_for
    from kubectl_eksdoc.check.registry import needs_of

    selected: tuple[Right, ...] = ()
    if not command.args.kubeconfig_secret:
        checks = checks_from_args(command.args)
        change_rights = registered.CHANGED_SINCE if any("--changed-since" in each for each in command.names) else ()
        target = command.args.target or registered.NEWEST_TARGET
        selected = (*registered.rights_of_checks(kinds_for(checks), needs_of(checks), target), *change_rights)
    if name.endswith(IN_CLUSTER):
        return rights.needed_rights(
            registered.in_cluster_check_rights(rights.needed_rights(selected, (), opt_ins)), command.flags, opt_ins
        )
    return rights.needed_rights(selected, command.flags, opt_ins)


def _aws_operations(command: Invocation, name: str) -> tuple[AwsOperation, ...]:
    operations = rights.aws_operations(name)
    if _is_narrowed_check(command) and not name.endswith(IN_CLUSTER):
        from kubectl_eksdoc.check.command.request import checks_from_args
        from kubectl_eksdoc.check.registry import needs_of

        other_operations = rights.AWS_OPERATIONS.get(name, ()) if name in rights.ADDITIVE else ()
        return (*registered.operations_of_checks(needs_of(checks_from_args(command.args))), *other_operations)
    fix, sources = getattr(command.args, "fix", ""), getattr(command.args, "evidence", ())
    choices = [(definitions.BY_FIX, (fix,))] if fix else [(definitions.BY_EVIDENCE, sources)] if sources else []
    excluded = {
        each
        for by_name, chosen_names in choices
        for name, named_operations in by_name.items()
        if name not in chosen_names
        for each in named_operations
    }
    return tuple(each for each in operations if each not in excluded)


def _is_narrowed_check(command: Invocation) -> bool:
    """Whether it is a ``check`` with flags that make it read less, more, or another cluster."""
    flags = ("only", "area", "gate", "symptom", "target", "without", "kubeconfig_secret")
    return command.words[0] == "check" and any(getattr(command.args, each, None) for each in flags)


def _effect_without(right: Right) -> str:
    if right.required:
        return right.lost or "the command ends with exit code 3"
    codes = rights.unknown_codes(right)
    return "; ".join(filter(None, (f"unknown: {', '.join(codes)}" if codes else "", right.lost)))
