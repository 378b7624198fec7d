"""Codes about programs whose versions decide an upgrade: add-ons, controllers; and what release notes warn of."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code

ADDON_UNFIT = Code(
    "check-addon-unfit",
    "An add-on of EKS whose version does not fit the target",
    "EKS lists for which Kubernetes versions each version of an add-on is. Whether it is updated before the control "
    "plane or after it goes by what is known of that add-on, with the reason.",
)
ADDON_HEALTH = Code(
    "check-addon-health",
    "An add-on of EKS that is not well",
    "EKS calls it degraded, or its last update failed: an update of it may fail again in the middle of an upgrade.",
)
PROGRAM_BEFORE = Code(
    "program-before-control-plane",
    "A program that is to be updated before the control plane",
    "What its makers, or the user guide of EKS, say of its version does not include the next version of Kubernetes.",
    (kinds.PODS,),
)
PROGRAM_BEFORE_NODES = Code(
    "program-before-nodes",
    "A program that is to be updated before new nodes come",
    "Nodes of the family that comes need a newer version of it, as AL2023 does of vpc-cni.",
    (kinds.PODS, kinds.NODES),
)
PROGRAM_AFTER = Code(
    "program-after",
    "A program that follows the control plane",
    "Its minor version is to be that of the control plane: kube-proxy, the Cluster Autoscaler.",
    (kinds.PODS,),
)
PROGRAM_UNKNOWN = Code(
    "program-unknown",
    "A program of which it is not known whether it fits",
    "Its version cannot be told, is newer than the table of its makers that is known here, or they publish none.",
    (kinds.PODS,),
)
RELEASE_NOTE = Code(
    "release-note",
    "What the release notes of a version on the way warn of",
    "Warnings that concern this cluster, or of which nothing here can tell whether they do. Removed APIs, add-ons and "
    "nodes have codes of their own.",
    (kinds.NODES, kinds.PODS),
)
