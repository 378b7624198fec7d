"""The update of an add-on as it would be: each field in each mode, what it means, and values that change nothing."""

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
    """`values`, given in the call that updates, keep the fields `keeps` as they are; to those of `cannot` no value
    leads. `broken`: what of it the target's schema does not allow. `offered`: not known to be refused by EKS."""

    values: Doc
    keeps: tuple[FieldChange, ...]
    cannot: tuple[FieldChange, ...]
    broken: tuple[SchemaViolation, ...] | Unknown = ()
    offered: bool = True

    @property
    def usable(self) -> bool:
        """It keeps something, and EKS takes it; what only a format of EKS's own speaks against is tried."""
        refused = () if isinstance(self.broken, Unknown) else [each for each in self.broken if not each.doubtful]
        return bool(self.keeps) and not refused and self.offered


@frozen
class AddonPlan:
    """`findings` are of the mode that was asked for, worst first. `way_out` is None where nothing is at risk."""

    facts: AddonFacts
    asked: AddonUpdateRequest
    predictions: tuple[Prediction, ...]
    findings: tuple[Finding, ...]
    way_out: WayOut | None

    @property
    def changes(self) -> tuple[FieldChange, ...]:
        """By object and field."""
        return tuple(change for each in self.predictions for change in each.changes)

    @property
    def unsure(self) -> tuple[FieldChange, ...]:
        """At risk, and what the mode that was asked for makes of it is concluded or believed only (--strict)."""
        mode = self.asked.mode
        return tuple(each for each in self.changes if each.at_risk and each.confidence(mode) is not Confidence.HIGH)

    @property
    def conflict(self) -> str:
        """The message by which the update fails with NONE, "" where it does not."""
        return "\n".join(each.conflict for each in self.predictions if each.conflict)


Judge = Callable[[Doc], "tuple[SchemaViolation, ...] | Unknown"]
"""What of configuration values the target's schema does not allow."""


def plan_update(facts: AddonFacts, asked: AddonUpdateRequest, judge: Judge) -> AddonPlan:
    """What the update does."""
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
    """In the mode that is asked for; what is predicted holds for all. `unreadable`: what could not be predicted."""
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
    """Those that hold after the call, None where they are not known."""
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
    # Of the objects as they are: of a later step of several, `now` is what the step before it leads to.
    shipped = manifests(name, facts.addon.version, facts.target.version, agent, facts.manifest)
    before: tuple[Rendered, ...] = ()
    if isinstance(target, Unknown):
        after = rendered(name, values)
    else:
        after = rendered(name, merged(target, values))
        # Without today's chart nobody knows what is not rendered any more.
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
    """Today's values, with those asked for over them, and each field at risk as it is live but for what was asked. They
    are tried, not just believed. None, too, where today's are not known: what is given replaces all of them."""
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
    """The target's schema lets it be; where the schema is not known it is tried all the same. Of a snapshot the value
    may be known as a digest only."""
    if has_digest(change.live) or isinstance(change.live, MissingValue):
        return False
    schema = facts.target.schema
    return bool(change.config) and (isinstance(schema, Unknown) or not schema.refuses(change.config))


# The updates of add-ons against an earlier answer: which add-ons either was about.


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
"""An object that nobody could look at hides the effect on its fields."""

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
"""An object may have several of each, a field each."""

_NEEDS = needs_of(Code.of_area("addon"))
_KNOWN = frozenset(_NEEDS) | {code.name for code in Code.of_area("addon_past")}
"""What an older version may have found besides, nobody looks for here."""


def against(
    earlier: SavedResult, cluster: Cluster, plans: Sequence[AddonPlan], options: Mapping[str, object], whole: bool
) -> ResultComparison:
    """`whole`: every add-on of the cluster was looked at, so that one that is missing is not there any more.

    Raises:
        BaselineError: the earlier answer is of another cluster.
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
    """`plans` of what was read earlier, as their own document is read."""
    made = made_earlier(of, cluster, (each for plan in plans for each in plan.findings))
    return replace(made, addons=_targets(plans))


def _addons_of(subject: Subject) -> Collection[str]:
    return (subject.name,) if subject.kind == "Addon" else addons_of(subject.kind, subject.name)


def _targets(plans: Iterable[AddonPlan]) -> dict[str, str]:
    return {plan.facts.addon.name: plan.facts.target.version for plan in plans}


def _to_elsewhere(earlier: SavedResult, targets: Mapping[str, str]) -> dict[FindingOutline, str]:
    """What was found of an update to another version: EKS's default may have moved since. What is about an object that
    no manifest known here has may be of any of these add-ons."""
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


# Since which version EKS's schema has a path: what was safe in every update before it is not safe in that one.


SchemaOf = Callable[[str], "SchemaPaths | Unknown"]
"""Of a version; asked for once each."""


@frozen
class SchemaSince:
    """`has` is the first version known to have the path in its schema, `lacks` the last one before it known not to, ""
    if there is none. `exact`: no version in between is unknown."""

    field: AddonField
    config: ConfigPath
    lacks: str
    has: str
    exact: bool


def since(changes: Iterable[FieldChange], versions: Sequence[str], schema_of: SchemaOf) -> tuple[SchemaSince, ...]:
    """Of each field at risk that a configuration value leads to and that the last of `versions` (the oldest first) has.

    Halved again and again, so that of thirty versions five are asked for: a path that has come is taken to stay.
    """
    found = []
    for change in changes:
        if change.at_risk and change.config and versions and _has(schema_of(versions[-1]), change.config) is True:
            found.append(_first(change, versions, schema_of))
    return tuple(found)


def _first(change: FieldChange, versions: Sequence[str], schema_of: SchemaOf) -> SchemaSince:
    below, above = -1, len(versions) - 1  # known to lack it, known to have it
    left = set(range(above))  # of which nothing is known, and which were not found unknown
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


# The message of a conflict, explained: who has each field that it names, and what ends the conflict.


_FIELD = re.compile(r"([A-Z]\w*(?:\.[\w.-]+)? [\w.:-]+) - ((?:\.[\w/~.-]+|\[[^\]\n]*\])+)")


def fields_in(message: str) -> tuple[str, ...]:
    """As `AddonField` prints them, in their order: ``DaemonSet.apps aws-node - .spec.…``."""
    plain = message.replace("\\n", "\n").replace('\\"', '"')
    return tuple(dict.fromkeys(f"{each[1]} - {each[2].rstrip('.')}" for each in _FIELD.finditer(plain)))


def addon_in(fields: Sequence[str]) -> str:
    """Whose objects they are of, "" where that is not one add-on."""
    found = {addon for field in fields for addon in addons_of(*_object(field))}
    return found.pop() if len(found) == 1 else ""


def _object(field: str) -> tuple[str, str]:
    """``DaemonSet.apps aws-node - .spec.…`` → kind and name."""
    kind, _, name = field.partition(" - ")[0].partition(" ")
    return kind.partition(".")[0], name


def explained(plan: AddonPlan, fields: Sequence[str]) -> AddonPlan:
    """Of its fields those that the message names. The values that are proposed stay those for all fields at risk: else
    the next update would be in conflict over another one."""
    others = {str(change.field) for change in plan.changes} - {*fields}
    kept = [each for each in plan.findings if not others & set(each.evidence)]
    predictions = tuple(
        replace(each, changes=tuple(change for change in each.changes if str(change.field) in fields))
        for each in plan.predictions
    )
    return replace(plan, predictions=predictions, findings=in_order((*kept, *_unexplained(plan, fields))))


def _unexplained(plan: AddonPlan, fields: Sequence[str]) -> Iterator[Finding]:
    """What is in conflict by the message, and not by what is read now."""
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
