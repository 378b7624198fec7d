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
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, with_update, without_entries
from kubectl_eksdoc.kubernetes.redaction import has_digest
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, nested_field, object_name
from kubectl_eksdoc.model.findings import sort_findings
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, sections

from .expected import EKS, owners_of
from .fields import MISSING, AddonField, Usage, is_same_value, shorten, value_at
from .manifests import addon_manifests
from .past_update_causes import (
    ChangeContext,
    TemplateHistory,
    base_value,
    cause_of,
    is_declared,
    wrap_template,
)
from .past_update_facts import (
    ChangedField,
    EarlierUpdate,
    FieldState,
    PastFacts,
    PodsToRecreate,
    TemplateRollout,
    UpdateReview,
    UpdateVersions,
    WorkloadReview,
    image_version,
    unrecorded_fields,
    update_versions,
)
from .past_update_findings import review_findings
from .plan import ValuesValidator, plan_update
from .prediction import AddonUpdateRequest, Mode, changed_paths
from .revisions import (
    TemplatePeriod,
    TemplateUpdateStep,
    UnknownRevision,
    live_template,
    read_revisions,
    template_periods,
    template_step,
)

# The patch that restores lost fields and changes nothing else: a strategic merge patch, as ``kubectl patch`` sends it.


PATCH_DIRECTIVE = "$patch"
_ENV_STEP = field_step("env")
_ALTERNATIVE_KEYS = {"f:value": "valueFrom", "f:valueFrom": "value"}
"""An environment variable has one of the two."""


@frozen
class RestorePatch:
    """`patch` restores `fields`, None if there is none to restore; no small patch restores the fields `not_restorable`.
    `after` is the patched object, without managedFields."""

    patch: Doc | None
    fields: tuple[Path, ...]
    not_restorable: tuple[Path, ...]
    after: Doc


def build_restore_patch(live: Doc, old_values: Mapping[Path, Any], schema: Schema) -> RestorePatch:
    """`old_values`: the value to restore for each field, `MISSING` for none. The patch is tried: a field that it does
    not restore, or only by changing another one, is in `not_restorable`."""
    doc = without_entries(live)
    patch: Doc = {}
    patched = doc
    restored: list[Path] = []
    not_restorable: list[Path] = []
    for path in sorted(old_values):
        if is_same_value(value_at(doc, path, schema.root), old_values[path]):
            continue
        is_known = not has_digest(
            old_values[path]
        )  # a snapshot may have a digest of the value, which must never be sent
        extended = _add_field(patch, path, old_values[path], doc, schema.root) if is_known else None
        result = _try_patch(doc, extended, schema) if extended is not None else None
        restored_entries = {_variable_or_field(other) for other in (*restored, path)}
        if (
            extended is None
            or result is None
            or any(
                not is_same_value(value_at(result, other, schema.root), old_values[other])
                for other in (*restored, path)
            )
            or any(_variable_or_field(other) not in restored_entries for other in changed_paths(doc, result, schema))
        ):
            not_restorable.append(path)
        else:
            patch, patched = extended, result
            restored.append(path)
    return RestorePatch(patch if restored else None, tuple(restored), tuple(not_restorable), patched)


def rebase_list(base_list: Any, user_list: Any, eks_list: Any) -> Any:
    """Merge a list that is one value: the changes from `base_list` to `user_list`, applied to EKS's new `eks_list`.
    None if the result is unknown: without a base, or if the order of the items matters."""
    if base_list == eks_list:
        return user_list
    if (
        not isinstance(base_list, list)
        or not isinstance(user_list, list)
        or not all(map(_is_independent_item, (*base_list, *user_list, *eks_list)))
    ):
        return None
    added_items = [item for item in user_list if item not in base_list]
    options = {_flag_name(item) for item in added_items} - {None}
    kept_items = [
        item for item in eks_list if (item not in base_list or item in user_list) and _flag_name(item) not in options
    ]
    return [*kept_items, *(item for item in added_items if item not in kept_items)]


def _is_independent_item(item: Any) -> bool:
    return isinstance(item, dict) or (isinstance(item, str) and item.startswith("-") and "=" in item)


def _flag_name(item: Any) -> str | None:
    """The name of a command line flag."""
    return item.partition("=")[0] if isinstance(item, str) else None


def _variable_or_field(path: Path) -> Path:
    """The field itself, or the environment variable it belongs to, which has either a value or a source."""
    index = next((index for index, step in enumerate(path) if step == _ENV_STEP), None)
    return path if index is None else path[: index + 2]


def _try_patch(doc: Doc, patch: Doc, schema: Schema) -> Doc | None:
    try:
        return apply_strategic(doc, patch, schema.root)
    except ApiRefusal:
        return None


def _add_field(patch: Doc, path: Path, value: Any, live: Doc, place: SchemaPlace) -> Doc | None:
    """`patch` with one more field, None if a patch of this type cannot express it."""
    step, rest = path[0], path[1:]
    if not step.startswith("f:"):
        return None
    name = step[2:]
    child_schema, live_child = place.under(name), live.get(name)
    if not rest:
        return {**patch, name: _patch_value(value, live_child, child_schema)}
    if rest[0].startswith("k:"):
        item_patches = _add_item_field(
            patch.get(name, []), rest, value, live_child if isinstance(live_child, list) else [], child_schema
        )
        return None if item_patches is None else {**patch, name: item_patches}
    child_patch = _add_field(
        patch.get(name) or {}, rest, value, live_child if isinstance(live_child, dict) else {}, child_schema
    )
    return None if child_patch is None else {**patch, name: child_patch}


def _add_item_field(items: list[Doc], path: Path, value: Any, live: list[Any], place: SchemaPlace) -> list[Doc] | None:
    """`path` begins with the item's keys. A removed container cannot be restored by some of its fields."""
    keys, rest = keys_of(path[0]), path[1:]
    if "merge" not in place.strategy or place.merge_key not in keys or not rest:
        return None
    live_item = next((item for item in live if isinstance(item, dict) and _has_keys(item, keys)), None)
    if live_item is None and _ENV_STEP in rest:
        return None
    item_patch = next((item for item in items if _has_keys(item, keys)), None) or dict(keys)
    new_item: Doc | None
    if value is MISSING and rest[0] in _ALTERNATIVE_KEYS:
        new_item = _remove_variable(item_patch, keys, rest[0][2:], _ALTERNATIVE_KEYS[rest[0]])
    else:
        new_item = _add_field(item_patch, rest, value, live_item or {}, place.item_place())
        if new_item is not None and _ALTERNATIVE_KEYS.get(rest[0]) in (live_item or {}):
            new_item = {**new_item, _ALTERNATIVE_KEYS[rest[0]]: None}
    return None if new_item is None else [*(item for item in items if not _has_keys(item, keys)), new_item]


def _remove_variable(item_patch: Doc, keys: Doc, name: str, alternative: str) -> Doc:
    """Remove key `name` of an environment variable: the whole variable, unless the patch sets the alternative key."""
    return (
        {**item_patch, name: None} if item_patch.get(alternative) is not None else {**keys, PATCH_DIRECTIVE: "delete"}
    )


def _has_keys(item: Doc, keys: Mapping[str, Any]) -> bool:
    return all(item.get(key) == value for key, value in keys.items())


def _patch_value(value: Any, live_value: Any, place: SchemaPlace) -> Any:
    """The value in patch syntax: a value that is owned as a whole replaces the live one, even where a patch would
    merge."""
    if value is MISSING:
        return None
    if isinstance(value, dict) and isinstance(live_value, dict):
        return {**value, PATCH_DIRECTIVE: "replace"}
    if isinstance(value, list) and isinstance(live_value, list) and "merge" in place.strategy and place.merge_key:
        return [*value, {PATCH_DIRECTIVE: "replace"}]
    return value


# Pods that keep settings from the time when a field was lost, and must be recreated. The effect of a variable without a
# rule is unknown, and findings say so.


class _AffectedPods(Enum):
    NOBODY = "nobody"
    ASTRAY = "pods that started without their branch interface"


@frozen
class RunningPodsRule:
    """`says`: why running pods have to be recreated or not after one of `fields` was lost, a clause."""

    fields: tuple[str, ...]
    recreate: _AffectedPods
    says: str
    source: KnowledgeSource


_RUNNING_PODS_RULES = sections(RunningPodsRule, "field_effects", "running")


def pods_to_recreate(
    lost_fields: tuple[ChangedField, ...], usage: Usage, started: datetime
) -> tuple[PodsToRecreate, ...]:
    """For each lost variable of vpc-cni; `started`: the start of the update."""
    return tuple(_recreation_of(change.field, usage, started) for change in lost_fields if change.field.variable)


def _recreation_of(field: AddonField, usage: Usage, started: datetime) -> PodsToRecreate:
    rule = next((each for each in _RUNNING_PODS_RULES if field.variable in each.fields), None)
    if rule is None:
        reason = "no document that is known here says whether pods that run take it over"
        return PodsToRecreate(field, Unknown(reason), reason, "", Confidence.LOW)
    pods = () if rule.recreate is _AffectedPods.NOBODY else _pods_without_interface(usage, started)
    return PodsToRecreate(field, pods, rule.says, rule.source.document, rule.source.confidence)


def _pods_without_interface(usage: Usage, started: datetime) -> tuple[str, ...] | Unknown:
    """Pods whose address is not that of their branch interface. Unknown if a pod that started since then has no
    interface annotation."""
    if isinstance(usage.branched, Unknown):
        return usage.branched
    unannotated = [
        pod.key
        for pod in usage.branched
        if (pod.created_at is None or pod.created_at >= started.replace(microsecond=0))
        and (pod.branch is None or not pod.branch.interface or not pod.branch.address)
    ]
    if unannotated:
        names = shorten(unannotated)
        reason = f"no branch interface is noted for {names}, which started since then"
        pod_names = ", ".join(pod.key for pod in usage.astray)
        return Unknown(f"{reason}; to be recreated in any case: {pod_names}" if pod_names else reason)
    return tuple(pod.key for pod in usage.astray)


ChartLookup = Callable[[str], "Doc | Unknown"]
"""Default values of the chart, by the add-on's version."""

_PATCH_MANAGER, _PATCH_TIME = "kubectl-patch", "2000-01-01T00:00:00Z"


def review_past_update(facts: PastFacts, chart_of: ChartLookup, validate: ValuesValidator) -> UpdateReview:
    """Review the update of `facts`. `validate`: validates values by the schema of the installed version."""
    update = facts.update
    if not isinstance(update, EksAddonUpdate) or update.begun is None:
        review = UpdateReview(facts)
        return replace(review, findings=sort_findings(review_findings(review)))
    workloads = _review_workloads(update, update.begun, facts, chart_of)
    restored_objects = tuple(_restored_object(live, workloads) for live in facts.addon_facts.objects)
    reviews = tuple(each for each, _ in workloads)
    lost_fields = tuple(change for each in reviews for change in each.changes if change.is_lost)
    result = UpdateReview(
        facts,
        reviews,
        unrecorded_fields(facts.addon_facts, update.begun) if _may_overwrite(update) else (),
        pods_to_recreate(lost_fields, facts.addon_facts.usage, update.begun),
        plan_update(replace(facts.addon_facts, objects=restored_objects), AddonUpdateRequest(Mode.OVERWRITE), validate),
        earlier_updates=_earlier_losses(facts, update.begun, {change.field for change in lost_fields}, chart_of),
    )
    return replace(result, findings=sort_findings(review_findings(result)))


def _known_updates(facts: PastFacts) -> list[tuple[datetime, EksAddonUpdate]]:
    """The updates that EKS lists, by their start."""
    updates = facts.history.updates if isinstance(facts.history, UpdateHistory) else ()
    known_updates = [
        (each.begun, each) for each in updates if isinstance(each, EksAddonUpdate) and each.begun is not None
    ]
    return sorted(known_updates, key=lambda pair: (pair[0], pair[1].id))


def _earlier_losses(
    facts: PastFacts, started: datetime, lost_fields: set[AddonField], chart_of: ChartLookup
) -> tuple[EarlierUpdate, ...]:
    """Fields that earlier updates reset and that are not restored, without `lost_fields`: the latest update may be the
    rollback of a harmful one. Newest first."""
    earlier: list[EarlierUpdate] = []
    seen_fields = set(lost_fields)
    for earlier_start, update in reversed(_known_updates(facts)):
        if earlier_start >= started:
            continue
        workloads = _review_workloads(update, earlier_start, facts, chart_of)
        lost_changes = tuple(
            change
            for review, _ in workloads
            for change in review.changes
            if change.is_still_lost and change.field not in seen_fields
        )
        seen_fields |= {change.field for change in lost_changes}
        earlier += [EarlierUpdate(update, earlier_start, lost_changes)] if lost_changes else []
    return tuple(earlier)


def _may_overwrite(update: EksAddonUpdate) -> bool:
    """The update may have overwritten fields of other owners: with NONE it would have failed, with PRESERVE it would
    have kept them. Without a mode it is NONE; only discussions say so."""
    return update.parameter("ResolveConflicts") not in (Mode.NONE.value, Mode.PRESERVE.value)


_WorkloadAndPatch = tuple[WorkloadReview, "RestorePatch | None"]


def _review_workloads(
    update: EksAddonUpdate, started: datetime, facts: PastFacts, chart_of: ChartLookup
) -> list[_WorkloadAndPatch]:
    """Review each object that has a pod template."""
    versions = update_versions(update, facts)
    workloads = (live for live in facts.addon_facts.objects if live.get("kind") in kinds.HISTORY_KINDS)
    return [_review_workload(live, facts, update, started, versions, chart_of) for live in workloads]


def _restored_object(live: Doc, workloads: Iterable[_WorkloadAndPatch]) -> Doc:
    """The object after its patch; the sender of the patch owns the fields it sets."""
    for review, restore_patch in workloads:
        if review.object_ref == object_name(live) and restore_patch is not None and restore_patch.patch is not None:
            schema = schema_of(review.object_ref.api_version, review.object_ref.kind)
            try:
                return with_update(live, restore_patch.after, _PATCH_MANAGER, _PATCH_TIME, schema)
            except MalformedEntries:
                return live  # it cannot be judged, and is reported as unread
    return live


def _review_workload(
    live: Doc,
    facts: PastFacts,
    update: EksAddonUpdate,
    started: datetime,
    versions: UpdateVersions,
    chart_of: ChartLookup,
) -> _WorkloadAndPatch:
    object_ref = object_name(live)
    docs = facts.revisions.get(object_ref.kind, Unknown("its revisions were not asked for"))
    rollout = _rollout_of(live, object_ref)
    if isinstance(docs, Unknown):
        return WorkloadReview(object_ref, UnknownRevision(docs.why, missing=docs.missing), rollout=rollout), None
    templates = read_revisions(live, docs)
    periods = template_periods(templates)
    newest = templates.templates[-1] if templates.templates else None
    is_current = newest is not None and newest.doc == live_template(live)
    next_started = next((update_start for update_start, _ in _known_updates(facts) if update_start > started), None)
    step = template_step(periods, started, update.parameter("AddonVersion"), is_current, next_started)
    if not isinstance(step, TemplateUpdateStep):
        return WorkloadReview(object_ref, step, rollout=rollout, unreadable=templates.unreadable), None
    changes = _changed_fields(live, object_ref, step, periods, facts, started, versions, chart_of)
    schema = schema_of(object_ref.api_version, object_ref.kind)
    lost_values = {change.field.path: change.value_to_restore for change in changes if change.is_still_lost}
    values = {path: value for path, value in lost_values.items() if value is not None}
    restore_patch = build_restore_patch(live, values, schema)
    not_restorable = tuple(
        AddonField(object_ref, path)
        for path in sorted({*restore_patch.not_restorable, *(lost_values.keys() - values.keys())})
    )
    return WorkloadReview(
        object_ref, step, changes, restore_patch.patch, not_restorable, rollout, templates.unreadable
    ), restore_patch


def _changed_fields(
    live: Doc,
    object_ref: ObjectName,
    step: TemplateUpdateStep,
    periods: Sequence[TemplatePeriod],
    facts: PastFacts,
    started: datetime,
    versions: UpdateVersions,
    chart_of: ChartLookup,
) -> tuple[ChangedField, ...]:
    schema = schema_of(object_ref.api_version, object_ref.kind)
    version = versions.version_before or image_version(step.before.doc, object_ref.name)
    history = TemplateHistory(
        tuple(slot for slot in periods if slot.number <= _last_period_before(periods, step).number),
        tuple(start for start in versions.update_starts if start < started),
        versions.is_complete,
    )
    chart = chart_of(version) if version else Unknown("which version it had before is not known")
    is_eks_version = "-eksbuild." in version
    addon = facts.addon_facts.addon.name
    known_manifests = addon_manifests(addon, version, version, True)
    manifest = (
        known_manifests.current.fields_of(object_ref)
        if known_manifests is not None and known_manifests.is_exact
        else {}
    )
    context = ChangeContext(
        addon,
        object_ref,
        schema,
        history,
        chart,
        versions.values_before,
        versions.values,
        is_eks_version,
        manifest,
        versions.succeeded_with_none,
    )
    before, after = wrap_template(step.before.doc), wrap_template(step.after.doc)
    fields_by_owner = _fields_by_owner(live)
    changes = []
    for path in sorted(changed_paths(before, after, schema)):
        before_value, after_value, live_value = (value_at(doc, path, schema.root) for doc in (before, after, live))
        managers = tuple(sorted(name for name, paths in fields_by_owner if path in paths))
        state = _field_state(before_value, after_value, live_value, managers)
        if (
            state is FieldState.GONE
            and not is_same_value(live_value, after_value)
            and is_declared(path, live_value, context, facts.addon_facts.values)
        ):
            state = FieldState.OTHER
        changes.append(
            ChangedField(
                AddonField(object_ref, path),
                before_value,
                after_value,
                live_value,
                cause_of(path, before_value, after_value, context),
                managers,
                context.config_path(path),
                state,
                _value_to_restore(path, before_value, after_value, context),
            )
        )
    return tuple(changes)


def _value_to_restore(path: Path, before_value: Any, after_value: Any, context: ChangeContext) -> Any:
    """The value that restores the field."""
    are_lists = isinstance(before_value, list) and isinstance(after_value, list)
    return (
        rebase_list(base_value(path, before_value, context), before_value, after_value) if are_lists else before_value
    )


def _last_period_before(periods: Sequence[TemplatePeriod], step: TemplateUpdateStep) -> TemplatePeriod:
    """The period that ended with the update: the last one of the old template before the new one."""
    earlier = [slot for slot in periods if slot.template is step.before and slot.number < step.after.number]
    return earlier[-1] if earlier else periods[0]


def _fields_by_owner(live: Doc) -> list[tuple[str, Any]]:
    try:
        return [(owner.manager, entry.fields) for owner, entry in owners_of(live).items() if not owner.subresource]
    except MalformedEntries:
        return []


def _field_state(before: Any, after: Any, live: Any, owners: tuple[str, ...]) -> FieldState:
    if is_same_value(live, before):
        return FieldState.BACK
    return FieldState.GONE if is_same_value(live, after) or set(owners) <= {EKS.manager} else FieldState.OTHER


def _rollout_of(live: Doc, object_ref: ObjectName) -> TemplateRollout:
    if object_ref.kind == "Deployment":
        max_unavailable = nested_field(live, "spec", "strategy", "rollingUpdate", "maxUnavailable")
        return TemplateRollout(_as_count(nested_field(live, "spec", "replicas")), _as_amount(max_unavailable, "25%"))
    max_unavailable = nested_field(live, "spec", "updateStrategy", "rollingUpdate", "maxUnavailable")
    is_on_delete = nested_field(live, "spec", "updateStrategy", "type") == "OnDelete"
    return TemplateRollout(
        _as_count(nested_field(live, "status", "desiredNumberScheduled")), _as_amount(max_unavailable, 1), is_on_delete
    )


def _as_count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _as_amount(value: object, default: int | str) -> int | str:
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else default
