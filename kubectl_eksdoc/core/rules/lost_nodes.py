"""When a node that has stopped answering counts as NotReady, and the endpoints of its pods are taken out.

Source: kube-controller-manager's --node-monitor-grace-period, 40 s before Kubernetes 1.32 and 50 s since (its
changelog); EKS may have its own (confidence: medium).
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.versions import Version, parse

_LONGER_FROM = Version(1, 32)


def not_ready_after_s(server_version: str) -> int:
    """Seconds; of a server whose version is not known the longer ones."""
    version = parse(server_version)
    return 40 if version is not None and version.older_than(_LONGER_FROM) else 50
