"""Codes about the control plane's version: how long it is supported, and whether the target can be had."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code

SUPPORT_ENDS = Code(
    "support-ends",
    "Standard support of the version ends",
    "Days left until standard support ends, and what happens then by the cluster's upgrade policy: extended support, "
    "which is billed, or an upgrade by EKS itself. The dates are EKS's own, or those of a table that has a date.",
)
SUPPORT_EXTENDED = Code(
    "support-extended",
    "The cluster is billed for extended support",
    "From the beginning of the day on which standard support ends each hour costs $0.60 instead of $0.10.",
)
SUPPORT_OVER = Code(
    "support-over",
    "EKS may upgrade the control plane by itself",
    "The last support of the version has ended, or ends soon: EKS upgrades the control plane at any time after that, "
    "and leaves the nodes as they are.",
)
TARGET = Code(
    "target-version",
    "Whether EKS offers the target version",
    "EKS lists the versions that it supports. Tables of this tool end with a version, too: what is beyond them was not "
    "judged.",
)
