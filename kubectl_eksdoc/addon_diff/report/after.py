"""What past updates of add-ons have taken, the patch for now, the values for later, and pods to recreate. A wide page
has all that changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory, shown
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.kinds import Absent, Confidence, Unknown
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.report import (
    CommandReport,
    Findings,
    Foot,
    Head,
    Line,
    Lines,
    Section,
    Table,
    as_it_is,
    flush,
)
from kubectl_eksdoc.report.result import (
    UNSET,
    Count,
    FindingResult,
    Moment,
    ObjectResult,
    Positive,
    Printed,
    Text,
    Texts,
    UnsetType,
)
from kubectl_eksdoc.report.text import (
    Cell,
    Column,
    Drawn,
    Row,
    Title,
    Tone,
    columns_of,
    counted,
    name_column,
    rfc3339,
    text_column,
)

from ..after_causes import Cause
from ..after_facts import (
    ChangedField,
    Recreating,
    State,
    Templated,
    UnrecordedFields,
    UpdateReview,
)
from ..fields import MISSING, value_of
from ..revisions import TemplateUpdateStep, UnknownRevision
from . import update as commands
from .update import BLANK, named, of_terraform

# A past update in sentences, and what is done about it as commands.


def verdict(found: UpdateReview) -> str:
    """``vpc-cni: the update of 2026-10-17T08:11:00Z to v1.19.5-eksbuild.1 with OVERWRITE took 1 field …``."""
    name, update = found.facts.now.addon.name, found.facts.update
    if isinstance(update, Unknown):
        return f"{name}: it is not known how it was updated"
    if isinstance(update, Absent):
        return f"{name}: EKS tells of no update of it"
    missed = sum(len(each.missed) for each in found.earlier)
    before = f"; {counted(missed, 'field')} that an earlier one took {_is(missed)} not back" if missed else ""
    version, mode = update.parameter("AddonVersion"), update.parameter("ResolveConflicts")
    when = f" of {rfc3339(update.begun)}" if update.begun is not None else ""
    to = f" to {version}" if version else ""
    return f"{name}: the update{when}{to} with {mode or 'NONE, as none was named,'} {_did(found)}{before}"


def _did(found: UpdateReview) -> str:
    lost, missed = found.lost, [change for change in found.lost if change.missed]
    unknown = any(each.status is Status.UNKNOWN for each in found.findings)
    if lost:
        took = f"took {counted(len(lost), 'field')} that another client had set"
        if not missed:
            return f"{took}; {'it was' if len(lost) == 1 else 'all of them were'} set again since"
        return took if len(missed) == len(lost) else f"{took}; {len(missed)} of them {_is(len(missed))} not back"
    took = "reset nothing that is known to be set by another client"
    return f"{took}, but not all of it is known" if unknown else took


def _is(many: int) -> str:
    return "is" if many == 1 else "are"


def _about(found: UpdateReview) -> Iterator[str]:
    """What else is to be known of the update, in sentences."""
    update, history = found.facts.update, found.facts.history
    if not isinstance(update, EksAddonUpdate):
        return
    known = history.updates if isinstance(history, UpdateHistory) else ()
    updates = (each for each in known if isinstance(each, EksAddonUpdate))
    later = [each for each in updates if update.begun and each.begun and each.begun > update.begun]
    said = f"Update {update.id}: {update.status}"
    yield said + (f"; {'; '.join(f'{each.code}: {each.message}' for each in update.errors)}" if update.errors else ".")
    if later:
        yield f"{counted(len(later), 'update')} came after it."
    if isinstance(history, UpdateHistory) and history.unseen:
        yield f"EKS lists {counted(history.unseen, 'update')} more, which were not checked."
    yield from map(_step, found.templated)


def _step(each: Templated) -> str:
    step = each.step
    if isinstance(step, TemplateUpdateStep):
        sure = f"{step.why}; confidence: {step.sure.value}"
        return f"{each.of}: its pod template went from revision {step.before.number} to {step.after.number} ({sure})."
    if isinstance(step, UnknownRevision):
        return f"{each.of}: the result for its pod template is unknown: {step.why}."
    return f"{each.of}: its pod template stayed as it was: {step.why}."


def _rolls(each: Templated) -> str:
    """What the patch does to the pods of the object, a sentence; "" where that is not known."""
    rollout = each.rollout
    if rollout is None:
        return ""
    if rollout.waits:
        return "Its pods are replaced only when each of them is deleted (updateStrategy OnDelete)."
    pods = "its pods" if rollout.pods is None else f"its {counted(rollout.pods, 'pod')}"
    on = ", one on each node" if each.of.kind == "DaemonSet" else ""
    return f"It replaces {pods}{on}, {rollout.at_a_time} at a time: none of them has to be deleted."


_OWNER = (
    "The client that sends it then owns these fields: the next update with OVERWRITE takes them "
    "again, unless the configuration values hold them."
)


def _to_recreate(rule: Recreating) -> str:
    """``DISABLE_TCP_EARLY_DEMUX (init): none; …``."""
    of = named(rule.field)
    if isinstance(rule.pods, Unknown):
        return f"{of}: not known: {rule.pods.why}."
    which = ", ".join(rule.pods) if rule.pods else "none"
    return f"{of}: {which}; {rule.says} ({rule.source}; confidence: {rule.sure.value})."


@frozen
class AfterReport(CommandReport):
    """`found` by the names of the add-ons; `kubectl`: the words by which it reaches the cluster that was read."""

    of = "an add-on's past update"

    found: tuple[UpdateReview, ...]
    cluster: Cluster
    kubectl: tuple[str, ...] = ()

    def sections(self, full: bool) -> Iterator[Section]:
        for found in self.found:
            yield Head(verdict(found), tuple(_about(found)))
            changed = (change for each in found.templated for change in each.changes)
            seen = (change for change in changed if full or change.because.cause in _CAUSES)
            yield Table(
                Title("What the update changed" if full else "What the update took"), _changed(seen, full), "fields"
            )
            yield Findings(found.findings, named=False)
            for each in found.templated:
                command = commands.patch_command(each, self.kubectl)
                if command:
                    said = (flush(text) for text in (_rolls(each), _OWNER) if text)
                    title = Title("Now", ": the patch that gives it back, and changes nothing else")
                    yield Lines(title, [as_it_is(command), BLANK, *said])
            yield Lines(Title("Later", ": configuration values that keep it"), list(_kept(found, full)))
            yield Lines("Pods to recreate", list(map(_to_recreate, found.recreating)))
        yield Foot("With evidence, and what the version itself changed: -o wide; for a program: -o json")

    def result(self) -> object:
        return AftermathResult.filled(
            self,
            addons=(_addon(found, self.kubectl) for found in self.found),
            findings=(each for found in self.found for each in found.findings),
        )


_CAUSES = {Cause.LOST: Tone.BAD, Cause.UNKNOWN: Tone.UNKNOWN}
_STATES = {
    State.GONE: Cell("not back", Tone.BAD),
    State.BACK: Cell("back", Tone.GOOD),
    State.OTHER: Cell("otherwise", Tone.WARN),
}


def _changed(changed: Iterable[ChangedField], full: bool) -> Drawn:
    columns = columns_of(
        name_column("FIELD", 24),
        text_column("BEFORE", 8),
        text_column("AFTER", 8),
        text_column("NOW", 8),
        text_column("SET BY", 8, drop=2),
        text_column("STATE", 4),
        Column("SURE", drop=1),
        *(["WHY"] if full else []),
    )
    rows: list[Row] = []
    for change in changed:
        values = (change.field.printed(value) for value in (change.before, change.after, change.live))
        cause, why, sure = change.because.cause, change.because.why, change.because.sure
        rows.append(
            [
                named(change.field),
                # In full where there is room, but for texts of several lines.
                *(f'"{v}"' if full and isinstance(v, str) and "\n" not in v else value_of(v) for v in values),
                ", ".join(change.owners) or "nobody",
                _STATES[change.state] if change.lost else Cell(cause.value, _CAUSES.get(cause)),
                sure.value,
                *([why] if full else []),
            ]
        )
    return columns, rows


def _kept(found: UpdateReview, full: bool) -> Iterator[Line]:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return
    lost = {change.field for change in found.lost}
    kept = [change for change in way.keeps if change.field in lost]
    if not way.usable or not kept:
        yield flush("No configuration values that are known here keep what was lost.")
        return
    yield as_it_is(commands.update_addon(plan, way))
    yield BLANK
    more = len(way.keeps) - len(kept)
    text = f"They keep {counted(len(kept), 'field')} that the update took"
    text += f", and {more} more that the next one would take." if more else "."
    if any(change.missed for change in found.lost):
        text += " Set now, they restore it without a patch, as soon as EKS applies them."
    yield flush(text)
    yield from of_terraform(plan, way) if full else ()


# Past updates as ``-o json`` and ``-o yaml`` print them. What is not known is null and is told as a finding; what is
# nowhere is absent.


class _Error(Printed):
    code: str
    message: str


class _Update(Printed):
    """What EKS was asked to do."""

    id: Text
    status: Text
    begun: Moment | None
    parameters: dict[str, str]
    """As EKS names them: AddonVersion, ResolveConflicts …"""
    errors: tuple[_Error, ...]

    @classmethod
    def of(cls, facts: EksAddonUpdate) -> _Update:
        given = {name: commands.printed_text(text) for name, text in sorted(facts.parameters)}
        return cls.filled(facts, parameters=given)


class _Field(Printed):
    called = {"path": "field.said", "cause": "because.cause", "why": "because.why", "confidence": "because.sure"}

    path: Text
    """As EKS writes it in a conflict."""
    cause: Cause
    """lost: another client's value gave way to EKS's. version: EKS's own did. values: the configuration values of the
    update set it."""
    why: Text
    confidence: Confidence
    state: State
    """What is there now: what EKS set, the value before the update, or what another client has set since."""
    owners: Texts
    """Field managers that have it today."""
    configuration: Text | None
    """Where it is in configuration values; null where nothing there leads to it."""
    before: Any | UnsetType
    """Before the update; absent where nothing was there."""
    after: Any | UnsetType
    """After it; absent for nothing."""
    live: Any | UnsetType
    """Now; absent for nothing."""

    @classmethod
    def of(cls, facts: ChangedField) -> _Field:
        there = {"before": facts.before, "after": facts.after, "live": facts.live}
        return cls.filled(
            facts,
            configuration=shown(facts.config) if facts.config else None,
            **{name: UNSET if value is MISSING else facts.field.printed(value) for name, value in there.items()},
        )


class _Now(Printed):
    """The patch that gives back what was lost, and nothing else."""

    patch: dict[str, Any]
    """A strategic merge patch."""
    command: Text
    pods: Count | None
    """How many pods it replaces."""
    at_a_time: int | Text | None
    """maxUnavailable."""
    waits_for_deletion: bool
    """updateStrategy OnDelete: nothing replaces them by itself."""


def _now(each: Templated, kubectl: tuple[str, ...]) -> _Now | None:
    if each.patch is None:
        return None
    rollout = each.rollout
    return _Now.filled(
        patch=printed(each.patch),
        command=commands.patch_command(each, kubectl),
        pods=rollout and rollout.pods,
        at_a_time=rollout and rollout.at_a_time,
        waits_for_deletion=rollout is not None and rollout.waits,
    )


class _Template(Printed):
    object: ObjectResult
    changed: bool | None
    """Whether the update changed the pod template; null if that is not known."""
    before: Positive | None
    """Number of the revision that was in force before; null where nothing changed, or it is not known."""
    after: Positive | None
    why: Text
    fields: tuple[_Field, ...]
    now: _Now | None
    """Null where nothing is to be given back, or no patch does it."""


def _template(each: Templated, kubectl: tuple[str, ...]) -> _Template:
    step = each.step
    update = step if isinstance(step, TemplateUpdateStep) else None
    return _Template.filled(
        object=each.of,
        changed=None if isinstance(step, UnknownRevision) else update is not None,
        before=update and update.before.number,
        after=update and update.after.number,
        why=step.why,
        fields=each.changes,
        now=_now(each, kubectl),
    )


class _WithoutHistory(Printed):
    object: ObjectResult
    written: Text | None
    """When eks wrote the object last; null if that is not noted."""
    fields: Texts

    @classmethod
    def of(cls, facts: UnrecordedFields) -> _WithoutHistory:
        return cls.filled(
            object=facts.of,
            written=facts.when,
            fields=(field.said for field in facts.fields),
        )


class _Pods(Printed):
    called = {"recreate": "pods", "why": "says", "confidence": "sure"}

    field: Text
    recreate: Texts | None
    """By namespace/name; null if it is not known which."""
    why: Text
    source: Text | None
    confidence: Confidence


class _Later(Printed):
    """Configuration values that keep what was lost, tried as the next update with OVERWRITE."""

    called = {"cannot_keep": "cannot", "refused": "broken"}

    values: dict[str, Any]
    keeps: Texts
    cannot_keep: Texts
    """Fields to which no value leads."""
    refused: Texts | None
    """What of the values the schema does not allow; null if that is unknown."""
    command: Text | None
    """Null where the values keep nothing, or EKS would refuse them."""


def _later(found: UpdateReview) -> _Later | None:
    plan = found.keeping
    way = plan.way_out if plan is not None else None
    if plan is None or way is None or not found.lost:
        return None
    return _Later.filled(
        way,
        values=printed(way.values),
        command=commands.update_addon(plan, way) if way.usable else None,
    )


class _Addon(Printed):
    """One add-on's past update."""

    name: Text
    version: Text
    """The one that is installed."""
    verdict: Text
    update: _Update | None
    """Null where none is known."""
    other_updates: Count | None
    """How many more EKS lists, of which nothing was asked; null if they may not be listed."""
    values: dict[str, Any] | None
    """The configuration values of today; null if they cannot be read."""
    templates: tuple[_Template, ...]
    without_history: tuple[_WithoutHistory, ...]
    """What EKS wrote with the update or since, and of which the API keeps nothing earlier."""
    pods: tuple[_Pods, ...]
    later: _Later | None
    """Null where nothing was lost, or nothing takes it again."""


def _addon(found: UpdateReview, kubectl: tuple[str, ...]) -> _Addon:
    now, update, history = found.facts.now, found.facts.update, found.facts.history
    return _Addon.filled(
        name=now.addon.name,
        version=now.now.version,
        verdict=verdict(found),
        update=update if isinstance(update, EksAddonUpdate) else None,
        other_updates=history.unseen if isinstance(history, UpdateHistory) else None,
        values=now.values if isinstance(now.values, Unknown) else printed(now.values),
        templates=(_template(each, kubectl) for each in found.templated),
        without_history=found.unrecorded,
        pods=found.recreating,
        later=_later(found),
    )


class AftermathResult(CommandResult):
    """What past updates of EKS add-ons have changed: kubectl eksdoc addon-diff --after -o json."""

    kind: Literal["AddonAftermath"]
    recognised: Text | None
    """How it is known that AWS describes the cluster that was read."""
    addons: tuple[_Addon, ...]
    findings: tuple[FindingResult, ...]
