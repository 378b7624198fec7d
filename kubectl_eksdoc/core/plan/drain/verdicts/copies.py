"""How to give a workload more replicas, or move it whole, for as long as a drain takes: who decides, and by what."""

from __future__ import annotations

from kubectl_eksdoc.core.model import commands, kinds
from kubectl_eksdoc.core.model.findings import Remedy
from kubectl_eksdoc.core.model.pods import Owner, Pod
from kubectl_eksdoc.core.model.workloads import Workload
from kubectl_eksdoc.core.plan.drain.survey import Survey

SCALED_BY_HAND = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")


def more(survey: Survey, pod: Pod, wanted: int, why: str) -> Remedy | None:
    """Raise the number of `pod`'s replicas to `wanted`; `why` ends the sentence. None where nobody keeps a number.

    Whoever decides is addressed: the autoscaler, the controller behind a ReplicaSet, else the workload itself.
    """
    owner = survey.top_owner(pod)
    if owner is None or (owner.group, owner.kind) in (("batch", "Job"), ("apps", "DaemonSet"), ("", "Node")):
        return None
    scaler = survey.autoscalers.get((pod.namespace, owner.kind, owner.name))
    if scaler is not None and scaler.minimum < wanted:
        spec = f'{{"spec": {{"minReplicas": {wanted}, "maxReplicas": {max(wanted, scaler.maximum)}}}}}'
        return Remedy(
            f"Raise the minimum of autoscaler {scaler.name} to {wanted}{why} (put them back afterwards: minimum "
            f"{scaler.minimum}, maximum {scaler.maximum}).",
            commands.patch("hpa", scaler.name, pod.namespace, spec),
        )
    top = survey.workloads.get(owner.uid)
    if top is None or top.kind not in SCALED_BY_HAND:
        return Remedy(
            f"Have {owner.kind} {owner.name} run {wanted} replicas, by its own means{why} (and back afterwards); a "
            f"scale of what it made is undone.{_perhaps_undone(survey)}",
            commands.kubectl("get", word_of(owner), owner.name, pod.namespace, "-o", "yaml"),
        )
    return Remedy(
        f"Scale {top.kind} {top.name} from {top.replicas} to {wanted} for the drain (and back afterwards)"
        f"{why}.{_perhaps_undone(survey, top)}",
        commands.kubectl("scale", top.kind.lower(), top.name, pod.namespace, f"--replicas={wanted}"),
    )


def restart(top: Workload) -> Remedy | None:
    """Move all its pods by a rollout; None where that cannot be done, or takes all of them away at once."""
    if top.kind != "Deployment" or top.paused or not (top.surges or top.rollout_unavailable < top.replicas):
        return None
    away = top.rollout_unavailable
    if away == 0:
        meanwhile = "new pods are Ready elsewhere before old ones stop"
    else:
        meanwhile = f"its strategy lets {away} of its {top.replicas} pods be away meanwhile"
    return Remedy(
        f"Once the nodes are cordoned, restart the rollout: {meanwhile}, and budgets do not hold a rollout back.",
        commands.shell("kubectl", "rollout", "restart", f"deployment/{top.name}", "-n", top.namespace),
    )


def word_of(owner: Owner) -> str:
    """How kubectl is told its kind: ``deployment``, ``rollout.argoproj.io``."""
    return commands.resource_word(owner.kind, owner.group)


def _perhaps_undone(survey: Survey, top: Workload | None = None) -> str:
    said = ""
    if top is not None and top.owner is not None:
        said += f" {top.owner.kind} {top.owner.name} made it and may undo that."
    if survey.cluster.unread(kinds.AUTOSCALERS):
        said += " Whether an autoscaler would undo that is not known: horizontalpodautoscalers were not read."
    return said
