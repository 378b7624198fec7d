"""Change of CoreDNS: one update of the add-on, as addon-diff judged it, or a server-side apply of a self-managed
ConfigMap; and which pods have loaded the new Corefile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from kubectl_eksdoc.addon_diff.apply import AddonUpdate
from kubectl_eksdoc.addon_diff.fields import MissingValue, changed_leaves
from kubectl_eksdoc.addon_diff.guards import Guard, findings_to_acknowledge
from kubectl_eksdoc.addon_diff.judging import field_name
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Fate, FieldChange, Mode
from kubectl_eksdoc.addon_diff.read import PreparedAddonUpdate, prepare_update
from kubectl_eksdoc.changes.engine import SentSteps, Step
from kubectl_eksdoc.errors import Drifted
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_edits import COREDNS_CONFIG_MAP, corefile_hashes
from kubectl_eksdoc.kubernetes.redaction import redact_corefile
from kubectl_eksdoc.kubernetes.server_side_apply import ApplyConflictSet, apply
from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.api_objects import ApplyConflict, ApplyConflicts, ApplyResult, Doc, nested_field, with_value
from kubectl_eksdoc.model.change_journal import ChangePart, PartOutcome
from kubectl_eksdoc.model.coredns import COREFILE_KEY, Corefile
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.session.session import ClusterSession

from .change import CorednsChange, plan_change
from .deployed import DnsFacts, corefile_of
from .lameduck import DnsChangeRequest, EditedCorefile, exceeds_default_grace
from .read import VerificationEdges, verify_reload
from .run import ExpectedReload, VerificationResult, verification_findings
from .shutdown import DEFAULT_GRACE_S

FIELD_MANAGER = "eksdoc"
"""The field manager of this tool."""
_ENTRY_TIME = "2000-01-01T00:00:00Z"
"""The time of new managedFields entries, which has no effect here."""


@frozen
class PreparedChange:
    """A change that is ready to be sent.

    `update`: the update of the add-on, None without one. `config`: the ConfigMap to apply, None without one. `guards`:
    why the change must not be sent.
    """

    change: CorednsChange
    update: PreparedAddonUpdate | None = None
    config: Doc | None = None
    guards: tuple[Guard, ...] = ()
    conflicts: tuple[ApplyConflict, ...] = ()

    @property
    def plan(self) -> AddonPlan | None:
        return self.update.plan if self.update is not None else None

    @property
    def changes(self) -> int:
        """Number of top-level configuration values that change; 1 for a changed Corefile."""
        if self.plan is None:
            return int(self.config is not None)
        return len({path[0] for path in changed_leaves(self.change.before or {}, self.plan.request.values or {})})

    @property
    def acknowledgements(self) -> tuple[Finding, ...]:
        """The findings that the user must acknowledge."""
        return () if self.plan is None else findings_to_acknowledge(self.plan)

    @property
    def same(self) -> object:
        """A value that must be equal when the change is shown and when it is sent."""
        change = self.change
        texts = change.corefile and (change.corefile.before, change.corefile.after)
        update = self.update.fingerprint if self.update is not None else None
        return texts, change.values, [each.why for each in self.guards], update, self.conflicts


def prepare_change(
    session: ClusterSession,
    facts: DnsFacts,
    request: DnsChangeRequest,
    force: bool = False,
    accepted_resets: Collection[str] = (),
) -> PreparedChange:
    """Prepare the change. `accepted_resets`: fields that may be reset; `force`: take over a self-managed Corefile from
    its field manager.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    change = plan_change(facts, request, session.verified_aws.cluster.version)
    guards = tuple(Guard(each.why, each.hint) for each in change.refusals)
    if change.managed and force:
        reason = "the Corefile is the add-on's: a hand edit is put back by its next update with OVERWRITE"
        guards += (Guard(reason, "Leave --force-conflicts away: it is set by the add-on's configuration values."),)
    if guards or change.nothing:
        return PreparedChange(change, guards=guards)
    if change.managed:
        assert isinstance(facts.addon, AddonUpdateFacts), "else it is not managed"
        return _prepare_addon_change(session, facts, facts.addon, change, accepted_resets)
    return _prepare_config_map_change(facts, change, force)


def _prepare_addon_change(
    session: ClusterSession,
    facts: DnsFacts,
    side: AddonUpdateFacts,
    change: CorednsChange,
    accepted_resets: Collection[str],
) -> PreparedChange:
    """Prepare the update of the add-on.

    The mode is NONE, which refuses to overwrite fields of other owners. It is OVERWRITE only where another owner has a
    field of this change. Other fields that users set are kept as far as a configuration value can keep them.
    """
    update_request = AddonUpdateRequest(Mode.NONE, change.values)
    prepared_update = prepare_update(session, side, update_request, True)
    # Live values that users set go into the add-on's values, so that no mode resets them.
    plan = prepared_update.plan
    values, requested_keys, schema = (
        change.values or {},
        {*change.changed_keys, *change.given},
        plan.facts.target.schema,
    )
    for each in plan.changes:
        if (
            not each.at_risk
            or not each.config
            or each.config[0] in requested_keys
            or isinstance(each.live, MissingValue)
        ):
            continue
        if isinstance(schema, Unknown) or not schema.is_refused(each.config):
            values = with_value(values, each.config, each.live)
    if values != change.values:
        update_request = AddonUpdateRequest(Mode.NONE, values)
        prepared_update = prepare_update(session, side, update_request, True)
    if prepared_update.plan.conflict:
        prepared_update = prepare_update(session, side, AddonUpdateRequest(Mode.OVERWRITE, values), True)
    guards = (
        *prepared_update.guards,
        *reset_guards(prepared_update.plan, change, accepted_resets),
        *_grace_guards(facts, change, prepared_update.plan),
    )
    return PreparedChange(change, prepared_update, guards=guards)


def resets(plan: AddonPlan, change: CorednsChange) -> tuple[FieldChange, ...]:
    """The fields that the update resets, except the requested ones."""
    mode, requested_keys = plan.request.mode, {*change.changed_keys, *change.given}
    return tuple(
        each
        for each in plan.changes
        if each.at_risk
        and each.fate(mode) in (Fate.RESET, Fate.REMOVED)
        and not (each.config and each.config[0] in requested_keys)
    )


def reset_guards(plan: AddonPlan, change: CorednsChange, accepted_resets: Collection[str]) -> Iterator[Guard]:
    """Guards for resets that the user has not accepted. `accepted_resets`: fields, as messages name them."""
    not_accepted = [each for each in resets(plan, change) if field_name(each.field) not in accepted_resets]
    if not_accepted:
        names = ", ".join(field_name(each.field) for each in not_accepted)
        yield Guard(
            f"with {plan.request.mode.value}, which it needs, EKS would also reset what other clients have set: "
            f"{names}",
            f"If that is meant: --accept-reset '{','.join(field_name(each.field) for each in not_accepted)}'.",
        )


def _grace_guards(facts: DnsFacts, change: CorednsChange, plan: AddonPlan) -> Iterator[Guard]:
    """A guard for a lameduck that only fits a grace period which this update resets."""
    if plan.request.mode is Mode.OVERWRITE and exceeds_default_grace(facts, change.wishes.lameduck_s):
        yield Guard(
            f"with OVERWRITE, which it needs, EKS puts the grace period back to {DEFAULT_GRACE_S} s, and "
            f"lameduck {change.wishes.lameduck_s}s does not fit that",
            "Give a lameduck that fits the add-on's own grace period.",
        )


def _prepare_config_map_change(facts: DnsFacts, change: CorednsChange, force: bool) -> PreparedChange:
    """Prepare the apply of the ConfigMap. Conflicts are predicted from the owners of the live fields; the server
    decides."""
    assert change.corefile is not None, "else it is nothing"
    live = facts.objects.get(COREDNS_CONFIG_MAP)
    assert isinstance(live, dict), "its text was read"
    version = nested_field(live, "metadata", "resourceVersion")
    config = config_map_manifest(change.corefile.after)
    schema = schema_of(COREDNS_CONFIG_MAP.api_version, COREDNS_CONFIG_MAP.kind)
    applied = apply(live, config, FIELD_MANAGER, False, _ENTRY_TIME, schema)
    # The server compares the resourceVersion, so that a change by another client in the meantime is not overwritten.
    manifest = with_value(config, ("metadata", "resourceVersion"), version) if version else config
    if not isinstance(applied, ApplyConflictSet):
        return PreparedChange(change, config=manifest)
    conflicts = tuple(sorted({ApplyConflict(each.field, each.owner.manager) for each in applied.conflicts}))
    owners = ", ".join(f"{each.field} is {each.owner}'s" for each in conflicts)
    guard = Guard(
        f"another field manager owns the Corefile, and would change it again or lose it: {owners}",
        "Change it where it is declared, or take it: --force-conflicts.",
    )
    return PreparedChange(change, config=manifest, guards=() if force else (guard,), conflicts=conflicts)


def prepare_revert(facts: DnsFacts, applied: NewCorefile, previous_text: str) -> PreparedChange:
    """Prepare the revert to the Corefile `previous_text`, for a self-managed CoreDNS whose Corefile is `applied`.

    Raises:
        Drifted: the live Corefile is another one.
    """
    live = corefile_of(facts.objects.get(COREDNS_CONFIG_MAP, Absent("no ConfigMap coredns")))
    if not isinstance(live, str) or NewCorefile.of(live) != applied:
        reason = live.why if isinstance(live, Unknown) else "another client has changed it since"
        raise Drifted(f"the Corefile is not the one that the change has made: {reason}", "Nothing was changed.")
    return _prepare_config_map_change(
        facts, CorednsChange(DnsChangeRequest(), False, corefile=EditedCorefile(live, previous_text)), False
    )


def config_map_manifest(text: str) -> Doc:
    """The manifest with the Corefile only, so that this tool owns no other field of the ConfigMap."""
    return {
        "apiVersion": COREDNS_CONFIG_MAP.api_version,
        "kind": COREDNS_CONFIG_MAP.kind,
        "metadata": {"name": COREDNS_CONFIG_MAP.name, "namespace": COREDNS_CONFIG_MAP.namespace},
        "data": {COREFILE_KEY: text},
    }


# The new Corefile in the journal, and how it is applied.


@frozen
class NewCorefile:
    """The new Corefile in a journal: `text` with redactions, or "", and the `sums` by which CoreDNS identifies the
    complete one."""

    text: str = ""
    sums: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> NewCorefile:
        corefile = parse_corefile(text)
        return cls(redact_corefile(text), corefile_hashes(corefile) if isinstance(corefile, Corefile) else ())


class _ConfigMaps(Protocol):
    """ConfigMaps of a live cluster. Every method may raise ClusterError."""

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> ApplyResult | ApplyConflicts:
        """Server-side apply with the field manager of this tool.

        Raises:
            Drifted: the live version is not the one that `doc` names; nothing was changed.
        """
        ...


CONFIG_MAP_STEP = "ConfigMap coredns"
"""The only step for a self-managed CoreDNS."""


@frozen
class ConfigMapApply:
    """The step of a `DnsChange` for a self-managed CoreDNS. `config` None: it was sent before."""

    config: Doc | None
    force: bool
    config_maps: _ConfigMaps

    def steps(self, sent_steps: SentSteps) -> Iterator[Step]:
        if self.config is not None:
            yield Step(CONFIG_MAP_STEP, lambda: ChangePart(CONFIG_MAP_STEP, PartOutcome.AS_BEFORE), self._send)

    def _send(self) -> Doc:
        assert self.config is not None, "something is applied"
        response = self.config_maps.apply(self.config, self.force)
        if isinstance(response, ApplyConflicts):
            owners = "; ".join(f"{each.field} is {each.owner}'s" for each in response.conflicts)
            raise Drifted(
                f"another client has changed the Corefile since: {owners}", "Nothing was changed. Look again."
            )
        return {}

    def has_finished(self, sent_steps: SentSteps) -> bool:
        return True

    def result(self, sent_steps: SentSteps) -> None:
        return None


# Which pods have loaded the new Corefile.


@frozen
class DnsChangeOutcome:
    """`update_result`: the result of the add-on's update, None for a ConfigMap. `verified`: which pods have loaded the
    new Corefile, None where this was not checked; `findings` of the check."""

    update_result: AddonUpdateResult | None = None
    verified: VerificationResult | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def left(self) -> str:
        if self.update_result is not None and self.update_result.left:
            return self.update_result.left
        return self.verified.left if self.verified is not None else ""

    @property
    def whole(self) -> bool:
        return (self.update_result is None or self.update_result.whole) and not self.left


@frozen
class ReloadCheck:
    """The check whether pods load the Corefile `after`.

    `failed_before`: failed reloads of each pod before the change. The check lasts `verify_s` from `started_s` on.
    `reloads`: CoreDNS reloads by itself; `recreates_pods`: the change recreates its pods.
    """

    after: NewCorefile
    failed_before: Mapping[str, float | None]
    started_s: float
    edges: VerificationEdges
    verify_s: float
    reloads: bool
    recreates_pods: bool = False

    def check(self, update_result: AddonUpdateResult | None) -> DnsChangeOutcome:
        """Check the pods, unless the user stopped following the update."""
        if update_result is not None and not update_result.whole:
            return DnsChangeOutcome(update_result)
        verified_result: VerificationResult | None = None
        if self.after.text and self.reloads:
            self.edges.report("now each pod is asked whether it has taken the new Corefile up; Ctrl-C only stops that")
            verified_result = verify_reload(
                ExpectedReload(self.after.sums, self.failed_before), self.started_s, self.edges, self.verify_s
            )
        return DnsChangeOutcome(
            update_result,
            verified_result,
            verification_findings(verified_result, self.reloads or not self.after.text, self.recreates_pods),
        )


@frozen
class DnsChange:
    """A `changes.engine.ChangeKind`: the change of CoreDNS, then the check of its pods."""

    _change: AddonUpdate | ConfigMapApply
    _reload_check: ReloadCheck

    def steps(self, sent_steps: SentSteps) -> Iterable[Step]:
        return self._change.steps(sent_steps)

    def has_finished(self, sent_steps: SentSteps) -> bool:
        return self._change.has_finished(sent_steps)

    def result(self, sent_steps: SentSteps) -> DnsChangeOutcome:
        return self._reload_check.check(self._change.result(sent_steps))

    def journal_record(self, result: DnsChangeOutcome) -> Doc:
        verification = result.verified
        pods = {each.pod: each.taken.value for each in verification.stands} if verification is not None else {}
        stage = result.update_result.stage.value if result.update_result is not None else ""
        return {"stage": stage, "pods": pods}
