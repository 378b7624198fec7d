"""The answers of ``addon-diff`` besides the forecast: what a past update took, and what a Terraform plan would do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.addon_diff.read import HISTORIES, NEEDS, addon_names, judge_terraform, look_back_on, past_of
from kubectl_eksdoc.cli import exits, opening
from kubectl_eksdoc.cli.addon.forecast import is_unsure
from kubectl_eksdoc.cli.addon.request import NAME, OtherRequest
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import AwsDenied, AwsMissing
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.model.addons import AddonPast
from kubectl_eksdoc.render.addon.after import AfterReport
from kubectl_eksdoc.render.addon.report import TerraformReport
from kubectl_eksdoc.session.session import ClusterSession

# What the last update of an add-on took, and what is done about it.


def look_back(request: OtherRequest, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    options = request.options
    AfterReport.check(options.output)
    with opening.explaining(f"{NAME} --after"):
        session = opening.opened(request, around, replace(NEEDS, histories=HISTORIES))
        names = (request.addon,) if request.addon else addon_names(session)
        pasts = tuple(_pasts(session, names, request, around))
        found = tuple(look_back_on(session, past) for past in pasts)
    opening.told(session, options, around)
    kubectl = opening.for_kubectl(request, session)
    report = AfterReport(found, session.cluster, kubectl, options=request.given, recognised=session.recognised)
    code = opening.code((each for one in found for each in one.findings), request.accepted)
    if len(found) < len(names) and code == exits.CLEAN:
        code = exits.UNKNOWN  # an add-on that was left out is not known
    return opening.answer(report, options, around, code)


def _pasts(
    session: ClusterSession, names: Sequence[str], request: OtherRequest, around: CommandContext
) -> Iterator[AddonPast]:
    """Of one add-on, or of all: then what cannot be told of one is said, and takes no other with it."""
    for name in names:
        try:
            yield past_of(session, name, request.of)
        except (AwsDenied, AwsMissing) as error:
            if request.addon:
                raise
            around.note(f"note: {name} is left out: {error.message}")


# What the add-on changes of a Terraform plan would do, for a pipeline that can refuse them.


def judge_plan(request: OtherRequest, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: the command line, the plan, the cluster or AWS is at fault; the error says which.
    """
    options = request.options
    TerraformReport.check(options.output)
    plan = read_terraform_plan(request.of)  # before anything is asked
    with opening.explaining(NAME):
        session = opening.opened(request, around, NEEDS)
        judgement = judge_terraform(plan, session, request.addon)
    opening.told(session, options, around)
    name = session.believed.cluster.name
    report = TerraformReport(judgement, name, session.cluster, options=request.given, recognised=session.recognised)
    unsure = request.given.get("strict") and is_unsure([each.plan for each in judgement.changes if each.plan], around)
    code = opening.code(judgement.every, request.accepted)
    return CommandAnswer(
        opening.answered(report, options, around), exits.UNKNOWN if unsure and code == exits.CLEAN else code
    )
