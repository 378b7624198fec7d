"""The flags of ``addon-diff --apply``: how it is confirmed, what it sends, how long it is followed."""

from __future__ import annotations

import argparse
from dataclasses import replace

from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.confirming import CHANGES, ConfirmationFlags
from kubectl_eksdoc.cli.parser import add_flag, add_switch, add_text, flag_of
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen

WATCH_FOR_S = 1800.0


@frozen
class Apply:
    """`accepted`: codes of what may be unknown. `resume`: the id of an
    update that was sent before, "" for a new one; `undo`: of one that this update reverts."""

    dry: bool = False
    as_asked: bool = False
    given: ConfirmationFlags = ConfirmationFlags()
    accepted: tuple[str, ...] = ()
    watch_s: float = WATCH_FOR_S
    resume: str = ""
    undo: str = ""


def add_to(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Apply")
    add_switch(group, "--apply", "start the update in EKS, follow it, and compare the result with the prediction")
    add_switch(
        group,
        "--as-asked",
        "send only the values that you give (default: proposed values, which keep what other clients have set)",
    )
    options.add_confirmation(group, CHANGES, "exactly N fields are predicted to change")
    add_flag(
        group,
        "--watch-for",
        "TIME",
        f"stop following after this time; the update continues in EKS (default: {values.duration_text(WATCH_FOR_S)})",
        values.some_seconds,
        WATCH_FOR_S,
    )
    add_text(
        group,
        "--resume",
        "ID",
        "follow an update that was started earlier, from its journal on this machine; changes nothing",
    )
    options.add_dry_run(group, "show the request and the rollback, and send nothing")


_LOOKS = ("each_step", "since_when", "strict", "manifest", "chart", "explain_conflict")


def apply_from(args: argparse.Namespace) -> Apply | None:
    """None: nothing is to be carried out.

    Raises:
        UsageError: flags do not go together.
    """
    dry: str = args.dry
    found = Apply(
        dry != "none",
        args.as_asked,
        options.given_from(args, CHANGES),
        args.accept_unknown,
        args.watch_for,
        args.resume,
    )
    if not args.apply:
        if replace(found, accepted=()) != Apply():
            raise UsageError("flags that carry an update out are given without --apply", "Add --apply if you mean it.")
        return None
    if dry == "server":
        raise UsageError(
            "EKS has no dry run of an update, so there is no --dry-run=server",
            "--dry-run shows what would be sent, and what it would change.",
        )
    if args.all:
        raise UsageError("--apply is of one add-on, and --all names every one", "Name the add-on.")
    if args.tf_plan is not None:
        raise UsageError("--tf-plan only looks: Terraform applies what a plan asks for", "Leave one of them away.")
    for name in (name for name in _LOOKS if getattr(args, name)):
        raise UsageError(f"{flag_of(name)} only looks, and --apply carries out", "Look first, and then apply one step.")
    if args.as_asked and args.configuration_values is not None:
        raise UsageError("--as-asked sends no values, and --configuration-values gives some", "Give one of them.")
    if args.resume and (found.dry or args.yes or args.to or args.configuration_values is not None or args.as_asked):
        raise UsageError("--resume follows an update as it was requested: it takes no flags of a new one")
    return found
