"""Change of CoreDNS from a request: the Corefile and the values before and after, or the refusals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubectl_eksdoc.addon_diff.fields import changed_leaves, merge_values
from kubectl_eksdoc.addon_diff.schema import SchemaPaths, json_text, read_schema
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import NAME, SYSTEM_NAMESPACE
from kubectl_eksdoc.model.findings import Finding, Subject, sort_findings
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.quantities import parse_version

from .deployed import DnsFacts
from .lameduck import (
    AutoscalerRange,
    ChangeRefusal,
    DnsChangeRequest,
    EditedCorefile,
    edit_lameduck,
    rollout_refusals,
)
from .placement import desired_replicas
from .placement_values import AFFINITY_KEY as AFFINITY
from .placement_values import (
    SPREAD,
    CorednsPlacement,
    PlacementRefused,
    PlacementValues,
    budget_values,
    placement_values,
)

# Why the add-on's autoscaler cannot manage CoreDNS, and how few replicas are too few.
#
# Sources: EKS user guide, autoscaling of CoreDNS (versions, the formula); the add-on's schemas.


AUTOSCALING_KEY = "autoScaling"
_FIRST_MINOR = 25
_FIRST_VERSIONS = "v1.9.3-eksbuild.15 (1.25, 1.26), v1.10.1-eksbuild.11 (1.27, 1.28), v1.11.1-eksbuild.9 (from 1.29 on)"


def autoscaler_refusals(
    facts: DnsFacts, kubernetes: str, version: str, schema: SchemaPaths | None
) -> Iterator[ChangeRefusal]:
    """`version`: of the add-on; `schema`: of this version, None where unknown."""
    kubernetes_version = parse_version(kubernetes)
    if kubernetes_version is not None and (kubernetes_version.major, kubernetes_version.minor) < (1, _FIRST_MINOR):
        yield ChangeRefusal(
            f"Kubernetes {kubernetes} has no autoscaler of the add-on: EKS has it from 1.{_FIRST_MINOR} on",
            "Set replicaCount in the add-on's values.",
        )
    if schema is not None and schema.allowed_at((AUTOSCALING_KEY,)) is None:
        yield ChangeRefusal(
            f"the schema of coredns {version} has no {AUTOSCALING_KEY}: EKS would refuse it",
            f"EKS has it from {_FIRST_VERSIONS} on: update the add-on first (kubectl eksdoc addon-diff coredns).",
        )
    yield from _other_autoscaler_refusals(facts)


def _other_autoscaler_refusals(facts: DnsFacts) -> Iterator[ChangeRefusal]:
    """Refusals because another autoscaler scales CoreDNS."""
    cluster = facts.cluster
    read = cluster.read_of(kinds.AUTOSCALERS)
    if not read.known:
        yield ChangeRefusal(
            f"whether CoreDNS is scaled already is unknown: {read.resource.full_name}: {read.detail}",
            "Two autoscalers would undo each other's work.",
            f"list {read.resource.full_name}",
        )
    for each in cluster.autoscalers:
        if (each.namespace, each.target_kind, each.target_name) == (SYSTEM_NAMESPACE, "Deployment", NAME):
            yield ChangeRefusal(
                f"HorizontalPodAutoscaler {each.name} scales CoreDNS already, between {each.minimum} and "
                f"{each.maximum}: the two would undo each other's work",
                f"Take it away first: kubectl delete horizontalpodautoscaler {each.name} -n {SYSTEM_NAMESPACE}",
            )
    if facts.proportional_autoscaler:
        yield ChangeRefusal(
            f"Deployment {facts.proportional_autoscaler} (cluster-proportional-autoscaler) scales CoreDNS "
            "already: the two would "
            "undo each other's work",
            f"Take it away first: kubectl delete deployment {facts.proportional_autoscaler} -n {SYSTEM_NAMESPACE}",
        )


def replica_findings(cluster: Cluster, scale: AutoscalerRange) -> Iterator[Finding]:
    """Findings where the autoscaler will start more replicas at once, or is capped below the desired number."""
    if not cluster.read_of(kinds.NODES).known:
        return
    desired = desired_replicas(cluster.nodes)
    if desired <= scale.least:
        return
    is_capped = desired > scale.most
    yield Finding.of(
        "dns-too-few/capped" if is_capped else "dns-too-few/starts",
        Subject("Deployment", NAME, SYSTEM_NAMESPACE),
        ("max(nodes/16, cores/256), EKS user guide",),
        found=desired,
        nodes=len(cluster.nodes),
        scale=scale,
        limit=scale.most if is_capped else scale.least,
        most=max(scale.most, desired * 2),
    )


COREFILE_KEY = "corefile"
"""The add-on's configuration value with the complete text."""


@frozen
class CorednsChange:
    """A change of CoreDNS.

    `values`: the complete new values of the add-on; None for a self-managed CoreDNS. `refusals`: why it is not made, ()
    if it can be. `not_done`: requested changes of a self-managed CoreDNS that are left to the user, each as the
    arguments of a command. `holds`: the requested placement is live already. `given`: the top-level values that the
    request sets, changed or not.
    """

    wishes: DnsChangeRequest
    managed: bool
    version: str = ""
    corefile: EditedCorefile | None = None
    before: Doc | None = None
    values: Doc | None = None
    affinity: Doc | None = None
    affinity_source: str = ""
    landing: CorednsPlacement | None = None
    refusals: tuple[ChangeRefusal, ...] = ()
    findings: tuple[Finding, ...] = ()
    not_done: tuple[tuple[str, ...], ...] = ()
    holds: bool = True
    given: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Nothing changes: the request is in effect already, and persists."""
        if not (self.holds and (self.corefile is None or self.corefile.same)):
            return False
        return not self.managed or (self.values is not None and not changed_leaves(self.before or {}, self.values))

    @property
    def changed_keys(self) -> tuple[str, ...]:
        """The top-level values that change."""
        return tuple(sorted({path[0] for path in changed_leaves(self.before or {}, self.values or {})}))


def plan_change(facts: DnsFacts, request: DnsChangeRequest, kubernetes: str) -> CorednsChange:
    """`kubernetes`: the cluster's version."""
    addon = facts.addon
    if isinstance(addon, Unknown):
        refusal = ChangeRefusal(
            f"whether EKS manages CoreDNS is not known, and so not how it is changed to last: {addon.why}",
            "A hand edit of what the add-on owns is put back by its next update.",
            addon.missing or "eks:DescribeAddon",
        )
        return CorednsChange(request, False, refusals=(refusal,))
    if isinstance(addon, Absent):
        return _plan_change(facts, None, {}, request, "")
    if isinstance(addon.values, Unknown):
        hint = "What would be sent replaces them as a whole: check them (aws eks describe-addon)."
        refusal = ChangeRefusal(
            f"the add-on's values of today are not known: {addon.values.why}", hint, addon.values.missing
        )
        return CorednsChange(request, True, addon.addon.version, refusals=(refusal,))
    return _plan_change(facts, addon, addon.values, request, kubernetes)


def _plan_change(
    facts: DnsFacts, side: AddonUpdateFacts | None, values: Doc, request: DnsChangeRequest, kubernetes: str
) -> CorednsChange:
    """Without an add-on (`side`), the ConfigMap is applied; the Deployment has to be changed in its manifest or
    chart."""
    version = side.addon.version if side is not None else ""
    schema = None if side is None or isinstance(side.now.schema, Unknown) else read_schema(side.now.schema)
    corefile = None if request.lameduck_s is None else edit_lameduck(facts, request.lameduck_s)
    affinity_result = placement_values(facts, values, schema) if request.on_demand else None
    refusals = [each for findings in (corefile, affinity_result) if isinstance(findings, tuple) for each in findings]
    edited_text = corefile if isinstance(corefile, EditedCorefile) else None
    new_placement = affinity_result if isinstance(affinity_result, PlacementValues) else None
    node_placement = next((each.placement for each in refusals if isinstance(each, PlacementRefused)), None)
    if edited_text is not None:
        refusals += _missing_key(schema, COREFILE_KEY, version)
    if new_placement is not None and not new_placement.is_live and request.lameduck_s is None:
        refusals += rollout_refusals(facts)
    if request.scale is not None:
        refusals += autoscaler_refusals(facts, kubernetes, version, schema)
    base_change = CorednsChange(
        request,
        side is not None,
        version,
        edited_text,
        affinity=new_placement.affinity if new_placement is not None else None,
        affinity_source=new_placement.source if new_placement is not None else "",
        landing=new_placement.placement if new_placement is not None else node_placement,
        refusals=tuple(refusals),
        findings=sort_findings(edited_text.findings if edited_text is not None else ()),
    )
    if side is None:
        return replace(base_change, not_done=tuple(_manual_commands(request, new_placement)))
    findings: list[Finding] = [*base_change.findings]
    new_values: Doc = {COREFILE_KEY: edited_text.after} if edited_text is not None else {}
    if new_placement is not None:
        new_values |= new_placement.values
    if request.scale is not None:
        new_values[AUTOSCALING_KEY] = _autoscaling_value(values, request)
        findings += replica_findings(facts.cluster, request.scale)
    if request.on_demand or request.scale is not None:
        new_values |= budget_values(facts, values, schema)
    findings += _two_steps_findings(
        request, edited_text, AFFINITY in new_values and values.get(AFFINITY) != new_values[AFFINITY]
    )
    return replace(
        base_change,
        before=values,
        values=_merged_values(values, new_values),
        findings=sort_findings(findings),
        holds=new_placement is None or new_placement.is_live,
        given=tuple(sorted(new_values)),
    )


def _merged_values(values: Doc, new_values: Doc) -> Doc:
    """The current values with the new ones: values in `_REPLACED_KEYS` are replaced, others are merged."""
    kept_values = {key: value for key, value in values.items() if key not in _REPLACED_KEYS or key not in new_values}
    return merge_values(kept_values, new_values)


_REPLACED_KEYS = (COREFILE_KEY, AFFINITY, SPREAD)


def _autoscaling_value(values: Doc, request: DnsChangeRequest) -> Doc:
    assert request.scale is not None, "it is wished"
    current = values.get(AUTOSCALING_KEY)
    bounds = {"enabled": True, "minReplicas": request.scale.least, "maxReplicas": request.scale.most}
    return {**(current if isinstance(current, dict) else {}), **bounds}


def _missing_key(schema: SchemaPaths | None, key: str, version: str) -> Iterator[ChangeRefusal]:
    if schema is not None and schema.is_refused((key,)):
        hint = "Update the add-on first: kubectl eksdoc addon-diff coredns."
        yield ChangeRefusal(f"the schema of coredns {version} has no {key}: EKS would refuse it", hint)


def _two_steps_findings(
    request: DnsChangeRequest, corefile: EditedCorefile | None, recreates_pods: bool
) -> Iterator[Finding]:
    """A finding if the rollout starts before pods have loaded the new Corefile: old pods then still wait as long as
    before."""
    if not recreates_pods or corefile is None or corefile.same:
        return
    current_text = "" if corefile.current_s is None else f"{corefile.current_s:g}"
    first_args, second_args = (
        ("--set", f"lameduck={request.lameduck_s}s", "--apply"),
        ("--place", "on-demand", "--apply"),
    )
    yield Finding.of(
        "dns-change-two-steps",
        Subject("Deployment", NAME, SYSTEM_NAMESPACE),
        ("a new Corefile is read after the kubelet's sync and CoreDNS' reload interval; a rollout begins at once",),
        now=current_text,
        command=shell("kubectl", "eksdoc", "coredns-lameduck", *first_args),
        command_2=shell("kubectl", "eksdoc", "coredns-lameduck", *second_args),
    )


def _manual_commands(request: DnsChangeRequest, new_placement: PlacementValues | None) -> Iterator[tuple[str, ...]]:
    kubectl = ("kubectl", "-n", SYSTEM_NAMESPACE)
    if new_placement is not None:
        path = "/spec/template/spec/affinity"
        patch = {"op": "add", "path": path, "value": new_placement.affinity}
        yield (*kubectl, "patch", "deployment", NAME, "--type", "json", "-p", json_text([patch]))
    if request.scale is not None:
        bounds = ("--min", str(request.scale.least), "--max", str(request.scale.most), "--cpu-percent", "70")
        yield (*kubectl, "autoscale", "deployment", NAME, *bounds)
