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
from kubectl_eksdoc.amazon.group_updates import Stage
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.document_diff import Path, compare, names_item
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, without_entries
from kubectl_eksdoc.kubernetes.redaction import Digests
from kubectl_eksdoc.model.addons import EksAddonUpdate, Issue
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, named, same_json, with_value
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import TargetGroup
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.model.knowledge import made, told_of
from kubectl_eksdoc.model.network import TargetGroupBinding

from .expected import EKS, owners_of
from .fields import MISSING, AddonField, MissingValue, balanced, value_at
from .guards import RolloutState
from .plan import AddonPlan
from .prediction import Fate, FieldChange, Mode


@frozen
class Expectation:
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
    with managedFields; `unread`: those that could not be read. `shared`: fields that EKS and another owner have with
    the same value; the effect of the version on them is unknown. `was`: the version before, "" if it was not recorded.
    `key`: key of the digests that replace texts, "" if texts are stored."""

    addon: str
    target: str
    mode: Mode
    fields: tuple[Expectation, ...]
    objects: tuple[Doc, ...]
    unread: tuple[ObjectName, ...] = ()
    shared: tuple[AddonField, ...] = ()
    was: str = ""
    key: str = ""

    def sealed(self, doc: Doc) -> Doc:
        """A live object in the form of `objects`."""
        return cast(Doc, sealed(doc, self.key))

    def sealed_at(self, field: AddonField, value: Any) -> Any:
        """A live value in the form of the values of `fields`."""
        return value if field.printed(value) == value else sealed(value, self.key)


_PLAIN = frozenset(
    ("apiVersion", "kind", "name", "namespace", "uid", "key", "type", "protocol", "mountPath", "ip", "topologyKey")
)
"""Keys whose texts are names, by which list items are matched again."""


def sealed(value: Any, key: str) -> Any:
    """Replace the texts of a stored object by digests, except names; unchanged without a `key`. The key is not secret:
    with the file, a short password can be guessed by its digest, but no text can be read."""
    return _sealed(value, Digests(key.encode()), "") if key else value


def _sealed(value: Any, digests: Digests, name: str) -> Any:
    if name in ("managedFields", "finalizers"):
        return value
    if isinstance(value, dict):
        return {each: _sealed(found, digests, each) for each, found in value.items()}
    if isinstance(value, list):
        return [_sealed(each, digests, name) for each in value]
    return digests.of(value) if isinstance(value, str) and name not in _PLAIN else value


def expected_of(plan: AddonPlan, keeps: Iterable[FieldChange] = ()) -> ExpectedUpdate:
    """The prediction of the sent plan, without changes of the version that are not known in full. `keeps`: fields that
    its values keep, which the plan may not mention."""
    mode = plan.asked.mode
    foretold = [
        _expectation(change, mode)
        for change in plan.changes
        if change.exact(mode) or change.fate(mode) is not Fate.FOLLOWS
    ]
    spoken_of = {each.field for each in foretold}
    kept = [
        Expectation(change.field, Fate.KEPT, Confidence.HIGH, True, change.live, change.live)
        for change in keeps
        if change.field not in spoken_of
    ]
    fields = tuple(sorted((*foretold, *kept), key=lambda each: each.field))
    facts = plan.facts
    unread = tuple(of for of, _ in facts.unread)
    shared = tuple(field for each in plan.predictions for field in each.shared)
    was = facts.addon.version
    return ExpectedUpdate(facts.addon.name, facts.target.version, mode, fields, facts.objects, unread, shared, was)


def _expectation(change: FieldChange, mode: Mode) -> Expectation:
    fate, value = change.fate(mode), change.by_mode[mode].value
    if fate is Fate.UNKNOWN or not change.exact(mode):
        fate, value = Fate.UNKNOWN, MISSING
    return Expectation(change.field, fate, change.confidence(mode), change.at_risk, change.live, value)


def to_doc(expected: ExpectedUpdate, key: str) -> Doc:
    """As JSON, with digests for texts that may be secrets; a missing value is absent."""
    kept = replace(expected, key=key)
    fields = tuple(
        replace(each, live=kept.sealed_at(each.field, each.live), value=kept.sealed_at(each.field, each.value))
        for each in expected.fields
    )
    doc: Doc = told_of(replace(kept, fields=fields, objects=tuple(map(kept.sealed, expected.objects))))
    for each, told in zip(fields, doc["fields"], strict=True):
        for name in ("live", "value"):
            if isinstance(getattr(each, name), MissingValue):
                del told[name]
    return doc


def from_doc(doc: Doc) -> ExpectedUpdate:
    """Decode the result of `to_document`.

    Raises:
        KeyError, TypeError, ValueError: the document has another form.
    """
    return made(ExpectedUpdate, doc)


# Load balancer targets that an update may make unhealthy: their health before, at worst, and now.


_REACHES_PODS = "vpc-cni"


def affected(addon: str, cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """TargetGroupBindings of Services with pods that have their own security groups (field.md 14), sorted by namespace
    and name. Kubelet probes reach these pods by aws-node's settings, and a pod that is not Ready is no healthy target.
    Other add-ons have no such effect."""
    if addon != _REACHES_PODS:
        return ()
    bound = balanced(cluster)
    if isinstance(bound, Unknown):
        return Unknown(f"which target groups are affected is not known: {bound.why}", bound.missing)
    return tuple(each for each in bound if each.arn)


@frozen
class Health:
    """Number of healthy targets of a Service: `before` the update, the `lowest`, and `now`. `total`: targets that are
    registered now. `unread`: why the health is (no longer) known, a clause."""

    service: str
    before: int
    lowest: int
    now: int
    total: int
    unhealthy: tuple[str, ...] = ()
    unread: str = ""

    @property
    def fell(self) -> bool:
        return self.lowest < self.before

    @property
    def back(self) -> bool:
        return self.now >= self.before

    def __str__(self) -> str:
        if self.unread:
            return f"{self.service}: the health of its targets is not known: {self.unread}"
        return f"{self.service}: {self.before} healthy targets before, {self.lowest} at worst, {self.now} now"


Seen = Mapping[str, "TargetGroup | Unknown"]
"""By the ARN of the group."""


def begun(bindings: tuple[TargetGroupBinding, ...], seen: Seen) -> dict[str, Health]:
    """Health before the update, by the ARN of the group."""
    found = {}
    for binding in bindings:
        service, group = f"{binding.namespace}/{binding.service}", seen[binding.arn]
        if isinstance(group, Unknown):
            found[binding.arn] = Health(service, 0, 0, 0, 0, unread=group.why)
        else:
            count = group.healthy
            found[binding.arn] = Health(service, count, count, count, len(group.targets), group.unhealthy)
    return found


def again(bindings: Iterable[TargetGroupBinding], health: Mapping[str, Health]) -> dict[str, Health]:
    """Health before the update, as recorded in the journal; unknown for other groups."""
    unknown = "how they were before the update was not written down"
    found = {each.arn: Health(f"{each.namespace}/{each.service}", 0, 0, 0, 0, unread=unknown) for each in bindings}
    return {**found, **health}


def followed(health: Mapping[str, Health], seen: Seen) -> dict[str, Health]:
    """Current health. A group without health from before the update stays unknown."""
    return {arn: _followed(each, seen[arn]) for arn, each in health.items()}


def _followed(health: Health, group: TargetGroup | Unknown) -> Health:
    if health.unread and not health.before:
        return health
    if isinstance(group, Unknown):
        return replace(health, unread=group.why)
    healthy = group.healthy
    return Health(
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
    AS_BEFORE = "as before"  # the update failed or is in progress, and the field has its old value
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
    foretold: Expectation | None
    owners: tuple[str, ...] = ()
    why: str = ""


Now = Mapping[ObjectName, "Doc | Unknown"]
"""The objects after the update; a deleted one is an empty document."""


def checked(expected: ExpectedUpdate, now: Now, stage: Stage) -> tuple[FieldCheck, ...]:
    """Sorted by object and field: the predicted fields, and those of other owners that changed."""
    foretold = [_checked(each, now, stage, expected) for each in expected.fields]
    known, shared = {each.field for each in expected.fields}, frozenset(expected.shared)
    strays = [
        replace(check, verdict=Verdict.NOT_PREDICTED) if check.field in shared and stage not in _UNDONE else check
        for before in expected.objects
        for check in _strays(before, now, stage, expected)
        if check.field not in known
    ]
    return tuple(sorted((*foretold, *strays), key=lambda check: check.field))


def _checked(each: Expectation, now: Now, stage: Stage, expected: ExpectedUpdate) -> FieldCheck:
    doc = now.get(each.field.of, _NOT_ASKED)
    if isinstance(doc, Unknown):
        return FieldCheck(each.field, Verdict.NOT_READ, each.live, None, each, why=doc.why)
    found, owners = _stands(doc, each.field), _owners(doc, each.field.path)
    entry = _stands(doc, replace(each.field, path=each.field.path[:-1]))
    if found is MISSING and "" in (each.live, each.value) and isinstance(entry, dict) and "valueFrom" not in entry:
        found = ""  # the API server omits an empty value
    found = expected.sealed_at(each.field, found)
    return FieldCheck(each.field, _verdict(each, found, stage), each.live, found, each, owners)


_NOT_ASKED = Unknown("it was not read again")


def _verdict(each: Expectation, found: Any, stage: Stage) -> Verdict:
    if stage is not Stage.SUCCESSFUL and same_json(found, each.live):
        return Verdict.AS_BEFORE
    if stage in _UNDONE:
        return Verdict.OTHER
    if each.fate is Fate.UNKNOWN:
        return Verdict.NOT_PREDICTED
    return Verdict.AS_PREDICTED if same_json(found, each.value) else Verdict.OTHER


_UNDONE = (Stage.FAILED, Stage.CANCELLED)
"""Stages after which no field should have changed."""


def _stands(doc: Doc, field: AddonField) -> Any:
    return value_at(without_entries(doc), field.path, schema_of(field.of.api_version, field.of.kind).root)


def _owners(doc: Doc, path: Path) -> tuple[str, ...]:
    try:
        return tuple(sorted({owner.manager for owner, entry in owners_of(doc).items() if path in entry.fields}))
    except MalformedEntries:
        return ()


def _strays(before: Doc, now: Now, stage: Stage, expected: ExpectedUpdate) -> Iterator[FieldCheck]:
    """Changed fields of owners other than EKS; after an unsuccessful update, those of EKS, too."""
    of = named(before)
    after = now.get(of, _NOT_ASKED)
    if isinstance(after, Unknown):
        return  # reported for each predicted field, and for the object as a whole
    after = expected.sealed(after)
    schema = schema_of(of.api_version, of.kind)
    seen = compare(without_entries(before), without_entries(after), schema.root)
    every = seen.changed | seen.removed
    changed = {path for path in every if path[-1].startswith("k:") or not names_item(path)}
    try:
        owned = [
            entry.fields
            for owner, entry in owners_of(before).items()
            if owner.subresource != "status" and owner.manager not in _CONTROLLERS
            if owner != EKS or stage in _UNDONE
        ]
    except MalformedEntries:
        return
    for path in changed:
        inner = any(other != path and other[: len(path)] == path for other in changed)
        if inner or not any(path in fields for fields in owned):
            continue
        field = AddonField(of, path)
        live, found = _stands(before, field), _stands(after, field)
        yield FieldCheck(field, Verdict.OTHER, live, found, None, _owners(after, path))


_CONTROLLERS = frozenset(("kube-controller-manager",))
"""Managers that write consequences of a change, such as the revision of a Deployment."""


def unread(expected: ExpectedUpdate, now: Now) -> tuple[tuple[ObjectName, str], ...]:
    """Objects whose state after the update is unknown, sorted."""
    found = {named(each): _why(now.get(named(each), _NOT_ASKED)) for each in expected.objects}
    found |= dict.fromkeys(expected.unread, "it could not be read before the update")
    return tuple(sorted((of, why) for of, why in found.items() if why))


def _why(doc: Doc | Unknown) -> str:
    return doc.why if isinstance(doc, Unknown) else ""


# Result of an update: EKS's final status, rollouts, load balancer targets, and the comparison with the prediction.


@frozen
class AddonUpdateResult:
    """`id`: EKS's update ID. `left`: why following ended although the update continues, a clause, "" if it has ended.
    `not_ready`: pods of an unfinished rollout, each with the reason. `unread`: objects in an unknown state;
    `unwatched`: why targets were not watched, "" if they were or none is affected."""

    id: str
    stage: Stage
    seconds: float
    left: str = ""
    errors: tuple[Issue, ...] = ()
    rollouts: tuple[RolloutState, ...] = ()
    not_ready: tuple[str, ...] = ()
    health: tuple[Health, ...] = ()
    checks: tuple[FieldCheck, ...] = ()
    unread: tuple[tuple[ObjectName, str], ...] = ()
    unwatched: str = ""

    @property
    def whole(self) -> bool:
        """EKS has completed the update, and all pods are new."""
        return self.stage is Stage.SUCCESSFUL and not self.left

    def of(self, *verdicts: Verdict) -> tuple[FieldCheck, ...]:
        return tuple(check for check in self.checks if check.verdict in verdicts)

    @property
    def differs(self) -> bool:
        """A known value differs from the prediction, or targets are unhealthy."""
        return bool(self.of(Verdict.OTHER)) or any(each.fell and not each.back for each in self.health)

    @property
    def lacks(self) -> bool:
        """A part of the result is unknown."""
        doubtful = self.of(Verdict.NOT_READ, Verdict.NOT_PREDICTED)
        return bool(doubtful or self.unread or self.unwatched) or any(each.unread for each in self.health)


# The update in EKS's list that a request started whose response was not recorded.


_CLOCKS_DIFFER = timedelta(minutes=15)
"""AWS rejects requests whose time differs more from its own (signature version 4: five minutes); the machine's clock
may have been corrected since."""


def asked_for(
    updates: Iterable[EksAddonUpdate | Unknown], version: str, mode: str, at: datetime
) -> EksAddonUpdate | Unknown:
    """The update to that version in that mode that began after `requested_at`, the time in the journal. Values are not
    compared: EKS may store them in another form. Unknown if several match, or none: EKS may not have started it yet."""
    found = [
        each
        for each in updates
        if isinstance(each, EksAddonUpdate)
        and each.type == "AddonUpdate"
        and each.parameter("AddonVersion") == version
        and each.parameter("ResolveConflicts") == mode
        and each.begun is not None
        and each.begun >= at - _CLOCKS_DIFFER
    ]
    if len(found) == 1:
        return found[0]
    count = "none" if not found else str(len(found))
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


def way_back(plan: AddonPlan) -> AddonRollback | Unknown:
    """The rollback of the update as requested: it sets all fields at risk to their live values. Unknown if the current
    values are unknown: the values of a call replace all current ones."""
    facts = plan.facts
    if isinstance(facts.values, Unknown):
        return Unknown(f"the values of today are not known, so none can be given again: {facts.values.why}")
    values, by_hand = facts.values, []
    schema = facts.now.schema
    for change in plan.changes:
        if not change.at_risk or change.live is MISSING:
            continue
        if change.config and (isinstance(schema, Unknown) or not schema.refuses(change.config)):
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
