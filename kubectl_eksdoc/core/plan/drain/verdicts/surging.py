"""Single replicas that a rollout replaces (``--surge-singles``): the new one is Ready before the old one stops.

A rollout deletes pods and evicts none, so that budgets do not hold it back; this one takes none of them away either.
Source: pkg/controller/deployment/rolling.go, Kubernetes v1.36.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.findings import Remedy
from kubectl_eksdoc.core.model.nodes import HOSTNAME
from kubectl_eksdoc.core.model.pods import Pod, VolumeKind
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts import copies
from kubectl_eksdoc.core.rules.scheduling.pod_affinity import resolved


def single_of(survey: Survey, pod: Pod) -> Workload | None:
    """The workload whose only replica this is, None where it wants more of them, or is not known."""
    top, owner = survey.top_of(pod), survey.top_owner(pod)
    if top is None or owner is None or top.kind not in copies.SCALED_BY_HAND:
        return None
    wanted = top.replicas if top.uid == owner.uid else survey.wanted_by.get(owner.uid, top.replicas)
    return top if wanted == 1 else None


def restarted(survey: Survey, pod: Pod) -> Workload | None:
    """The Deployment that is restarted in place of an eviction of `pod`; None where it is evicted."""
    if not survey.policy.surge_singles or pod.finished or pod.deletion_deadline is not None:
        return None
    top = single_of(survey, pod)
    return top if top is not None and not why_not(survey, pod, top) else None


def why_not(survey: Survey, pod: Pod, top: Workload) -> str:
    """Why no rollout of `top` replaces its only pod without downtime, as a clause; "" if one does."""
    owner = survey.top_owner(pod)
    if top.kind == "StatefulSet":
        return "a StatefulSet starts the new pod only after the old one is gone"
    if top.kind != "Deployment" or owner is None or owner.uid != top.uid:
        kind, name = (owner.kind, owner.name) if owner is not None else (top.kind, top.name)
        return f"{kind} {name} is no Deployment, so no rollout starts a second pod"
    if top.paused:
        return "its Deployment is paused"
    if not top.surges:
        return "its strategy starts no new pod before the old one stops (Recreate, or maxSurge 0)"
    if top.rollout_unavailable:
        return "its strategy may take its only pod away before the new one is Ready (maxUnavailable 1)"
    if pod.uid in survey.no_second:
        return "no node has a place for a second one while it is there"
    if not pod.ready:
        return "it is not Ready, and whether a new pod would be is not known"
    return _held_by_a_volume(survey, pod) or _alone_by_its_own_rule(survey, pod)


def advice(survey: Survey, pod: Pod) -> Remedy | None:
    """Have the drain restart it; None where it does, or nothing would come of that."""
    top = single_of(survey, pod)
    if top is None or survey.policy.surge_singles or why_not(survey, pod, top):
        return None
    return Remedy("Have the drain do that: plan with --surge-singles.")


def _held_by_a_volume(survey: Survey, pod: Pod) -> str:
    """A volume that one node at a time may use: the new pod would wait for it until the old one is gone."""
    for volume in pod.volumes:
        if volume.kind is VolumeKind.AWS_EBS:
            return f"its EBS volume {volume.detail} is attached to one node at a time: the new pod would wait for it"
        if volume.kind is VolumeKind.CLAIM:
            claim = survey.claims.get(f"{pod.namespace}/{volume.detail}")
            if claim is None and survey.cluster.unread(kinds.CLAIMS):
                return "whether a second node may use its volumes is not known: persistentvolumeclaims were not read"
            if claim is None or not claim.shared:
                return f"claim {volume.detail} is for one node at a time: the new pod would wait for the volume"
    return ""


def _alone_by_its_own_rule(survey: Survey, pod: Pod) -> str:
    """Anti-affinity against its own kind, where all nodes it could go to are in one place with it."""
    for term in pod.placement.anti_affinity:
        key, namespaces, by_labels, selector = resolved(term, pod.namespace, pod.labels)
        itself = selector.matches(pod.labels) and (pod.namespace in namespaces or by_labels is not None)
        if not itself or key == HOSTNAME:
            continue
        here = next((node for node in survey.targets if node.name == pod.node), None)
        if here is None or key not in here.labels:
            continue
        others = (n for n in survey.cluster.nodes if n.name not in survey.pods_on and not n.unschedulable)
        if all(node.labels.get(key) == here.labels[key] for node in others):
            return f"its own anti-affinity lets no second one beside it, and all other nodes have the same {key}"
    return ""
