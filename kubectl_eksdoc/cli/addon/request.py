"""What was asked of ``addon-diff``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli.options import GlobalOptions, non_empty, since_from, source_from
from kubectl_eksdoc.cli.surroundings import CommandContext
from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.session.sources import SourceChoice

NAME = "addon-diff"


def addon_named(args: argparse.Namespace, words: Sequence[str]) -> str:
    """The one that is named, "" for every one.

    Raises:
        UsageError: none is, or several, or one beside --all.
    """
    if len(words) > 1:
        raise UsageError(f"one add-on at a time, and {len(words)} are named", "For every one: --all.")
    if bool(words) is bool(args.all):
        what = "an add-on is named beside --all" if words else "no add-on is named"
        raise UsageError(what, "Name one (vpc-cni, coredns, kube-proxy …), or give --all. Without a cluster: --demo")
    return words[0] if words else ""


@dataclass(frozen=True, slots=True)
class AddonDiffRequest:
    """`addon` is "" for all of them; `values` is a path, "" where the call gives none. `earlier`: a file of an earlier
    answer, "" for none. `conflict`: the fields of a message of EKS that is to be explained; `manifest` and
    `chart`: paths, "" for none."""

    options: GlobalOptions
    source: SourceChoice
    addon: str
    to: str
    mode: str
    values: str | None
    each_step: bool = False
    since_when: bool = False
    earlier: str = ""
    strict: bool = False
    conflict: tuple[str, ...] = ()
    manifest: str = ""
    chart: str = ""

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str], around: CommandContext) -> AddonDiffRequest:
        """
        Raises:
            UsageError: no add-on is named, or several, or what was given does not fit together.
        """
        conflict = () if args.explain_conflict is None else _conflict(args.explain_conflict, around)
        if conflict and not words:
            from kubectl_eksdoc.addon_diff.explaining import addon_in

            words = [name for name in (addon_in(conflict),) if name]
        addon = addon_named(args, words)
        of_one = {"--explain-conflict": conflict, "--manifest": args.manifest, "--chart": args.chart}
        if args.manifest and args.chart:
            raise UsageError("--manifest and --chart both say what the target version applies", "Give one of them.")
        for flag in (flag for flag, given in of_one.items() if given and not addon):
            raise UsageError(f"{flag} is of one add-on, and --all names every one", "Name the add-on.")
        if args.all and (args.to not in ("", "latest") or args.configuration_values is not None):
            raise UsageError("--to VERSION and --configuration-values are of one add-on, and --all names every one")
        return AddonDiffRequest(
            GlobalOptions.from_args(args),
            source_from(args),
            addon,
            args.to,
            args.resolve_conflicts or "NONE",
            args.configuration_values,
            args.each_step,
            args.since_when,
            since_from(args),
            args.strict,
            conflict,
            args.manifest,
            args.chart,
        )

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        said = {"addon": self.addon, "all": not self.addon, "to": self.to, "configuration-values": self.values or ""}
        said |= {"each-step": self.each_step, "since-when": self.since_when, "since": self.earlier}
        said |= {"strict": self.strict, "explain-conflict": list(self.conflict), "manifest": self.manifest}
        said |= {"chart": self.chart}
        return non_empty(said) | {"resolve-conflicts": self.mode}


def _conflict(given: str, around: CommandContext) -> tuple[str, ...]:
    """The fields that EKS's message names: the text itself, a file of it, or ``-`` for standard input."""
    from kubectl_eksdoc.addon_diff.explaining import fields_in

    found = fields_in(given) or fields_in(around.read_message(given))
    if not found:
        raise UsageError(
            "--explain-conflict: no field is named there",
            "Give what EKS said: aws eks describe-update prints it (errors[].errorMessage).",
        )
    return found
