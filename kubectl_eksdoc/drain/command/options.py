"""Flags of the run commands: confirmation, journal, limits, and hooks."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.context import CommandContext
from kubectl_eksdoc.cli.declared_options import add_options, given_options
from kubectl_eksdoc.cli.entry_point import lazy_call
from kubectl_eksdoc.cli.options import NODES, ConfirmationFlags, add_command
from kubectl_eksdoc.cli.parser import Commands, add_flag, add_switch, add_text
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.in_cluster import command as in_cluster
from kubectl_eksdoc.model.actions import AFTER_WAVE, BEFORE_WAVE
from kubectl_eksdoc.model.connection import OutageLimits
from kubectl_eksdoc.model.journal import RunPhase
from kubectl_eksdoc.model.options import flag_values
from kubectl_eksdoc.wiring.runs import JOURNAL_NAMESPACE, Hooks

from ..run.limits import BETWEEN_WAVES, GUARDS, THE_END, RunLimits
from . import plan as drain

NAMESPACE_FLAG = "--journal-namespace"

_HOOKS = {"--hook-before-wave": BEFORE_WAVE, "--hook-after-wave": AFTER_WAVE}


def add_confirmation(parser: argparse.ArgumentParser) -> None:
    options.add_confirmation(parser.add_argument_group("Confirmation"), NODES, "exactly N nodes are affected")


def confirmation_from(args: argparse.Namespace) -> ConfirmationFlags:
    """Return the confirmation flags.

    Raises:
        UsageError: `--yes` stands alone, which is known before the cluster is read.
    """
    confirmation = options.confirmation_from_args(args, NODES)
    if confirmation.yes and confirmation.expected is None:
        raise UsageError(
            "--yes needs the expectation: how many nodes it is about",
            f"Add {NODES.flag} N, with the number of nodes of the plan that you have read.",
        )
    return confirmation


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
    """Return the journal namespace.

    Raises:
        UsageError: it is not a valid namespace name.
    """
    name: str = args.journal_namespace
    if not name or "/" in name or name != name.lower() or any(char.isspace() for char in name):
        raise UsageError(f"{name!r} is no name of a namespace", f"Give {NAMESPACE_FLAG} one that is there.")
    return name


def add_run_id(parser: argparse.ArgumentParser) -> None:
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
    """Return the fields of `RunLimits` whose flags are given."""
    return given_options(RunLimits, args)


def limits_from(args: argparse.Namespace) -> RunLimits:
    return RunLimits(**limits_given(args))


def guard_texts(limits: RunLimits) -> tuple[str, ...]:
    """Describe when a run under these limits holds, stops, or leaves a node alone."""
    text = values.format_duration
    return (
        f"pauses if a replacement is unschedulable for {text(limits.hold_s)}, stops after {text(limits.pending_s)}",
        f"stops at more than {limits.not_ready} nodes NotReady",
        f"leaves a node after {text(limits.blocked_s)} of refusals",
    )


def outage_limits(limits: RunLimits, context: CommandContext, *, answered: bool = True) -> OutageLimits:
    """Return the outage limits for the reads of a run."""
    return OutageLimits(limits.away_s, context.note, answered)


def limit_arguments(limits: RunLimits, hooks: Hooks) -> tuple[str, ...]:
    """Return the command-line arguments for these limits and hooks."""
    from ..report.plan import option_args

    arguments = option_args(flag_values(limits))
    return (*arguments, *(f"{flag}={hooks.commands[when]}" for flag, when in _HOOKS.items() if when in hooks.commands))


def add_between_waves(parser: argparse.ArgumentParser) -> None:
    group = add_options(parser, RunLimits, (BETWEEN_WAVES,))[BETWEEN_WAVES]
    for flag, when in _HOOKS.items():
        add_text(
            group,
            flag,
            "COMMAND",
            f"command to run with /bin/sh {when.replace('-', ' each ')}; the drain stops if it fails",
        )
    add_flag(
        group,
        "--hook-timeout",
        "TIME",
        f"timeout of a hook (default: {values.format_duration(Hooks().timeout_s)})",
        values.some_seconds,
        Hooks().timeout_s,
    )


def hooks_from(args: argparse.Namespace) -> Hooks:
    commands = {when: getattr(args, flag[2:].replace("-", "_")) for flag, when in _HOOKS.items()}
    return Hooks({when: command for when, command in commands.items() if command}, args.hook_timeout)


# Commands of runs; each is loaded when it is called.


_RUN = """\
Drain nodes of the live cluster by the plan of "drain plan". The plan is shown, you type the cluster's name and the
number of nodes, and then pods are evicted as fast as their PodDisruptionBudgets allow. No pod is deleted against its
budget unless --delete-past-budget names it and you type its name. Every step is written to a journal before it is
done, on this machine and in the cluster, so any machine can resume the run or roll it back.
The first Ctrl-C stops the run and waits for requests in flight, the second exits at once.

Examples:
  %(prog)s --nodegroup blue
  %(prog)s --nodegroup blue --max-unavailable 3 --stop-pending 5m
  %(prog)s --plan read.json                 # as saved by: drain plan … -o json > read.json
  %(prog)s --nodegroup blue --dry-run
  %(prog)s --nodegroup blue --yes --expect-nodes 12 -o json
  %(prog)s --nodegroup blue --in-cluster --apply --image registry.example/kubectl-eksdoc:1
"""

_RUN_CODES = """\
Exit codes: 0 all nodes are drained, 1 the plan skipped nodes, 5 something was unknown, 6 it stopped early or a node was
not drained (resume or roll back), 7 the cluster changed since the plan; 2 usage, 3 cluster.
"""


def add_run(commands: Commands) -> None:
    parser = add_command(
        commands,
        "run",
        "drain nodes after a typed confirmation, with a journal and guards",
        "[NODE…] [flags]",
        _RUN,
        _RUN_CODES,
        lazy_call("drain.command.run.run_drain"),
    )
    drain.add_targeting(parser)
    add_flag(
        parser.add_argument_group("A plan that was read before"),
        "--plan",
        "FILE",
        "run the plan saved with -o json > FILE; do nothing (exit code 7) if the cluster has changed",
    )
    add_confirmation(parser)
    add_limits(parser)
    add_between_waves(parser)
    add_journal(parser)
    add_run_id(parser)
    in_cluster.add_to(parser.add_argument_group("In the cluster"), "a Job")
    drain.add_policy(parser, runs=True)
    server = "ask the API server whether it would accept the first of it"
    options.add_dry_run(parser, "show what would be done", server)
    parser.set_defaults(baseline=None)


_STATUS = """\
Show the drain runs of this cluster: a list, or one run in full. Also lists runs that left only annotations on nodes,
because their journal was deleted or is in another namespace.

Examples:
  %(prog)s
  %(prog)s -w
  %(prog)s 20261120-193005-4f2a -o json
  %(prog)s 20261120-193005-4f2a --events
  %(prog)s --history                        # predicted against actual of past runs
  %(prog)s --attach                         # what kubectl drain or a node group's update is doing
  %(prog)s --replay ~/.local/state/eksdoc/runs/20261120-193005-4f2a.jsonl
  %(prog)s --replay ~/.local/state/eksdoc/runs/20261120-193005-4f2a.events -o html > run.html
"""

_STATUS_CODES = """\
Exit codes: 0 shown; 2 usage, 3 cluster.
"""


def add_status(commands: Commands) -> None:
    parser = add_command(
        commands,
        "status",
        "list runs and show their state",
        "[RUN] [flags] | --attach [NODE…] [flags]",
        _STATUS,
        _STATUS_CODES,
        lazy_call("drain.command.status.run_status"),
        conflict_handler="resolve",
    )
    add_switch(parser, "-w --watch", "watch until the run has ended")
    add_switch(
        parser,
        "--attach",
        "watch drains that other tools do, on these nodes or all: remaining pods and what they wait for",
    )
    add_switch(parser, "--events", "list the events of a run from its journal")
    add_flag(
        parser,
        "--replay",
        "FILE",
        "list the events from the journal in FILE, or from the output of 'drain run -o json'",
    )
    add_switch(parser, "--history", "compare what the plans of past runs predicted with what happened")
    add_journal(parser)


_PAUSE = """\
Pause a run: no more pods are evicted, requests in flight complete, and nodes stay cordoned.
Resume it with: kubectl eksdoc drain resume
"""

_ABORT = """\
Abort a run: no more pods are evicted, requests in flight complete, and nodes stay cordoned.
Continue later with drain resume, or uncordon the nodes with drain rollback.
"""

_ASKING_EXIT_CODES = """\
Exit codes: 0 confirmed, 6 no process answered in time; 2 usage, 3 cluster.
"""


def add_pause(commands: Commands) -> None:
    _add_request_command(commands, "pause", "pause a run, from any machine", _PAUSE, RunPhase.PAUSED)


def add_abort(commands: Commands) -> None:
    _add_request_command(
        commands, "abort", "abort a run, from any machine; nodes stay cordoned", _ABORT, RunPhase.ABORTED
    )


def _add_request_command(commands: Commands, name: str, summary: str, description: str, phase: RunPhase) -> None:
    ask = partial(lazy_call("drain.command.status.ask"), f"drain {name}", phase)
    add_journal(add_command(commands, name, summary, "[RUN] [flags]", description, _ASKING_EXIT_CODES, ask))


_RESUME = """\
Resume a run that was paused or interrupted. The remaining nodes are planned again for the current state of the cluster,
the plan is shown, and the drain continues after the same typed confirmation as in drain run. If a process still leads
the paused run, that process continues it. If all nodes are drained and only the end of the run is missing, the run is
finished without a confirmation.

Examples:
  %(prog)s
  %(prog)s 20261120-193005-4f2a
"""

_RESUME_CODES = """\
Exit codes: as of drain run.
"""


def add_resume(commands: Commands) -> None:
    parser = add_command(
        commands,
        "resume",
        "resume a run, on any machine",
        "[RUN] [flags]",
        _RESUME,
        _RESUME_CODES,
        lazy_call("drain.command.run.run_resume"),
    )
    add_confirmation(parser)
    add_limits(parser)
    add_between_waves(parser)
    add_switch(parser, "--without-hooks", "resume without the hooks of the original command")
    add_journal(parser)


_ROLLBACK = """\
Roll back what a run did to nodes: nodes that it cordoned get their previous state back, byte for byte; nodes that
another client cordoned stay cordoned. A run in progress is aborted first. Evicted pods do not move back. A run whose
journal was deleted from the cluster is rolled back by the annotations on its nodes.
"""

_ROLLBACK_CODES = """\
Exit codes: 0 rolled back, 6 some nodes could not be rolled back; with --dry-run: 0 all would be, 5 unknown for some;
2 usage, 3 cluster.
"""


def add_rollback(commands: Commands) -> None:
    parser = add_command(
        commands,
        "rollback",
        "uncordon the nodes of a run and restore their annotations; pods do not move back",
        "[RUN] [flags]",
        _ROLLBACK,
        _ROLLBACK_CODES,
        lazy_call("drain.command.rollback.run_rollback"),
    )
    add_confirmation(parser)
    options.add_dry_run(parser, "show what would be done to which node, and change nothing")
    add_journal(parser)
