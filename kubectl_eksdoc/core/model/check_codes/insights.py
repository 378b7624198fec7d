"""Codes about what EKS itself sees in the way of an upgrade."""

from __future__ import annotations

from kubectl_eksdoc.core.model.codes import Code

INSIGHT_ERROR = Code(
    "insight-error",
    "An insight of EKS that is an error",
    "What breaks with the next version, as EKS sees it. Of APIs that are asked for it remembers 30 days: each client "
    "has its last request here, and the day on which the insight clears if nobody asks any more.",
)
INSIGHT_WARNING = Code(
    "insight-warning",
    "An insight of EKS that is a warning",
    "What breaks with a later version, or what EKS advises to mend before the upgrade.",
)
INSIGHT_STALE = Code(
    "insight-stale",
    "Insights of EKS that are older than a day",
    "EKS looks anew every 24 hours, and when it is asked to. What has changed since is not in them.",
)
INSIGHT_MISCONFIGURED = Code(
    "insight-misconfiguration",
    "A misconfiguration that EKS sees",
    "An insight that is about no upgrade: no step has to wait for it.",
)
