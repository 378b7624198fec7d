"""What was foretold of each field, as it is kept in a journal: so that who comes later can compare it with what is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from kubectl_eksdoc.addon_diff.fields import AddonField
from kubectl_eksdoc.addon_diff.merging import MISSING, MissingValue
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import Fate, FieldChange, Mode
from kubectl_eksdoc.addon_diff.usage import BEHIND_BALANCERS
from kubectl_eksdoc.kubernetes.keeping import Digests
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.asked import Confidence, Unknown
from kubectl_eksdoc.model.aws.clusters import TargetGroup
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.knowledge import made, told_of
from kubectl_eksdoc.model.network import TargetGroupBinding


@dataclass(frozen=True, slots=True)
class Expectation:
    """`live`: what stood there before; `value`: what is to stand there, both `MISSING` for nothing. Where `fate` is
    unknown, `value` says nothing. `at_risk`: somebody had set it."""

    field: AddonField
    fate: Fate
    sure: Confidence
    at_risk: bool
    live: Any = MISSING
    value: Any = MISSING


@dataclass(frozen=True, slots=True)
class ExpectedUpdate:
    """All that an update of `addon` to `target` is held against. `objects` are the live ones of before, with their
    managedFields; `unread` those that nobody could read. `shared`: fields that EKS and somebody else have alike, of
    which nobody knows what the version makes; `was`: the version of before, "" where it was not written down. `key`:
    of the digests in the place of texts, "" where texts stand."""

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
        """An object of now, as those of `objects` are."""
        return cast(Doc, sealed(doc, self.key))

    def sealed_at(self, field: AddonField, value: Any) -> Any:
        """What stands there now, as the values of `fields` are."""
        return value if field.printed(value) == value else sealed(value, self.key)


_PLAIN = frozenset(
    ("apiVersion", "kind", "name", "namespace", "uid", "key", "type", "protocol", "mountPath", "ip", "topologyKey")
)
"""Keys of objects whose texts name things, and by which items of a list are found again."""


def sealed(value: Any, key: str) -> Any:
    """Of an object that is kept: digests of its texts, but of those that name things. No `key`: as it is. A key is no
    secret: whoever has the file can try out which short password has a digest, and can read none."""
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
    """Of the plan of what is sent, but for what follows the version and is not known in full. `keeps`: fields that its
    values keep, which that plan need not speak of."""
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
    """As JSON has it, with digests in the place of texts that may be secrets; what stands nowhere is absent."""
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
    """
    Raises:
        KeyError, TypeError, ValueError: it is none of `to_doc`.
    """
    return made(ExpectedUpdate, doc)


# Which load balancers' targets an update may make unhealthy, and how they were before, at worst, and in the end.


_REACHES_PODS = "vpc-cni"


def affected(addon: str, cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """Bindings, by namespace and name, of Services with pods that have security groups of their own (field.md 14):
    kubelet's probes reach them by aws-node's settings, and what is not Ready is no target any more. No other add-on has
    to do with that."""
    if addon != _REACHES_PODS:
        return ()
    missing = cluster.unread(kinds.PODS, *BEHIND_BALANCERS)
    if missing:
        why = "; ".join(f"{read.resource.full_name}: {read.detail}" for read in missing)
        return Unknown(f"which target groups are affected is not known: {why}", f"list {missing[0].resource.full_name}")
    branch = [pod for pod in cluster.pods if pod.branch is not None and not pod.finished]
    serving = {
        service.key
        for service in cluster.services
        if service.selector
        and any(
            pod.namespace == service.namespace
            and all(pod.labels.get(key) == value for key, value in service.selector.items())
            for pod in branch
        )
    }
    bound = (each for each in cluster.target_group_bindings if f"{each.namespace}/{each.service}" in serving)
    return tuple(sorted((each for each in bound if each.arn), key=lambda each: (each.namespace, each.name)))


@dataclass(frozen=True, slots=True)
class Health:
    """Of the targets of a Service, so many are healthy: `before` the update, at the `lowest`, and `now`. `total`: the
    targets that are registered now. `unread`: why it is not known (any more), a clause."""

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
    """By the ARN of the group, as it is before the update."""
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
    """As it was before the update, by what was written down then; of other groups nobody knows that."""
    unknown = "how they were before the update was not written down"
    found = {each.arn: Health(f"{each.namespace}/{each.service}", 0, 0, 0, 0, unread=unknown) for each in bindings}
    return {**found, **health}


def followed(health: Mapping[str, Health], seen: Seen) -> dict[str, Health]:
    """As it is now. What could not be read once has no figure of before to be held against."""
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
