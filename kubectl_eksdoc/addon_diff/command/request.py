"""Requests of ``addon-diff``, read from its flags."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kubectl_eksdoc.cli import options, values
from kubectl_eksdoc.cli.context import read_message
from kubectl_eksdoc.cli.options import CHANGES, ConfirmationFlags, check_without_since, given_flags, since_from_args
from kubectl_eksdoc.cli.parser import add_flag, add_switch, add_text, flag_name
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.session.sources import SourceChoice

# Flags of ``addon-diff --apply``: confirmation, the values to send, and the time to follow the update.


WATCH_FOR_S = 1800.0


@frozen
class ApplyRequest:
    """`accepted`: codes of findings that may be unknown. `resume`: the ID of an update that was sent before, "" for a
    new one; `undo`: the ID of the update that this one reverts."""

    is_dry_run: bool = False
    is_as_asked: bool = False
    confirmation: ConfirmationFlags = ConfirmationFlags()
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
        f"stop following after this time; the update continues in EKS (default: {values.format_duration(WATCH_FOR_S)})",
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


_READ_ONLY_FLAGS = ("each_step", "since_when", "strict", "manifest", "chart", "explain_conflict")


def apply_from(args: argparse.Namespace) -> ApplyRequest | None:
    """None without --apply.

    Raises:
        UsageError: the flags exclude each other.
    """
    dry_run: str = args.dry
    apply = ApplyRequest(
        dry_run != "none",
        args.as_asked,
        options.confirmation_from_args(args, CHANGES),
        args.accept_unknown,
        args.watch_for,
        args.resume,
    )
    if not args.apply:
        if replace(apply, accepted=()) != ApplyRequest():
            raise UsageError("flags that carry an update out are given without --apply", "Add --apply if you mean it.")
        return None
    if dry_run == "server":
        raise UsageError(
            "EKS has no dry run of an update, so there is no --dry-run=server",
            "--dry-run shows what would be sent, and what it would change.",
        )
    if args.all:
        raise UsageError("--apply is of one add-on, and --all names every one", "Name the add-on.")
    if args.tf_plan is not None:
        raise UsageError("--tf-plan only looks: Terraform applies what a plan asks for", "Leave one of them away.")
    for name in (name for name in _READ_ONLY_FLAGS if getattr(args, name)):
        raise UsageError(
            f"{flag_name(name)} only looks, and --apply carries out", "Look first, and then apply one step."
        )
    if args.as_asked and args.configuration_values is not None:
        raise UsageError("--as-asked sends no values, and --configuration-values gives some", "Give one of them.")
    if args.resume and (
        apply.is_dry_run or args.yes or args.to or args.configuration_values is not None or args.as_asked
    ):
        raise UsageError("--resume follows an update as it was requested: it takes no flags of a new one")
    return apply


NAME = "addon-diff"


def addon_from_words(args: argparse.Namespace, words: Sequence[str]) -> str:
    """The add-on of the command line, "" for all.

    Raises:
        UsageError: no add-on, several, or one beside --all.
    """
    if len(words) > 1:
        raise UsageError(f"one add-on at a time, and {len(words)} are named", "For every one: --all.")
    if bool(words) is bool(args.all):
        problem = "an add-on is named beside --all" if words else "no add-on is named"
        raise UsageError(problem, "Name one (vpc-cni, coredns, kube-proxy …), or give --all. Without a cluster: --demo")
    return words[0] if words else ""


@frozen
class AddonDiffRequest:
    """`addon` is "" for all; `values` is a path, None for no values. `earlier`: the file of an earlier result, "" for
    none. `conflict_fields`: the fields of the EKS message to explain; `manifest` and `chart`: paths, "" for none.
    `accepted`: codes of findings that may be unknown."""

    addon: str
    to: str
    mode: str
    values: str | None
    each_step: bool = False
    since_when: bool = False
    earlier: str = ""
    strict: bool = False
    conflict_fields: tuple[str, ...] = ()
    manifest: str = ""
    chart: str = ""
    accepted: tuple[str, ...] = ()

    @staticmethod
    def from_args(args: argparse.Namespace) -> AddonDiffRequest:
        """Read the request from the flags.

        Raises:
            UsageError: no add-on or several are named, or the flags exclude each other.
        """
        conflict = () if args.explain_conflict is None else _conflict_fields(args.explain_conflict)
        words = args.words
        if conflict and not words and not args.all:
            from ..plan import addon_of_fields

            words = [name for name in (addon_of_fields(conflict),) if name]
        addon = addon_from_words(args, words)
        single_addon_flags = {"--explain-conflict": conflict, "--manifest": args.manifest, "--chart": args.chart}
        if args.manifest and args.chart:
            raise UsageError("--manifest and --chart both say what the target version applies", "Give one of them.")
        for flag in (flag for flag, value in single_addon_flags.items() if value and not addon):
            raise UsageError(f"{flag} is of one add-on, and --all names every one", "Name the add-on.")
        if args.all and (args.to not in ("", "latest") or args.configuration_values is not None):
            raise UsageError("--to VERSION and --configuration-values are of one add-on, and --all names every one")
        return AddonDiffRequest(
            addon,
            args.to,
            args.resolve_conflicts or "NONE",
            args.configuration_values,
            args.each_step,
            args.since_when,
            since_from_args(args),
            args.strict,
            conflict,
            args.manifest,
            args.chart,
            args.accept_unknown,
        )

    @property
    def options(self) -> dict[str, object]:
        """The options of the result, by the names of the flags."""
        flags = {"addon": self.addon, "all": not self.addon, "to": self.to, "configuration-values": self.values or ""}
        flags |= {"each-step": self.each_step, "since-when": self.since_when, "since": self.earlier}
        flags |= {"strict": self.strict, "explain-conflict": list(self.conflict_fields), "manifest": self.manifest}
        flags |= {"chart": self.chart, "accept-unknown": list(self.accepted)}
        return given_flags(flags) | {"resolve-conflicts": self.mode}


def _conflict_fields(source: str) -> tuple[str, ...]:
    """The fields of the message, which is the text itself, a file, or ``-`` for standard input."""
    from ..plan import fields_in

    fields = fields_in(source) or fields_in(read_message(source))
    if not fields:
        raise UsageError(
            "--explain-conflict: no field is named there",
            "Give what EKS said: aws eks describe-update prints it (errors[].errorMessage).",
        )
    return fields


# Requests for a past update or a Terraform plan.


class PastOrPlanRequest(NamedTuple):
    """`addon` is "" for all; `subject`: the ID of an update, "" for the latest, or the path of a Terraform plan, ``-``
    for standard input. `options`: by the names of the flags."""

    addon: str
    subject: str
    options: Mapping[str, object]
    accepted: tuple[str, ...]


_FUTURE_UPDATE_FLAGS = (
    "to",
    "resolve_conflicts",
    "configuration_values",
    "each_step",
    "since_when",
    "tf_plan",
    "apply",
    "since",
    "strict",
    "explain_conflict",
    "manifest",
    "chart",
)
"""Flags of a future update, by their names in the arguments."""


def past_request_from(args: argparse.Namespace) -> PastOrPlanRequest:
    """Read the request for a past update.

    Raises:
        UsageError: no add-on or several are named, or the flags exclude each other.
    """
    if not args.after:
        raise UsageError("--update names an update that has happened, and is of --after", "Give both.")
    conflicting = [name for name in _FUTURE_UPDATE_FLAGS if getattr(args, name, None) not in (None, "", False)]
    if conflicting:
        flags = " and ".join(map(flag_name, conflicting))
        raise UsageError(
            f"{flags} beside --after, which looks back on an update that has happened",
            "Ask for one of them at a time.",
        )

    apply_from(args)  # reports flags that need --apply
    addon = addon_from_words(args, args.words)
    if args.all and args.update:
        raise UsageError("--update ID is of one add-on, and --all names every one")
    accepted = args.accept_unknown
    flag_values = {
        "addon": addon,
        "all": not addon,
        "after": True,
        "update": args.update,
        "accept-unknown": list(accepted),
    }
    set_options = given_flags(flag_values)
    return PastOrPlanRequest(addon, args.update, set_options, accepted)


_FLAGS_IN_PLAN = (
    "to",
    "resolve_conflicts",
    "configuration_values",
    "all",
    "each_step",
    "since_when",
    "explain_conflict",
    "manifest",
    "chart",
)
"""Flags whose values are in the Terraform plan, by their names in the arguments."""


def plan_request_from(args: argparse.Namespace, source: SourceChoice) -> PastOrPlanRequest:
    """Read the request for a Terraform plan.

    Raises:
        UsageError: the flags exclude each other.
    """
    if len(args.words) > 1:
        raise UsageError(f"one add-on at a time, and {len(args.words)} are named", "For all of the plan: name none.")
    conflicting = [flag_name(name) for name in _FLAGS_IN_PLAN if getattr(args, name)]
    if args.configuration_values == "":
        conflicting.append("--configuration-values")
    if conflicting:
        raise UsageError(
            f"{' and '.join(conflicting)} cannot be used with --tf-plan: the Terraform plan has the request to EKS",
            "Give the plan alone, or with the name of one of its add-ons.",
        )
    check_without_since("--tf-plan", since_from_args(args))
    if args.tf_plan == "-" == source.snapshot:
        raise UsageError("--snapshot and --tf-plan both read standard input", "Give one of them as a file.")
    addon = args.words[0] if args.words else ""
    accepted = args.accept_unknown
    flags = {"addon": addon, "strict": args.strict, "accept-unknown": list(accepted)}
    set_options = {"tf-plan": args.tf_plan} | given_flags(flags)
    return PastOrPlanRequest(addon, args.tf_plan, set_options, accepted)
