"""Change of CoreDNS: one update of the add-on, as addon-diff judged it, or a server-side apply of a self-managed
ConfigMap; and which pods have loaded the new Corefile."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from kubectl_eksdoc.addon_diff.apply import AddonUpdate
from kubectl_eksdoc.addon_diff.fields import MissingValue, differences
from kubectl_eksdoc.addon_diff.guards import Guard, to_acknowledge
from kubectl_eksdoc.addon_diff.judging import calls
from kubectl_eksdoc.addon_diff.outcome import AddonUpdateResult
from kubectl_eksdoc.addon_diff.plan import AddonPlan
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest, Fate, FieldChange, Mode
from kubectl_eksdoc.addon_diff.read import PreparedAddonUpdate, prepared
from kubectl_eksdoc.changes.engine import Sent, Step
from kubectl_eksdoc.errors import Drifted
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import schema_of
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_edits import CONFIG, sums
from kubectl_eksdoc.kubernetes.redaction import printed_corefile
from kubectl_eksdoc.kubernetes.server_side_apply import Conflicts, apply
from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.api_objects import AppliedObject, Conflict, Conflicting, Doc, at, with_value
from kubectl_eksdoc.model.change_journal import Became, Part
from kubectl_eksdoc.model.coredns import COREFILE, Corefile
from kubectl_eksdoc.model.findings import Finding
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.session.session import ClusterSession

from .change import CorednsChange, changed
from .deployed import DnsFacts, corefile_of
from .lameduck import EditedCorefile, Wishes, foreign_grace
from .read import VerificationEdges, verified
from .run import ExpectedReload, Verified, judged
from .shutdown import DEFAULT_GRACE_S

MANAGER = "eksdoc"
"""The field manager of this tool."""
_NOW = "2000-01-01T00:00:00Z"
"""The time of new managedFields entries, which has no effect here."""


@frozen
class Ready:
    """A change that is ready to be sent.

    `update`: the update of the add-on, None without one. `config`: the ConfigMap to apply, None without one. `guards`:
    why the change must not be sent.
    """

    change: CorednsChange
    update: PreparedAddonUpdate | None = None
    config: Doc | None = None
    guards: tuple[Guard, ...] = ()
    conflicts: tuple[Conflict, ...] = ()

    @property
    def plan(self) -> AddonPlan | None:
        return self.update.plan if self.update is not None else None

    @property
    def changes(self) -> int:
        """Number of top-level configuration values that change; 1 for a changed Corefile."""
        if self.plan is None:
            return int(self.config is not None)
        return len({path[0] for path in differences(self.change.before or {}, self.plan.asked.values or {})})

    @property
    def weighty(self) -> tuple[Finding, ...]:
        """The findings that the user must acknowledge."""
        return () if self.plan is None else to_acknowledge(self.plan)

    @property
    def same(self) -> object:
        """A value that must be equal when the change is shown and when it is sent."""
        change = self.change
        texts = change.corefile and (change.corefile.before, change.corefile.after)
        update = self.update.same if self.update is not None else None
        return texts, change.values, [each.why for each in self.guards], update, self.conflicts


def ready(
    session: ClusterSession,
    facts: DnsFacts,
    wishes: Wishes,
    force: bool = False,
    accepted: Collection[str] = (),
) -> Ready:
    """Prepare the change. `accepted_resets`: fields that may be reset; `force`: take over a self-managed Corefile from
    its field manager.

    Raises:
        ClusterError: the cluster cannot be reached.
    """
    change = changed(facts, wishes, session.believed.cluster.version)
    guards = tuple(Guard(each.why, each.hint) for each in change.refusals)
    if change.managed and force:
        why = "the Corefile is the add-on's: a hand edit is put back by its next update with OVERWRITE"
        guards += (Guard(why, "Leave --force-conflicts away: it is set by the add-on's configuration values."),)
    if guards or change.nothing:
        return Ready(change, guards=guards)
    if change.managed:
        assert isinstance(facts.addon, AddonSide), "else it is not managed"
        return _of_addon(session, facts, facts.addon, change, accepted)
    return _of_map(facts, change, force)


def _of_addon(
    session: ClusterSession,
    facts: DnsFacts,
    side: AddonSide,
    change: CorednsChange,
    accepted: Collection[str],
) -> Ready:
    """Prepare the update of the add-on.

    The mode is NONE, which refuses to overwrite fields of other owners. It is OVERWRITE only where another owner has a
    field of this change. Other fields that users set are kept as far as a configuration value can keep them.
    """
    asked = AddonUpdateRequest(Mode.NONE, change.values)
    found = prepared(session, side, asked, True)
    # Live values that users set go into the add-on's values, so that no mode resets them.
    plan = found.plan
    values, wished, schema = change.values or {}, {*change.set, *change.given}, plan.facts.target.schema
    for each in plan.changes:
        if not each.at_risk or not each.config or each.config[0] in wished or isinstance(each.live, MissingValue):
            continue
        if isinstance(schema, Unknown) or not schema.refuses(each.config):
            values = with_value(values, each.config, each.live)
    if values != change.values:
        asked = AddonUpdateRequest(Mode.NONE, values)
        found = prepared(session, side, asked, True)
    if found.plan.conflict:
        found = prepared(session, side, AddonUpdateRequest(Mode.OVERWRITE, values), True)
    guards = (*found.guards, *not_accepted(found.plan, change, accepted), *_grace(facts, change, found.plan))
    return Ready(change, found, guards=guards)


def resets(plan: AddonPlan, change: CorednsChange) -> tuple[FieldChange, ...]:
    """The fields that the update resets, except the requested ones."""
    mode, wished = plan.asked.mode, {*change.set, *change.given}
    return tuple(
        each
        for each in plan.changes
        if each.at_risk
        and each.fate(mode) in (Fate.RESET, Fate.REMOVED)
        and not (each.config and each.config[0] in wished)
    )


def not_accepted(plan: AddonPlan, change: CorednsChange, accepted: Collection[str]) -> Iterator[Guard]:
    """Guards for resets that the user has not accepted. `accepted_resets`: fields, as messages name them."""
    left = [each for each in resets(plan, change) if calls(each.field) not in accepted]
    if left:
        names = ", ".join(calls(each.field) for each in left)
        yield Guard(
            f"with {plan.asked.mode.value}, which it needs, EKS would also reset what other clients have set: {names}",
            f"If that is meant: --accept-reset '{','.join(calls(each.field) for each in left)}'.",
        )


def _grace(facts: DnsFacts, change: CorednsChange, plan: AddonPlan) -> Iterator[Guard]:
    """A guard for a lameduck that only fits a grace period which this update resets."""
    if plan.asked.mode is Mode.OVERWRITE and foreign_grace(facts, change.wishes.lameduck_s):
        yield Guard(
            f"with OVERWRITE, which it needs, EKS puts the grace period back to {DEFAULT_GRACE_S} s, and "
            f"lameduck {change.wishes.lameduck_s}s does not fit that",
            "Give a lameduck that fits the add-on's own grace period.",
        )


def _of_map(facts: DnsFacts, change: CorednsChange, force: bool) -> Ready:
    """Prepare the apply of the ConfigMap. Conflicts are predicted from the owners of the live fields; the server
    decides."""
    assert change.corefile is not None, "else it is nothing"
    live = facts.objects.get(CONFIG)
    assert isinstance(live, dict), "its text was read"
    version = at(live, "metadata", "resourceVersion")
    config = config_map(change.corefile.after)
    schema = schema_of(CONFIG.api_version, CONFIG.kind)
    found = apply(live, config, MANAGER, False, _NOW, schema)
    # The server compares the resourceVersion, so that a change by another client in the meantime is not overwritten.
    sent = with_value(config, ("metadata", "resourceVersion"), version) if version else config
    if not isinstance(found, Conflicts):
        return Ready(change, config=sent)
    conflicts = tuple(sorted({Conflict(each.field, each.owner.manager) for each in found.found}))
    who = ", ".join(f"{each.field} is {each.owner}'s" for each in conflicts)
    guard = Guard(
        f"another field manager owns the Corefile, and would change it again or lose it: {who}",
        "Change it where it is declared, or take it: --force-conflicts.",
    )
    return Ready(change, config=sent, guards=() if force else (guard,), conflicts=conflicts)


def reverting(facts: DnsFacts, made: After, before: str) -> Ready:
    """Prepare the revert to the Corefile `previous_text`, for a self-managed CoreDNS whose Corefile is `applied`.

    Raises:
        Drifted: the live Corefile is another one.
    """
    live = corefile_of(facts.objects.get(CONFIG, Absent("no ConfigMap coredns")))
    if not isinstance(live, str) or After.of(live) != made:
        why = live.why if isinstance(live, Unknown) else "another client has changed it since"
        raise Drifted(f"the Corefile is not the one that the change has made: {why}", "Nothing was changed.")
    return _of_map(facts, CorednsChange(Wishes(), False, corefile=EditedCorefile(live, before)), False)


def config_map(text: str) -> Doc:
    """The manifest with the Corefile only, so that this tool owns no other field of the ConfigMap."""
    return {
        "apiVersion": CONFIG.api_version,
        "kind": CONFIG.kind,
        "metadata": {"name": CONFIG.name, "namespace": CONFIG.namespace},
        "data": {COREFILE: text},
    }


# The new Corefile in the journal, and how it is applied.


@frozen
class After:
    """The new Corefile in a journal: `text` with redactions, or "", and the `sums` by which CoreDNS identifies the
    complete one."""

    text: str = ""
    sums: tuple[str, ...] = ()

    @classmethod
    def of(cls, text: str) -> After:
        corefile = parse(text)
        return cls(printed_corefile(text), sums(corefile) if isinstance(corefile, Corefile) else ())


class _ConfigMaps(Protocol):
    """ConfigMaps of a live cluster. Every method may raise ClusterError."""

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> AppliedObject | Conflicting:
        """Server-side apply with the field manager of this tool.

        Raises:
            Drifted: the live version is not the one that `doc` names; nothing was changed.
        """
        ...


CONFIG_MAP = "ConfigMap coredns"
"""The only step for a self-managed CoreDNS."""


@frozen
class MapApply:
    """The step of a `DnsChange` for a self-managed CoreDNS. `config` None: it was sent before."""

    config: Doc | None
    force: bool
    maps: _ConfigMaps

    def steps(self, sent: Sent) -> Iterator[Step]:
        if self.config is not None:
            yield Step(CONFIG_MAP, lambda: Part(CONFIG_MAP, Became.AS_BEFORE), self._send)

    def _send(self) -> Doc:
        assert self.config is not None, "something is applied"
        found = self.maps.apply(self.config, self.force)
        if isinstance(found, Conflicting):
            who = "; ".join(f"{each.field} is {each.owner}'s" for each in found.conflicts)
            raise Drifted(f"another client has changed the Corefile since: {who}", "Nothing was changed. Look again.")
        return {}

    def over(self, sent: Sent) -> bool:
        return True

    def result(self, sent: Sent) -> None:
        return None


# Which pods have loaded the new Corefile.


@frozen
class DnsDone:
    """`update_result`: the result of the add-on's update, None for a ConfigMap. `verified`: which pods have loaded the
    new Corefile, None where this was not checked; `findings` of the check."""

    ended: AddonUpdateResult | None = None
    verified: Verified | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def left(self) -> str:
        if self.ended is not None and self.ended.left:
            return self.ended.left
        return self.verified.left if self.verified is not None else ""

    @property
    def whole(self) -> bool:
        return (self.ended is None or self.ended.whole) and not self.left


@frozen
class Looking:
    """The check whether pods load the Corefile `after`.

    `failed_before`: failed reloads of each pod before the change. The check lasts `verify_s` from `started_s` on.
    `reloads`: CoreDNS reloads by itself; `recreates_pods`: the change recreates its pods.
    """

    after: After
    failed: Mapping[str, float | None]
    begun_s: float
    pods: VerificationEdges
    verify_s: float
    reloads: bool
    rolled: bool = False

    def seen(self, ended: AddonUpdateResult | None) -> DnsDone:
        """Check the pods, unless the user stopped following the update."""
        if ended is not None and not ended.whole:
            return DnsDone(ended)
        found: Verified | None = None
        if self.after.text and self.reloads:
            self.pods.tell("now each pod is asked whether it has taken the new Corefile up; Ctrl-C only stops that")
            found = verified(ExpectedReload(self.after.sums, self.failed), self.begun_s, self.pods, self.verify_s)
        return DnsDone(ended, found, judged(found, self.reloads or not self.after.text, self.rolled))


@frozen
class DnsChange:
    """A `changes.engine.ChangeKind`: the change of CoreDNS, then the check of its pods."""

    _sent: AddonUpdate | MapApply
    _looking: Looking

    def steps(self, sent: Sent) -> Iterable[Step]:
        return self._sent.steps(sent)

    def over(self, sent: Sent) -> bool:
        return self._sent.over(sent)

    def result(self, sent: Sent) -> DnsDone:
        return self._looking.seen(self._sent.result(sent))

    def kept(self, result: DnsDone) -> Doc:
        seen = result.verified
        pods = {each.pod: each.taken.value for each in seen.stands} if seen is not None else {}
        stage = result.ended.stage.value if result.ended is not None else ""
        return {"stage": stage, "pods": pods}
