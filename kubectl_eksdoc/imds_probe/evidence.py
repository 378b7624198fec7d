"""What CloudWatch has counted says of requests without a token (IMDSv1): whether there are any, not whose they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.machines import V1_DAYS, V1Calls
from kubectl_eksdoc.model.findings import Finding, Remedy, Subject
from kubectl_eksdoc.model.missing_rights import allow

_ENOUGH = 7
"""So many days must be counted on one of the nodes, before that nothing was counted says anything."""

Counted = Mapping[str, V1Calls | Unknown]
"""By node."""

_NAMED = 5
_FIND = Remedy(
    "Find the program before the nodes are replaced (aws-imds-packet-analyzer names the process), and update its AWS "
    "SDK: old SDKs, and fluent-bit with imds_version v1, ask without a token."
)
LIMITS = "requests of programs on the host count too; what asked less often, or on nodes that are gone, was not counted"


def answered(subject: Subject, counted: Counted, by: str) -> Finding | None:
    """What it says of requests that the next node refuses, by whose doing that is; None: too little."""
    told = [each for each in counted.values() if isinstance(each, V1Calls) and each.answered is not None]
    asking = [each.answered for each in told if each.answered]
    names = (*sorted(counted)[:_NAMED], LIMITS)
    if asking:
        return Finding.of(
            "imds-tokens-required/counted",
            subject,
            names,
            remedy=(_FIND,),
            count=sum(asking),
            nodes=len(asking),
            of=len(counted),
            days=V1_DAYS,
            by=by,
        )
    if not counted or len(told) < len(counted) or not any(each.days >= _ENOUGH for each in told):
        return None
    return Finding.of("imds-tokens-required/none", subject, names, of=len(counted), days=V1_DAYS, by=by)


def rejected(subject: Subject, counted: Counted) -> Iterator[Finding]:
    """Of one group: requests that were refused, as they came without a token."""
    found = {
        node: each.rejected for node, each in counted.items() if isinstance(each, V1Calls) and each.rejected is not None
    }
    refused = {node: count for node, count in found.items() if count}
    if refused:
        yield Finding.of(
            "imds-v1-rejected",
            subject,
            (*(f"{node}: {count}" for node, count in sorted(refused.items())[:_NAMED]), LIMITS),
            count=sum(refused.values()),
            nodes=len(refused),
            of=len(counted),
            days=V1_DAYS,
        )


def in_all(cluster: Subject, counted: Counted) -> Iterator[Finding]:
    """What CloudWatch told of all instances, and one for each reason why it told nothing."""
    told = [each for each in counted.values() if isinstance(each, V1Calls)]
    with_figures = [each for each in told if each.days]
    if with_figures:
        yield Finding.of(
            "imds-v1-counted/figures",
            cluster,
            (LIMITS,),
            answered=sum(each.answered or 0 for each in told),
            rejected=sum(each.rejected or 0 for each in told),
            told=len(with_figures),
            of=len(counted),
            days=V1_DAYS,
        )
    elif told:
        yield Finding.of("imds-v1-counted/none", cluster, of=len(counted), days=V1_DAYS)
    for why in dict.fromkeys(each for each in counted.values() if isinstance(each, Unknown)):
        again = Remedy("Ask again, or leave --evidence away.")
        yield Finding.of(
            "imds-evidence-unknown",
            cluster,
            remedy=(allow(why.missing),) if why.missing else (again,),
            why=why.why,
            lacking=why.missing or "what CloudWatch has counted",
        )
