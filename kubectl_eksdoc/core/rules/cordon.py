"""What cordoning and uncordoning change on a node.

Source: staging/src/k8s.io/kubectl/pkg/drain/cordon.go (NewCordonHelperFromRuntimeObject, UpdateIfRequired,
PatchOrReplaceWithContext), Kubernetes v1.36.
"""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.core.model.nodes import Node


def can_be_cordoned(api_version: str, kind: str) -> bool:
    """Only a node can, whatever else has a spec.unschedulable."""
    return (api_version, kind) == ("v1", "Node")


def needs_update(node: Node, unschedulable: bool) -> bool:
    """Whether a patch is sent at all; kubectl prints ``already cordoned`` where it is not."""
    return node.unschedulable != unschedulable


def after_patch(node: Node, unschedulable: bool, accepted: bool) -> Node:
    """The node as the client knows it after it sent the patch: unchanged where the server refused."""
    return replace(node, unschedulable=unschedulable) if accepted else node
