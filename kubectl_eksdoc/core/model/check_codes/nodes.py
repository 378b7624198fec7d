"""Codes about nodes: how far they may be behind, and what they run."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

KUBELET_SKEW = Code(
    "kubelet-skew",
    "Kubelets too old for a step of the control plane",
    "A kubelet may be three minor versions behind the control plane (two, if it is older than 1.25), now and after "
    "every step. Nodes that would be further behind are upgraded before that step.",
    (kinds.NODES,),
)
KUBELET_NEWER = Code(
    "kubelet-newer",
    "Kubelets newer than the control plane",
    "A kubelet must never be newer than the API server.",
    (kinds.NODES,),
)
NODES_BEHIND = Code(
    "nodes-behind",
    "Nodes that have not got the target version yet",
    "They are served, but an upgrade is not at its end before they are replaced, too.",
    (kinds.NODES,),
)
KUBE_PROXY_SKEW = Code(
    "kube-proxy-skew",
    "kube-proxy too old or too new for a step",
    "kube-proxy must not be newer than the control plane, not further behind it than a kubelet may be, and within as "
    "many minor versions of the kubelet of its node.",
    (kinds.PODS, kinds.NODES),
)
FARGATE_RESTART = Code(
    "fargate-restart",
    "Fargate pods that must be restarted",
    "A Fargate node has the version that the control plane had when its pod started. The pod's owner is restarted "
    "after the control plane's step.",
    (kinds.NODES, kinds.PODS),
)
