"""The options of a run: how it is confirmed, where it is written down, and when it must stop."""

from __future__ import annotations

import argparse
from typing import Any

from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.confirming import NODES, ConfirmationFlags
from kubectl_eksdoc.cli.declared import add_options, given_of
from kubectl_eksdoc.cli.parser import add_flag
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.drain.run.limits import BETWEEN_WAVES, GUARDS, THE_END, RunLimits
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.model.acts import AFTER_WAVE, BEFORE_WAVE
from kubectl_eksdoc.model.connection import OutageLimits
from kubectl_eksdoc.model.options import given
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks

NAMESPACE_FLAG = "--journal-namespace"

_HOOKS = {"--hook-before-wave": BEFORE_WAVE, "--hook-after-wave": AFTER_WAVE}


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    options.add_confirmation(parser.add_argument_group("Confirmation"), NODES, "exactly N nodes are affected")


def given_from(args: argparse.Namespace) -> ConfirmationFlags:
    """
    Raises:
        UsageError: `--yes` stands alone: that is known before the cluster is read.
    """
    given = options.given_from(args, NODES)
    if given.yes and given.expect is None:
        raise UsageError(
            "--yes needs the expectation: how many nodes it is about",
            f"Add {NODES.flag} N, with the number of nodes of the plan that you have read.",
        )
    return given


def add_journal(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("The journal")
    add_flag(
        group,
        NAMESPACE_FLAG,
        "NAME",
        f"namespace of the run's journal and of the drain lock (default: {JOURNAL_NAMESPACE})",
        default=JOURNAL_NAMESPACE,
    )


def namespace_from(args: argparse.Namespace) -> str:
    """
    Raises:
        UsageError: it is no name of a namespace.
    """
    name: str = args.journal_namespace
    if not name or "/" in name or name != name.lower() or any(char.isspace() for char in name):
        raise UsageError(f"{name!r} is no name of a namespace", f"Give {NAMESPACE_FLAG} one that is there.")
    return name


def add_carry_on(parser: argparse.ArgumentParser) -> None:
    add_flag(
        parser.add_argument_group("Automation"),
        "--run-id",
        "RUN",
        "create a run with this ID, or resume it if its journal is in the cluster and it was not "
        "paused, aborted or stopped; exit code 130: terminated, start it again",
    )


def add_limits(parser: argparse.ArgumentParser) -> None:
    add_options(parser, RunLimits, (GUARDS, THE_END))


def limits_given(args: argparse.Namespace) -> dict[str, Any]:
    """The fields of `RunLimits` whose flags are given."""
    return given_of(RunLimits, args)


def limits_from(args: argparse.Namespace) -> RunLimits:
    return RunLimits(**limits_given(args))


def guards(limits: RunLimits) -> tuple[str, ...]:
    """When a run under them holds, stops, or leaves a node alone, each in words."""
    text = values.duration_text
    return (
        f"pauses if a replacement is unschedulable for {text(limits.hold_s)}, stops after {text(limits.pending_s)}",
        f"stops at more than {limits.not_ready} nodes NotReady",
        f"leaves a node after {text(limits.blocked_s)} of refusals",
    )


def waiting(limits: RunLimits, around: CommandContext, *, answered: bool = True) -> OutageLimits:
    """For the reads of a run."""
    return OutageLimits(limits.away_s, around.note, answered)


def words_of(limits: RunLimits, hooks: Hooks) -> tuple[str, ...]:
    """The words that say them again."""
    from kubectl_eksdoc.render.drain.plan import option_words

    found = option_words(given(limits))
    return (*found, *(f"{flag}={hooks.commands[when]}" for flag, when in _HOOKS.items() if when in hooks.commands))


def add_between_waves(parser: argparse.ArgumentParser) -> None:
    group = add_options(parser, RunLimits, (BETWEEN_WAVES,))[BETWEEN_WAVES]
    for flag, when in _HOOKS.items():
        add_flag(
            group,
            flag,
            "COMMAND",
            f"command to run with /bin/sh {when.replace('-', ' each ')}; the drain stops if it fails",
            default="",
        )
    add_flag(
        group,
        "--hook-timeout",
        "TIME",
        f"timeout of a hook (default: {values.duration_text(Hooks().timeout_s)})",
        values.some_seconds,
        default=Hooks().timeout_s,
    )


def hooks_from(args: argparse.Namespace) -> Hooks:
    given = {when: getattr(args, flag[2:].replace("-", "_")) for flag, when in _HOOKS.items()}
    return Hooks({when: command for when, command in given.items() if command}, args.hook_timeout)
