"""Answers of ``addon-diff`` without --apply: planned updates, past updates, and Terraform plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kubectl_eksdoc import __version__
from kubectl_eksdoc.baseline.side import SnapshotOrigin
from kubectl_eksdoc.cli import answers, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, read_manifest, read_values
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.api_objects import ADDON_DIFF
from kubectl_eksdoc.model.baseline import SavedResult
from kubectl_eksdoc.model.findings import for_target
from kubectl_eksdoc.report.text import pluralize
from kubectl_eksdoc.session.session import ClusterSession

from ..manifests import manifest_from_documents, objects_of
from ..plan import AddonPlan, as_saved_result, compare_with_earlier, explain_conflict
from ..prediction import AddonUpdateRequest, Mode
from ..read import (
    HISTORIES,
    NEEDS,
    addon_names,
    judge_terraform,
    plan_addon_update,
    plan_steps,
    read_addon,
    read_first_schema_versions,
    read_past_update,
    read_versions,
    review_update,
)
from ..report.after import AfterReport
from ..report.diff import AddonReport, TerraformReport
from .request import NAME, AddonDiffRequest, PastOrPlanRequest

_Read = TypeVar("_Read")


@frozen
class _PlannedUpdates:
    """`sides` are the AWS facts of each of `plans`. `has_left_out`: an add-on could not be read."""

    session: ClusterSession
    sides: tuple[AddonUpdateFacts, ...]
    plans: tuple[AddonPlan, ...]
    has_left_out: bool


def plan_updates(request: AddonDiffRequest, context: CommandContext) -> CommandAnswer:
    """Plan the updates of the requested add-ons.

    Raises:
        EksdocError: a file, the cluster or AWS is at fault; the error says which.
    """
    AddonReport.check_format(context.options.output)
    update_request = _read_request(request)

    def read_earlier(context: CommandContext) -> SavedResult:
        # The comparison reports the add-ons that the earlier result left out.
        earlier_plans = plan_all(request, update_request, context, lambda _: None)
        return as_saved_result(
            SnapshotOrigin(request.earlier, __version__, request.options),
            earlier_plans.session.cluster,
            earlier_plans.plans,
        )

    earlier = options.earlier_result(request.earlier, ADDON_DIFF, NAME, read_earlier, context)
    with answers.explain_forbidden(NAME):
        planned = plan_all(request, update_request, context, context.note)
        session, plans = planned.session, planned.plans
        addons = [(plan, side.addon.name, side) for plan, side in zip(plans, planned.sides, strict=True)]
        steps = {name: _plan_steps(session, plan, side) for plan, name, side in addons if request.each_step}
        since = {
            name: read_first_schema_versions(plan, side.between, partial(read_versions, session, name))
            for plan, name, side in addons
            if request.since_when
        }
    answers.note_session(session, context)
    options.note_comparison(earlier, context)
    is_complete = not request.addon and not planned.has_left_out
    comparison = (
        compare_with_earlier(earlier, session.cluster, plans, request.options, is_complete)
        if earlier is not None
        else None
    )
    recognised = session.recognised
    report = AddonReport(
        plans,
        session.cluster,
        options=request.options,
        recognised=recognised,
        steps=steps,
        since=since,
        comparison=comparison,
    )
    is_incomplete = planned.has_left_out or (request.strict and note_uncertain_changes(plans, context))
    return answers.report_answer(report, context, exit_code(plans, request.accepted, is_incomplete))


def plan_all(
    request: AddonDiffRequest,
    update_request: AddonUpdateRequest,
    context: CommandContext,
    note: Callable[[str], object],
) -> _PlannedUpdates:
    """Read and plan the requested add-ons. `note` receives a line for each add-on that is left out.

    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    manifest_objects = update_request.manifest.names if update_request.manifest is not None else ()
    session = answers.open_session(context, replace(NEEDS, objects=(*NEEDS.objects, *manifest_objects)))
    names = (request.addon,) if request.addon else addon_names(session)
    sides = tuple(_read_each(names, request.addon, lambda name: read_addon(session, name, request.to), note))
    plans = tuple(plan_addon_update(session, side, update_request) for side in sides)
    plans = (
        tuple(explain_conflict(plan, request.conflict_fields) for plan in plans) if request.conflict_fields else plans
    )
    reach = answers.command_target(context, session)
    plans = tuple(replace(plan, findings=tuple(for_target(each, reach) for each in plan.findings)) for plan in plans)
    return _PlannedUpdates(session, sides, plans, len(sides) < len(names))


def _read_each(
    names: Sequence[str], only_addon: str, read: Callable[[str], _Read], note: Callable[[str], object]
) -> Iterator[_Read]:
    """Read the only add-on `only_addon`, or all: then an add-on that cannot be read is noted, and the others
    continue."""
    for name in names:
        try:
            yield read(name)
        except (AwsDenied, AwsMissing, UsageError) as error:
            if only_addon:
                raise
            note(f"note: {name} is left out: {error.message}")


def _plan_steps(session: ClusterSession, plan: AddonPlan, side: AddonUpdateFacts) -> tuple[AddonPlan, ...]:
    """None for an add-on that can be updated in one step. The facts of the target are known already."""
    between = plan.facts.steps[:-1]
    return plan_steps(plan, (*read_versions(session, side.addon.name, between), side.target)) if between else ()


def _read_request(request: AddonDiffRequest) -> AddonUpdateRequest:

    values = None if request.values is None else read_values(request.values)
    path, flag = request.manifest or request.chart, "--manifest" if request.manifest else "--chart"
    if not path:
        return AddonUpdateRequest(Mode(request.mode), values)
    manifest = manifest_from_documents("", read_manifest(path, flag))
    if not manifest.objects:
        raise UsageError(
            f"{flag} {path} holds no objects with a kind and a name",
            "Give what helm template prints of the add-on's chart, or its published manifest.",
        )
    known_objects = objects_of(request.addon)
    manifest_keys = {(each.kind, each.name) for each in manifest.names}
    if (
        known_objects
        and request.manifest
        and manifest_keys.isdisjoint((each.kind, each.name) for each in known_objects)
    ):
        raise UsageError(
            f"{flag} {path} holds no object of {request.addon}",
            f"Give the one that has {known_objects[0]}.",
        )
    for each in manifest.names:
        if each.kind in _KINDS_WITH_SELECTOR and not any(path[:2] == _SELECTOR for path in manifest.fields_of(each)):
            problem = f"{flag} {path} holds a part of {each} alone: it has no spec.selector"
            raise UsageError(problem, "What the rest of it changes is not known. Give all that helm template prints.")
    return AddonUpdateRequest(Mode(request.mode), values, manifest)


_KINDS_WITH_SELECTOR = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
"""Kinds that the API server accepts only with a selector."""
_SELECTOR = ("f:spec", "f:selector")


def exit_code(plans: Sequence[AddonPlan], accepted: Sequence[str], has_left_out: bool = False) -> int:
    """`accepted`: codes of findings that may be unknown; an add-on that was left out is unknown."""
    findings_code = answers.exit_code_of_findings((each for plan in plans for each in plan.findings), accepted)
    return streams.UNKNOWN if has_left_out and findings_code == streams.CLEAN else findings_code


def note_uncertain_changes(plans: Sequence[AddonPlan], context: CommandContext) -> bool:
    """For --strict: note how many fields at risk have an uncertain prediction, and whether there are any."""
    uncertain = [change for plan in plans for change in plan.uncertain_changes]
    if uncertain:
        context.note(f"note: --strict: the effect on {pluralize(len(uncertain), 'field')} is not certain (SURE)")
    return bool(uncertain)


# The losses of past updates, and the commands that restore them.


def review_past_updates(request: PastOrPlanRequest, context: CommandContext) -> CommandAnswer:
    """Review the past updates.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    AfterReport.check_format(context.options.output)
    with answers.explain_forbidden(f"{NAME} --after"):
        session = answers.open_session(context, replace(NEEDS, histories=HISTORIES))
        names = (request.addon,) if request.addon else addon_names(session)
        past_updates = tuple(
            _read_each(
                names, request.addon, lambda name: read_past_update(session, name, request.subject), context.note
            )
        )
        reviews = tuple(review_update(session, past) for past in past_updates)
    answers.note_session(session, context)
    kubectl = answers.kubectl_flags(context, session)
    report = AfterReport(reviews, session.cluster, kubectl, options=request.options, recognised=session.recognised)
    code = answers.exit_code_of_findings((each for review in reviews for each in review.findings), request.accepted)
    if len(reviews) < len(names) and code == streams.CLEAN:
        code = streams.UNKNOWN  # an add-on that was left out is unknown
    return answers.report_answer(report, context, code)


# Effects of a Terraform plan's add-on changes, for a pipeline that can refuse them.


def judge_terraform_plan(request: PastOrPlanRequest, context: CommandContext) -> CommandAnswer:
    """Judge the add-on changes of a Terraform plan.

    Raises:
        EksdocError: the command line, the plan, the cluster or AWS is at fault; the error says which.
    """
    TerraformReport.check_format(context.options.output)
    plan = read_terraform_plan(request.subject)  # before any request to AWS
    with answers.explain_forbidden(NAME):
        session = answers.open_session(context, NEEDS)
        judgement = judge_terraform(plan, session, request.addon)
    answers.note_session(session, context)
    name = session.verified_aws.cluster.name
    report = TerraformReport(judgement, name, session.cluster, options=request.options, recognised=session.recognised)
    is_uncertain = request.options.get("strict") and note_uncertain_changes(
        [each.plan for each in judgement.changes if each.plan], context
    )
    code = answers.exit_code_of_findings(judgement.all_findings, request.accepted)
    return CommandAnswer(
        answers.render_report(report, context), streams.UNKNOWN if is_uncertain and code == streams.CLEAN else code
    )
