"""CustomResourceDefinitions for kinds that are not built in."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

ESTABLISHED = {"type": "Established", "status": "True"}


def a_definition(
    kind: str = "Widget", *versions: Doc, conditions: tuple[Doc, ...] = (ESTABLISHED,), **spec: Any
) -> Doc:
    """A definition with one version by default; its schema has no fields."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    names = {"plural": f"{kind.lower()}s", "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    held = versions or ({"name": "v1", "served": True, "storage": True, "schema": schema},)
    made = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(held), **spec}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{made['group']}"},
        "spec": made,
        "status": {"conditions": list(conditions), "acceptedNames": made["names"]},
    }
