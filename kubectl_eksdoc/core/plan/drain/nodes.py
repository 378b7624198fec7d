"""What can be said of a target before its pods are looked at."""

from __future__ import annotations

from kubectl_eksdoc.core.model import codes
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.core.model.nodes import Node, NodeOwner

FOREIGN_TAINTS = {
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter",  # its name before v1
    "ToBeDeletedByClusterAutoscaler": "the Cluster Autoscaler",
}


def refusal(node: Node) -> Finding | None:
    """Why this node is not drained by us at all, or None."""
    if node.owner is NodeOwner.FARGATE:
        return _fails(
            node,
            codes.NODE_FARGATE,
            Severity.MEDIUM,
            "a Fargate node is not drained: it goes with its pod",
            Remedy(
                "Restart the owner of its pod (budgets do not hold a rollout back): the new pod gets a new node.",
                "kubectl rollout restart deployment/NAME -n NAMESPACE",
            ),
        )
    if node.owner is NodeOwner.AUTO_MODE:
        return _fails(
            node,
            codes.NODE_AUTO_MODE,
            Severity.MEDIUM,
            "EKS Auto Mode replaces this node itself and respects budgets while it does",
            Remedy("Let EKS replace it; to have it gone now, delete its NodeClaim.", "kubectl get nodeclaims"),
        )
    if node.deletion_at is not None:
        return _fails(
            node,
            codes.NODE_FOREIGN_DRAIN,
            Severity.HIGH,
            "it is being deleted already (metadata.deletionTimestamp is set)",
            Remedy("Leave it to whoever deletes it, and see how far it is.", f"kubectl describe node {node.name}"),
        )
    for taint in node.taints:
        who = FOREIGN_TAINTS.get(taint.key)
        if who:
            return _fails(
                node,
                codes.NODE_FOREIGN_DRAIN,
                Severity.HIGH,
                f"{who} is draining it (taint {taint.key})",
                Remedy(f"Leave it to {who}, or stop that first; two drains of one node fight."),
            )
    if node.ready != "True":
        return _fails(
            node,
            codes.NODE_NOT_READY,
            Severity.HIGH,
            f"its kubelet does not answer (Ready is {node.ready}): evicted pods would stay Terminating",
            Remedy(
                "Bring the kubelet back, or end the instance and delete the node.", f"kubectl describe node {node.name}"
            ),
        )
    return None


def remark(node: Node) -> Finding | None:
    """What to know about a node that is drained."""
    if node.owner is not NodeOwner.HYBRID:
        return None
    return Finding(
        codes.NODE_HYBRID,
        Severity.LOW,
        Status.PASS,
        _subject(node),
        "a hybrid node: nothing in AWS replaces or removes the machine after the drain",
        remedy=(Remedy("Plan what happens to the machine, and where its pods fit meanwhile.", "", When.TOMORROW),),
    )


def _fails(node: Node, code: Code, severity: Severity, message: str, *remedy: Remedy) -> Finding:
    return Finding(code, severity, Status.FAIL, _subject(node), message, remedy=remedy)


def _subject(node: Node) -> Subject:
    return Subject("Node", node.name)
