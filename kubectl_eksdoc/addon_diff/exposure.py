"""Workloads affected by a field change: the effect of the field, and its severity in the current cluster.

Also the remedies for configuration values that an add-on's version does not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.model.addons import SchemaViolation, format_path
from kubectl_eksdoc.model.api_objects import nested_field, object_name
from kubectl_eksdoc.model.findings import Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Pod, ProbeKind
from kubectl_eksdoc.model.quantities import parse_version

from .expected import owners_of
from .fields import AffectedUsers, FieldEffect, Usage, effect_of, leaves, shorten, value_text
from .prediction import AddonFacts, AddonUpdateRequest, Fate, FieldChange, Mode, tool_name

_SCALAR_TYPES = ("boolean", "integer", "number")
_TYPES = ("string", *_SCALAR_TYPES, "array", "object")


def values_remedy(violation: SchemaViolation, version: str) -> str:
    """One sentence. `version`: the add-on and version of the schema, ``vpc-cni v1.15.1-eksbuild.1``."""
    kinds = (clause(f"addon-values-refused/a-{each}") if each in _TYPES else each for each in violation.allowed)
    return clause(
        f"addon-values-refused/do-{_remedy_name(violation)}",
        where=format_path(violation.path),
        version=version,
        wanted=" or ".join(kinds if violation.rule == "type" else violation.allowed),
        what=violation.what,
    )


def _remedy_name(violation: SchemaViolation) -> str:
    if violation.rule == "type":
        if violation.found in _SCALAR_TYPES and "string" in violation.allowed:
            return "quote"
        if violation.found == "string" and set(violation.allowed) & set(_SCALAR_TYPES):
            return "unquote"
        return "null" if violation.found == "null" else "type"
    if violation.rule == "format":
        return next((each for each in ("boolean", "integer") if each in violation.allowed), "format")
    return violation.rule if violation.rule in _RULES_WITH_REMEDY else "other"


_RULES_WITH_REMEDY = ("additionalProperties", "false", "required", "enum", "const", "pattern")


_STRICT, _STANDARD = "strict", "standard"
_ENFORCING = "POD_SECURITY_GROUP_ENFORCING_MODE"


def field_severity(
    facts: AddonFacts, change: FieldChange, changes: Sequence[FieldChange], mode: Mode
) -> tuple[Severity, tuple[str, ...]]:
    """Severity of losing the field in this cluster, with evidence. `changes`: all changes of the update."""
    effect = effect_of(change.field)
    if effect is None:
        return Severity.MEDIUM, ("what follows from it is not known here",)
    if effect.of and not _is_true(change.live):
        return Severity.LOW, (f"only the loss of {value_text(effect.of)} matters: {effect.does}",)
    consequence = (
        f"{effect.does} ({'as the update rolls over the nodes' if effect.at_once else 'later'}; {effect.source})"
    )
    if effect.users is not AffectedUsers.BRANCH_PODS:
        return _node_severity(facts.usage, effect, change, consequence)
    if effect.strict_only and _enforcing_mode(facts, changes, mode) == _STANDARD:
        return Severity.LOW, (f"{_ENFORCING} is {_STANDARD}; in {_STRICT} mode {consequence}",)
    pods = facts.usage.branched
    if isinstance(pods, Unknown):
        return effect.worst, (consequence, f"which pods have security groups of their own is not known: {pods.why}")
    if not pods:
        # Pods get their security groups when they start.
        policies = facts.usage.policies
        if isinstance(policies, Unknown):
            return Severity.LOW, (f"no pod has security groups of its own; else {consequence}", policies.why)
        if policies:
            yet = f"no pod has security groups of its own yet, but SecurityGroupPolicies give them: {shorten(policies)}"
            return Severity.MEDIUM, (yet, consequence)
        return Severity.LOW, (f"no pod has security groups of its own; else {consequence}",)
    count_text = "1 pod has" if len(pods) == 1 else f"{len(pods)} pods have"
    affected = f"{count_text} security groups of their own: {shorten([pod.key for pod in pods])}"
    if not effect.probed:
        return effect.worst, (consequence, affected)
    if not any(pod.branch is not None and pod.branch.probes for pod in pods):
        # Processes of the node that connect to these pods are affected all the same.
        return Severity.HIGH, (consequence, f"{affected}; none of them is probed over the network")
    return effect.worst, (consequence, affected, *_probe_evidence(pods), *_target_group_evidence(facts.usage))


def _probe_evidence(pods: Sequence[Pod]) -> Iterator[str]:
    """Pods whose probes fail by the kubelet's view, and what the kubelet does then."""
    probes = {pod.key: pod.branch.probes if pod.branch else () for pod in pods}
    ready = [
        key for key, pod_probes in probes.items() if any(probe.kind is ProbeKind.READINESS for probe in pod_probes)
    ]
    live = [
        key for key, pod_probes in probes.items() if any(probe.kind is not ProbeKind.READINESS for probe in pod_probes)
    ]
    if ready:
        first_s = min(p.detection_s for key in ready for p in probes[key] if p.kind is ProbeKind.READINESS)
        yield f"readiness probes over the network, unready from {first_s} s on: {shorten(ready)}"
    if live:
        first_s = min(p.detection_s for key in live for p in probes[key] if p.kind is not ProbeKind.READINESS)
        yield f"liveness or startup probes over the network, containers restarted from {first_s} s on: {shorten(live)}"


def _target_group_evidence(usage: Usage) -> Iterator[str]:
    groups = usage.target_groups
    if isinstance(groups, Unknown):
        yield f"which target groups they stand in is not known: {groups.why}"
    elif groups:
        yield f"target groups they stand in: {shorten(groups)}"


def _node_severity(
    usage: Usage, effect: FieldEffect, change: FieldChange, consequence: str
) -> tuple[Severity, tuple[str, ...]]:
    if change.field.variable == "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG":
        configs = usage.eni_configs
        if isinstance(configs, Unknown):
            return effect.worst, (consequence, configs.why)
        if not configs:
            return Severity.LOW, (f"there is no ENIConfig; else {consequence}",)
        return effect.worst, (consequence, f"ENIConfigs: {shorten(configs)}")
    if change.field.variable == "ENABLE_PREFIX_DELEGATION":
        fullest = usage.fullest
        if isinstance(fullest, Unknown):
            return effect.worst, (consequence, f"how full nodes are is not known: {fullest.why}")
        if fullest is not None:
            return effect.worst, (consequence, f"{fullest.node} takes {fullest.room} pods and has {fullest.pods}")
    return effect.worst, (consequence,)


def _enforcing_mode(facts: AddonFacts, changes: Sequence[FieldChange], mode: Mode) -> str:
    """The enforcing mode after the update, "" if unknown; strict is vpc-cni's default (README v1.23.0)."""
    for change in changes:
        if change.field.variable == _ENFORCING and change.fate(mode) is not Fate.KEPT:
            return str(change.by_mode[mode].value) if change.fate(mode) is Fate.RESET else ""
    for live in facts.objects:
        if live.get("kind") != "DaemonSet":
            continue
        for container in nested_field(live, "spec", "template", "spec", "containers") or ():
            for entry in container.get("env") or ():
                if entry.get("name") == _ENFORCING:
                    return str(entry.get("value", ""))
        return _STRICT
    return ""


def _is_true(value: object) -> bool:
    """Parsed as by Go's strconv.ParseBool, which vpc-cni uses for its variables."""
    return value in ("1", "t", "T", "true", "TRUE", "True", True)


# Findings on the request itself, independent of fields: its values, its version, other writers.


def request_findings(
    facts: AddonFacts, request: AddonUpdateRequest, violations: tuple[SchemaViolation, ...] | Unknown
) -> Iterator[Finding]:
    """Unsorted. `violations`: of the target's schema by the values, given or kept."""
    yield from _values_findings(facts, request)
    yield from _schema_findings(facts, request, violations)
    yield from _version_findings(facts)
    yield from _writer_findings(facts)
    yield from _pod_findings(facts)


def _values_findings(facts: AddonFacts, request: AddonUpdateRequest) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    if isinstance(facts.values, Unknown):
        yield Finding.of(
            "addon-values-refused/unreadable",
            addon,
            (facts.values.why,),
            lacking=facts.values.missing or facts.values.why,
        )
        return
    if request.values is None:
        return
    requested_paths = {leaf.path for leaf in leaves(request.values)}
    dropped_paths = [leaf.path for leaf in leaves(facts.values) if leaf.path not in requested_paths]
    if dropped_paths:
        yield Finding.of(
            "addon-values-dropped",
            addon,
            ("they are replaced as a whole: what the new document lacks goes back to its default",),
            whole=not request.values,
            map=", ".join(map(format_path, dropped_paths)),
        )


def _schema_findings(
    facts: AddonFacts, request: AddonUpdateRequest, violations: tuple[SchemaViolation, ...] | Unknown
) -> Iterator[Finding]:
    """Violations of the target's schema by the values, given or kept."""
    addon = Subject("Addon", facts.addon.name)
    version = f"{facts.addon.name} {facts.target.version}"
    are_kept = request.values is None
    if isinstance(violations, Unknown):
        yield Finding.of(
            "addon-values-refused/unknown",
            addon,
            (violations.why,),
            version=version,
            kept=are_kept,
            lacking=violations.missing or violations.why,
        )
        return
    for violation in violations:
        yield Finding.of(
            "addon-values-refused/refused",
            addon,
            ("EKS may let it pass: it is a format that is not of the standard",) if violation.doubtful else (),
            severity=Severity.MEDIUM if violation.doubtful else Severity.HIGH,
            do=values_remedy(violation, version),
            version=version,
            kept=are_kept,
            each=violation,
        )


def _version_findings(facts: AddonFacts) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    target, kubernetes = facts.target.version, facts.cluster.version
    if isinstance(facts.offered, Unknown):
        yield Finding.of(
            "addon-version-unfit/not-known",
            addon,
            (facts.offered.why,),
            target=target,
            kubernetes=kubernetes,
            lacking=facts.offered.missing or facts.offered.why,
        )
    elif not facts.offered:
        yield Finding.of("addon-version-unfit/not-offered", addon, target=target, kubernetes=kubernetes)
    current_version, target_version = parse_version(facts.current.version), parse_version(target)
    if current_version is not None and target_version is not None and target_version < current_version:
        yield Finding.of("addon-version-unfit/older", addon, target=target, version=facts.current.version)
    if facts.addon.status not in ("", "ACTIVE"):
        yield Finding.of(
            "addon-not-active",
            addon,
            tuple(f"{issue.code}: {issue.message}" for issue in facts.addon.issues),
            addon_name=facts.addon.name,
            status=facts.addon.status,
        )
    yield from skipped_minors_findings(facts)


def skipped_minors_findings(facts: AddonFacts) -> Iterator[Finding]:
    """The update skips minor versions: AWS recommends one at a time, but refuses none."""
    if len(facts.steps) > 1:
        yield Finding.of(
            "addon-version-unfit/several-minors",
            Subject("Addon", facts.addon.name),
            ("EKS user guide, update the Amazon VPC CNI add-on: a recommendation",),
            addon=facts.addon.name,
            steps=" → ".join((facts.addon.version, *facts.steps)),
            first=facts.steps[0],
        )


def _pod_findings(facts: AddonFacts) -> Iterator[Finding]:
    pods = facts.usage.astray if facts.addon.name == "vpc-cni" else ()
    for pod in pods:
        assert pod.branch is not None, "else it is not known to be astray"
        yield Finding.of(
            "addon-pods-astray",
            Subject("Pod", pod.name, pod.namespace),
            ("amazon-vpc-cni-k8s #2268",),
            pod_key=pod.key,
            address=pod.branch.address,
            interface=pod.branch.interface,
            namespace=pod.namespace,
            pod_name=pod.name,
        )


def _writer_findings(facts: AddonFacts) -> Iterator[Finding]:
    for live in facts.objects:
        try:
            owners = sorted({owner.manager for owner in owners_of(live) if not owner.subresource})
        except MalformedEntries:
            continue
        object_ref = object_name(live)
        for manager, tool in ((each, tool_name(each)) for each in owners):
            if tool:
                yield Finding.of(
                    "addon-other-writer",
                    Subject(object_ref.kind, object_ref.name, object_ref.namespace),
                    tool=tool,
                    manager=manager,
                )
