"""Workloads affected by a field change: the effect of the field, and its severity in the current cluster.

Also the remedies for configuration values that an add-on's version does not allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries
from kubectl_eksdoc.model.addons import SchemaViolation, shown
from kubectl_eksdoc.model.api_objects import at, named
from kubectl_eksdoc.model.findings import Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.nodes import Asks, Pod
from kubectl_eksdoc.model.quantities import parse

from .expected import owners_of
from .fields import FieldEffect, Usage, Users, effect_of, leaves, some_of, value_of
from .prediction import AddonFacts, AddonUpdateRequest, Fate, FieldChange, Mode, tool_of

_SCALARS = ("boolean", "integer", "number")
_KINDS = ("string", *_SCALARS, "array", "object")


def remedy(broken: SchemaViolation, version: str) -> str:
    """One sentence. `version`: the add-on and version of the schema, ``vpc-cni v1.15.1-eksbuild.1``."""
    kinds = (clause(f"addon-values-refused/a-{each}") if each in _KINDS else each for each in broken.wanted)
    return clause(
        f"addon-values-refused/do-{_what_to_do(broken)}",
        where=shown(broken.path),
        version=version,
        wanted=" or ".join(kinds if broken.rule == "type" else broken.wanted),
        what=broken.what,
    )


def _what_to_do(broken: SchemaViolation) -> str:
    if broken.rule == "type":
        if broken.found in _SCALARS and "string" in broken.wanted:
            return "quote"
        if broken.found == "string" and set(broken.wanted) & set(_SCALARS):
            return "unquote"
        return "null" if broken.found == "null" else "type"
    if broken.rule == "format":
        return next((each for each in ("boolean", "integer") if each in broken.wanted), "format")
    return broken.rule if broken.rule in _RULES else "other"


_RULES = ("additionalProperties", "false", "required", "enum", "const", "pattern")


_STRICT, _STANDARD = "strict", "standard"
_ENFORCING = "POD_SECURITY_GROUP_ENFORCING_MODE"


def exposed(
    facts: AddonFacts, change: FieldChange, changes: Sequence[FieldChange], mode: Mode
) -> tuple[Severity, tuple[str, ...]]:
    """Severity of losing the field in this cluster, with evidence. `changes`: all changes of the update."""
    effect = effect_of(change.field)
    if effect is None:
        return Severity.MEDIUM, ("what follows from it is not known here",)
    if effect.of and not _is_on(change.live):
        return Severity.LOW, (f"only the loss of {value_of(effect.of)} matters: {effect.does}",)
    told = f"{effect.does} ({'as the update rolls over the nodes' if effect.at_once else 'later'}; {effect.source})"
    if effect.users is not Users.BRANCH_PODS:
        return _of_nodes(facts.usage, effect, change, told)
    if effect.strict_only and _enforcing(facts, changes, mode) == _STANDARD:
        return Severity.LOW, (f"{_ENFORCING} is {_STANDARD}; in {_STRICT} mode {told}",)
    pods = facts.usage.branched
    if isinstance(pods, Unknown):
        return effect.worst, (told, f"which pods have security groups of their own is not known: {pods.why}")
    if not pods:
        # Pods get their security groups when they start.
        policies = facts.usage.policies
        if isinstance(policies, Unknown):
            return Severity.LOW, (f"no pod has security groups of its own; else {told}", policies.why)
        if policies:
            yet = f"no pod has security groups of its own yet, but SecurityGroupPolicies give them: {some_of(policies)}"
            return Severity.MEDIUM, (yet, told)
        return Severity.LOW, (f"no pod has security groups of its own; else {told}",)
    have = "1 pod has" if len(pods) == 1 else f"{len(pods)} pods have"
    some = f"{have} security groups of their own: {some_of([pod.key for pod in pods])}"
    if not effect.probed:
        return effect.worst, (told, some)
    if not any(pod.branch is not None and pod.branch.probes for pod in pods):
        # Processes of the node that connect to these pods are affected all the same.
        return Severity.HIGH, (told, f"{some}; none of them is probed over the network")
    return effect.worst, (told, some, *_probed(pods), *_balanced(facts.usage))


def _probed(pods: Sequence[Pod]) -> Iterator[str]:
    """Pods whose probes fail by the kubelet's view, and what the kubelet does then."""
    probes = {pod.key: pod.branch.probes if pod.branch else () for pod in pods}
    ready = [key for key, each in probes.items() if any(probe.asks is Asks.READINESS for probe in each)]
    live = [key for key, each in probes.items() if any(probe.asks is not Asks.READINESS for probe in each)]
    if ready:
        soonest = min(p.gives_up_after_s for key in ready for p in probes[key] if p.asks is Asks.READINESS)
        yield f"readiness probes over the network, unready from {soonest} s on: {some_of(ready)}"
    if live:
        soonest = min(p.gives_up_after_s for key in live for p in probes[key] if p.asks is not Asks.READINESS)
        yield f"liveness or startup probes over the network, containers restarted from {soonest} s on: {some_of(live)}"


def _balanced(usage: Usage) -> Iterator[str]:
    groups = usage.target_groups
    if isinstance(groups, Unknown):
        yield f"which target groups they stand in is not known: {groups.why}"
    elif groups:
        yield f"target groups they stand in: {some_of(groups)}"


def _of_nodes(usage: Usage, effect: FieldEffect, change: FieldChange, told: str) -> tuple[Severity, tuple[str, ...]]:
    if change.field.variable == "AWS_VPC_K8S_CNI_CUSTOM_NETWORK_CFG":
        configs = usage.eni_configs
        if isinstance(configs, Unknown):
            return effect.worst, (told, configs.why)
        if not configs:
            return Severity.LOW, (f"there is no ENIConfig; else {told}",)
        return effect.worst, (told, f"ENIConfigs: {some_of(configs)}")
    if change.field.variable == "ENABLE_PREFIX_DELEGATION":
        fullest = usage.fullest
        if isinstance(fullest, Unknown):
            return effect.worst, (told, f"how full nodes are is not known: {fullest.why}")
        if fullest is not None:
            return effect.worst, (told, f"{fullest.node} takes {fullest.room} pods and has {fullest.pods}")
    return effect.worst, (told,)


def _enforcing(facts: AddonFacts, changes: Sequence[FieldChange], mode: Mode) -> str:
    """The enforcing mode after the update, "" if unknown; strict is vpc-cni's default (README v1.23.0)."""
    for change in changes:
        if change.field.variable == _ENFORCING and change.fate(mode) is not Fate.KEPT:
            return str(change.by_mode[mode].value) if change.fate(mode) is Fate.RESET else ""
    for live in facts.objects:
        if live.get("kind") != "DaemonSet":
            continue
        for container in at(live, "spec", "template", "spec", "containers") or ():
            for entry in container.get("env") or ():
                if entry.get("name") == _ENFORCING:
                    return str(entry.get("value", ""))
        return _STRICT
    return ""


def _is_on(value: object) -> bool:
    """Parsed as by Go's strconv.ParseBool, which vpc-cni uses for its variables."""
    return value in ("1", "t", "T", "true", "TRUE", "True", True)


# Findings on the request itself, independent of fields: its values, its version, other writers.


def circumstances(
    facts: AddonFacts, asked: AddonUpdateRequest, broken: tuple[SchemaViolation, ...] | Unknown
) -> Iterator[Finding]:
    """Unsorted. `violations`: of the target's schema by the values, given or kept."""
    yield from _of_values(facts, asked)
    yield from _refused(facts, asked, broken)
    yield from _of_version(facts)
    yield from _of_writers(facts)
    yield from _circumstances_of_pods(facts)


def _of_values(facts: AddonFacts, asked: AddonUpdateRequest) -> Iterator[Finding]:
    addon = Subject("Addon", facts.addon.name)
    if isinstance(facts.values, Unknown):
        yield Finding.of(
            "addon-values-refused/unreadable",
            addon,
            (facts.values.why,),
            lacking=facts.values.missing or facts.values.why,
        )
        return
    if asked.values is None:
        return
    new = {leaf.path for leaf in leaves(asked.values)}
    gone = [leaf.path for leaf in leaves(facts.values) if leaf.path not in new]
    if gone:
        yield Finding.of(
            "addon-values-dropped",
            addon,
            ("they are replaced as a whole: what the new document lacks goes back to its default",),
            whole=not asked.values,
            map=", ".join(map(shown, gone)),
        )


def _refused(
    facts: AddonFacts, asked: AddonUpdateRequest, broken: tuple[SchemaViolation, ...] | Unknown
) -> Iterator[Finding]:
    """Violations of the target's schema by the values, given or kept."""
    addon = Subject("Addon", facts.addon.name)
    version = f"{facts.addon.name} {facts.target.version}"
    kept = asked.values is None
    if isinstance(broken, Unknown):
        yield Finding.of(
            "addon-values-refused/unknown",
            addon,
            (broken.why,),
            version=version,
            kept=kept,
            lacking=broken.missing or broken.why,
        )
        return
    for each in broken:
        yield Finding.of(
            "addon-values-refused/refused",
            addon,
            ("EKS may let it pass: it is a format that is not of the standard",) if each.doubtful else (),
            severity=Severity.MEDIUM if each.doubtful else Severity.HIGH,
            do=remedy(each, version),
            version=version,
            kept=kept,
            each=each,
        )


def _of_version(facts: AddonFacts) -> Iterator[Finding]:
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
    old, new = parse(facts.now.version), parse(target)
    if old is not None and new is not None and new < old:
        yield Finding.of("addon-version-unfit/older", addon, target=target, version=facts.now.version)
    if facts.addon.status not in ("", "ACTIVE"):
        yield Finding.of(
            "addon-not-active",
            addon,
            tuple(f"{issue.code}: {issue.message}" for issue in facts.addon.issues),
            addon_name=facts.addon.name,
            status=facts.addon.status,
        )
    yield from by_minors(facts)


def by_minors(facts: AddonFacts) -> Iterator[Finding]:
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


def _circumstances_of_pods(facts: AddonFacts) -> Iterator[Finding]:
    astray = facts.usage.astray if facts.addon.name == "vpc-cni" else ()
    for pod in astray:
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


def _of_writers(facts: AddonFacts) -> Iterator[Finding]:
    for live in facts.objects:
        try:
            owners = sorted({owner.manager for owner in owners_of(live) if not owner.subresource})
        except MalformedEntries:
            continue
        of = named(live)
        for manager, tool in ((each, tool_of(each)) for each in owners):
            if tool:
                yield Finding.of(
                    "addon-other-writer", Subject(of.kind, of.name, of.namespace), tool=tool, manager=manager
                )
