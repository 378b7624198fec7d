"""The AWS Node Termination Handler: who else drains. Source: its README (two modes: a DaemonSet that asks the instance
metadata of its node, and a Deployment that reads a queue), Karpenter's documentation (not to be run beside it)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.core.model import interruption_codes as codes
from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.cluster import Cluster
from kubectl_eksdoc.core.model.commands import kubectl
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.core.model.missing_rights import allow
from kubectl_eksdoc.core.model.nodes import NodeOwner
from kubectl_eksdoc.core.plan.interruption.installs import NAME_LABEL

HANDLER = "aws-node-termination-handler"


@dataclass(frozen=True, slots=True)
class Handler:
    """`on`: Spot nodes of Karpenter on which it runs as a DaemonSet, `ready`: all nodes on which it is Ready as one; a
    Deployment reads a queue of its own."""

    kind: str
    namespace: str
    name: str
    on: tuple[str, ...] = ()
    ready: tuple[str, ...] = ()

    @property
    def by_node(self) -> bool:
        return self.kind == "DaemonSet"


def handlers(cluster: Cluster) -> tuple[Handler, ...]:
    """By the label of its chart or its name."""
    karpenters = {
        node.name for node in cluster.nodes if node.owner is NodeOwner.KARPENTER and node.capacity_type == "spot"
    }
    found: dict[tuple[str, str, str], dict[str, bool]] = {
        (each.kind, each.namespace, each.name): {}
        for each in cluster.workloads
        if each.kind in ("DaemonSet", "Deployment")
        and (each.template_labels.get(NAME_LABEL) == HANDLER or each.name.startswith(HANDLER))
    }
    for pod in cluster.pods:
        if pod.owner is None or pod.owner.kind != "DaemonSet" or pod.finished:
            continue
        key = ("DaemonSet", pod.namespace, pod.owner.name)
        if key in found or pod.labels.get(NAME_LABEL) == HANDLER:
            found.setdefault(key, {})[pod.node] = pod.ready
    return tuple(
        Handler(*key, tuple(sorted(ready.keys() & karpenters)), tuple(sorted(node for node in ready if ready[node])))
        for key, ready in sorted(found.items())
    )


def handler_findings(cluster: Cluster, there: tuple[Handler, ...], karpenter_drains: bool | None) -> Iterator[Finding]:
    for each in there:
        subject = Subject(each.kind, each.name, each.namespace)
        if each.by_node and each.on and karpenter_drains is not False:
            yield Finding(
                codes.HANDLER,
                Severity.MEDIUM,
                Status.FAIL,
                subject,
                f"it drains {len(each.on)} Spot nodes of Karpenter, which drains them as well: only Karpenter makes a "
                "replacement, and each undoes the other's cordons",
                each.on,
                (
                    Remedy(
                        "Keep it off Karpenter's nodes (nodeAffinity: karpenter.sh/nodepool DoesNotExist), or "
                        "remove it.",
                        kubectl("get", each.kind.lower(), each.name, each.namespace, "-o", "yaml"),
                        When.TOMORROW,
                    ),
                ),
            )
            continue
        text = (
            f"it drains {len(each.on)} Spot nodes of Karpenter as long as Karpenter does not; remove it once that does"
            if each.by_node and each.on
            else "it does not run on Spot nodes of Karpenter"
            if each.by_node
            else "it reads a queue of its own, and drains the instances that are tagged for it"
        )
        yield Finding(codes.HANDLER, Severity.INFO, Status.PASS, subject, text)
    unread = cluster.unread(kinds.DAEMON_SETS)
    if unread and not there:
        yield Finding(
            codes.HANDLER,
            Severity.LOW,
            Status.UNKNOWN,
            Subject("DaemonSet", HANDLER),
            "whether the AWS Node Termination Handler is there as well is not known",
            remedy=(allow(f"list {unread[0].resource.full_name}"),),
            missing=f"list {unread[0].resource.full_name}",
        )
