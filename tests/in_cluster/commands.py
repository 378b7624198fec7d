"""In-cluster errands with healthy defaults, for tests."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.in_cluster.objects import InClusterCommand


def an_errand(**more: Any) -> InClusterCommand:
    fields: dict[str, Any] = {
        "name": "eksdoc-drain-r1",
        "component": "drain-run",
        "instance": "r1",
        "namespace": "kube-system",
        "image": "registry.example/kubectl-eksdoc:1",
        "version": "1.2.3",
        "args": ("drain", "run"),
        "final": (7, 1, 6),
    }
    return InClusterCommand(**(fields | more))
