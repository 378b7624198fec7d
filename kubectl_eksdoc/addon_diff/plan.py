"""Plan of an add-on update: each changed field in each conflict mode, the findings, and values that change nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.baseline.changes import ResultComparison, outline_of
from kubectl_eksdoc.baseline.side import ResultSide, Scope, SnapshotOrigin, complete_kinds, kinds_by_code, saved_result
from kubectl_eksdoc.baseline.side import compare_with_saved as comparing_since
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.kubernetes.redaction import has_digest
from kubectl_eksdoc.model.addons import ConfigPath, SchemaViolation
from kubectl_eksdoc.model.api_objects import Doc, nested_field, object_name, with_value
from kubectl_eksdoc.model.baseline import FindingOutline, SavedResult
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.findings import Code, Finding, Subject, sort_findings
from kubectl_eksdoc.model.kinds import Confidence, Unknown

from .corefile import corefile_findings
from .expected import ExpectedApply
from .exposure import request_findings
from .fields import AddonField, MissingValue, leaves, merge_values
from .judging import UnreadObject, change_findings, may_return_findings, refused_findings, shared_findings
from .manifests import RenderedPart, addon_manifests, addons_applying, render_role, render_values
from .prediction import AddonFacts, AddonUpdateRequest, Fate, FieldChange, Mode, Prediction, predict_object
from .schema import SchemaPaths


@frozen
class ProposedValues:
    """Configuration values proposed for the update call. They keep the fields `keeps` as they are; no configuration
    value sets the fields `cannot`. `broken`: violations of the target's schema. `offered`: False if EKS is known not to
    offer the target version."""

    values: Doc
    keeps: tuple[FieldChange, ...]
    cannot: tuple[FieldChange, ...]
    broken: tuple[SchemaViolation, ...] | Unknown = ()
    offered: bool = True

    @property
    def is_usable(self) -> bool:
        """The values keep at least one field, and EKS accepts them. A violation of a format that only EKS defines does
        not count: the update may be tried."""
        violations = () if isinstance(self.broken, Unknown) else [each for each in self.broken if not each.doubtful]
        return bool(self.keeps) and not violations and self.offered


@frozen
class AddonPlan:
    """`findings` are those of the requested conflict mode, worst first. `way_out` is None if no field is at risk."""

    facts: AddonFacts
    request: AddonUpdateRequest
    predictions: tuple[Prediction, ...]
    findings: tuple[Finding, ...]
    way_out: ProposedValues | None

    @property
    def changes(self) -> tuple[FieldChange, ...]:
        """Sorted by object and field."""
        return tuple(change for each in self.predictions for change in each.changes)

    @property
    def uncertain_changes(self) -> tuple[FieldChange, ...]:
        """Fields at risk whose prediction in the requested mode has medium or low confidence (--strict)."""
        mode = self.request.mode
        return tuple(each for each in self.changes if each.at_risk and each.confidence(mode) is not Confidence.HIGH)

    @property
    def conflict(self) -> str:
        """The error message of an update with NONE, "" if it has no conflict."""
        return "\n".join(each.conflict for each in self.predictions if each.conflict)


ValuesValidator = Callable[[Doc], "tuple[SchemaViolation, ...] | Unknown"]
"""Returns the violations of the target's schema by configuration values."""


def plan_update(facts: AddonFacts, request: AddonUpdateRequest, validate: ValuesValidator) -> AddonPlan:
    """Plan the update that `request` asks for."""
    predictions, unpredicted = _predict_objects(facts, _values_after(facts, request))
    way_out = _propose_values(facts, request, predictions, validate)
    return AddonPlan(
        facts, request, predictions, findings_of(facts, request, predictions, unpredicted, validate), way_out
    )


def findings_of(
    facts: AddonFacts,
    request: AddonUpdateRequest,
    predictions: tuple[Prediction, ...],
    unpredicted: tuple[UnreadObject, ...],
    validate: ValuesValidator,
) -> tuple[Finding, ...]:
    """The findings in the requested mode; predictions cover all modes. `unpredicted`: objects that could not be
    predicted."""
    values = _values_after(facts, request)
    changes = tuple(change for each in predictions for change in each.changes)
    findings = (
        *change_findings(facts, request, changes, (*facts.unread, *unpredicted)),
        *shared_findings(predictions),
        *may_return_findings(predictions),
        *refused_findings(predictions, request.mode),
        *request_findings(facts, request, validate(values) if values else ()),
        *corefile_findings(facts, values, changes, request.mode),
    )
    return sort_findings(findings)


def _values_after(facts: AddonFacts, request: AddonUpdateRequest) -> Doc | None:
    """The configuration values after the call, None if they are not known."""
    if request.values is not None:
        return request.values
    return None if isinstance(facts.values, Unknown) else facts.values


def _predict_objects(facts: AddonFacts, values: Doc | None) -> tuple[tuple[Prediction, ...], tuple[UnreadObject, ...]]:
    update = _expected_apply(facts, values)
    predictions: list[Prediction] = []
    unpredicted: list[UnreadObject] = []
    for live in facts.objects:
        try:
            predictions.append(predict_object(live, update))
        except MalformedEntries as error:
            unpredicted.append((object_name(live), Unknown(f"its managedFields cannot be used: {error}")))
    return tuple(predictions), tuple(unpredicted)


def _expected_apply(facts: AddonFacts, values: Doc | None) -> ExpectedApply:
    current_values = {} if isinstance(facts.values, Unknown) else facts.values
    name, current_chart, target_chart = facts.addon.name, facts.current.chart, facts.target.chart
    schema, current_schema = (
        None if isinstance(version_facts.schema, Unknown) else version_facts.schema
        for version_facts in (facts.target, facts.current)
    )
    role = render_role(name, facts.addon.role)
    if values is None:
        return ExpectedApply((), role, frozenset(), schema, current_schema, name, False, facts.current.version)
    has_agent = all(nested_field(each, "nodeAgent", "enabled") is not False for each in (current_values, values))
    # Manifests of the installed objects. In a later step of several, `facts.current` is the version of the step before
    # it.
    shipped_manifests = addon_manifests(name, facts.addon.version, facts.target.version, has_agent, facts.manifest)
    current_parts: tuple[RenderedPart, ...] = ()
    if isinstance(target_chart, Unknown):
        target_parts = render_values(name, values)
    else:
        target_parts = render_values(name, merge_values(target_chart, values))
        # Without the current chart, the parts that are no longer rendered are not known.
        current_parts = (
            ()
            if isinstance(current_chart, Unknown)
            else render_values(name, merge_values(current_chart, current_values))
        )
    set_paths = frozenset(leaf.path for leaf in leaves(values))
    is_complete = not isinstance(target_chart, Unknown)
    return ExpectedApply(
        current_parts,
        (*target_parts, *role),
        set_paths,
        schema,
        current_schema,
        name,
        is_complete,
        facts.current.version,
        has_agent,
        shipped_manifests,
        None if isinstance(facts.values, Unknown) else frozenset(leaf.path for leaf in leaves(facts.values)),
    )


def _propose_values(
    facts: AddonFacts, request: AddonUpdateRequest, predictions: Iterable[Prediction], validate: ValuesValidator
) -> ProposedValues | None:
    """Propose the current values, merged with the requested ones, plus the live value of each field at risk that the
    request does not set. The proposal is predicted like an update, not assumed to work. None if no field is at risk or
    the current values are unknown: the values of a call replace all current ones."""
    at_risk = tuple(change for each in predictions for change in each.changes if change.at_risk)
    if not at_risk or isinstance(facts.values, Unknown):
        return None
    values = merge_values(facts.values, request.values or {})
    requested_paths = {leaf.path for leaf in leaves(request.values or {})}
    for change in at_risk:
        if _is_settable(change, facts) and change.config not in requested_paths:
            values = with_value(values, change.config, change.live)
    predictions_after, _ = _predict_objects(facts, values)
    lost_fields = {change.field for each in predictions_after for change in each.changes if change.at_risk}
    keeps = tuple(change for change in at_risk if change.field not in lost_fields)
    cannot = tuple(change for change in at_risk if change.field in lost_fields)
    return ProposedValues(values, keeps, cannot, validate(values), facts.offered is not False)


def _is_settable(change: FieldChange, facts: AddonFacts) -> bool:
    """The target's schema allows the configuration path; an unknown schema allows it, too. The live value of a snapshot
    may be a digest, which cannot be set."""
    if has_digest(change.live) or isinstance(change.live, MissingValue):
        return False
    schema = facts.target.schema
    return bool(change.config) and (isinstance(schema, Unknown) or not schema.is_refused(change.config))


# Comparison of add-on updates with an earlier result: which add-ons each of the two covers.


RELATED_CODES = dict.fromkeys(
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

FIELD_CODES = frozenset(
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

_CODE_NEEDS = kinds_by_code(Code.of_areas("addon"))
_KNOWN_CODES = frozenset(_CODE_NEEDS) | {code.name for code in Code.of_areas("addon_past")}
"""Codes that other versions of this tool may have found are not compared."""


def compare_with_earlier(
    earlier: SavedResult, cluster: Cluster, plans: Sequence[AddonPlan], options: Mapping[str, object], is_complete: bool
) -> ResultComparison:
    """Compare the plans with an `earlier` result. `is_complete`: every add-on of the cluster was checked, so a missing
    add-on was removed.

    Raises:
        BaselineError: the earlier result is of another cluster.
    """
    earlier_side = ResultSide(
        earlier.findings,
        complete_kinds=earlier.read,
        needed_kinds=_CODE_NEEDS,
        scope=_addon_scope(earlier.addons),
        related_codes=RELATED_CODES,
        addons_of=_addon_names_of,
    )
    targets = _target_versions(plans)
    outlines = tuple(outline_of(each) for plan in plans for each in plan.findings)
    current_side = ResultSide(
        outlines,
        complete_kinds=complete_kinds(cluster),
        needed_kinds=_CODE_NEEDS,
        codes=_KNOWN_CODES,
        scope=None if is_complete else _addon_scope(targets),
        related_codes=RELATED_CODES,
        per_part_codes=FIELD_CODES,
        hidden_findings=_other_target_notes(earlier, targets),
        addons_of=_addon_names_of,
    )
    return comparing_since(earlier, cluster, earlier_side, current_side, options, ("addon", "all"))


def as_saved_result(origin: SnapshotOrigin, cluster: Cluster, plans: Sequence[AddonPlan]) -> SavedResult:
    """The plans of an earlier snapshot, in the form of a saved result."""
    result = saved_result(origin, cluster, (each for plan in plans for each in plan.findings))
    return replace(result, addons=_target_versions(plans))


def _addon_names_of(subject: Subject) -> Collection[str]:
    return (subject.name,) if subject.kind == "Addon" else addons_applying(subject.kind, subject.name)


def _target_versions(plans: Iterable[AddonPlan]) -> dict[str, str]:
    return {plan.facts.addon.name: plan.facts.target.version for plan in plans}


def _other_target_notes(earlier: SavedResult, targets: Mapping[str, str]) -> dict[FindingOutline, str]:
    """Earlier findings of an update to another target version, each with a note: EKS may have changed its default
    version. A finding on an object that is in no known manifest may belong to any of these add-ons."""
    moved = {
        name: f"{name} was checked for an update to {earlier.addons[name]}, now to {target}"
        for name, target in targets.items()
        if earlier.addons.get(name, target) != target
    }
    notes: dict[FindingOutline, str] = {}
    for each in earlier.findings if moved else ():
        names = _addon_names_of(each.subject)
        notes.update((each, moved[name]) for name in moved if name in names or not names)
    return notes


def _addon_scope(names: Iterable[str]) -> Scope:
    return frozenset(("Addon", name) for name in names)


# The first version whose EKS schema has a path: an update to it may reset a field that earlier updates kept.


SchemaLookup = Callable[[str], "SchemaPaths | Unknown"]
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


def first_schema_versions(
    changes: Iterable[FieldChange], versions: Sequence[str], schema_of: SchemaLookup
) -> tuple[SchemaSince, ...]:
    """For each field at risk that has a configuration path in the schema of the last of `versions` (oldest first).

    A binary search: of thirty versions, about five schemas are requested. It assumes that a path, once added, stays.
    """
    results = []
    for change in changes:
        if change.at_risk and change.config and versions and _has_path(schema_of(versions[-1]), change.config) is True:
            results.append(_first_schema_version(change, versions, schema_of))
    return tuple(results)


def _first_schema_version(change: FieldChange, versions: Sequence[str], schema_of: SchemaLookup) -> SchemaSince:
    newest_without, oldest_with = (
        -1,
        len(versions) - 1,
    )  # the version is known to lack it, the version is known to have it
    unchecked = set(range(oldest_with))  # versions without a known answer that were not requested yet
    while candidates := [index for index in unchecked if newest_without < index < oldest_with]:
        index = candidates[len(candidates) // 2]
        unchecked.discard(index)
        match _has_path(schema_of(versions[index]), change.config):
            case True:
                oldest_with = index
            case False:
                newest_without = index
    lacks = versions[newest_without] if newest_without >= 0 else ""
    return SchemaSince(change.field, change.config, lacks, versions[oldest_with], oldest_with == newest_without + 1)


def _has_path(schema: SchemaPaths | Unknown, path: ConfigPath) -> bool | None:
    return None if isinstance(schema, Unknown) else schema.allowed_at(path) is not None


# The message of an EKS conflict, explained: the owner of each field that it names, and how to resolve the conflict.


_CONFLICT_FIELD = re.compile(r"([A-Z]\w*(?:\.[\w.-]+)? [\w.:-]+) - ((?:\.[\w/~.-]+|\[[^\]\n]*\])+)")


def fields_in(message: str) -> tuple[str, ...]:
    """The fields in the form of `AddonField`, in order of appearance: ``DaemonSet.apps aws-node - .spec.…``."""
    unescaped = message.replace("\\n", "\n").replace('\\"', '"')
    return tuple(dict.fromkeys(f"{each[1]} - {each[2].rstrip('.')}" for each in _CONFLICT_FIELD.finditer(unescaped)))


def addon_of_fields(fields: Sequence[str]) -> str:
    """The add-on that the fields belong to, "" if that is not exactly one."""
    addons = {addon for field in fields for addon in addons_applying(*_kind_and_name(field))}
    return addons.pop() if len(addons) == 1 else ""


def _kind_and_name(field: str) -> tuple[str, str]:
    """``DaemonSet.apps aws-node - .spec.…`` → kind and name."""
    kind, _, name = field.partition(" - ")[0].partition(" ")
    return kind.partition(".")[0], name


def explain_conflict(plan: AddonPlan, fields: Sequence[str]) -> AddonPlan:
    """Restrict the plan to the fields that the message names. The proposed values still cover all fields at risk;
    otherwise the next update would conflict over another field."""
    other_fields = {str(change.field) for change in plan.changes} - {*fields}
    findings = [each for each in plan.findings if not other_fields & set(each.evidence)]
    predictions = tuple(
        replace(each, changes=tuple(change for change in each.changes if str(change.field) in fields))
        for each in plan.predictions
    )
    return replace(
        plan, predictions=predictions, findings=sort_findings((*findings, *_unexplained_fields(plan, fields)))
    )


def _unexplained_fields(plan: AddonPlan, fields: Sequence[str]) -> Iterator[Finding]:
    """Fields that the message names and that have no conflict by the current objects."""
    changes_by_field = {str(change.field): change for change in plan.changes}
    read_objects = {(kind_and_name.kind, kind_and_name.name) for kind_and_name in map(object_name, plan.facts.objects)}
    for field in fields:
        if field in changes_by_field and changes_by_field[field].fate(Mode.NONE) in (Fate.CONFLICT, Fate.UNKNOWN):
            continue
        kind_and_name = _kind_and_name(field)
        addons = addons_applying(*kind_and_name)
        if kind_and_name in read_objects:
            yield Finding.of("addon-field-unknown/not-in-conflict", Subject(*kind_and_name), (field,), field=field)
        elif addons and plan.facts.addon.name not in addons:
            command = shell("kubectl", "eksdoc", "addon-diff", addons[0], "--explain-conflict", field)
            yield Finding.of(
                "addon-field-unknown/of-another-addon",
                Subject(*kind_and_name),
                (field,),
                field=field,
                addon_name=plan.facts.addon.name,
                other=addons[0],
                command=command,
            )
        else:
            kind = field.partition(" ")[0]
            command = shell(
                *("kubectl", "get", kind, "-A", "--field-selector", f"metadata.name={kind_and_name[1]}"),
                *("-o", "jsonpath={.items[*].metadata.managedFields}"),
            )
            yield Finding.of(
                "addon-field-unknown/object-not-read", Subject(*kind_and_name), (field,), field=field, command=command
            )
