"""Which pods do not do without the instance metadata service: those that are broken now, those that will break
when they or their node are made anew, and those of which only their pod spec says that it is possible.

Source of the classes: field notes of the incident. Nine hundred innocent pods are not a list, so the last class is for
counting only.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import PodIdentity
from kubectl_eksdoc.core.model.pods import Pod, RoleBy
from kubectl_eksdoc.core.plan.metadata.consumers import Consumer, consumer_of
from kubectl_eksdoc.core.plan.metadata.symptoms import Seen
from kubectl_eksdoc.core.rules.metadata_service import Reach, Verdict


class Suffering(Enum):
    BROKEN = "broken now"
    WILL_BREAK = "will break"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Started:
    """With what a container of the pod was started: its arguments, and the names of its variables."""

    arguments: Sequence[str] = ()
    variables: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Sufferer:
    """`why` and `way_out` are clauses; `source` of what is known of the program, "" where it is not known."""

    pod: Pod
    suffering: Suffering
    why: str
    way_out: str
    source: str = ""


_OWN_ROLE = "give it a role of its own: EKS Pod Identity or IRSA"
AGAIN = "make it anew: EKS Pod Identity has a role for its service account, which it got after the pod started"
_CUT = (Reach.CUT_OFF, Reach.V1_ONLY)


def sufferer(
    pod: Pod,
    here: Verdict,
    later: Verdict,
    identities: Set[PodIdentity] | Unknown,
    seen: Seen | None = None,
    started: Started | None = None,
) -> Sufferer | None:
    """Of a pod on a node where the service is as `here`, and on the next node as `later`. `identities`: who has a role
    by EKS Pod Identity; `seen`: what its log says; `started` is None where that was not read. None: it does not suffer,
    as far as that can be told from outside."""
    if pod.calls.host_network or pod.finished or not {here.reach, later.reach} & {*_CUT}:
        return None
    known = next(filter(None, map(consumer_of, pod.calls.images)), None)
    way_out = _way_out(pod, known, identities)
    source = known.source if known is not None else ""
    if seen is not None and here.reach in _CUT:
        lacks = f"its log says that it lacks {seen.symptom.lacks} ({seen.symptom.source}), and {here.why}"
        return Sufferer(pod, Suffering.BROKEN, lacks, way_out, source or seen.symptom.source)
    when = _when(here, later)
    needs = _needs(pod, known, identities, started)
    if needs:
        return Sufferer(pod, Suffering.WILL_BREAK, f"it looks for {needs} there; {when}", way_out, source)
    if known is None and not _has_role(pod, identities):
        return Sufferer(pod, Suffering.POSSIBLE, f"it has no role of its own; {when}", way_out)
    return None


def _when(here: Verdict, later: Verdict) -> str:
    if here.reach in _CUT:
        return f"on its node {here.why}"
    return f"on the next node {later.why}"


def _needs(pod: Pod, known: Consumer | None, identities: Set[PodIdentity] | Unknown, started: Started | None) -> str:
    """What a program that is known looks for and has not been given, "" for nothing."""
    if known is None or known.falls_back or known.on_host:
        return ""
    given = started or Started()
    found = [need.what for need in known.lacks(given.arguments, given.variables)] if started is not None else []
    if known.credentials and not _has_role(pod, identities):
        found.append("credentials")
    return " and ".join(found)


def _has_role(pod: Pod, identities: Set[PodIdentity] | Unknown) -> bool:
    """What is not known is no role."""
    return pod.calls.role is not RoleBy.NOBODY or _associated(pod, identities)


def _associated(pod: Pod, identities: Set[PodIdentity] | Unknown) -> bool:
    if isinstance(identities, Unknown):
        return False
    return PodIdentity(pod.namespace, pod.calls.service_account or "default") in identities


def _way_out(pod: Pod, known: Consumer | None, identities: Set[PodIdentity] | Unknown) -> str:
    if pod.calls.role is RoleBy.NOBODY and _associated(pod, identities):
        return AGAIN
    return known.way_out if known is not None else _OWN_ROLE
