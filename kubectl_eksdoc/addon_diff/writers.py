"""Tools that write again what they have written, by the field managers they are known as."""

from __future__ import annotations

from collections.abc import Mapping

_TOOLS: Mapping[str, str] = {
    "terraform": "Terraform",
    "hashicorp": "Terraform",
    "pulumi": "Pulumi",
    "helm": "Helm",
    "argocd": "Argo CD",
    "argo-cd": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "fluxcd": "Flux",
    "ansible": "Ansible",
}
"""Begin of the name → tool. Sources: the default field managers in the documentation of each."""


def tool_of(manager: str) -> str:
    """ "" where it is a person's program, EKS, or part of Kubernetes."""
    name = manager.lower()
    if name in ("helm-controller", "kustomize-controller"):
        return _TOOLS[name]
    return next((tool for begin, tool in _TOOLS.items() if name.startswith(begin)), "")
