"""Which pods keep what they got while a field was lost, and must be recreated: as data, each with its source.

A variable that is not listed is none without consequence: it is one of which nothing is known here, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from kubectl_eksdoc.addon_diff.aftermath.facts import ChangedField, Recreating
from kubectl_eksdoc.addon_diff.fields import AddonField, some_of
from kubectl_eksdoc.addon_diff.usage import Usage
from kubectl_eksdoc.model.asked import Confidence, Unknown


class _Who(Enum):
    NOBODY = "nobody"
    ASTRAY = "pods that started without their branch interface"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Rule:
    who: _Who
    says: str
    source: str
    sure: Confidence


_VARIABLES: Mapping[str, _Rule] = {
    "DISABLE_TCP_EARLY_DEMUX": _Rule(
        _Who.NOBODY,
        "it is a switch of the node, which the init container sets as aws-node starts there: probes reach the pods "
        "that run from then on",
        "amazon-vpc-cni-k8s, cmd/aws-vpc-cni-init/main.go v1.23.0",
        Confidence.MEDIUM,
    ),
    "ENABLE_POD_ENI": _Rule(
        _Who.ASTRAY,
        "pods with security groups of their own that start while it is false have an address and the security groups "
        "of their node, and keep them after it is back",
        "amazon-vpc-cni-k8s README v1.23.0; #2268",
        Confidence.MEDIUM,
    ),
    **dict.fromkeys(
        ("WARM_ENI_TARGET", "WARM_IP_TARGET", "WARM_PREFIX_TARGET", "MINIMUM_IP_TARGET"),
        _Rule(
            _Who.NOBODY,
            "it says how many addresses a node holds ready, and nothing of those that pods have",
            "amazon-vpc-cni-k8s README v1.23.0",
            Confidence.MEDIUM,
        ),
    ),
}


def recreating(lost: tuple[ChangedField, ...], usage: Usage, begun: datetime) -> tuple[Recreating, ...]:
    """Of each variable of vpc-cni that was lost; `begun`: when the update was."""
    return tuple(_of(change.field, usage, begun) for change in lost if change.field.variable)


def _of(of: AddonField, usage: Usage, begun: datetime) -> Recreating:
    rule = _VARIABLES.get(of.variable)
    if rule is None:
        why = "no document that is known here says whether pods that run take it over"
        return Recreating(of, Unknown(why), why, "", Confidence.LOW)
    if rule.who is _Who.NOBODY:
        return Recreating(of, (), rule.says, rule.source, rule.sure)
    return Recreating(of, _astray(usage, begun), rule.says, rule.source, rule.sure)


def _astray(usage: Usage, begun: datetime) -> tuple[str, ...] | Unknown:
    """Their address is not that of the interface noted for them. Of one that started since without any note it is not
    known."""
    if isinstance(usage.branched, Unknown):
        return usage.branched
    silent = [
        pod.key
        for pod in usage.branched
        if (pod.created_at is None or pod.created_at >= begun.replace(microsecond=0))
        and (pod.branch is None or not pod.branch.interface or not pod.branch.address)
    ]
    if silent:
        which = some_of(silent)
        why = f"no branch interface is noted for {which}, which started since then"
        astray = ", ".join(pod.key for pod in usage.astray)
        return Unknown(f"{why}; to be recreated in any case: {astray}" if astray else why)
    return tuple(pod.key for pod in usage.astray)
