"""JSON and YAML of add-on updates (``-o json``, ``-o yaml``). An unknown value is null and has a finding; a missing
value is absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from kubectl_eksdoc.baseline.report import SinceResult
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.addons import SchemaViolation, shown
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
from ..expected import Witness
from ..fields import MISSING
from ..plan import AddonPlan, SchemaSince, WayOut
from ..prediction import Fate, FieldChange, Mode
from ..schema import changes
from ..terraform_requests import Generation, Kind
from . import update
from .update import verdict

_Values = dict[str, Any]
ForTerraform = Callable[[AddonPlan, WayOut], Iterable[tuple[str, str]]]
"""Returns pairs of provider versions and the Terraform arguments for them."""


class _Foretold(Printed):
    fate: Fate
    confidence: Confidence
    value: Any | UnsetType
    """The value after the update; absent for none, and if it is unknown."""


def _foretold(change: FieldChange, mode: Mode) -> _Foretold:
    told = change.by_mode[mode]
    nothing = told.value is MISSING or told.value is None
    value = UNSET if nothing else change.field.printed(told.value)
    return _Foretold.filled(told, confidence=change.confidence(mode), value=value)


class _Modes(Printed, rename="upper"):
    none: _Foretold
    overwrite: _Foretold
    preserve: _Foretold


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
    why: Witness | None
    """The evidence that EKS applies the field; null without any."""
    modes: _Modes

    @classmethod
    def of(cls, facts: FieldChange) -> _Field:
        return cls.filled(
            facts,
            configuration=shown(facts.config) if facts.config else None,
            live=UNSET if facts.live is MISSING else facts.field.printed(facts.live),
            modes=_Modes.filled(**{mode.value.lower(): _foretold(facts, mode) for mode in Mode}),
        )


class _Refused(Printed):
    path: Text
    what: Text
    doubtful: bool

    @classmethod
    def of(cls, facts: SchemaViolation) -> _Refused:
        return cls.filled(facts, path=shown(facts.path))


class _Arguments(Printed):
    provider: Text
    arguments: Text


class _WayOut(Printed):
    called = {"cannot_keep": "cannot", "refused": "broken"}

    values: _Values
    """With these values, the update keeps the fields `keeps` as they are."""
    keeps: Texts
    cannot_keep: Texts
    """Fields that no configuration value sets."""
    refused: tuple[_Refused, ...] | None
    """Violations of the target's schema by the values; null if unknown."""
    command: Text | None
    """Null if the values keep no field, EKS would refuse them, or another version comes first."""
    terraform: tuple[_Arguments, ...]
    eksctl: _Values | None


def _way_out(plan: AddonPlan, way: WayOut, terraform: ForTerraform) -> _WayOut:
    now = way.usable and len(plan.facts.steps) <= 1  # otherwise another version comes first
    written = terraform(plan, way) if now else ()
    return _WayOut.filled(
        way,
        values=printed(way.values),
        command=update.update_addon(plan, way) if now and plan.facts.installed else None,
        terraform=(_Arguments.filled(provider=provider, arguments=each) for provider, each in written),
        eksctl=update.eksctl(plan, way) if now else None,
    )


class _Users(Printed):
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
    def of(cls, facts: usage.Usage) -> _Users:
        names = facts.branch_pods
        return cls.filled(facts, pods_astray=names if isinstance(names, Unknown) else [pod.key for pod in facts.astray])


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
        way = facts.way_out
        values = facts.facts.values if way is None else way.values
        return cls.filled(
            facts,
            version=facts.facts.target.version,
            verdict=verdict(facts),
            at_risk=(change for change in facts.changes if change.at_risk),
            values=values if isinstance(values, Unknown) else printed(values),
            command=update.next_update(facts),
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
        return cls.filled(facts, configuration=shown(facts.config))


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
    way_out: _WayOut | None
    """The proposed configuration values; null if no field is at risk."""
    users: _Users
    each_step: tuple[_Step, ...] | None
    """With --each-step: the steps to the target, none if one update suffices. Null without it."""
    first_in_schema: tuple[_FirstInSchema, ...] | None
    """With --since-when: for each field at risk that the target's schema has. Null without it."""


def addon(
    plan: AddonPlan,
    terraform: ForTerraform,
    steps: Sequence[AddonPlan] | None = None,
    since: Sequence[SchemaSince] | None = None,
    address: str = "",
) -> DiffAddon:
    """The result for one add-on; `steps` and `since` are None if they were not requested."""
    facts, old, new = plan.facts, plan.facts.now.schema, plan.facts.target.schema
    return DiffAddon.filled(
        facts,
        address=address,
        name=facts.addon.name,
        version=facts.now.version,
        target=facts.target.version,
        mode=plan.asked.mode,
        verdict=verdict(plan),
        values=facts.values if isinstance(facts.values, Unknown) else printed(facts.values),
        conflict=plan.conflict,
        fields=plan.changes,
        schema_changes=None if isinstance(old, Unknown) or isinstance(new, Unknown) else changes(old, new).lines,
        way_out=plan.way_out and _way_out(plan, plan.way_out, terraform),
        users=facts.usage,
        each_step=steps,
        first_in_schema=since,
    )


class DiffTerraformChange(Printed):
    """One add-on change of a Terraform plan."""

    address: Text
    action: Kind
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
