"""What an update of an add-on took, what gives it back now, and what keeps it later: put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import Path
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, updated
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, named
from kubectl_eksdoc.model.findings import in_order
from kubectl_eksdoc.model.kinds import Unknown

from .after_causes import (
    ChangeContext,
    TemplateHistory,
    base_of,
    cause_of,
    in_object,
    is_declared,
)
from .after_facts import (
    ChangedField,
    EarlierUpdate,
    PastFacts,
    State,
    Templated,
    TemplateRollout,
    UpdateReview,
    UpdateVersions,
    course,
    unrecorded,
    version_in,
)
from .after_judging import judged
from .expected import EKS, owners_of
from .fields import AddonField, same_value, value_at
from .manifests import manifests
from .plan import Judge, plan_update
from .prediction import AddonUpdateRequest, Mode, differing
from .restoring_patch import Restoring, rebased, recreating, restoring
from .revisions import (
    Slot,
    TemplateUpdateStep,
    UnknownRevision,
    slots,
    step_at,
    template_in,
    templates_of,
)

Charts = Callable[[str], "Doc | Unknown"]
"""By the add-on's version: what its chart sets by default."""

_PATCHER, _NOW = "kubectl-patch", "2000-01-01T00:00:00Z"


def look_back(facts: PastFacts, charts: Charts, judge: Judge) -> UpdateReview:
    """`judge`: what of values the schema of the installed version does not allow."""
    update = facts.update
    if not isinstance(update, EksAddonUpdate) or update.begun is None:
        bare = UpdateReview(facts)
        return replace(bare, findings=in_order(judged(bare)))
    looked = _looked(update, update.begun, facts, charts)
    objects = tuple(_restored(live, looked) for live in facts.now.objects)
    templated = tuple(each for each, _ in looked)
    lost = tuple(change for each in templated for change in each.changes if change.lost)
    found = UpdateReview(
        facts,
        templated,
        unrecorded(facts.now, update.begun) if _takes(update) else (),
        recreating(lost, facts.now.usage, update.begun),
        plan_update(replace(facts.now, objects=objects), AddonUpdateRequest(Mode.OVERWRITE), judge),
        earlier=_earlier(facts, update.begun, {change.field for change in lost}, charts),
    )
    return replace(found, findings=in_order(judged(found)))


def _known(facts: PastFacts) -> list[tuple[datetime, EksAddonUpdate]]:
    """The updates that EKS tells of, by when they began."""
    told = facts.history.updates if isinstance(facts.history, UpdateHistory) else ()
    known = [(each.begun, each) for each in told if isinstance(each, EksAddonUpdate) and each.begun is not None]
    return sorted(known, key=lambda pair: (pair[0], pair[1].id))


def _earlier(facts: PastFacts, begun: datetime, lost: set[AddonField], charts: Charts) -> tuple[EarlierUpdate, ...]:
    """What those before it took and what is not back, without what is `lost` by it: the latest update may be the way
    back from the one that did the harm. The newest first."""
    found: list[EarlierUpdate] = []
    said = set(lost)
    for when, each in reversed(_known(facts)):
        if when >= begun:
            continue
        looked = _looked(each, when, facts, charts)
        missed = tuple(
            change for one, _ in looked for change in one.changes if change.missed and change.field not in said
        )
        said |= {change.field for change in missed}
        found += [EarlierUpdate(each, when, missed)] if missed else []
    return tuple(found)


def _takes(update: EksAddonUpdate) -> bool:
    """Whether it may have written over what was somebody else's: with NONE it would have failed, with PRESERVE it left
    that alone. Where none of them is named, it is NONE, as is read in discussions only."""
    return update.parameter("ResolveConflicts") not in (Mode.NONE.value, Mode.PRESERVE.value)


_Looked = tuple[Templated, "Restoring | None"]


def _looked(update: EksAddonUpdate, begun: datetime, facts: PastFacts, charts: Charts) -> list[_Looked]:
    """At each object with a pod template."""
    ran = course(update, facts)
    templated = (live for live in facts.now.objects if live.get("kind") in kinds.HISTORY_OF)
    return [_templated(live, facts, update, begun, ran, charts) for live in templated]


def _restored(live: Doc, looked: Iterable[_Looked]) -> Doc:
    """As it is after its patch, which makes whoever sends it the owner of what it sets."""
    for each, restored in looked:
        if each.of == named(live) and restored is not None and restored.patch is not None:
            schema = schema_of(each.of.api_version, each.of.kind)
            try:
                return updated(live, restored.after, _PATCHER, _NOW, schema)
            except MalformedEntries:
                return live  # which cannot be judged, and is said to be unread
    return live


def _templated(
    live: Doc, facts: PastFacts, update: EksAddonUpdate, begun: datetime, ran: UpdateVersions, charts: Charts
) -> _Looked:
    of = named(live)
    docs = facts.kept.get(of.kind, Unknown("its revisions were not asked for"))
    rollout = _rollout(live, of)
    if isinstance(docs, Unknown):
        return Templated(of, UnknownRevision(docs.why, missing=docs.missing), rollout=rollout), None
    templates = templates_of(live, docs)
    found = slots(templates)
    newest = templates.kept[-1] if templates.kept else None
    whole = newest is not None and newest.doc == template_in(live)
    until = next((when for when, _ in _known(facts) if when > begun), None)
    step = step_at(found, begun, update.parameter("AddonVersion"), whole, until)
    if not isinstance(step, TemplateUpdateStep):
        return Templated(of, step, rollout=rollout, unreadable=templates.unreadable), None
    changes = _changes(live, of, step, found, facts, begun, ran, charts)
    schema = schema_of(of.api_version, of.kind)
    missed = {change.field.path: change.wanted for change in changes if change.missed}
    wanted = {path: value for path, value in missed.items() if value is not None}
    restored = restoring(live, wanted, schema)
    cannot = tuple(AddonField(of, path) for path in sorted({*restored.cannot, *(missed.keys() - wanted.keys())}))
    return Templated(of, step, changes, restored.patch, cannot, rollout, templates.unreadable), restored


def _changes(
    live: Doc,
    of: ObjectName,
    step: TemplateUpdateStep,
    found: Sequence[Slot],
    facts: PastFacts,
    begun: datetime,
    ran: UpdateVersions,
    charts: Charts,
) -> tuple[ChangedField, ...]:
    schema = schema_of(of.api_version, of.kind)
    version = ran.was or version_in(step.before.doc, of.name)
    past = TemplateHistory(
        tuple(slot for slot in found if slot.number <= _last(found, step).number),
        tuple(each for each in ran.begun if each < begun),
        ran.whole,
    )
    chart = charts(version) if version else Unknown("which version it had before is not known")
    of_eks = "-eksbuild." in version
    addon = facts.now.addon.name
    known = manifests(addon, version, version, True)
    manifest = known.now.of(of) if known is not None and known.exact else {}
    around = ChangeContext(addon, of, schema, past, chart, ran.values_before, ran.values, of_eks, manifest, ran.gently)
    before, after = in_object(step.before.doc), in_object(step.after.doc)
    owners = _owners(live)
    made = []
    for path in sorted(differing(before, after, schema)):
        was, became, is_now = (value_at(doc, path, schema.root) for doc in (before, after, live))
        who = tuple(sorted(name for name, paths in owners if path in paths))
        state = _state(was, became, is_now, who)
        if (
            state is State.GONE
            and not same_value(is_now, became)
            and is_declared(path, is_now, around, facts.now.values)
        ):
            state = State.OTHER
        made.append(
            ChangedField(
                AddonField(of, path),
                was,
                became,
                is_now,
                cause_of(path, was, became, around),
                who,
                around.config(path),
                state,
                _wanted(path, was, became, around),
            )
        )
    return tuple(made)


def _wanted(path: Path, was: Any, became: Any, around: ChangeContext) -> Any:
    """What gives it back."""
    both = isinstance(was, list) and isinstance(became, list)
    return rebased(base_of(path, was, around), was, became) if both else was


def _last(found: Sequence[Slot], step: TemplateUpdateStep) -> Slot:
    """The time in force that ended with the update: the last one of its template before that of the other."""
    sooner = [slot for slot in found if slot.template is step.before and slot.number < step.after.number]
    return sooner[-1] if sooner else found[0]


def _owners(live: Doc) -> list[tuple[str, Any]]:
    try:
        return [(owner.manager, entry.fields) for owner, entry in owners_of(live).items() if not owner.subresource]
    except MalformedEntries:
        return []


def _state(before: Any, after: Any, live: Any, owners: tuple[str, ...]) -> State:
    if same_value(live, before):
        return State.BACK
    return State.GONE if same_value(live, after) or set(owners) <= {EKS.manager} else State.OTHER


def _rollout(live: Doc, of: ObjectName) -> TemplateRollout:
    if of.kind == "Deployment":
        most = at(live, "spec", "strategy", "rollingUpdate", "maxUnavailable")
        return TemplateRollout(_count(at(live, "spec", "replicas")), _amount(most, "25%"))
    most = at(live, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
    waits = at(live, "spec", "updateStrategy", "type") == "OnDelete"
    return TemplateRollout(_count(at(live, "status", "desiredNumberScheduled")), _amount(most, 1), waits)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _amount(value: object, default: int | str) -> int | str:
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else default
