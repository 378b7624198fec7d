"""What cordoning and uncordoning change on a node.

Source: staging/src/k8s.io/kubectl/pkg/drain/cordon.go (UpdateIfRequired), Kubernetes v1.36.
"""

from __future__ import annotations

from kubectl_eksdoc.core.model.nodes import Node


def needs_update(node: Node, unschedulable: bool) -> bool:
    """Whether a patch is sent at all; kubectl prints ``already cordoned`` where it is not."""
    return node.unschedulable != unschedulable
