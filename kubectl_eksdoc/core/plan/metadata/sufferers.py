"""Which pods do not do without the instance metadata service: those that are broken now, those that will break
when they or their node are made anew, and those of which only their pod spec says that it is possible.

Source of the classes: field notes of the incident. Nine hundred innocent pods are not a list, so the last class is for
counting only.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.aws.machines import PodIdentity
from kubectl_eksdoc.core.model.pods import Pod, RoleBy
from kubectl_eksdoc.core.plan.metadata.consumers import Consumer, Started, asks_nothing, consumer_of
from kubectl_eksdoc.core.plan.metadata.symptoms import Seen
from kubectl_eksdoc.core.rules.metadata_service import Reach, Verdict


class Suffering(Enum):
    BROKEN = "broken now"
    WILL_BREAK = "will break"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Sufferer:
    """`why` it needs the service, `where` it has it not and `way_out` are clauses; `source` of what is known of the
    program, "" where it is not known."""

    pod: Pod
    suffering: Suffering
    why: str
    where: str
    way_out: str
    source: str = ""


_OWN_ROLE = "give it a role of its own: EKS Pod Identity or IRSA"
AGAIN = "make it anew: EKS Pod Identity has a role for its service account, which it got after the pod started"


def cut_off(*verdicts: Verdict) -> bool:
    """By any of them a pod is, or is answered without a token only."""
    return any(each.reach in (Reach.CUT_OFF, Reach.V1_ONLY) for each in verdicts)


def sufferer(
    pod: Pod,
    here: Verdict,
    later: Verdict,
    identities: Set[PodIdentity] | Unknown,
    seen: Seen | None = None,
    started: Started | None = None,
) -> Sufferer | None:
    """Of a pod on a node where the service is as `here`, and on the next node as `later`. `identities`: who has a role
    by EKS Pod Identity; `seen`: what its log says; `started` is not known where it was not read. None: it does not
    suffer, as far as that can be told from outside."""
    if pod.calls.host_network or pod.finished or not cut_off(here, later):
        return None
    known = next(filter(None, map(consumer_of, pod.calls.images)), None)
    way_out = _way_out(pod, known, identities)
    source = str(known.source) if known is not None else ""
    if seen is not None and cut_off(here):
        lacks = f"its log says that it lacks {seen.symptom.lacks} ({seen.symptom.source})"
        return Sufferer(
            pod, Suffering.BROKEN, lacks, f"on its node {here.why}", way_out, source or str(seen.symptom.source)
        )
    worst, where = _worst(here, later)
    needs = _needs(pod, known, identities, started)
    if needs:
        surely = Suffering.WILL_BREAK if worst.reach is Reach.CUT_OFF else Suffering.POSSIBLE
        return Sufferer(pod, surely, f"it looks for {needs} there", where, way_out, source)
    doubt = _doubt(pod, known, identities, started)
    return Sufferer(pod, Suffering.POSSIBLE, doubt, where, way_out, source) if doubt else None


def _worst(here: Verdict, later: Verdict) -> tuple[Verdict, str]:
    """And where that is, a clause."""
    for reach in (Reach.CUT_OFF, Reach.V1_ONLY):
        if here.reach is reach:
            return here, f"on its node {here.why}"
        if later.reach is reach:
            return later, f"on the next node {later.why}"
    raise AssertionError("only who is cut off is asked about")


def _needs(pod: Pod, known: Consumer | None, identities: Set[PodIdentity] | Unknown, started: Started | None) -> str:
    """What a program that is known looks for and has not been given, "" for nothing."""
    if known is None or known.falls_back or known.on_host:
        return ""
    found = [need.what for need in known.lacks(started)] if started is not None else []
    if known.needs_credentials(pod) and not _has_role(pod, identities):
        found.append("credentials")
    return _listed(found)


def _listed(texts: Sequence[str]) -> str:
    """``a, b and c``."""
    *before, last = texts or ("",)
    return f"{', '.join(before)} and {last}" if before else last


def _doubt(pod: Pod, known: Consumer | None, identities: Set[PodIdentity] | Unknown, started: Started | None) -> str:
    """Why it may need the service, "" where nothing speaks for it."""
    if known is not None and known.on_host:
        return "it was not given the network of its host, with which it comes"
    if known is not None and known.needs and started is None:
        asked = _listed([need.what for need in known.needs])
        return f"whether it was given {asked} is not known"
    unsure = known.may_lack(started) if known is not None and started is not None else ()
    if known is not None and unsure and not known.falls_back:
        asked = _listed([need.what for need in unsure])
        return f"whether its envFrom gives it {asked} is not known"
    calls = known.needs_credentials(pod) if known is not None else not all(map(asks_nothing, pod.calls.images))
    return "it has no role of its own" if calls and not _has_role(pod, identities) else ""


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
