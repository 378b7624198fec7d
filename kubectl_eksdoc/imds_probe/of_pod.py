"""What is said of one pod: whether it reaches the metadata service, and whether that matters to it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.amazon.metadata_service import HOST, ImdsVerdict, Reach, verdict
from kubectl_eksdoc.imds_probe.affected import AffectedPod, Effect, cut_off, fails
from kubectl_eksdoc.imds_probe.plan import GroupPlan, MetadataPlan
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.pods import Pod, RoleBy


@dataclass(frozen=True, slots=True)
class OnePod:
    """`hops` to the service; `affected_pod` is None where nothing says that it is. `sentence` says all."""

    pod: Pod
    hops: int
    here: ImdsVerdict
    affected_pod: AffectedPod | None
    sentence: str


_REACHES = {
    Reach.REACHABLE: "reaches the instance metadata service",
    Reach.V1_ONLY: "gets no token from the instance metadata service, and is answered without one",
    Reach.CUT_OFF: "does not reach the instance metadata service",
    Reach.UNKNOWN: "may or may not reach the instance metadata service",
}


def of_pod(plan: MetadataPlan, pod: Pod) -> OnePod:
    """`plan` is that of the pod's node, or holds it."""
    now = plan.facts.cluster.observed_at
    group = next((each for each in plan.groups if pod.node in each.alike.nodes), None)
    if pod.finished:
        return _said(
            pod, plan.hops, ImdsVerdict(Reach.UNKNOWN, "its containers have ended, and do not start again"), now
        )
    if group is None:
        why = "it is on no node yet" if not pod.node else f"its node {pod.node} is not among those that were read"
        return _said(pod, plan.hops, ImdsVerdict(Reach.UNKNOWN, why), now)
    if pod.calls.host_network:
        options = group.alike.now.options
        none = ImdsVerdict(Reach.CUT_OFF, group.alike.now.by)
        return _said(pod, HOST, none if options is None else verdict(options, HOST), now, group)
    return _said(pod, plan.hops, group.alike.here, now, group)


def _said(pod: Pod, hops: int, here: ImdsVerdict, now: datetime, group: GroupPlan | None = None) -> OnePod:
    among = group.affected if group is not None else ()
    suffers = next((each for each in among if each.pod == pod and each.effect is not Effect.NO_KNOWN_NEED), None)
    where = f" on {pod.node}" if pod.node else ""
    of = f" ({group.alike.name})" if group is not None and group.alike.name else ""
    host = ", with the network of its host," if pod.calls.host_network else ""
    failing = cut_off(here) and fails(pod, now)
    sentence = (
        f"{pod.key}{where}{of}{host} {_REACHES[here.reach]}: {here.why}; {_matters(pod, suffers, here, failing)}."
    )
    return OnePod(pod, hops, here, suffers, sentence + _later(group, pod))


def _matters(pod: Pod, suffers: AffectedPod | None, here: ImdsVerdict, failing: bool) -> str:
    if suffers is not None:
        return f"{suffers.effect.value}: {suffers.why}; way out: {suffers.way_out}"
    if failing:
        return "it fails, and whether for that reason is not known"
    if pod.calls.role is not RoleBy.NOBODY:
        return f"it has a role of its own by {pod.calls.role.value}"
    return "nothing is wrong" if here.reach is Reach.REACHABLE else "nothing shows that it needs it"


def _later(group: GroupPlan | None, pod: Pod) -> str:
    """What the next node changes, "" for nothing."""
    if group is None or pod.calls.host_network or isinstance(group.alike.next.options, Unknown):
        return ""
    if not group.alike.changes:
        return ""
    return f" On the next node it {_REACHES[group.alike.later.reach]}: {group.alike.later.why} ({group.alike.next.by})."
