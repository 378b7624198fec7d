"""What CustomResourceDefinitions and APIServices add to the catalogue."""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.embedded.api.resources import READ_AND_WRITE, Announced, PrinterColumn, Served, Subresource

DEFINITION = "CustomResourceDefinition"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"

# The order is the one custom resources are announced with, not that of built-in ones.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")


def missing(definition: Doc) -> tuple[str, ...]:
    """The fields that a definition of the right shape must have and has not, as ``spec.names.kind``; else it can be
    served.

    Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
    """
    paths = (("spec", "group"), ("spec", "scope"), ("spec", "names", "plural"), ("spec", "names", "kind"))
    lacking = [".".join(path) for path in (*paths, ("spec", "versions")) if not at(definition, *path)]
    for i, version in enumerate(at(definition, "spec", "versions") or ()):
        version = version or {}
        if not version.get("name"):
            lacking.append(f"spec.versions[{i}].name")
        for j, column in enumerate(version.get("additionalPrinterColumns") or ()):
            where = f"spec.versions[{i}].additionalPrinterColumns[{j}]"
            lacking += [f"{where}.{name}" for name in ("name", "type", "jsonPath") if not (column or {}).get(name)]
    return tuple(lacking)


def from_definition(definition: Doc) -> tuple[Served, ...]:
    """The resources of a CustomResourceDefinition: one for each served version.

    As apiextensions-apiserver announces them (customresource_discovery_controller.go): under the accepted names, when
    they are established, and without the verbs that write while the definition is being deleted. A definition that
    has no status yet counts as established under the names it asks for: nobody else gives names away here.

    Raises:
        KeyError: something is `missing`.
    """
    spec, status = definition.get("spec") or {}, definition.get("status") or {}
    if status.get("conditions") and not _condition(definition, "Established"):
        return ()
    names = at(status, "acceptedNames") or {}
    if not names.get("plural"):
        names = spec["names"]
    verbs = _VERBS_WHILE_TERMINATING if _condition(definition, "Terminating") else _VERBS
    return tuple(
        Served(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            singular=names.get("singular") or names["kind"].lower(),
            kind=names["kind"],
            namespaced=spec["scope"] == "Namespaced",
            verbs=verbs,
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            subresources=_subresources(names["kind"], version.get("subresources") or {}),
            custom=True,
            columns=tuple(map(_column, version.get("additionalPrinterColumns") or ())),
        )
        for version in spec["versions"]
        if version.get("served")
    )


def _subresources(kind: str, declared: Doc) -> tuple[Subresource, ...]:
    status = (Subresource("status", kind, READ_AND_WRITE),) if declared.get("status") is not None else ()
    scale = (Subresource("scale", "Scale", READ_AND_WRITE, "autoscaling", "v1"),)
    return status + scale if declared.get("scale") is not None else status


def _column(declared: Doc) -> PrinterColumn:
    return PrinterColumn(
        name=declared["name"],
        type=declared["type"],
        json_path=declared["jsonPath"],
        format=declared.get("format") or "",
        description=declared.get("description") or "",
        priority=declared.get("priority") or 0,
    )


def schema_in(definition: Doc, version: str) -> Doc | None:
    """The structural schema of one version, None where there is none."""
    versions: list[Doc] = at(definition, "spec", "versions") or []
    found = next((each for each in versions if each.get("name") == version), {})
    schema: Doc | None = at(found, "schema", "openAPIV3Schema")
    return schema


def from_api_service(service: Doc) -> Announced:
    """What an APIService announces; without `spec.service` the group version is answered for by this server."""
    spec = service.get("spec") or {}
    return Announced(
        group=spec.get("group") or "",
        version=spec.get("version") or "",
        group_priority=spec.get("groupPriorityMinimum") or 0,
        version_priority=spec.get("versionPriority") or 0,
        remote=spec.get("service") is not None,
        available=_condition(service, "Available"),
    )


def _condition(document: Doc, kind: str) -> bool:
    """True when the condition `kind` is there and true."""
    conditions = at(document, "status", "conditions") or ()
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)
