"""An update of an add-on that this process sends, or follows again: its journal, its edges, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kubectl_eksdoc import __version__
from kubectl_eksdoc.addon_diff.read import PreparedAddonUpdate
from kubectl_eksdoc.addon_diff.run.expectations import ExpectedUpdate, Health, affected, from_doc, to_doc
from kubectl_eksdoc.addon_diff.run.outcome import asked_for
from kubectl_eksdoc.aws.eks import AddonUpdates, target_group, updates_of_addon
from kubectl_eksdoc.changes.addon_update import UPDATE, AddonUpdate, Following, Ports
from kubectl_eksdoc.changes.engine import World
from kubectl_eksdoc.cli import applying, exits, opening, rights
from kubectl_eksdoc.cli import options as since_options
from kubectl_eksdoc.cli.addon.request import NAME, AddonDiffRequest
from kubectl_eksdoc.cli.opening import ClusterOptions
from kubectl_eksdoc.cli.surroundings import CommandAnswer, CommandContext
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, Drifted, Forbidden, LocalJournalError, UsageError
from kubectl_eksdoc.host.journals import ChangeJournalFile
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate, UpdateCall, UpdateHistory
from kubectl_eksdoc.model.change_journal import SavedChange
from kubectl_eksdoc.model.knowledge import made, told_of
from kubectl_eksdoc.render.addon.update import as_json
from kubectl_eksdoc.render.addon_update.commands import Sent, WayBackText
from kubectl_eksdoc.render.addon_update.report import UpdateReport, head
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.session.session import ClusterSession
from kubectl_eksdoc.session.sources import SourceChoice
from kubectl_eksdoc.wiring.changes import pods_now

if TYPE_CHECKING:
    from kubectl_eksdoc.addon_diff.plan import AddonPlan, SchemaSince
    from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest
    from kubectl_eksdoc.model.aws.addons import AddonSide
    from kubectl_eksdoc.model.earlier import SavedResult
    from kubectl_eksdoc.session.session import ClusterSession


_VALUES = ".values-of-before.json"


def values_file(written: ChangeJournalFile) -> Path:
    """Where the values of the rollback stand, once something is sent."""
    return written.path_beside(_VALUES)


def call_of(ready: PreparedAddonUpdate, written: ChangeJournalFile) -> UpdateCall:
    """The values of the rollback are written beside the journal with it.

    Raises:
        JournalError: they cannot be written; nothing was sent.
    """
    if not isinstance(ready.back, Unknown):
        written.beside(_VALUES, as_json(ready.back.values) + "\n")
    facts, asked = ready.plan.facts, ready.sending.asked
    values = None if asked.values is None else as_json(asked.values)
    return UpdateCall(facts.addon.name, facts.target.version, asked.mode.value, values, f"eksdoc-{written.id}")


def begun(
    kind: str,
    update: AddonUpdate,
    call: UpdateCall,
    sent: Sent,
    changes: int,
    back: WayBackText | str,
    session: ClusterSession,
    written: ChangeJournalFile,
    around: CommandContext,
    **more: object,
) -> Doc:
    """The first line of the journal. Values as they are stand in the file of the rollback alone."""
    told = told_of(replace(sent, values=printed(sent.values)))
    rest = {"sent": told, "changes": changes, "wayBack": told_of(back)}
    expected, health = to_doc(update.following.expected, call.token), told_of(update.health)
    return applying.begun(
        kind, head(sent), written.id, session, around, **rest, expected=expected, health=health, **more
    )


@contextmanager
def edges(
    request: ClusterOptions,
    watch_s: float,
    session: ClusterSession,
    expected: ExpectedUpdate,
    written: ChangeJournalFile,
    around: CommandContext,
) -> Iterator[tuple[Following, Ports, World]]:
    """What is followed, and by which edges."""
    ports = Ports(
        AddonUpdates(session.believed, expected.addon),
        session.objects_now,
        lambda: pods_now(lambda: around.open_reader(request.source, request.options.connection, None)),
        lambda arn: session.require(target_group, arn),
    )
    with applying.world(written, watch_s, around) as world:
        yield Following(expected, affected(expected.addon, session.cluster)), ports, world


# An update that was sent before.


@contextmanager
def again(
    request: ClusterOptions, watch_s: float, saved: SavedChange, session: ClusterSession, around: CommandContext
) -> Iterator[tuple[AddonUpdate, World]]:
    """
    Raises:
        LocalJournalError: its journal cannot be understood, or it was never sent.
    """
    past = saved.past
    try:
        expected = from_doc(saved.begun["expected"])
        health = {arn: made(Health, each) for arn, each in saved.begun.get("health", {}).items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LocalJournalError(f"the journal of update {saved.id} cannot be understood: {error!r}") from error
    if UPDATE not in past.tried:
        raise LocalJournalError(
            f"update {saved.id} was not started: nothing was sent, and nothing was changed", "Start a new one."
        )
    ident = str(past.answer(UPDATE, "update") or "") or _found_again(saved, expected.addon, session)
    with edges(request, watch_s, session, expected, applying.journal(saved.id, around), around) as found:
        following, ports, world = found
        yield AddonUpdate(ident, following, ports, world, health), world


def _found_again(saved: SavedChange, addon: str, session: ClusterSession) -> str:
    """By EKS's list: the process ended, or the network did, before the answer was written down."""
    history = session.require(updates_of_addon, addon)
    listed = history.updates if isinstance(history, UpdateHistory) else ()
    at = datetime.fromisoformat(saved.text("at").replace("Z", "+00:00"))
    found = asked_for(listed, saved.text("sent", "target"), saved.text("sent", "mode"), at)
    if isinstance(found, EksAddonUpdate):
        return found.id
    why = getattr(history, "why", getattr(history, "said", found.why))
    raise LocalJournalError(
        f"update {saved.id} was written down, and whether EKS took it is not known: {why}",
        "Look for it yourself: aws eks list-updates, and aws eks describe-update.",
    )


def check_addon(saved: SavedChange, addon: str) -> None:
    """Raises Drifted: it is of another add-on."""
    of = saved.text("sent", "addon")
    if of != addon:
        arn = saved.text("cluster", "arn")
        raise Drifted(f"update {saved.id} is of {of} in {arn}", "Name that add-on, and its context.")


def sent_before(saved: SavedChange) -> tuple[Sent, WayBackText | str]:
    """What was sent, and its rollback, or why there is none."""
    back = saved.begun.get("wayBack", "")
    return made(Sent, saved.begun["sent"]), back if isinstance(back, str) else made(WayBackText, back)


def undoing(saved: SavedChange, around: CommandContext) -> tuple[str, str, str]:
    """The add-on, its version and the file with its values before the update.

    Raises:
        LocalJournalError: nothing was sent, or the values are not known.
    """
    path = values_file(applying.journal(saved.id, around))
    if UPDATE not in saved.past.tried:
        raise LocalJournalError(f"update {saved.id} was not started: there is nothing to revert")
    if not path.exists():
        why = saved.text("wayBack") or f"{path} is not there"
        raise LocalJournalError(f"update {saved.id} cannot be reverted: {why}", "Update the add-on by hand.")
    sent, back = sent_before(saved)
    if not isinstance(back, str) and back.by_hand:
        around.note(f"to be set by hand afterwards, as no value of that version sets them: {', '.join(back.by_hand)}")
    return sent.addon, sent.before, str(path)


def with_run(report: UpdateReport, written: ChangeJournalFile) -> UpdateReport:
    return replace(report, run=written.id, journal=str(written.path))


# What the update of an add-on will change.


@dataclass(frozen=True, slots=True)
class _Answered:
    """`sides` are AWS's of each of `plans`. `left_out`: some add-on could not be told."""

    session: ClusterSession
    sides: tuple[AddonSide, ...]
    plans: tuple[AddonPlan, ...]
    left_out: bool


def forecast(request: AddonDiffRequest, around: CommandContext) -> CommandAnswer:
    """
    Raises:
        EksdocError: a file, the cluster or AWS is at fault; the error says which.
    """
    # Imported late: help and errors of usage must not pay for what only an answer needs.
    from kubectl_eksdoc.addon_diff.plan import against
    from kubectl_eksdoc.cli import opening as looks
    from kubectl_eksdoc.render.addon.report import AddonReport

    options = request.options
    AddonReport.check(options.output)
    asked = _asked(request, around)
    before = _earlier(request, asked, around)
    try:
        found = answered(request, asked, around, around.note)
        session, plans = found.session, found.plans
        steps = _all_steps(found) if request.each_step else {}
        since = _since(session, plans, found.sides) if request.since_when else {}
    except Forbidden as error:
        raise rights.explained(error, NAME) from error
    opening.told(session, options, around)
    since_options.told(before, around)
    whole = not request.addon and not found.left_out
    beside = against(before, session.cluster, plans, request.given, whole) if before is not None else None
    known = session.recognised
    report = AddonReport(plans, session.cluster, request.given, known, steps=steps, since=since, beside=beside)
    left_out = found.left_out or (request.strict and is_unsure(plans, around))
    return CommandAnswer(looks.answered(report, options, around), code(plans, left_out))


def answered(
    request: AddonDiffRequest, asked: AddonUpdateRequest, around: CommandContext, note: Callable[[str], object]
) -> _Answered:
    """`note` is told which add-on is left out, and why.

    Raises:
        EksdocError: the cluster or AWS is at fault; the error says which.
    """
    from kubectl_eksdoc.addon_diff.explaining import explained
    from kubectl_eksdoc.addon_diff.read import NEEDS, addon_names, plan_addon

    named = asked.manifest.names if asked.manifest is not None else ()
    session = opening.opened(request, around, replace(NEEDS, objects=(*NEEDS.objects, *named)))
    names = (request.addon,) if request.addon else addon_names(session)
    sides = tuple(_sides(session, names, request, note))
    plans = tuple(plan_addon(session, side, asked) for side in sides)
    plans = tuple(explained(plan, request.conflict) for plan in plans) if request.conflict else plans
    return _Answered(session, sides, plans, len(sides) < len(names))


def _sides(
    session: ClusterSession, names: Sequence[str], request: AddonDiffRequest, note: Callable[[str], object]
) -> Iterator[AddonSide]:
    """Of one add-on, or of all: then what cannot be told of one is noted, and takes no other with it."""
    from kubectl_eksdoc.addon_diff.read import side_of

    for name in names:
        try:
            yield side_of(session, name, request.to)
        except (AwsDenied, AwsMissing, UsageError) as error:
            if request.addon:
                raise
            note(f"note: {name} is left out: {error.message}")


def _earlier(request: AddonDiffRequest, asked: AddonUpdateRequest, around: CommandContext) -> SavedResult | None:
    """What --since names: an answer that was saved, or the same one of what was read earlier; None without it.

    Raises:
        BaselineError: it is neither.
    """
    from kubectl_eksdoc.addon_diff.plan import as_earlier
    from kubectl_eksdoc.baseline.side import SnapshotOrigin
    from kubectl_eksdoc.model.baseline import ADDON_DIFF

    def made(source: SourceChoice) -> SavedResult:
        # Which add-ons it leaves out is told by the comparison: nobody looked at them then.
        then = answered(replace(request, source=source), asked, around, lambda _: None)
        return as_earlier(SnapshotOrigin(request.earlier, __version__, request.given), then.session.cluster, then.plans)

    return since_options.earlier(request.earlier, ADDON_DIFF, NAME, around, made)


def _all_steps(found: _Answered) -> dict[str, tuple[AddonPlan, ...]]:
    """By the names of the add-ons."""
    pairs = zip(found.plans, found.sides, strict=True)
    return {side.addon.name: _steps(found.session, plan, side) for plan, side in pairs}


def _steps(session: ClusterSession, plan: AddonPlan, side: AddonSide) -> tuple[AddonPlan, ...]:
    """None for an add-on that may go there at once. Of the target all is known already."""
    from kubectl_eksdoc.addon_diff.read import plan_steps, versions_of

    between = plan.facts.steps[:-1]
    return plan_steps(plan, (*versions_of(session, side.addon.name, between), side.target)) if between else ()


def _since(
    session: ClusterSession, plans: Sequence[AddonPlan], sides: Sequence[AddonSide]
) -> dict[str, tuple[SchemaSince, ...]]:
    from kubectl_eksdoc.addon_diff.read import first_owned, versions_of

    names = [(plan, side.addon.name, side.between) for plan, side in zip(plans, sides, strict=True)]
    return {name: first_owned(plan, between, partial(versions_of, session, name)) for plan, name, between in names}


def _asked(request: AddonDiffRequest, around: CommandContext) -> AddonUpdateRequest:
    from kubectl_eksdoc.addon_diff.manifests import known_of
    from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Mode

    values = None if request.values is None else around.read_values(request.values)
    path, flag = request.manifest or request.chart, "--manifest" if request.manifest else "--chart"
    if not path:
        return AddonUpdateRequest(Mode(request.mode), values)
    manifest = known_of("", around.read_manifest(path, flag))
    if not manifest.objects:
        raise UsageError(
            f"{flag} {path} holds no objects with a kind and a name",
            "Give what helm template prints of the add-on's chart, or its published manifest.",
        )
    return AddonUpdateRequest(Mode(request.mode), values, manifest)


def code(plans: Sequence[AddonPlan], left_out: bool = False) -> int:
    """An add-on that was left out is not known."""
    found = opening.code(each for plan in plans for each in plan.findings)
    return exits.UNKNOWN if left_out and found == exits.CLEAN else found


def is_unsure(plans: Sequence[AddonPlan], around: CommandContext) -> bool:
    """For --strict: what becomes of a field at risk is not certain, which is said."""
    unsure = [change for plan in plans for change in plan.unsure]
    if unsure:
        around.note(f"note: --strict: the effect on {counted(len(unsure), 'field')} is not certain (SURE)")
    return bool(unsure)
