"""Answers of ``addon-diff`` without --apply: planned updates, past updates, and Terraform plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from kubectl_eksdoc import __version__
from kubectl_eksdoc.baseline.side import SnapshotOrigin
from kubectl_eksdoc.cli import opening, options, streams
from kubectl_eksdoc.cli.context import CommandAnswer, CommandContext, read_manifest, read_values
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.api_objects import ADDON_DIFF
from kubectl_eksdoc.model.baseline import SavedResult
from kubectl_eksdoc.model.findings import reached
from kubectl_eksdoc.report.text import counted
from kubectl_eksdoc.session.session import ClusterSession

from ..manifests import known_of, objects_of
from ..plan import AddonPlan, against, as_earlier, explained
from ..prediction import AddonUpdateRequest, Mode
from ..read import (
    HISTORIES,
    NEEDS,
    addon_names,
    first_owned,
    judge_terraform,
    look_back_on,
    past_of,
    plan_addon,
    plan_steps,
    side_of,
    versions_of,
)
from ..report.after import AfterReport
from ..report.diff import AddonReport, TerraformReport
from .request import NAME, AddonDiffRequest, OtherRequest

_Read = TypeVar("_Read")


@frozen
class _Answered:
    """`sides` are the AWS facts of each of `plans`. `has_left_out`: an add-on could not be read."""

    session: ClusterSession
    sides: tuple[AddonSide, ...]
    plans: tuple[AddonPlan, ...]
    left_out: bool


def forecast(request: AddonDiffRequest, around: CommandContext) -> CommandAnswer:
    """Plan the updates of the requested add-ons.

    Raises:
        EksdocError: a file, the cluster or AWS is at fault; the error says which.
    """
    AddonReport.check(around.options.output)
    asked = _asked(request)

    def made(around: CommandContext) -> SavedResult:
        # The comparison reports the add-ons that the earlier result left out.
        then = answered(request, asked, around, lambda _: None)
        return as_earlier(SnapshotOrigin(request.earlier, __version__, request.given), then.session.cluster, then.plans)

    before = options.earlier(request.earlier, ADDON_DIFF, NAME, made, around)
    with opening.explaining(NAME):
        found = answered(request, asked, around, around.note)
        session, plans = found.session, found.plans
        of_each = [(plan, side.addon.name, side) for plan, side in zip(plans, found.sides, strict=True)]
        steps = {name: _steps(session, plan, side) for plan, name, side in of_each if request.each_step}
        since = {
            name: first_owned(plan, side.between, partial(versions_of, session, name))
            for plan, name, side in of_each
            if request.since_when
        }
    opening.told(session, around)
    options.told(before, around)
    whole = not request.addon and not found.left_out
    beside = against(before, session.cluster, plans, request.given, whole) if before is not None else None
    known = session.recognised
    report = AddonReport(
        plans, session.cluster, options=request.given, recognised=known, steps=steps, since=since, beside=beside
    )
    left_out = found.left_out or (request.strict and is_unsure(plans, around))
    return opening.answer(report, around, code(plans, request.accepted, left_out))


def answered(
    request: AddonDiffRequest, asked: AddonUpdateRequest, around: CommandContext, note: Callable[[str], object]
) -> _Answered:
    """Read and plan the requested add-ons. `note` receives a line for each add-on that is left out.

    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    named = asked.manifest.names if asked.manifest is not None else ()
    session = opening.opened(around, replace(NEEDS, objects=(*NEEDS.objects, *named)))
    names = (request.addon,) if request.addon else addon_names(session)
    sides = tuple(_of_each(names, request.addon, lambda name: side_of(session, name, request.to), note))
    plans = tuple(plan_addon(session, side, asked) for side in sides)
    plans = tuple(explained(plan, request.conflict) for plan in plans) if request.conflict else plans
    reach = opening.reach(around, session)
    plans = tuple(replace(plan, findings=tuple(reached(each, reach) for each in plan.findings)) for plan in plans)
    return _Answered(session, sides, plans, len(sides) < len(names))


def _of_each(
    names: Sequence[str], alone: str, read: Callable[[str], _Read], note: Callable[[str], object]
) -> Iterator[_Read]:
    """Read the only add-on `only_addon`, or all: then an add-on that cannot be read is noted, and the others
    continue."""
    for name in names:
        try:
            yield read(name)
        except (AwsDenied, AwsMissing, UsageError) as error:
            if alone:
                raise
            note(f"note: {name} is left out: {error.message}")


def _steps(session: ClusterSession, plan: AddonPlan, side: AddonSide) -> tuple[AddonPlan, ...]:
    """None for an add-on that can be updated in one step. The facts of the target are known already."""
    between = plan.facts.steps[:-1]
    return plan_steps(plan, (*versions_of(session, side.addon.name, between), side.target)) if between else ()


def _asked(request: AddonDiffRequest) -> AddonUpdateRequest:

    values = None if request.values is None else read_values(request.values)
    path, flag = request.manifest or request.chart, "--manifest" if request.manifest else "--chart"
    if not path:
        return AddonUpdateRequest(Mode(request.mode), values)
    manifest = known_of("", read_manifest(path, flag))
    if not manifest.objects:
        raise UsageError(
            f"{flag} {path} holds no objects with a kind and a name",
            "Give what helm template prints of the add-on's chart, or its published manifest.",
        )
    known = objects_of(request.addon)
    given = {(each.kind, each.name) for each in manifest.names}
    if known and request.manifest and given.isdisjoint((each.kind, each.name) for each in known):
        raise UsageError(
            f"{flag} {path} holds no object of {request.addon}",
            f"Give the one that has {known[0]}.",
        )
    for each in manifest.names:
        if each.kind in _SELECTING and not any(path[:2] == _SELECTOR for path in manifest.of(each)):
            why = f"{flag} {path} holds a part of {each} alone: it has no spec.selector"
            raise UsageError(why, "What the rest of it changes is not known. Give all that helm template prints.")
    return AddonUpdateRequest(Mode(request.mode), values, manifest)


_SELECTING = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
"""Kinds that the API server accepts only with a selector."""
_SELECTOR = ("f:spec", "f:selector")


def code(plans: Sequence[AddonPlan], accepted: Sequence[str], left_out: bool = False) -> int:
    """`accepted`: codes of findings that may be unknown; an add-on that was left out is unknown."""
    found = opening.code((each for plan in plans for each in plan.findings), accepted)
    return streams.UNKNOWN if left_out and found == streams.CLEAN else found


def is_unsure(plans: Sequence[AddonPlan], around: CommandContext) -> bool:
    """For --strict: note how many fields at risk have an uncertain prediction, and whether there are any."""
    unsure = [change for plan in plans for change in plan.unsure]
    if unsure:
        around.note(f"note: --strict: the effect on {counted(len(unsure), 'field')} is not certain (SURE)")
    return bool(unsure)


# The losses of past updates, and the commands that restore them.


def look_back(request: OtherRequest, around: CommandContext) -> CommandAnswer:
    """Review the past updates.

    Raises:
        EksdocError: the command line, the cluster or AWS is at fault; the error says which.
    """
    AfterReport.check(around.options.output)
    with opening.explaining(f"{NAME} --after"):
        session = opening.opened(around, replace(NEEDS, histories=HISTORIES))
        names = (request.addon,) if request.addon else addon_names(session)
        pasts = tuple(_of_each(names, request.addon, lambda name: past_of(session, name, request.of), around.note))
        found = tuple(look_back_on(session, past) for past in pasts)
    opening.told(session, around)
    kubectl = opening.for_kubectl(around, session)
    report = AfterReport(found, session.cluster, kubectl, options=request.given, recognised=session.recognised)
    code = opening.code((each for one in found for each in one.findings), request.accepted)
    if len(found) < len(names) and code == streams.CLEAN:
        code = streams.UNKNOWN  # an add-on that was left out is unknown
    return opening.answer(report, around, code)


# Effects of a Terraform plan's add-on changes, for a pipeline that can refuse them.


def judge_plan(request: OtherRequest, around: CommandContext) -> CommandAnswer:
    """Judge the add-on changes of a Terraform plan.

    Raises:
        EksdocError: the command line, the plan, the cluster or AWS is at fault; the error says which.
    """
    TerraformReport.check(around.options.output)
    plan = read_terraform_plan(request.of)  # before any request to AWS
    with opening.explaining(NAME):
        session = opening.opened(around, NEEDS)
        judgement = judge_terraform(plan, session, request.addon)
    opening.told(session, around)
    name = session.believed.cluster.name
    report = TerraformReport(judgement, name, session.cluster, options=request.given, recognised=session.recognised)
    unsure = request.given.get("strict") and is_unsure([each.plan for each in judgement.changes if each.plan], around)
    code = opening.code(judgement.every, request.accepted)
    return CommandAnswer(
        opening.answered(report, around), streams.UNKNOWN if unsure and code == streams.CLEAN else code
    )
