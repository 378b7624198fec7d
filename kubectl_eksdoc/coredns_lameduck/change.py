"""Change of CoreDNS from a request: the Corefile and the values before and after, or the refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_eksdoc.addon_diff.fields import differences, merged
from kubectl_eksdoc.addon_diff.schema import SchemaPaths, paths, spelled
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import NAME, SYSTEM
from kubectl_eksdoc.model.findings import Finding, Subject, in_order
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import parse

from .deployed import DnsFacts
from .lameduck import (
    AutoscalerRange,
    ChangeRefused,
    EditedCorefile,
    Wishes,
    edited,
    not_starting,
)
from .placement import wanted_replicas
from .placement_values import KEY as AFFINITY
from .placement_values import (
    SPREAD,
    CorednsPlacement,
    PlacedValues,
    PlacementLacks,
    budgeted,
    placed,
)

# Why the add-on's autoscaler cannot manage CoreDNS, and how few replicas are too few.
#
# Sources: EKS user guide, autoscaling of CoreDNS (versions, the formula); the add-on's schemas.


KEY = "autoScaling"
_FIRST_MINOR = 25
_FROM = "v1.9.3-eksbuild.15 (1.25, 1.26), v1.10.1-eksbuild.11 (1.27, 1.28), v1.11.1-eksbuild.9 (from 1.29 on)"


def not_scaled(facts: DnsFacts, kubernetes: str, version: str, schema: SchemaPaths | None) -> Iterator[ChangeRefused]:
    """`version`: of the add-on; `schema`: of this version, None where unknown."""
    minor = parse(kubernetes)
    if minor is not None and (minor.major, minor.minor) < (1, _FIRST_MINOR):
        yield ChangeRefused(
            f"Kubernetes {kubernetes} has no autoscaler of the add-on: EKS has it from 1.{_FIRST_MINOR} on",
            "Set replicaCount in the add-on's values.",
        )
    if schema is not None and schema.of((KEY,)) is None:
        yield ChangeRefused(
            f"the schema of coredns {version} has no {KEY}: EKS would refuse it",
            f"EKS has it from {_FROM} on: update the add-on first (kubectl eksdoc addon-diff coredns).",
        )
    yield from _others(facts)


def _others(facts: DnsFacts) -> Iterator[ChangeRefused]:
    """Refusals because another autoscaler scales CoreDNS."""
    cluster = facts.cluster
    read = cluster.read_of(kinds.AUTOSCALERS)
    if not read.known:
        yield ChangeRefused(
            f"whether CoreDNS is scaled already is unknown: {read.resource.full_name}: {read.detail}",
            "Two autoscalers would undo each other's work.",
            f"list {read.resource.full_name}",
        )
    for each in cluster.autoscalers:
        if (each.namespace, each.target_kind, each.target_name) == (SYSTEM, "Deployment", NAME):
            yield ChangeRefused(
                f"HorizontalPodAutoscaler {each.name} scales CoreDNS already, between {each.minimum} and "
                f"{each.maximum}: the two would undo each other's work",
                f"Take it away first: kubectl delete horizontalpodautoscaler {each.name} -n {SYSTEM}",
            )
    if facts.proportional:
        yield ChangeRefused(
            f"Deployment {facts.proportional} (cluster-proportional-autoscaler) scales CoreDNS already: the two would "
            "undo each other's work",
            f"Take it away first: kubectl delete deployment {facts.proportional} -n {SYSTEM}",
        )


def few(cluster: Cluster, scale: AutoscalerRange) -> Iterator[Finding]:
    """Findings where the autoscaler will start more replicas at once, or is capped below the desired number."""
    if not cluster.read_of(kinds.NODES).known:
        return
    found = wanted_replicas(cluster.nodes)
    if found <= scale.least:
        return
    capped = found > scale.most
    yield Finding.of(
        "dns-too-few/capped" if capped else "dns-too-few/starts",
        Subject("Deployment", NAME, SYSTEM),
        ("max(nodes/16, cores/256), EKS user guide",),
        found=found,
        nodes=len(cluster.nodes),
        scale=scale,
        limit=scale.most if capped else scale.least,
        most=max(scale.most, found * 2),
    )


COREFILE = "corefile"
"""The add-on's configuration value with the complete text."""


@frozen
class CorednsChange:
    """A change of CoreDNS.

    `values`: the complete new values of the add-on; None for a self-managed CoreDNS. `refusals`: why it is not made, ()
    if it can be. `not_done`: requested changes of a self-managed CoreDNS that are left to the user, each as the
    arguments of a command. `holds`: the requested placement is live already. `given`: the top-level values that the
    request sets, changed or not.
    """

    wishes: Wishes
    managed: bool
    version: str = ""
    corefile: EditedCorefile | None = None
    before: Doc | None = None
    values: Doc | None = None
    affinity: Doc | None = None
    affinity_source: str = ""
    landing: CorednsPlacement | None = None
    refusals: tuple[ChangeRefused, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_done: tuple[tuple[str, ...], ...] = ()
    holds: bool = True
    given: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Nothing changes: the request is in effect already, and persists."""
        if not (self.holds and (self.corefile is None or self.corefile.same)):
            return False
        return not self.managed or (self.values is not None and not differences(self.before or {}, self.values))

    @property
    def set(self) -> tuple[str, ...]:
        """The top-level values that change."""
        return tuple(sorted({path[0] for path in differences(self.before or {}, self.values or {})}))


def changed(facts: DnsFacts, wishes: Wishes, kubernetes: str) -> CorednsChange:
    """`kubernetes`: the cluster's version."""
    addon = facts.addon
    if isinstance(addon, Unknown):
        why = ChangeRefused(
            f"whether EKS manages CoreDNS is not known, and so not how it is changed to last: {addon.why}",
            "A hand edit of what the add-on owns is put back by its next update.",
            addon.missing or "eks:DescribeAddon",
        )
        return CorednsChange(wishes, False, refusals=(why,))
    if isinstance(addon, Absent):
        return _changed(facts, None, {}, wishes, "")
    if isinstance(addon.values, Unknown):
        hint = "What would be sent replaces them as a whole: check them (aws eks describe-addon)."
        why = ChangeRefused(
            f"the add-on's values of today are not known: {addon.values.why}", hint, addon.values.missing
        )
        return CorednsChange(wishes, True, addon.addon.version, refusals=(why,))
    return _changed(facts, addon, addon.values, wishes, kubernetes)


def _changed(facts: DnsFacts, side: AddonSide | None, values: Doc, wishes: Wishes, kubernetes: str) -> CorednsChange:
    """Without an add-on (`side`), the ConfigMap is applied; the Deployment has to be changed in its manifest or
    chart."""
    version = side.addon.version if side is not None else ""
    schema = None if side is None or isinstance(side.now.schema, Unknown) else paths(side.now.schema)
    corefile = None if wishes.lameduck_s is None else edited(facts, wishes.lameduck_s)
    spot = placed(facts, values, schema) if wishes.on_demand else None
    refusals = [each for found in (corefile, spot) if isinstance(found, tuple) for each in found]
    text = corefile if isinstance(corefile, EditedCorefile) else None
    seat = spot if isinstance(spot, PlacedValues) else None
    lands = next((each.landing for each in refusals if isinstance(each, PlacementLacks)), None)
    if text is not None:
        refusals += _lacks(schema, COREFILE, version)
    if seat is not None and not seat.holds and wishes.lameduck_s is None:
        refusals += not_starting(facts)
    if wishes.scale is not None:
        refusals += not_scaled(facts, kubernetes, version, schema)
    made = CorednsChange(
        wishes,
        side is not None,
        version,
        text,
        affinity=seat.affinity if seat is not None else None,
        affinity_source=seat.source if seat is not None else "",
        landing=seat.landing if seat is not None else lands,
        refusals=tuple(refusals),
        findings=in_order(text.findings if text is not None else ()),
    )
    if side is None:
        return replace(made, not_done=tuple(_by_hand(wishes, seat)))
    found: list[Finding] = [*made.findings]
    new: Doc = {COREFILE: text.after} if text is not None else {}
    if seat is not None:
        new |= seat.values
    if wishes.scale is not None:
        new[KEY] = _scaled(values, wishes)
        found += few(facts.cluster, wishes.scale)
    if wishes.on_demand or wishes.scale is not None:
        new |= budgeted(facts, values, schema)
    found += _two_steps(wishes, text, AFFINITY in new and values.get(AFFINITY) != new[AFFINITY])
    return replace(
        made,
        before=values,
        values=_together(values, new),
        findings=in_order(found),
        holds=seat is None or seat.holds,
        given=tuple(sorted(new)),
    )


def _together(values: Doc, new: Doc) -> Doc:
    """The current values with the new ones: values in `_REPLACED_KEYS` are replaced, others are merged."""
    rest = {key: value for key, value in values.items() if key not in _WHOLE or key not in new}
    return merged(rest, new)


_WHOLE = (COREFILE, AFFINITY, SPREAD)


def _scaled(values: Doc, wishes: Wishes) -> Doc:
    assert wishes.scale is not None, "it is wished"
    held = values.get(KEY)
    bounds = {"enabled": True, "minReplicas": wishes.scale.least, "maxReplicas": wishes.scale.most}
    return {**(held if isinstance(held, dict) else {}), **bounds}


def _lacks(schema: SchemaPaths | None, key: str, version: str) -> Iterator[ChangeRefused]:
    if schema is not None and schema.refuses((key,)):
        hint = "Update the add-on first: kubectl eksdoc addon-diff coredns."
        yield ChangeRefused(f"the schema of coredns {version} has no {key}: EKS would refuse it", hint)


def _two_steps(wishes: Wishes, corefile: EditedCorefile | None, rolls: bool) -> Iterator[Finding]:
    """A finding if the rollout starts before pods have loaded the new Corefile: old pods then still wait as long as
    before."""
    if not rolls or corefile is None or corefile.same:
        return
    now = "" if corefile.now_s is None else f"{corefile.now_s:g}"
    first, then = ("--set", f"lameduck={wishes.lameduck_s}s", "--apply"), ("--place", "on-demand", "--apply")
    yield Finding.of(
        "dns-change-two-steps",
        Subject("Deployment", NAME, SYSTEM),
        ("a new Corefile is read after the kubelet's sync and CoreDNS' reload interval; a rollout begins at once",),
        now=now,
        command=shell("kubectl", "eksdoc", "coredns-lameduck", *first),
        command_2=shell("kubectl", "eksdoc", "coredns-lameduck", *then),
    )


def _by_hand(wishes: Wishes, spot: PlacedValues | None) -> Iterator[tuple[str, ...]]:
    kubectl = ("kubectl", "-n", SYSTEM)
    if spot is not None:
        path = "/spec/template/spec/affinity"
        added = {"op": "add", "path": path, "value": spot.affinity}
        yield (*kubectl, "patch", "deployment", NAME, "--type", "json", "-p", spelled([added]))
    if wishes.scale is not None:
        bounds = ("--min", str(wishes.scale.least), "--max", str(wishes.scale.most), "--cpu-percent", "70")
        yield (*kubectl, "autoscale", "deployment", NAME, *bounds)
