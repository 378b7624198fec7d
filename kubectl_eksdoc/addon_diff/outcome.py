"""Result of an add-on update compared with its prediction: each predicted field, and each change that was not
predicted.

The prediction is stored in a journal, so a later process can compare it with the live objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, cast

from kubectl_eksdoc.amazon import versions as skew
from kubectl_eksdoc.amazon.group_updates import UpdateStage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import Path, compare, is_item_or_key
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, without_entries
from kubectl_eksdoc.kubernetes.redaction import Digester
from kubectl_eksdoc.model.addons import EksAddonUpdate, HealthIssue
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, object_name, same_json, with_value
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import TargetGroup
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import from_json, to_json
from kubectl_eksdoc.model.network import TargetGroupBinding

from .expected import EKS, owners_of
from .fields import MISSING, AddonField, MissingValue, affected_bindings, value_at
from .guards import RolloutState
from .plan import AddonPlan
from .prediction import Fate, FieldChange, Mode


@frozen
class ExpectedField:
    """`live`: the value before the update; `value`: the expected value, both `MISSING` for none. If `fate` is unknown,
    `value` is meaningless. `at_risk`: another client had set the field."""

    field: AddonField
    fate: Fate
    sure: Confidence
    at_risk: bool
    live: Any = MISSING
    value: Any = MISSING


@frozen
class ExpectedUpdate:
    """The prediction that an update of `addon` to `target` is compared with. `objects`: the live objects before it,
    with managedFields; `unread`: those that could not be read. `shared`: fields that EKS and another owner have
    with the same value; the effect of the version on them is unknown. `was`: the version before, "" if it was not
    recorded. `key`: key of the digests that replace texts, "" if texts are stored."""

    addon: str
    target: str
    mode: Mode
    fields: tuple[ExpectedField, ...]
    objects: tuple[Doc, ...]
    unread: tuple[ObjectName, ...] = ()
    shared: tuple[AddonField, ...] = ()
    was: str = ""
    key: str = ""

    def with_digests(self, doc: Doc) -> Doc:
        """A live object in the form of `objects`."""
        return cast(Doc, with_digests(doc, self.key))

    def with_digest(self, field: AddonField, value: Any) -> Any:
        """A live value in the form of the values of `fields`."""
        return value if field.redacted(value) == value else with_digests(value, self.key)


_PLAIN_KEYS = frozenset(
    ("apiVersion", "kind", "name", "namespace", "uid", "key", "type", "protocol", "mountPath", "ip", "topologyKey")
)
"""Keys whose texts are names, by which list items are matched again."""


def with_digests(value: Any, key: str) -> Any:
    """Replace the texts of a stored object by digests, except names; unchanged without a `key`. The key is not secret:
    with the file, a short password can be guessed by its digest, but no text can be read."""
    return _with_digests(value, Digester(key.encode()), "") if key else value


def _with_digests(value: Any, digests: Digester, name: str) -> Any:
    if name in ("managedFields", "finalizers"):
        return value
    if isinstance(value, dict):
        return {key: _with_digests(child, digests, key) for key, child in value.items()}
    if isinstance(value, list):
        return [_with_digests(key, digests, name) for key in value]
    return digests.digest(value) if isinstance(value, str) and name not in _PLAIN_KEYS else value


def expected_update(plan: AddonPlan, keeps: Iterable[FieldChange] = ()) -> ExpectedUpdate:
    """The prediction of the sent plan, without changes of the version that are not known in full. `keeps`: fields that
    its values keep, which the plan may not mention."""
    mode = plan.request.mode
    predicted = [
        _expected_field(change, mode)
        for change in plan.changes
        if change.has_exact_value(mode) or change.fate(mode) is not Fate.FOLLOWS
    ]
    predicted_fields = {each.field for each in predicted}
    kept_fields = [
        ExpectedField(change.field, Fate.KEPT, Confidence.HIGH, True, change.live, change.live)
        for change in keeps
        if change.field not in predicted_fields
    ]
    fields = tuple(sorted((*predicted, *kept_fields), key=lambda each: each.field))
    facts = plan.facts
    unreadable = tuple(object_ref for object_ref, _ in facts.unread)
    shared_fields = tuple(field for each in plan.predictions for field in each.shared)
    version_before = facts.addon.version
    return ExpectedUpdate(
        facts.addon.name, facts.target.version, mode, fields, facts.objects, unreadable, shared_fields, version_before
    )


def _expected_field(change: FieldChange, mode: Mode) -> ExpectedField:
    fate, value = change.fate(mode), change.by_mode[mode].value
    if fate is Fate.UNKNOWN or not change.has_exact_value(mode):
        fate, value = Fate.UNKNOWN, MISSING
    return ExpectedField(change.field, fate, change.confidence(mode), change.at_risk, change.live, value)


def to_document(expected: ExpectedUpdate, key: str) -> Doc:
    """As JSON, with digests for texts that may be secrets; a missing value is absent."""
    stored = replace(expected, key=key)
    fields = tuple(
        replace(
            expected_field,
            live=stored.with_digest(expected_field.field, expected_field.live),
            value=stored.with_digest(expected_field.field, expected_field.value),
        )
        for expected_field in expected.fields
    )
    document: Doc = to_json(replace(stored, fields=fields, objects=tuple(map(stored.with_digests, expected.objects))))
    for expected_field, field_document in zip(fields, document["fields"], strict=True):
        for name in ("live", "value"):
            if isinstance(getattr(expected_field, name), MissingValue):
                del field_document[name]
    return document


def from_document(document: Doc) -> ExpectedUpdate:
    """Decode the result of `to_document`.

    Raises:
        KeyError, TypeError, ValueError: the document has another form.
    """
    return from_json(ExpectedUpdate, document)


# Load balancer targets that an update may make unhealthy: their health before, at worst, and now.


_CNI_ADDON = "vpc-cni"


def affected_target_groups(addon: str, cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """TargetGroupBindings of Services with pods that have their own security groups (field.md 14), sorted by namespace
    and name. Kubelet probes reach these pods by aws-node's settings, and a pod that is not Ready is no healthy target.
    Other add-ons have no such effect."""
    if addon != _CNI_ADDON:
        return ()
    bindings = affected_bindings(cluster)
    if isinstance(bindings, Unknown):
        return Unknown(f"which target groups are affected is not known: {bindings.why}", bindings.missing)
    return tuple(each for each in bindings if each.arn)


@frozen
class ServiceHealth:
    """Number of healthy targets of a Service: `before` the update, the `lowest`, and `now`. `total`: targets that are
    registered now. `unread`: why the health is not known (any more), a clause."""

    service: str
    before: int
    lowest: int
    now: int
    total: int
    unhealthy: tuple[str, ...] = ()
    unread: str = ""

    @property
    def has_dropped(self) -> bool:
        return self.lowest < self.before

    @property
    def has_recovered(self) -> bool:
        return self.now >= self.before

    def __str__(self) -> str:
        if self.unread:
            return f"{self.service}: the health of its targets is not known: {self.unread}"
        return f"{self.service}: {self.before} healthy targets before, {self.lowest} at worst, {self.now} now"


TargetGroups = Mapping[str, "TargetGroup | Unknown"]
"""By the ARN of the group."""


def initial_health(bindings: tuple[TargetGroupBinding, ...], target_groups: TargetGroups) -> dict[str, ServiceHealth]:
    """Health before the update, by the ARN of the group."""
    health = {}
    for binding in bindings:
        service, group = f"{binding.namespace}/{binding.service}", target_groups[binding.arn]
        if isinstance(group, Unknown):
            health[binding.arn] = ServiceHealth(service, 0, 0, 0, 0, unread=group.why)
        else:
            count = group.healthy
            health[binding.arn] = ServiceHealth(service, count, count, count, len(group.targets), group.unhealthy)
    return health


def restored_health(
    bindings: Iterable[TargetGroupBinding], health: Mapping[str, ServiceHealth]
) -> dict[str, ServiceHealth]:
    """Health before the update, as recorded in the journal; unknown for other groups."""
    reason = "how they were before the update was not written down"
    unknown_health = {
        each.arn: ServiceHealth(f"{each.namespace}/{each.service}", 0, 0, 0, 0, unread=reason) for each in bindings
    }
    return {**unknown_health, **health}


def followed_health(health: Mapping[str, ServiceHealth], target_groups: TargetGroups) -> dict[str, ServiceHealth]:
    """Current health. A group without health from before the update stays unknown."""
    return {arn: _updated_health(each, target_groups[arn]) for arn, each in health.items()}


def _updated_health(health: ServiceHealth, group: TargetGroup | Unknown) -> ServiceHealth:
    if health.unread and not health.before:
        return health
    if isinstance(group, Unknown):
        return replace(health, unread=group.why)
    healthy = group.healthy
    return ServiceHealth(
        health.service,
        health.before,
        min(health.lowest, healthy),
        healthy,
        len(group.targets),
        group.unhealthy,
    )


class Verdict(str, Enum):
    """Result for a field after the update."""

    AS_PREDICTED = "as predicted"
    AS_BEFORE = "as before"  # the update did not succeed, or has not ended, and the field has its old value
    OTHER = "other than predicted"
    NOT_PREDICTED = "not predicted"  # the effect on the field could not be predicted
    NOT_READ = "not read"


@frozen
class FieldCheck:
    """`found`: the current value, `MISSING` for none, None if it was not read; `owners`: its current field managers.
    `foretold` is None if there is no prediction for the field: it was expected to stay, unless the verdict is not
    predicted."""

    field: AddonField
    verdict: Verdict
    live: Any
    found: Any
    foretold: ExpectedField | None
    owners: tuple[str, ...] = ()
    why: str = ""


CurrentObjects = Mapping[ObjectName, "Doc | Unknown"]
"""The objects after the update; a deleted one is an empty document."""


def check_fields(expected: ExpectedUpdate, current: CurrentObjects, stage: UpdateStage) -> tuple[FieldCheck, ...]:
    """Sorted by object and field: the predicted fields, and those of other owners that changed."""
    predicted = [_check_field(each, current, stage, expected) for each in expected.fields]
    predicted_fields, shared_fields = {each.field for each in expected.fields}, frozenset(expected.shared)
    unpredicted = [
        replace(check, verdict=Verdict.NOT_PREDICTED)
        if check.field in shared_fields and stage not in _UNSUCCESSFUL
        else check
        for before in expected.objects
        for check in _unpredicted_changes(before, current, stage, expected)
        if check.field not in predicted_fields
    ]
    return tuple(sorted((*predicted, *unpredicted), key=lambda check: check.field))


def _check_field(
    expected_field: ExpectedField, current: CurrentObjects, stage: UpdateStage, expected: ExpectedUpdate
) -> FieldCheck:
    doc = current.get(expected_field.field.of, _NOT_READ)
    if isinstance(doc, Unknown):
        return FieldCheck(
            expected_field.field, Verdict.NOT_READ, expected_field.live, None, expected_field, why=doc.why
        )
    value, owners = _live_value(doc, expected_field.field), _managers_of(doc, expected_field.field.path)
    parent = _live_value(doc, replace(expected_field.field, path=expected_field.field.path[:-1]))
    if (
        value is MISSING
        and "" in (expected_field.live, expected_field.value)
        and isinstance(parent, dict)
        and "valueFrom" not in parent
    ):
        value = ""  # the API server omits an empty value
    value = expected.with_digest(expected_field.field, value)
    return FieldCheck(
        expected_field.field,
        _field_verdict(expected_field, value, stage),
        expected_field.live,
        value,
        expected_field,
        owners,
    )


_NOT_READ = Unknown("it was not read again")


def _field_verdict(expected_field: ExpectedField, value: Any, stage: UpdateStage) -> Verdict:
    if stage is not UpdateStage.SUCCESSFUL and same_json(value, expected_field.live):
        return Verdict.AS_BEFORE
    if stage in _UNSUCCESSFUL:
        return Verdict.OTHER
    if expected_field.fate is Fate.UNKNOWN:
        return Verdict.NOT_PREDICTED
    return Verdict.AS_PREDICTED if same_json(value, expected_field.value) else Verdict.OTHER


_UNSUCCESSFUL = (UpdateStage.FAILED, UpdateStage.CANCELLED)
"""Stages after which no field should have changed."""


def _live_value(doc: Doc, field: AddonField) -> Any:
    return value_at(without_entries(doc), field.path, schema_of(field.of.api_version, field.of.kind).root)


def _managers_of(doc: Doc, path: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted({owner.manager for owner, entry in owners_of(doc).items() if path in entry.fields}))
    except MalformedEntries:
        return ()


def _unpredicted_changes(
    before: Doc, current: CurrentObjects, stage: UpdateStage, expected: ExpectedUpdate
) -> Iterator[FieldCheck]:
    """Changed fields of owners other than EKS; after an unsuccessful update, those of EKS, too."""
    object_ref = object_name(before)
    after = current.get(object_ref, _NOT_READ)
    if isinstance(after, Unknown):
        return  # reported for each predicted field, and for the object as a whole
    after = expected.with_digests(after)
    schema = schema_of(object_ref.api_version, object_ref.kind)
    comparison = compare(without_entries(before), without_entries(after), schema.root)
    paths = comparison.changed | comparison.removed
    changed = {path for path in paths if path[-1].startswith("k:") or not is_item_or_key(path)}
    try:
        owned = [
            entry.fields
            for owner, entry in owners_of(before).items()
            if owner.subresource != "status" and owner.manager not in _CONTROLLERS
            if owner != EKS or stage in _UNSUCCESSFUL
        ]
    except MalformedEntries:
        return
    for path in changed:
        has_child = any(other != path and other[: len(path)] == path for other in changed)
        if has_child or not any(path in fields for fields in owned):
            continue
        field = AddonField(object_ref, path)
        live, value = _live_value(before, field), _live_value(after, field)
        yield FieldCheck(field, Verdict.OTHER, live, value, None, _managers_of(after, path))


_CONTROLLERS = frozenset(("kube-controller-manager",))
"""Managers that write consequences of a change, such as the revision of a Deployment."""


def unread_objects(expected: ExpectedUpdate, current: CurrentObjects) -> tuple[tuple[ObjectName, str], ...]:
    """Objects whose state after the update is unknown, sorted."""
    reasons = {
        object_name(each): _reason_unread(current.get(object_name(each), _NOT_READ)) for each in expected.objects
    }
    reasons |= dict.fromkeys(expected.unread, "it could not be read before the update")
    return tuple(sorted((object_ref, reason) for object_ref, reason in reasons.items() if reason))


def _reason_unread(doc: Doc | Unknown) -> str:
    return doc.why if isinstance(doc, Unknown) else ""


# Result of an update: EKS's final status, rollouts, load balancer targets, and the comparison with the prediction.


@frozen
class AddonUpdateResult:
    """`id`: EKS's update ID. `left`: why following ended although the update continues, a clause, "" if it has ended.
    `not_ready`: pods of an unfinished rollout, each with the reason. `unread`: objects in an unknown state;
    `unwatched`: why targets were not watched, "" if they were or none is affected."""

    id: str
    stage: UpdateStage
    seconds: float
    left: str = ""
    errors: tuple[HealthIssue, ...] = ()
    rollouts: tuple[RolloutState, ...] = ()
    not_ready: tuple[str, ...] = ()
    health: tuple[ServiceHealth, ...] = ()
    checks: tuple[FieldCheck, ...] = ()
    unread: tuple[tuple[ObjectName, str], ...] = ()
    unwatched: str = ""

    @property
    def whole(self) -> bool:
        """EKS has completed the update, and all pods are new."""
        return self.stage is UpdateStage.SUCCESSFUL and not self.left

    def checks_with(self, *verdicts: Verdict) -> tuple[FieldCheck, ...]:
        return tuple(check for check in self.checks if check.verdict in verdicts)

    @property
    def has_deviations(self) -> bool:
        """A known value differs from the prediction, or targets are unhealthy."""
        return bool(self.checks_with(Verdict.OTHER)) or any(
            each.has_dropped and not each.has_recovered for each in self.health
        )

    @property
    def has_unknowns(self) -> bool:
        """A part of the result is unknown."""
        doubtful = self.checks_with(Verdict.NOT_READ, Verdict.NOT_PREDICTED)
        return bool(doubtful or self.unread or self.unwatched) or any(each.unread for each in self.health)


# The update in EKS's list that a request started whose response was not recorded.


_MAX_CLOCK_DIFFERENCE = timedelta(minutes=15)
"""AWS rejects requests whose time differs more from its own (signature version 4: five minutes); the machine's clock
may have been corrected since."""


def find_requested_update(
    updates: Iterable[EksAddonUpdate | Unknown], version: str, mode: str, requested_at: datetime
) -> EksAddonUpdate | Unknown:
    """The update to that version in that mode that began after `requested_at`, the time in the journal. Values are not
    compared: EKS may store them in another form. Unknown if several match, or none: EKS may not have started it yet."""
    matches = [
        each
        for each in updates
        if isinstance(each, EksAddonUpdate)
        and each.type == "AddonUpdate"
        and each.parameter("AddonVersion") == version
        and each.parameter("ResolveConflicts") == mode
        and each.begun is not None
        and each.begun >= requested_at - _MAX_CLOCK_DIFFERENCE
    ]
    if len(matches) == 1:
        return matches[0]
    count = "none" if not matches else str(len(matches))
    return Unknown(f"of the updates that EKS lists, {count} can be it")


# Rollback: another update, to the version before, with its values and the live values of all fields. `kubectl apply` of
# a saved object is no rollback: it makes the caller the owner of all fields, and the next update without force fails
# (field.md 12).


@frozen
class AddonRollback:
    """`values` of the call; `by_hand`: fields that no value of that version sets, which must be set by hand. `caveats`:
    what may prevent the rollback, each a clause."""

    addon: str
    version: str
    values: Doc
    by_hand: tuple[AddonField, ...] = ()
    caveats: tuple[str, ...] = ()


def plan_rollback(plan: AddonPlan) -> AddonRollback | Unknown:
    """The rollback of the update as requested: it sets all fields at risk to their live values. Unknown if the current
    values are unknown: the values of a call replace all current ones."""
    facts = plan.facts
    if isinstance(facts.values, Unknown):
        return Unknown(f"the values of today are not known, so none can be given again: {facts.values.why}")
    values, by_hand = facts.values, []
    schema = facts.current.schema
    for change in plan.changes:
        if not change.at_risk or change.live is MISSING:
            continue
        if change.config and (isinstance(schema, Unknown) or not schema.is_refused(change.config)):
            values = with_value(values, change.config, change.live)
        else:
            by_hand.append(change.field)
    name, version = facts.addon.name, facts.addon.version
    caveats = [f"EKS takes it only while it offers {version} for Kubernetes {facts.cluster.version}"]
    if skew.skips_minors(name, facts.target.version, version):
        caveats.append(f"AWS recommends to update {name} one minor version at a time")
    if isinstance(schema, Unknown) and values != facts.values:
        caveats.append(f"whether {version} takes these values is not known: {schema.why}")
    return AddonRollback(name, version, values, tuple(by_hand), tuple(caveats))
