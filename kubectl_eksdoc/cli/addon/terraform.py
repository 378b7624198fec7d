"""What the add-on changes of a Terraform plan would do, for a pipeline that can refuse them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_eksdoc.cli import exits, opening, rights
from kubectl_eksdoc.cli.addon.forecast import is_unsure
from kubectl_eksdoc.cli.addon.request import NAME
from kubectl_eksdoc.cli.options import GlobalOptions, SourceOptions, refused_beside, since_from
from kubectl_eksdoc.cli.surroundings import Answer, Surroundings
from kubectl_eksdoc.errors import Forbidden, UsageError
from kubectl_eksdoc.session.sources import SourceChoice

_IN_THE_PLAN = {
    "to": "--to",
    "resolve_conflicts": "--resolve-conflicts",
    "configuration_values": "--configuration-values",
    "all": "--all",
    "each_step": "--each-step",
    "since_when": "--since-when",
    "explain_conflict": "--explain-conflict",
    "manifest": "--manifest",
    "chart": "--chart",
}
"""Flags by their names in the arguments: what they say, the plan says."""


@dataclass(frozen=True, slots=True)
class TerraformRequest:
    """`addon` is "" for all that the plan has; `path`: the plan's, ``-`` for standard input."""

    options: GlobalOptions
    source: SourceChoice
    addon: str
    path: str
    strict: bool

    @staticmethod
    def from_args(args: argparse.Namespace, words: Sequence[str]) -> TerraformRequest:
        """
        Raises:
            UsageError: what was given does not fit together.
        """
        if len(words) > 1:
            raise UsageError(f"one add-on at a time, and {len(words)} are named", "For all of the plan: name none.")
        beside = [flag for name, flag in _IN_THE_PLAN.items() if getattr(args, name)]
        if args.configuration_values is not None and "--configuration-values" not in beside:
            beside.append("--configuration-values")
        if beside:
            raise UsageError(
                f"{' and '.join(beside)} cannot be used with --tf-plan: the Terraform plan has the request to EKS",
                "Give the plan alone, or with the name of one of its add-ons.",
            )
        source = SourceOptions.from_args(args).choice
        refused_beside("--tf-plan", since_from(args))
        if args.tf_plan == "-" == source.snapshot:
            raise UsageError("--snapshot and --tf-plan both read standard input", "Give one of them as a file.")
        addon = words[0] if words else ""
        return TerraformRequest(GlobalOptions.from_args(args), source, addon, args.tf_plan, args.strict)

    @property
    def given(self) -> dict[str, object]:
        """By the names of the flags."""
        given: dict[str, object] = {"tf-plan": self.path}
        said = {"addon": self.addon, "strict": self.strict}
        return given | {name: value for name, value in said.items() if value}


def judge_plan(request: TerraformRequest, around: Surroundings) -> Answer:
    """
    Raises:
        EksdocError: the plan, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.addon_diff.read import NEEDS, judge_terraform
    from kubectl_eksdoc.cli import look as looks
    from kubectl_eksdoc.host.terraform.plan import read_terraform_plan
    from kubectl_eksdoc.render.addon.report import TerraformReport

    options = request.options
    TerraformReport.check(options.output)
    plan = read_terraform_plan(request.path)  # before anything is asked
    try:
        session = opening.opened(request, around, NEEDS)
        judgement = judge_terraform(plan, session, request.addon)
    except Forbidden as error:
        raise rights.explained(error, NAME) from error
    opening.told(session, options, around)
    name = session.believed.cluster.name
    report = TerraformReport(judgement, name, session.cluster, request.given, session.recognised)
    unsure = request.strict and is_unsure([each.plan for each in judgement.changes if each.plan], around)
    code = opening.code(judgement.every)
    return Answer(looks.answered(report, options, around), exits.UNKNOWN if unsure and code == exits.CLEAN else code)
