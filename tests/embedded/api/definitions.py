"""CustomResourceDefinitions and APIServices for the tests: whole ones, of which a test says what it is about."""

from __future__ import annotations

from typing import Any

Doc = dict[str, Any]

ESTABLISHED = {"type": "Established", "status": "True"}


def a_definition(conditions: list[Doc] | None = None, **spec: Any) -> Doc:
    names = {"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}
    versions = [
        {"name": "v1beta1", "served": True, "storage": False},
        {"name": "v1alpha1", "served": False, "storage": False},
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas"}},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}],
        },
    ]
    return {
        "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions, **spec},
        "status": {} if conditions is None else {"conditions": conditions, "acceptedNames": names},
    }


def an_api_service(available: bool, **spec: Any) -> Doc:
    said = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"namespace": "kube-system", "name": "metrics-server"},
    }
    conditions = [{"type": "Available", "status": str(available)}]
    return {"kind": "APIService", "spec": {**said, **spec}, "status": {"conditions": conditions}}
