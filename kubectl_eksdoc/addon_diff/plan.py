"""Plan of an add-on update: each changed field in each conflict mode, the findings, and values that change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.side import Scope, Side, SnapshotOrigin, made_earlier, needs_of, read_of
from kubectl_eksdoc.baseline.side import since as comparing_since
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.kubernetes.redaction import has_digest
from kubectl_eksdoc.model.addons import ConfigPath, SchemaViolation
from kubectl_eksdoc.model.api_objects import Doc, at, named, with_value
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Code, Finding, Subject, in_order
from kubectl_eksdoc.model.kinds import Confidence, Unknown

from .corefile import corefile
from .expected import ExpectedApply
from .exposure import circumstances
from .fields import AddonField, MissingValue, leaves, merged
from .judging import Unread, judged, may_return, refused, shared
from .manifests import Rendered, addons_of, manifests, rendered, role_rendered
from .prediction import AddonFacts, AddonUpdateRequest, Fate, FieldChange, Mode, Prediction, predict
from .schema import SchemaPaths


@frozen
class WayOut:
    """Configuration values proposed for the update call. They keep the fields `keeps` as they are; no configuration
    value sets the fields `cannot`. `broken`: violations of the target's schema. `offered`: False if EKS is known not to
    offer the target version."""

    values: Doc
    keeps: tuple[FieldChange, ...]
    cannot: tuple[FieldChange, ...]
    broken: tuple[SchemaViolation, ...] | Unknown = ()
    offered: bool = True

    @property
    def usable(self) -> bool:
        """The values keep at least one field, and EKS accepts them. A violation of a format that only EKS defines does
        not count: the update may be tried."""
        refused = () if isinstance(self.broken, Unknown) else [each for each in self.broken if not each.doubtful]
        return bool(self.keeps) and not refused and self.offered


@frozen
class AddonPlan:
    """`findings` are those of the requested conflict mode, worst first. `way_out` is None if no field is at risk."""

    facts: AddonFacts
    asked: AddonUpdateRequest
    predictions: tuple[Prediction, ...]
    findings: tuple[Finding, ...]
    way_out: WayOut | None

    @property
    def changes(self) -> tuple[FieldChange, ...]:
        """Sorted by object and field."""
        return tuple(change for each in self.predictions for change in each.changes)

    @property
    def unsure(self) -> tuple[FieldChange, ...]:
        """Fields at risk whose prediction in the requested mode has medium or low confidence (--strict)."""
        mode = self.asked.mode
        return tuple(each for each in self.changes if each.at_risk and each.confidence(mode) is not Confidence.HIGH)

    @property
    def conflict(self) -> str:
        """The error message of an update with NONE, "" if it has no conflict."""
        return "\n".join(each.conflict for each in self.predictions if each.conflict)


Judge = Callable[[Doc], "tuple[SchemaViolation, ...] | Unknown"]
"""Returns the violations of the target's schema by configuration values."""


def plan_update(facts: AddonFacts, asked: AddonUpdateRequest, judge: Judge) -> AddonPlan:
    """Plan the update that `request` asks for."""
    predictions, unreadable = _predicted(facts, _values(facts, asked))
    way_out = _way_out(facts, asked, predictions, judge)
    return AddonPlan(facts, asked, predictions, findings_of(facts, asked, predictions, unreadable, judge), way_out)


def findings_of(
    facts: AddonFacts,
    asked: AddonUpdateRequest,
    predictions: tuple[Prediction, ...],
    unreadable: tuple[Unread, ...],
    judge: Judge,
) -> tuple[Finding, ...]:
    """The findings in the requested mode; predictions cover all modes. `unpredicted`: objects that could not be
    predicted."""
    values = _values(facts, asked)
    changes = tuple(change for each in predictions for change in each.changes)
    found = (
        *judged(facts, asked, changes, (*facts.unread, *unreadable)),
        *shared(predictions),
        *may_return(predictions),
        *refused(predictions, asked.mode),
        *circumstances(facts, asked, judge(values) if values else ()),
        *corefile(facts, values, changes, asked.mode),
    )
    return in_order(found)


def _values(facts: AddonFacts, asked: AddonUpdateRequest) -> Doc | None:
    """The configuration values after the call, None if they are not known."""
    if asked.values is not None:
        return asked.values
    return None if isinstance(facts.values, Unknown) else facts.values


def _predicted(facts: AddonFacts, values: Doc | None) -> tuple[tuple[Prediction, ...], tuple[Unread, ...]]:
    update = _update(facts, values)
    found: list[Prediction] = []
    unreadable: list[Unread] = []
    for live in facts.objects:
        try:
            found.append(predict(live, update))
        except MalformedEntries as error:
            unreadable.append((named(live), Unknown(f"its managedFields cannot be used: {error}")))
    return tuple(found), tuple(unreadable)


def _update(facts: AddonFacts, values: Doc | None) -> ExpectedApply:
    today = {} if isinstance(facts.values, Unknown) else facts.values
    name, now, target = facts.addon.name, facts.now.chart, facts.target.chart
    schema, schema_now = (None if isinstance(of.schema, Unknown) else of.schema for of in (facts.target, facts.now))
    role = role_rendered(name, facts.addon.role)
    if values is None:
        return ExpectedApply((), role, frozenset(), schema, schema_now, name, False, facts.now.version)
    agent = all(at(each, "nodeAgent", "enabled") is not False for each in (today, values))
    # Manifests of the installed objects. In a later step of several, `facts.current` is the version of the step before
    # it.
    shipped = manifests(name, facts.addon.version, facts.target.version, agent, facts.manifest)
    before: tuple[Rendered, ...] = ()
    if isinstance(target, Unknown):
        after = rendered(name, values)
    else:
        after = rendered(name, merged(target, values))
        # Without the current chart, the parts that are no longer rendered are not known.
        before = () if isinstance(now, Unknown) else rendered(name, merged(now, today))
    explicit = frozenset(leaf.path for leaf in leaves(values))
    whole = not isinstance(target, Unknown)
    return ExpectedApply(
        before,
        (*after, *role),
        explicit,
        schema,
        schema_now,
        name,
        whole,
        facts.now.version,
        agent,
        shipped,
        None if isinstance(facts.values, Unknown) else frozenset(leaf.path for leaf in leaves(facts.values)),
    )


def _way_out(
    facts: AddonFacts, asked: AddonUpdateRequest, predictions: Iterable[Prediction], judge: Judge
) -> WayOut | None:
    """Propose the current values, merged with the requested ones, plus the live value of each field at risk that the
    request does not set. The proposal is predicted like an update, not assumed to work. None if no field is at risk or
    the current values are unknown: the values of a call replace all current ones."""
    risky = tuple(change for each in predictions for change in each.changes if change.at_risk)
    if not risky or isinstance(facts.values, Unknown):
        return None
    values = merged(facts.values, asked.values or {})
    wanted = {leaf.path for leaf in leaves(asked.values or {})}
    for change in risky:
        if _settable(change, facts) and change.config not in wanted:
            values = with_value(values, change.config, change.live)
    after, _ = _predicted(facts, values)
    lost = {change.field for each in after for change in each.changes if change.at_risk}
    keeps = tuple(change for change in risky if change.field not in lost)
    cannot = tuple(change for change in risky if change.field in lost)
    return WayOut(values, keeps, cannot, judge(values), facts.offered is not False)


def _settable(change: FieldChange, facts: AddonFacts) -> bool:
    """The target's schema allows the configuration path; an unknown schema allows it, too. The live value of a snapshot
    may be a digest, which cannot be set."""
    if has_digest(change.live) or isinstance(change.live, MissingValue):
        return False
    schema = facts.target.schema
    return bool(change.config) and (isinstance(schema, Unknown) or not schema.refuses(change.config))


# Comparison of add-on updates with an earlier result: which add-ons each of the two covers.


KIN = dict.fromkeys(
    (
        "addon-field-reset",
        "addon-field-changed-in-every-mode",
        "addon-field-conflict",
        "addon-update-refused",
        "addon-field-kept",
        "addon-field-unknown",
        "addon-ownership-grows",
        "addon-other-writer",
    ),
    frozenset({"addon-object-unread", "addon-field-unknown"}),
)
"""An unread object hides the effect of the update on its fields."""

OF_FIELDS = frozenset(
    (
        "addon-field-reset",
        "addon-field-changed-in-every-mode",
        "addon-field-conflict",
        "addon-field-kept",
        "addon-field-unknown",
        "addon-ownership-grows",
    )
)
"""Codes that one object may have several times, once for each field."""

_NEEDS = needs_of(Code.of_area("addon"))
_KNOWN = frozenset(_NEEDS) | {code.name for code in Code.of_area("addon_past")}
"""Codes that other versions of this tool may have found are not compared."""


def against(
    earlier: SavedResult, cluster: Cluster, plans: Sequence[AddonPlan], options: Mapping[str, object], whole: bool
) -> ResultComparison:
    """Compare the plans with an `earlier` result. `is_complete`: every add-on of the cluster was checked, so a missing
    add-on was removed.

    Raises:
        BaselineError: the earlier result is of another cluster.
    """
    then = Side(
        earlier.findings,
        read=earlier.read,
        needs=_NEEDS,
        scope=_addons(earlier.addons),
        kin=KIN,
        wholes_of=_addons_of,
    )
    targets = _targets(plans)
    found = tuple(outline_of(each) for plan in plans for each in plan.findings)
    now = Side(
        found,
        read=read_of(cluster),
        needs=_NEEDS,
        codes=_KNOWN,
        scope=None if whole else _addons(targets),
        kin=KIN,
        apart=OF_FIELDS,
        hides=_to_elsewhere(earlier, targets),
        wholes_of=_addons_of,
    )
    return comparing_since(earlier, cluster, then, now, options, ("addon", "all"))


def as_earlier(of: SnapshotOrigin, cluster: Cluster, plans: Sequence[AddonPlan]) -> SavedResult:
    """The plans of an earlier snapshot, in the form of a saved result."""
    made = made_earlier(of, cluster, (each for plan in plans for each in plan.findings))
    return replace(made, addons=_targets(plans))


def _addons_of(subject: Subject) -> Collection[str]:
    return (subject.name,) if subject.kind == "Addon" else addons_of(subject.kind, subject.name)


def _targets(plans: Iterable[AddonPlan]) -> dict[str, str]:
    return {plan.facts.addon.name: plan.facts.target.version for plan in plans}


def _to_elsewhere(earlier: SavedResult, targets: Mapping[str, str]) -> dict[FindingOutline, str]:
    """Earlier findings of an update to another target version, each with a note: EKS may have changed its default
    version. A finding on an object that is in no known manifest may belong to any of these add-ons."""
    moved = {
        name: f"{name} was checked for an update to {earlier.addons[name]}, now to {target}"
        for name, target in targets.items()
        if earlier.addons.get(name, target) != target
    }
    found: dict[FindingOutline, str] = {}
    for each in earlier.findings if moved else ():
        names = _addons_of(each.subject)
        found.update((each, moved[name]) for name in moved if name in names or not names)
    return found


def _addons(names: Iterable[str]) -> Scope:
    return frozenset(("Addon", name) for name in names)


# The first version whose EKS schema has a path: an update to it may reset a field that earlier updates kept.


SchemaOf = Callable[[str], "SchemaPaths | Unknown"]
"""Schema of a version; each version is requested at most once."""


@frozen
class SchemaSince:
    """`has` is the first version known to have the path in its schema, `lacks` the last earlier version known not to
    have it, "" if there is none. `exact`: no version between the two is unknown."""

    field: AddonField
    config: ConfigPath
    lacks: str
    has: str
    exact: bool


def since(changes: Iterable[FieldChange], versions: Sequence[str], schema_of: SchemaOf) -> tuple[SchemaSince, ...]:
    """For each field at risk that has a configuration path in the schema of the last of `versions` (oldest first).

    A binary search: of thirty versions, about five schemas are requested. It assumes that a path, once added, stays.
    """
    found = []
    for change in changes:
        if change.at_risk and change.config and versions and _has(schema_of(versions[-1]), change.config) is True:
            found.append(_first(change, versions, schema_of))
    return tuple(found)


def _first(change: FieldChange, versions: Sequence[str], schema_of: SchemaOf) -> SchemaSince:
    below, above = -1, len(versions) - 1  # the version is known to lack it, the version is known to have it
    left = set(range(above))  # versions without a known answer that were not requested yet
    while candidates := [at for at in left if below < at < above]:
        at = candidates[len(candidates) // 2]
        left.discard(at)
        match _has(schema_of(versions[at]), change.config):
            case True:
                above = at
            case False:
                below = at
    lacks = versions[below] if below >= 0 else ""
    return SchemaSince(change.field, change.config, lacks, versions[above], above == below + 1)


def _has(schema: SchemaPaths | Unknown, path: ConfigPath) -> bool | None:
    return None if isinstance(schema, Unknown) else schema.of(path) is not None


# The message of an EKS conflict, explained: the owner of each field that it names, and how to resolve the conflict.


_FIELD = re.compile(r"([A-Z]\w*(?:\.[\w.-]+)? [\w.:-]+) - ((?:\.[\w/~.-]+|\[[^\]\n]*\])+)")


def fields_in(message: str) -> tuple[str, ...]:
    """The fields in the form of `AddonField`, in order of appearance: ``DaemonSet.apps aws-node - .spec.…``."""
    plain = message.replace("\\n", "\n").replace('\\"', '"')
    return tuple(dict.fromkeys(f"{each[1]} - {each[2].rstrip('.')}" for each in _FIELD.finditer(plain)))


def addon_in(fields: Sequence[str]) -> str:
    """The add-on that the fields belong to, "" if that is not exactly one."""
    found = {addon for field in fields for addon in addons_of(*_object(field))}
    return found.pop() if len(found) == 1 else ""


def _object(field: str) -> tuple[str, str]:
    """``DaemonSet.apps aws-node - .spec.…`` → kind and name."""
    kind, _, name = field.partition(" - ")[0].partition(" ")
    return kind.partition(".")[0], name


def explained(plan: AddonPlan, fields: Sequence[str]) -> AddonPlan:
    """Restrict the plan to the fields that the message names. The proposed values still cover all fields at risk;
    otherwise the next update would conflict over another field."""
    others = {str(change.field) for change in plan.changes} - {*fields}
    kept = [each for each in plan.findings if not others & set(each.evidence)]
    predictions = tuple(
        replace(each, changes=tuple(change for change in each.changes if str(change.field) in fields))
        for each in plan.predictions
    )
    return replace(plan, predictions=predictions, findings=in_order((*kept, *_unexplained(plan, fields))))


def _unexplained(plan: AddonPlan, fields: Sequence[str]) -> Iterator[Finding]:
    """Fields that the message names and that have no conflict by the current objects."""
    told = {str(change.field): change for change in plan.changes}
    read = {(of.kind, of.name) for of in map(named, plan.facts.objects)}
    for field in fields:
        if field in told and told[field].fate(Mode.NONE) in (Fate.CONFLICT, Fate.UNKNOWN):
            continue
        of = _object(field)
        others = addons_of(*of)
        if of in read:
            yield Finding.of("addon-field-unknown/not-in-conflict", Subject(*of), (field,), field=field)
        elif others and plan.facts.addon.name not in others:
            command = shell("kubectl", "eksdoc", "addon-diff", others[0], "--explain-conflict", field)
            yield Finding.of(
                "addon-field-unknown/of-another-addon",
                Subject(*of),
                (field,),
                field=field,
                addon_name=plan.facts.addon.name,
                other=others[0],
                command=command,
            )
        else:
            kind = field.partition(" ")[0]
            command = shell(
                *("kubectl", "get", kind, "-A", "--field-selector", f"metadata.name={of[1]}"),
                *("-o", "jsonpath={.items[*].metadata.managedFields}"),
            )
            yield Finding.of(
                "addon-field-unknown/object-not-read", Subject(*of), (field,), field=field, command=command
            )
