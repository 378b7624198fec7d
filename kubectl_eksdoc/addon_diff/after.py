"""Review of a past add-on update: the fields it reset, the patch that restores them, and the values that keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.patches import apply_strategic
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal
from kubectl_eksdoc.kubernetes.api.types import Schema, SchemaPlace, schema_of
from kubectl_eksdoc.kubernetes.document_diff import Path
from kubectl_eksdoc.kubernetes.field_paths import field_step, keys_of
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, updated, without_entries
from kubectl_eksdoc.kubernetes.redaction import has_digest
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, at, named
from kubectl_eksdoc.model.findings import in_order
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections

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
    Recreating,
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
from .fields import MISSING, AddonField, Usage, same_value, some_of, value_at
from .manifests import manifests
from .plan import Judge, plan_update
from .prediction import AddonUpdateRequest, Mode, differing
from .revisions import (
    Slot,
    TemplateUpdateStep,
    UnknownRevision,
    slots,
    step_at,
    template_in,
    templates_of,
)

# The patch that restores lost fields and changes nothing else: a strategic merge patch, as ``kubectl patch`` sends it.


MARK = "$patch"
_ENV = field_step("env")
_INSTEAD = {"f:value": "valueFrom", "f:valueFrom": "value"}
"""An environment variable has one of the two."""


@frozen
class Restoring:
    """`patch` restores `fields`, None if there is none to restore; no small patch restores the fields `not_restorable`.
    `after` is the patched object, without managedFields."""

    patch: Doc | None
    fields: tuple[Path, ...]
    cannot: tuple[Path, ...]
    after: Doc


def restoring(live: Doc, wanted: Mapping[Path, Any], schema: Schema) -> Restoring:
    """`old_values`: the value to restore for each field, `MISSING` for none. The patch is tried: a field that it does
    not restore, or only by changing another one, is in `not_restorable`."""
    doc = without_entries(live)
    patch: Doc = {}
    after = doc
    done: list[Path] = []
    cannot: list[Path] = []
    for path in sorted(wanted):
        if same_value(value_at(doc, path, schema.root), wanted[path]):
            continue
        known = not has_digest(wanted[path])  # a snapshot may have a digest of the value, which must never be sent
        longer = _with(patch, path, wanted[path], doc, schema.root) if known else None
        tried = _tried(doc, longer, schema) if longer is not None else None
        touched = {_entry(each) for each in (*done, path)}
        if (
            longer is None
            or tried is None
            or any(not same_value(value_at(tried, each, schema.root), wanted[each]) for each in (*done, path))
            or any(_entry(each) not in touched for each in differing(doc, tried, schema))
        ):
            cannot.append(path)
        else:
            patch, after = longer, tried
            done.append(path)
    return Restoring(patch if done else None, tuple(done), tuple(cannot), after)


def rebased(base: Any, theirs: Any, ours: Any) -> Any:
    """Merge a list that is one value: the changes from `base_list` to `user_list`, applied to EKS's new `eks_list`.
    None if the result is unknown: without a base, or if the order of the items matters."""
    if base == ours:
        return theirs
    if (
        not isinstance(base, list)
        or not isinstance(theirs, list)
        or not all(map(_stands_alone, (*base, *theirs, *ours)))
    ):
        return None
    added = [each for each in theirs if each not in base]
    options = {_option(each) for each in added} - {None}
    kept = [each for each in ours if (each not in base or each in theirs) and _option(each) not in options]
    return [*kept, *(each for each in added if each not in kept)]


def _stands_alone(item: Any) -> bool:
    return isinstance(item, dict) or (isinstance(item, str) and item.startswith("-") and "=" in item)


def _option(item: Any) -> str | None:
    """The name of a command line flag."""
    return item.partition("=")[0] if isinstance(item, str) else None


def _entry(path: Path) -> Path:
    """The field itself, or the environment variable it belongs to, which has either a value or a source."""
    at = next((at for at, step in enumerate(path) if step == _ENV), None)
    return path if at is None else path[: at + 2]


def _tried(doc: Doc, patch: Doc, schema: Schema) -> Doc | None:
    try:
        return apply_strategic(doc, patch, schema.root)
    except ApiRefusal:
        return None


def _with(patch: Doc, path: Path, value: Any, live: Doc, place: SchemaPlace) -> Doc | None:
    """`patch` with one more field, None if a patch of this type cannot express it."""
    step, rest = path[0], path[1:]
    if not step.startswith("f:"):
        return None
    name = step[2:]
    inner, there = place.under(name), live.get(name)
    if not rest:
        return {**patch, name: _said(value, there, inner)}
    if rest[0].startswith("k:"):
        items = _with_item(patch.get(name, []), rest, value, there if isinstance(there, list) else [], inner)
        return None if items is None else {**patch, name: items}
    made = _with(patch.get(name) or {}, rest, value, there if isinstance(there, dict) else {}, inner)
    return None if made is None else {**patch, name: made}


def _with_item(items: list[Doc], path: Path, value: Any, live: list[Any], place: SchemaPlace) -> list[Doc] | None:
    """`path` begins with the item's keys. A removed container cannot be restored by some of its fields."""
    keys, rest = keys_of(path[0]), path[1:]
    if "merge" not in place.strategy or place.merge_key not in keys or not rest:
        return None
    there = next((item for item in live if isinstance(item, dict) and _is(item, keys)), None)
    if there is None and _ENV in rest:
        return None
    mine = next((item for item in items if _is(item, keys)), None) or dict(keys)
    made: Doc | None
    if value is MISSING and rest[0] in _INSTEAD:
        made = _without(mine, keys, rest[0][2:], _INSTEAD[rest[0]])
    else:
        made = _with(mine, rest, value, there or {}, place.of_items())
        if made is not None and _INSTEAD.get(rest[0]) in (there or {}):
            made = {**made, _INSTEAD[rest[0]]: None}
    return None if made is None else [*(item for item in items if not _is(item, keys)), made]


def _without(mine: Doc, keys: Doc, name: str, instead: str) -> Doc:
    """Remove key `name` of an environment variable: the whole variable, unless the patch sets the alternative key."""
    return {**mine, name: None} if mine.get(instead) is not None else {**keys, MARK: "delete"}


def _is(item: Doc, keys: Mapping[str, Any]) -> bool:
    return all(item.get(key) == value for key, value in keys.items())


def _said(value: Any, there: Any, place: SchemaPlace) -> Any:
    """The value in patch syntax: a value that is owned as a whole replaces the live one, even where a patch would
    merge."""
    if value is MISSING:
        return None
    if isinstance(value, dict) and isinstance(there, dict):
        return {**value, MARK: "replace"}
    if isinstance(value, list) and isinstance(there, list) and "merge" in place.strategy and place.merge_key:
        return [*value, {MARK: "replace"}]
    return value


# Pods that keep settings from the time when a field was lost, and must be recreated. The effect of a variable without a
# rule is unknown, and findings say so.


class _Who(Enum):
    NOBODY = "nobody"
    ASTRAY = "pods that started without their branch interface"


@frozen
class RunningPods:
    """`says`: why running pods have to be recreated or not after one of `fields` was lost, a clause."""

    fields: tuple[str, ...]
    recreate: _Who
    says: str
    source: KnowledgeSource


_RUNNING = sections(RunningPods, "field_effects", "running")


def recreating(lost: tuple[ChangedField, ...], usage: Usage, begun: datetime) -> tuple[Recreating, ...]:
    """For each lost variable of vpc-cni; `started`: the start of the update."""
    return tuple(_of(change.field, usage, begun) for change in lost if change.field.variable)


def _of(of: AddonField, usage: Usage, begun: datetime) -> Recreating:
    rule = next((each for each in _RUNNING if of.variable in each.fields), None)
    if rule is None:
        why = "no document that is known here says whether pods that run take it over"
        return Recreating(of, Unknown(why), why, "", Confidence.LOW)
    pods = () if rule.recreate is _Who.NOBODY else _astray(usage, begun)
    return Recreating(of, pods, rule.says, rule.source.document, rule.source.confidence)


def _astray(usage: Usage, begun: datetime) -> tuple[str, ...] | Unknown:
    """Pods whose address is not that of their branch interface. Unknown if a pod that started since then has no
    interface annotation."""
    if isinstance(usage.branched, Unknown):
        return usage.branched
    silent = [
        pod.key
        for pod in usage.branched
        if (pod.created_at is None or pod.created_at >= begun.replace(microsecond=0))
        and (pod.branch is None or not pod.branch.interface or not pod.branch.address)
    ]
    if silent:
        which = some_of(silent)
        why = f"no branch interface is noted for {which}, which started since then"
        astray = ", ".join(pod.key for pod in usage.astray)
        return Unknown(f"{why}; to be recreated in any case: {astray}" if astray else why)
    return tuple(pod.key for pod in usage.astray)


Charts = Callable[[str], "Doc | Unknown"]
"""Default values of the chart, by the add-on's version."""

_PATCHER, _NOW = "kubectl-patch", "2000-01-01T00:00:00Z"


def look_back(facts: PastFacts, charts: Charts, judge: Judge) -> UpdateReview:
    """Review the update of `facts`. `validate`: validates values by the schema of the installed version."""
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
    """The updates that EKS lists, by their start."""
    told = facts.history.updates if isinstance(facts.history, UpdateHistory) else ()
    known = [(each.begun, each) for each in told if isinstance(each, EksAddonUpdate) and each.begun is not None]
    return sorted(known, key=lambda pair: (pair[0], pair[1].id))


def _earlier(facts: PastFacts, begun: datetime, lost: set[AddonField], charts: Charts) -> tuple[EarlierUpdate, ...]:
    """Fields that earlier updates reset and that are not restored, without `lost_fields`: the latest update may be the
    rollback of a harmful one. Newest first."""
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
    """The update may have overwritten fields of other owners: with NONE it would have failed, with PRESERVE it would
    have kept them. Without a mode it is NONE; only discussions say so."""
    return update.parameter("ResolveConflicts") not in (Mode.NONE.value, Mode.PRESERVE.value)


_Looked = tuple[Templated, "Restoring | None"]


def _looked(update: EksAddonUpdate, begun: datetime, facts: PastFacts, charts: Charts) -> list[_Looked]:
    """Review each object that has a pod template."""
    ran = course(update, facts)
    templated = (live for live in facts.now.objects if live.get("kind") in kinds.HISTORY_OF)
    return [_templated(live, facts, update, begun, ran, charts) for live in templated]


def _restored(live: Doc, looked: Iterable[_Looked]) -> Doc:
    """The object after its patch; the sender of the patch owns the fields it sets."""
    for each, restored in looked:
        if each.of == named(live) and restored is not None and restored.patch is not None:
            schema = schema_of(each.of.api_version, each.of.kind)
            try:
                return updated(live, restored.after, _PATCHER, _NOW, schema)
            except MalformedEntries:
                return live  # it cannot be judged, and is reported as unread
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
    """The value that restores the field."""
    both = isinstance(was, list) and isinstance(became, list)
    return rebased(base_of(path, was, around), was, became) if both else was


def _last(found: Sequence[Slot], step: TemplateUpdateStep) -> Slot:
    """The period that ended with the update: the last one of the old template before the new one."""
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
