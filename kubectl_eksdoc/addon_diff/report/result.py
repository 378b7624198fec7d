"""JSON and YAML of add-on updates (``-o json``, ``-o yaml``). An unknown value is null and has a finding; a missing
value is absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.kubernetes.redaction import redact_value
from kubectl_eksdoc.model.addons import SchemaViolation, format_path
from kubectl_eksdoc.model.kinds import Confidence, Unknown
from kubectl_eksdoc.report.command_result import CommandResult
from kubectl_eksdoc.report.result import (
    UNSET,
    FindingResult,
    ObjectResult,
    Printed,
    Text,
    Texts,
    UnsetType,
)

from .. import fields as usage
from ..expected import ApplyEvidence
from ..fields import MISSING
from ..plan import AddonPlan, ProposedValues, SchemaSince
from ..prediction import Fate, FieldChange, Mode
from ..schema import schema_changes
from ..terraform_requests import Generation, RequestKind
from . import update
from .update import verdict

_Values = dict[str, Any]
TerraformWriter = Callable[[AddonPlan, ProposedValues], Iterable[tuple[str, str]]]
"""Returns pairs of provider versions and the Terraform arguments for them."""


class _FieldPrediction(Printed):
    fate: Fate
    confidence: Confidence
    value: Any | UnsetType
    """The value after the update; absent for none, and if it is unknown."""


def _prediction_result(change: FieldChange, mode: Mode) -> _FieldPrediction:
    prediction = change.by_mode[mode]
    is_absent = prediction.value is MISSING or prediction.value is None
    value = UNSET if is_absent else change.field.redacted(prediction.value)
    return _FieldPrediction.from_facts(prediction, confidence=change.confidence(mode), value=value)


class _Modes(Printed, rename="upper"):
    none: _FieldPrediction
    overwrite: _FieldPrediction
    preserve: _FieldPrediction


class _Field(Printed):
    called = {"object": "field.of", "path": "field.said", "ownership_grows": "expands", "why": "witness"}

    object: ObjectResult
    path: Text
    """In EKS's notation, as in a conflict message."""
    configuration: Text | None
    """Path in the configuration values; null if there is none."""
    live: Any | UnsetType
    """The live value; absent if there is none."""
    owners: Texts
    """The current field managers."""
    at_risk: bool
    ownership_grows: bool
    """EKS takes ownership of a field that it does not own yet."""
    why: ApplyEvidence | None
    """The evidence that EKS applies the field; null without any."""
    modes: _Modes

    @classmethod
    def of(cls, facts: FieldChange) -> _Field:
        return cls.from_facts(
            facts,
            configuration=format_path(facts.config) if facts.config else None,
            live=UNSET if facts.live is MISSING else facts.field.redacted(facts.live),
            modes=_Modes.from_facts(**{mode.value.lower(): _prediction_result(facts, mode) for mode in Mode}),
        )


class _Violation(Printed):
    path: Text
    what: Text
    doubtful: bool

    @classmethod
    def of(cls, facts: SchemaViolation) -> _Violation:
        return cls.from_facts(facts, path=format_path(facts.path))


class _Arguments(Printed):
    provider: Text
    arguments: Text


class _ProposedValues(Printed):
    called = {"cannot_keep": "cannot", "refused": "broken"}

    values: _Values
    """With these values, the update keeps the fields `keeps` as they are."""
    keeps: Texts
    cannot_keep: Texts
    """Fields that no configuration value sets."""
    refused: tuple[_Violation, ...] | None
    """Violations of the target's schema by the values; null if unknown."""
    command: Text | None
    """Null if the values keep no field, EKS would refuse them, or another version comes first."""
    terraform: tuple[_Arguments, ...]
    eksctl: _Values | None


def _proposed_values_result(plan: AddonPlan, proposed: ProposedValues, terraform: TerraformWriter) -> _ProposedValues:
    is_next = proposed.is_usable and len(plan.facts.steps) <= 1  # otherwise another version comes first
    blocks = terraform(plan, proposed) if is_next else ()
    return _ProposedValues.from_facts(
        proposed,
        values=redact_value(proposed.values),
        command=update.proposed_command(plan, proposed) if is_next and plan.facts.installed else None,
        terraform=(_Arguments.from_facts(provider=provider, arguments=each) for provider, each in blocks),
        eksctl=update.eksctl_config(plan, proposed) if is_next else None,
    )


class _Usage(Printed):
    """Users of the settings of vpc-cni; null if they could not be read."""

    called = {
        "pods_with_security_groups": "branch_pods",
        "security_group_policies": "policies",
        "target_group_bindings": "target_groups",
    }

    pods_with_security_groups: Texts | None
    """Pods with their own branch interface, as namespace/name."""
    pods_astray: Texts | None
    """Those of them that have the address, and so the security groups, of their node."""
    security_group_policies: Texts | None
    """As namespace/name."""
    eni_configs: Texts | None
    """By name."""
    target_group_bindings: Texts | None
    """TargetGroupBindings of Services that select one of these pods, as namespace/name."""

    @classmethod
    def of(cls, facts: usage.Usage) -> _Usage:
        names = facts.branch_pods
        return cls.from_facts(
            facts, pods_astray=names if isinstance(names, Unknown) else [pod.key for pod in facts.astray]
        )


class _Step(Printed):
    called = {"cannot_keep": "way_out.cannot"}

    version: Text
    verdict: Text
    at_risk: Texts
    cannot_keep: Texts
    values: _Values | None
    """The values after the step; null if the current ones are unknown."""
    command: str | None
    """Null if no values are known for the update."""
    findings: tuple[FindingResult, ...]

    @classmethod
    def of(cls, facts: AddonPlan) -> _Step:
        proposed = facts.way_out
        values = facts.facts.values if proposed is None else proposed.values
        return cls.from_facts(
            facts,
            version=facts.facts.target.version,
            verdict=verdict(facts),
            at_risk=(change for change in facts.changes if change.at_risk),
            values=values if isinstance(values, Unknown) else redact_value(values),
            command=update.next_command(facts),
        )


class _FirstInSchema(Printed):
    field: Text
    configuration: Text
    lacks: Text | None
    """The last version before `has` that is known not to have the path."""
    has: Text
    """The first version that is known to have the path."""
    exact: bool
    """No version between the two is unknown."""

    @classmethod
    def of(cls, facts: SchemaSince) -> _FirstInSchema:
        return cls.from_facts(facts, configuration=format_path(facts.config))


class DiffAddon(Printed):
    """The update of one add-on."""

    address: Text | UnsetType
    """The Terraform resource that requests the update; only with --tf-plan."""
    name: Text
    version: Text | None
    """Null if EKS does not manage the add-on yet and a Terraform plan creates it."""
    target: Text
    steps: Texts
    """The versions to update to in turn, the target last."""
    offered: bool | None
    """EKS offers the target for this cluster; null if unknown."""
    mode: Mode
    """How conflicts are resolved."""
    verdict: Text
    values: _Values | None
    """The current configuration values; null if they cannot be read."""
    conflict: Text | None
    """The error message of an update with NONE; null if it has no conflict."""
    fields: tuple[_Field, ...]
    """The fields that the update may change, sorted by object and path."""
    schema_changes: Texts | None
    """Null if one of the two schemas is unknown."""
    way_out: _ProposedValues | None
    """The proposed configuration values; null if no field is at risk."""
    users: _Usage
    each_step: tuple[_Step, ...] | None
    """With --each-step: the steps to the target, none if one update suffices. Null without it."""
    first_in_schema: tuple[_FirstInSchema, ...] | None
    """With --since-when: for each field at risk that the target's schema has. Null without it."""


def diff_addon(
    plan: AddonPlan,
    terraform: TerraformWriter,
    steps: Sequence[AddonPlan] | None = None,
    since: Sequence[SchemaSince] | None = None,
    address: str = "",
) -> DiffAddon:
    """The result for one add-on; `steps` and `since` are None if they were not requested."""
    facts, current_schema, target_schema = plan.facts, plan.facts.current.schema, plan.facts.target.schema
    return DiffAddon.from_facts(
        facts,
        address=address,
        name=facts.addon.name,
        version=facts.current.version,
        target=facts.target.version,
        mode=plan.request.mode,
        verdict=verdict(plan),
        values=facts.values if isinstance(facts.values, Unknown) else redact_value(facts.values),
        conflict=plan.conflict,
        fields=plan.changes,
        schema_changes=None
        if isinstance(current_schema, Unknown) or isinstance(target_schema, Unknown)
        else schema_changes(current_schema, target_schema).lines,
        way_out=plan.way_out and _proposed_values_result(plan, plan.way_out, terraform),
        users=facts.usage,
        each_step=steps,
        first_in_schema=since,
    )


class DiffTerraformChange(Printed):
    """One add-on change of a Terraform plan."""

    address: Text
    action: RequestKind
    addon: Text | None
    """Null if it is known after apply only."""
    from_: Text | None
    """The version before; null for none."""
    to: Text | None
    """The version after; null for none, or if it is known after apply only."""
    mode: Mode | None
    """How conflicts are resolved; null if it is known after apply only."""
    set_by: Text | None
    """The argument that sets the mode; null for EKS's default."""
    written_at: Text
    """The argument to edit, of the resource or of its module."""
    sends_values: bool
    """The request has configuration values; otherwise EKS keeps the current ones."""
    preserves: bool
    """A deletion leaves the add-on's objects in the cluster."""
    providers: tuple[Generation, ...]
    """Versions of the AWS provider that may have made the plan."""
    supposed: Texts
    """Assumptions for facts that the plan does not have."""
    outcome: Literal["fails", "is unknown", "loses nothing"]


class DiffLeftOut(Printed):
    address: Text
    cluster: Text | None
    """Its name."""


class DiffTerraform(Printed):
    """The Terraform plan that was judged; only with --tf-plan."""

    file: Text
    version: Text | None
    """Version of Terraform or OpenTofu; null if the plan does not have it."""
    errored: bool
    """Planning ended with errors."""
    deferred: Texts
    """Addresses that Terraform defers to a later plan."""
    verdict: Text
    changes: tuple[DiffTerraformChange, ...]
    left_out: tuple[DiffLeftOut, ...]
    """Changes of other clusters, which are not judged."""


class DiffResult(CommandResult):
    """What updates of EKS add-ons would change: kubectl eksdoc addon-diff -o json."""

    kind: Literal["AddonDiff"]
    recognised: Text | None
    """Evidence that the AWS cluster is the one that was read."""
    terraform: DiffTerraform | UnsetType
    addons: tuple[DiffAddon, ...]
    since: SinceResult | UnsetType
    findings: tuple[FindingResult, ...]
