"""Catalogue of served resources: built-in ones, those of CustomResourceDefinitions, and APIService groups. Also
discovery and OpenAPI documents."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import field

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import (
    BUILT_IN,
    GROUP_PRIORITIES,
    READ_AND_WRITE,
    AnnouncedGroupVersion,
    ServedResource,
    Subresource,
)
from kubectl_eksdoc.model import quantities as versions
from kubectl_eksdoc.model.api_objects import Doc, nested_field

# Version order of a group, and its preferred version.


_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?\Z")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def preference(version: str) -> tuple[bool, tuple[int, int, int], str]:
    """Return a sort key for versions in discovery order: ``v2``, ``v1``, ``v1beta1``, ``v1alpha1``, then all others.

    As ``CompareKubeAwareVersionStrings`` (apimachinery, pkg/version/helpers.go): released before beta before alpha,
    then by number; other strings come last, in alphabetical order.
    """
    match = _VERSION.match(version)
    if match is None:
        return True, (0, 0, 0), version
    major, stability, minor = match.groups()
    return False, (-_STABILITY[stability], -int(major), -int(minor or 0)), ""


# CustomResourceDefinitions and APIServices.


DEFINITION = "CustomResourceDefinition"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"

# The order in which custom resources are announced, unlike that of built-in ones.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_WHILE_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")


def missing_definition_fields(definition: Doc) -> tuple[str, ...]:
    """Return the required fields that a definition lacks, as ``spec.names.kind``; without any it can be served.

    Source: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go.
    """
    paths = (("spec", "group"), ("spec", "scope"), ("spec", "names", "plural"), ("spec", "names", "kind"))
    lacking = [".".join(path) for path in (*paths, ("spec", "versions")) if not nested_field(definition, *path)]
    for i, version in enumerate(nested_field(definition, "spec", "versions") or ()):
        if not (version or {}).get("name"):
            lacking.append(f"spec.versions[{i}].name")
    return tuple(lacking)


def resources_from_definition(definition: Doc) -> tuple[ServedResource, ...]:
    """Return the resources of a CustomResourceDefinition: one for each served version.

    As apiextensions-apiserver announces them (customresource_discovery_controller.go): under the accepted names, once
    they are established, and without the verbs that write while the definition is being deleted. A definition without a
    status counts as established under its requested names: no other server assigns names here.

    Raises:
        KeyError: a required field is missing (`missing_definition_fields`).
    """
    spec, status = definition.get("spec") or {}, definition.get("status") or {}
    if status.get("conditions") and not _condition(definition, "Established"):
        return ()
    names = nested_field(status, "acceptedNames") or {}
    if not names.get("plural"):
        names = spec["names"]
    verbs = _VERBS_WHILE_TERMINATING if _condition(definition, "Terminating") else _VERBS
    return tuple(
        ServedResource(
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
            has_status=nested_field(version, "subresources", "status") is not None,
            has_generation=True,
        )
        for version in spec["versions"]
        if version.get("served")
    )


def _subresources(kind: str, declared: Doc) -> tuple[Subresource, ...]:
    status = (Subresource("status", kind, READ_AND_WRITE),) if declared.get("status") is not None else ()
    scale = (Subresource("scale", "Scale", READ_AND_WRITE, "autoscaling", "v1"),)
    return status + scale if declared.get("scale") is not None else status


def version_schema(definition: Doc, version: str) -> Doc | None:
    """Return the structural schema of one version, None if there is none."""
    versions: list[Doc] = nested_field(definition, "spec", "versions") or []
    version_entry = next((each for each in versions if each.get("name") == version), {})
    schema: Doc | None = nested_field(version_entry, "schema", "openAPIV3Schema")
    return schema


def announced_group_version(service: Doc) -> AnnouncedGroupVersion:
    """Return the group version of an APIService; without `spec.service` this server serves it."""
    spec = service.get("spec") or {}
    return AnnouncedGroupVersion(
        group=spec.get("group") or "",
        version=spec.get("version") or "",
        group_priority=spec.get("groupPriorityMinimum") or 0,
        version_priority=spec.get("versionPriority") or 0,
        remote=spec.get("service") is not None,
    )


def _condition(document: Doc, kind: str) -> bool:
    """Whether the condition `kind` exists and is true."""
    conditions = nested_field(document, "status", "conditions") or ()
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


# Priorities that the registration controller of kube-aggregator assigns to groups of custom resources.
_CUSTOM_GROUP_PRIORITY = 1000
_CUSTOM_VERSION_PRIORITY = 100

_Key = tuple[str, str, str]


@frozen
class Catalogue:
    """A value: when a definition is created or deleted, make a new one with `build_catalogue`."""

    served: tuple[ServedResource, ...] = BUILT_IN
    announced: tuple[AnnouncedGroupVersion, ...] = ()
    _by_key: dict[_Key, ServedResource] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        by_key = {(s.group, s.version, s.plural): s for s in reversed(self.served)}
        object.__setattr__(self, "_by_key", by_key)

    def find(self, group: str, version: str, plural: str) -> ServedResource | None:
        """Return the resource of ``/apis/{group}/{version}/{plural}``, or of ``/api/…`` if the group is empty."""
        return self._by_key.get((group, version, plural))

    def groups(self) -> tuple[str, ...]:
        """Return the named groups in the order of ``/apis``: by priority, then by name."""
        priorities = {s.group: GROUP_PRIORITIES.get(s.group, _CUSTOM_GROUP_PRIORITY) for s in self.served if s.group}
        for announced in self.announced:
            if announced.remote and announced.group not in GROUP_PRIORITIES:
                priorities[announced.group] = max(announced.group_priority, priorities.get(announced.group, 0))
        return tuple(sorted(priorities, key=lambda group: (-priorities[group], group)))

    def versions(self, group: str) -> tuple[str, ...]:
        """Return the versions of a group, the preferred one first; none if there is no such group."""
        priorities = {s.version: _CUSTOM_VERSION_PRIORITY for s in self.served if s.group == group}
        priorities |= {a.version: a.version_priority for a in self.announced if a.group == group and a.remote}
        return tuple(sorted(priorities, key=lambda version: (-priorities[version], preference(version))))

    def resources(self, group: str, version: str) -> tuple[ServedResource, ...]:
        """Return the resources of a group version, by name."""
        resources = (s for s in self._by_key.values() if (s.group, s.version) == (group, version))
        return tuple(sorted(resources, key=lambda s: s.plural))

    def is_unserved(self, group: str, version: str) -> bool:
        """Whether the group version is announced and not served: its requests get 503."""
        claimed = any((a.group, a.version, a.remote) == (group, version, True) for a in self.announced)
        return claimed and not self.resources(group, version)


def build_catalogue(definitions: Iterable[Doc] = (), api_services: Iterable[Doc] = ()) -> Catalogue:
    """Return the built-in resources and those of these CustomResourceDefinitions and APIServices.

    A definition that claims a built-in name adds nothing: the first one to serve a name keeps it.
    """
    custom = (served for definition in definitions for served in resources_from_definition(definition))
    return Catalogue((*BUILT_IN, *custom), tuple(map(announced_group_version, api_services)))


# Requested form of a response: ``application/json;as=Table;v=v1;g=meta.k8s.io,application/json``.


@frozen
class ResponseForm:
    """The form into which a response is converted; `PLAIN` leaves it unchanged."""

    kind: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


PLAIN = ResponseForm()
TABLE = ResponseForm("Table", "meta.k8s.io", "v1")
PARTIAL = ResponseForm("PartialObjectMetadata", "meta.k8s.io", "v1")
PARTIAL_LIST = ResponseForm("PartialObjectMetadataList", "meta.k8s.io", "v1")


def choose_form(accept: str, offered: Collection[ResponseForm]) -> ResponseForm | None:
    """Return the client's preferred form out of `offered` (`PLAIN` always is); None if it accepts none: 406.

    As apiserver negotiates (endpoints/handlers/negotiation), in the order of the header (none of its clients gives
    qualities); only JSON is supported, so protobuf is skipped.
    """
    if not accept.strip():
        return PLAIN
    for form in _accepted_forms(accept):
        if form == PLAIN or form in offered:
            return form
    return None


def _accepted_forms(accept: str) -> Iterator[ResponseForm]:
    for media_type, parameters in map(_parse_clause, accept.split(",")):
        if media_type in ("application/json", "application/*", "*/*"):
            yield ResponseForm(parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))


def _parse_clause(text: str) -> tuple[str, dict[str, str]]:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    named = (parameter.partition("=") for parameter in parameters)
    return media_type.lower(), {name.strip().lower(): value.strip() for name, _, value in named}


# Discovery documents: the bodies of ``/version``, ``/api``, ``/apis`` and below, one group version at a time.
#
# Unlike a real server, there is no aggregated discovery (KEP-3352); kubectl falls back to the plain documents.


@frozen
class Build:
    """The server version of ``/version``; the rest of that response follows from `git_version`."""

    git_version: str = "v1.36.2"
    git_commit: str = ""
    build_date: str = "1970-01-01T00:00:00Z"
    go_version: str = ""


def version_document(build: Build) -> Doc:
    """Return the body of ``/version``.

    Raises:
        ValueError: `git_version` is not a Kubernetes version.
    """
    parsed = versions.parse_version(build.git_version)
    if parsed is None:
        raise ValueError(f"{build.git_version!r} is not a version of Kubernetes")
    major, minor = str(parsed.major), str(parsed.minor)
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(parsed.minor - 1),
        "gitVersion": build.git_version,
        "gitCommit": build.git_commit,
        "gitTreeState": "clean",
        "buildDate": build.build_date,
        "goVersion": build.go_version,
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def api_versions_document(server_address: str) -> Doc:
    """Return the body of ``/api``; `server_address` as ``192.0.2.2:6443``."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list_document(catalogue: Catalogue) -> Doc:
    """Return the body of ``/apis``, including groups of servers that cannot be reached."""
    groups = [_group(catalogue, name) for name in catalogue.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group_document(catalogue: Catalogue, name: str) -> Doc | None:
    """Return the body of ``/apis/{name}``; None if there is no such group."""
    if not name or not catalogue.versions(name):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalogue, name)}


def _group(catalogue: Catalogue, name: str) -> Doc:
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in catalogue.versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list_document(catalogue: Catalogue, group: str, version: str) -> Doc | None:
    """Return the body of ``/api/v1`` (the empty group) or ``/apis/{group}/{version}``.

    None if it is not served, or only announced: see `Catalogue.is_unserved`.
    """
    resources_found = catalogue.resources(group, version)
    if not resources_found:
        return None
    # Only the core group's response has no apiVersion: older code writes it.
    head = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    resources = [entry for served in resources_found for entry in _entries(served)]
    return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": resources}


def _entries(served: ServedResource) -> Iterator[Doc]:
    entry: Doc = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        entry["shortNames"] = list(served.short_names)
    if served.categories:
        entry["categories"] = list(served.categories)
    yield entry
    for subresource in served.subresources:
        yield _subresource_entry(served, subresource)


def _subresource_entry(served: ServedResource, subresource: Subresource) -> Doc:
    entry: Doc = {
        "name": f"{served.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": served.namespaced,
    }
    if subresource.version:
        entry |= {"group": subresource.group, "version": subresource.version}
    return {**entry, "kind": subresource.kind, "verbs": list(subresource.verbs)}


# OpenAPI documents, ``/openapi/v3``, as far as kubectl reads them before it writes.
#
# kubectl 1.29 to 1.33 checks one thing (cli-runtime, resource/query_param_verifier_v3.go): whether the PATCH of the
# kind takes `fieldValidation`. If so the server validates, as it must for ``apply --server-side``; if not, kubectl
# wants the whole schema and refuses what it cannot check. So each document has the paths of its resources with their
# PATCH and its parameters, and no schemas: ``kubectl explain`` finds nothing, and ``kubectl apply`` uses the merge keys
# it was built with, because no PATCH here declares a strategic merge.
#
# kubectl 1.27 and 1.28 request ``/openapi/v2``, which does not exist here: they need ``--validate=false``.


PARAMETERS = {
    "pretty": "string",
    "dryRun": "string",
    "fieldManager": "string",
    "fieldValidation": "string",
    "force": "boolean",
}
_OTHER_PATHS = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")


def openapi_index(catalogue: Catalogue) -> Doc:
    """Return the body of ``/openapi/v3``: the address of each document.

    An address changes with the content of its document: clients cache a document while its address stays the same.
    """
    return {"paths": {path: {"serverRelativeURL": _address(catalogue, path)} for path in sorted(_paths(catalogue))}}


def openapi_document(catalogue: Catalogue, path: str) -> Doc | None:
    """Return the body of ``/openapi/v3/{path}``, as ``apis/apps/v1``; None if `openapi_index` does not have it."""
    if path not in _paths(catalogue):
        return None
    group, version = _group_version(path)
    resources = catalogue.resources(group, version) if version else ()
    paths: Doc = {object_path(served): _operations(served) for served in resources if "patch" in served.verbs}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"}, "paths": paths}


def _paths(catalogue: Catalogue) -> set[str]:
    """A built-in group has its own document; a group of custom resources has only those of its versions."""
    built_in = {f"apis/{served.group}" for served in catalogue.served if served.group and not served.custom}
    return {*_OTHER_PATHS, *built_in, *(served.root[1:] for served in catalogue.served)}


def _group_version(path: str) -> tuple[str, str]:
    """Return group and version of ``api/v1`` and ``apis/apps/v1``; both empty if the path has no version."""
    match path.split("/"):
        case ["api", version]:
            return "", version
        case ["apis", group, version]:
            return group, version
    return "", ""


def _address(catalogue: Catalogue, path: str) -> str:
    digest = hashlib.sha512(repr(openapi_document(catalogue, path)).encode()).hexdigest().upper()
    return f"/openapi/v3/{path}?hash={digest}"


def object_path(served: ServedResource) -> str:
    """Return the path of a resource's objects, with the names of its parameters."""
    return f"{served.root}/{'namespaces/{namespace}/' if served.namespaced else ''}{served.plural}/{{name}}"


def _operations(served: ServedResource) -> Doc:
    in_path = ["name", "namespace"] if served.namespaced else ["name"]
    return {
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path
        ],
        "patch": {
            "parameters": [{"name": n, "in": "query", "schema": {"type": type_}} for n, type_ in PARAMETERS.items()],
            "responses": {"200": {"description": "OK"}, "201": {"description": "Created"}},
            "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": {
                "group": served.group,
                "version": served.version,
                "kind": served.kind,
            },
        },
    }
