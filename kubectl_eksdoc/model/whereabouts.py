"""Which cluster is talked to, before anything was asked of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterAddress:
    """By the kubeconfig and the flags: the context ("" for none) and the server's address. `key` is a digest in hex of
    what makes out the cluster and who looks at it; two contexts never share one."""

    context: str
    server: str
    key: str
