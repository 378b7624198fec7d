"""Everything the server serves: built-in resources, those of CustomResourceDefinitions, and announced groups."""

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
    Served,
    Subresource,
)
from kubectl_eksdoc.model import quantities as versions
from kubectl_eksdoc.model.api_objects import Doc, at

# In which order a group lists its versions, and which of them it prefers.


_VERSION = re.compile(r"v([0-9]+)(?:(alpha|beta)([0-9]+))?\Z")
_STABILITY = {"alpha": 0, "beta": 1, None: 2}


def preference(version: str) -> tuple[bool, tuple[int, int, int], str]:
    """A key that sorts versions as discovery prefers them: ``v2``, ``v1``, ``v1beta1``, ``v1alpha1``, then all others.

    As ``CompareKubeAwareVersionStrings`` (apimachinery, pkg/version/helpers.go): released before beta before alpha,
    then by number, and what is no such version comes last, in the order of the alphabet.
    """
    match = _VERSION.match(version)
    if match is None:
        return True, (0, 0, 0), version
    major, stability, minor = match.groups()
    return False, (-_STABILITY[stability], -int(major), -int(minor or 0)), ""


# What CustomResourceDefinitions and APIServices add to the catalogue.


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
        if not (version or {}).get("name"):
            lacking.append(f"spec.versions[{i}].name")
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
            has_status=at(version, "subresources", "status") is not None,
            counts=True,
        )
        for version in spec["versions"]
        if version.get("served")
    )


def _subresources(kind: str, declared: Doc) -> tuple[Subresource, ...]:
    status = (Subresource("status", kind, READ_AND_WRITE),) if declared.get("status") is not None else ()
    scale = (Subresource("scale", "Scale", READ_AND_WRITE, "autoscaling", "v1"),)
    return status + scale if declared.get("scale") is not None else status


def schema_in(definition: Doc, version: str) -> Doc | None:
    """The structural schema of one version, None where there is none."""
    versions: list[Doc] = at(definition, "spec", "versions") or []
    found = next((each for each in versions if each.get("name") == version), {})
    schema: Doc | None = at(found, "schema", "openAPIV3Schema")
    return schema


def from_api_service(service: Doc) -> AnnouncedGroupVersion:
    """What an APIService announces; without `spec.service` the group version is answered for by this server."""
    spec = service.get("spec") or {}
    return AnnouncedGroupVersion(
        group=spec.get("group") or "",
        version=spec.get("version") or "",
        group_priority=spec.get("groupPriorityMinimum") or 0,
        version_priority=spec.get("versionPriority") or 0,
        remote=spec.get("service") is not None,
    )


def _condition(document: Doc, kind: str) -> bool:
    """True when the condition `kind` is there and true."""
    conditions = at(document, "status", "conditions") or ()
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


# What the registration controller of kube-aggregator gives the groups of custom resources.
_CUSTOM_GROUP_PRIORITY = 1000
_CUSTOM_VERSION_PRIORITY = 100

_Key = tuple[str, str, str]


@frozen
class Catalogue:
    """A value: when a definition comes or goes, make a new one with `of`."""

    served: tuple[Served, ...] = BUILT_IN
    announced: tuple[AnnouncedGroupVersion, ...] = ()
    _found: dict[_Key, Served] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found = {(s.group, s.version, s.plural): s for s in reversed(self.served)}
        object.__setattr__(self, "_found", found)

    def find(self, group: str, version: str, plural: str) -> Served | None:
        """The resource behind ``/apis/{group}/{version}/{plural}``, or ``/api/…`` where the group is empty."""
        return self._found.get((group, version, plural))

    def groups(self) -> tuple[str, ...]:
        """The named groups, as ``/apis`` orders them: by priority, then by name."""
        priorities = {s.group: GROUP_PRIORITIES.get(s.group, _CUSTOM_GROUP_PRIORITY) for s in self.served if s.group}
        for one in self.announced:
            if one.remote and one.group not in GROUP_PRIORITIES:
                priorities[one.group] = max(one.group_priority, priorities.get(one.group, 0))
        return tuple(sorted(priorities, key=lambda group: (-priorities[group], group)))

    def versions(self, group: str) -> tuple[str, ...]:
        """The versions of a group, the preferred one first; none where there is no such group."""
        priorities = {s.version: _CUSTOM_VERSION_PRIORITY for s in self.served if s.group == group}
        priorities |= {a.version: a.version_priority for a in self.announced if a.group == group and a.remote}
        return tuple(sorted(priorities, key=lambda version: (-priorities[version], preference(version))))

    def resources(self, group: str, version: str) -> tuple[Served, ...]:
        """The resources of a group version, by name."""
        mine = (s for s in self._found.values() if (s.group, s.version) == (group, version))
        return tuple(sorted(mine, key=lambda s: s.plural))

    def unanswered(self, group: str, version: str) -> bool:
        """True when the group version is announced and nobody answers for it: its requests get 503."""
        claimed = any((a.group, a.version, a.remote) == (group, version, True) for a in self.announced)
        return claimed and not self.resources(group, version)


def of(definitions: Iterable[Doc] = (), api_services: Iterable[Doc] = ()) -> Catalogue:
    """The built-in resources and what these CustomResourceDefinitions and APIServices add.

    A definition that claims what is built in adds nothing: the first to serve a name keeps it.
    """
    custom = (served for definition in definitions for served in from_definition(definition))
    return Catalogue((*BUILT_IN, *custom), tuple(map(from_api_service, api_services)))


# Which form of an answer a client asks for: ``application/json;as=Table;v=v1;g=meta.k8s.io,application/json``.


@frozen
class AnswerForm:
    """What an answer is turned into before it is sent; `PLAIN` leaves it as it is."""

    kind: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


PLAIN = AnswerForm()
TABLE = AnswerForm("Table", "meta.k8s.io", "v1")
PARTIAL = AnswerForm("PartialObjectMetadata", "meta.k8s.io", "v1")
PARTIAL_LIST = AnswerForm("PartialObjectMetadataList", "meta.k8s.io", "v1")


def choose(accept: str, offered: Collection[AnswerForm]) -> AnswerForm | None:
    """The form the client likes best of those `offered` (`PLAIN` always is); None when it accepts none of them: 406.

    As apiserver negotiates (endpoints/handlers/negotiation), in the order of the header (no client of it gives
    qualities); only JSON is spoken here, so that what asks for protobuf is passed over.
    """
    if not accept.strip():
        return PLAIN
    for form in _wanted(accept):
        if form == PLAIN or form in offered:
            return form
    return None


def _wanted(accept: str) -> Iterator[AnswerForm]:
    for media_type, parameters in map(_clause, accept.split(",")):
        if media_type in ("application/json", "application/*", "*/*"):
            yield AnswerForm(parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))


def _clause(text: str) -> tuple[str, dict[str, str]]:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    named = (parameter.partition("=") for parameter in parameters)
    return media_type.lower(), {name.strip().lower(): value.strip() for name, _, value in named}


# The bodies of ``/version``, ``/api``, ``/apis`` and below: what a client asks first, one group version at a time.
#
# What differs from a real server: no aggregated discovery (KEP-3352); kubectl takes the plain answer where there is
# none.


@frozen
class Build:
    """Which server answers ``/version``; the rest of that answer follows from `git_version`."""

    git_version: str = "v1.36.2"
    git_commit: str = ""
    build_date: str = "1970-01-01T00:00:00Z"
    go_version: str = ""


def version(build: Build) -> Doc:
    """The body of ``/version``.

    Raises:
        ValueError: `git_version` is no version of Kubernetes.
    """
    parsed = versions.parse(build.git_version)
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


def api_versions(server_address: str) -> Doc:
    """The body of ``/api``: `server_address` as ``192.0.2.2:6443``."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list(catalogue: Catalogue) -> Doc:
    """The body of ``/apis``; groups of servers that cannot be reached are in it."""
    groups = [_group(catalogue, name) for name in catalogue.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(catalogue: Catalogue, name: str) -> Doc | None:
    """The body of ``/apis/{name}``; None where there is no such group."""
    if not name or not catalogue.versions(name):
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(catalogue, name)}


def _group(catalogue: Catalogue, name: str) -> Doc:
    found = [{"groupVersion": f"{name}/{version}", "version": version} for version in catalogue.versions(name)]
    return {"name": name, "versions": found, "preferredVersion": found[0]}


def resource_list(catalogue: Catalogue, group: str, version: str) -> Doc | None:
    """The body of ``/api/v1`` (the empty group) or ``/apis/{group}/{version}``.

    None where it is not served, and where it is only announced: see `Catalogue.unanswered`.
    """
    found = catalogue.resources(group, version)
    if not found:
        return None
    # The core group's answer alone has no apiVersion: it is written by older code.
    head = {"kind": "APIResourceList", "apiVersion": "v1"} if group else {"kind": "APIResourceList"}
    resources = [entry for served in found for entry in _entries(served)]
    return {**head, "groupVersion": f"{group}/{version}" if group else version, "resources": resources}


def _entries(served: Served) -> Iterator[Doc]:
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


def _subresource_entry(served: Served, subresource: Subresource) -> Doc:
    entry: Doc = {
        "name": f"{served.plural}/{subresource.name}",
        "singularName": "",
        "namespaced": served.namespaced,
    }
    if subresource.version:
        entry |= {"group": subresource.group, "version": subresource.version}
    return {**entry, "kind": subresource.kind, "verbs": list(subresource.verbs)}


# ``/openapi/v3`` and its documents, as far as kubectl reads them before it writes.
#
# kubectl 1.29 to 1.33 asks one question of them (cli-runtime, resource/query_param_verifier_v3.go): whether the PATCH
# of the kind takes `fieldValidation`. If so the server validates, which it must for ``apply --server-side``; if not,
# kubectl wants the whole schema and refuses what it cannot check. So each document has the paths of its resources
# with their PATCH, the parameters of that, and no schemas: ``kubectl explain`` finds nothing, and ``kubectl apply``
# takes the merge keys it was built with, because no PATCH here declares a strategic merge.
#
# kubectl 1.27 and 1.28 ask ``/openapi/v2``, which is not here: they apply with ``--validate=false``.


PARAMETERS = {
    "pretty": "string",
    "dryRun": "string",
    "fieldManager": "string",
    "fieldValidation": "string",
    "force": "boolean",
}
_OTHER_PATHS = (".well-known/openid-configuration", "api", "apis", "openid/v1/jwks", "version")


def index(catalogue: Catalogue) -> Doc:
    """The body of ``/openapi/v3``: where each document is.

    The addresses change with what is behind them: clients keep a document as long as its address stays.
    """
    return {"paths": {path: {"serverRelativeURL": _address(catalogue, path)} for path in sorted(_paths(catalogue))}}


def document(catalogue: Catalogue, path: str) -> Doc | None:
    """The body of ``/openapi/v3/{path}``, as ``apis/apps/v1``; None where `index` does not have it."""
    if path not in _paths(catalogue):
        return None
    group, version = _group_version(path)
    resources = catalogue.resources(group, version) if version else ()
    paths: Doc = {object_path(served): _operations(served) for served in resources if "patch" in served.verbs}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"}, "paths": paths}


def _paths(catalogue: Catalogue) -> set[str]:
    """A group has a document of its own when it is built in; one of custom resources has those of its versions."""
    built_in = {f"apis/{served.group}" for served in catalogue.served if served.group and not served.custom}
    return {*_OTHER_PATHS, *built_in, *(served.root[1:] for served in catalogue.served)}


def _group_version(path: str) -> tuple[str, str]:
    """Group and version of ``api/v1`` and ``apis/apps/v1``; both empty where the path names no version."""
    match path.split("/"):
        case ["api", version]:
            return "", version
        case ["apis", group, version]:
            return group, version
    return "", ""


def _address(catalogue: Catalogue, path: str) -> str:
    digest = hashlib.sha512(repr(document(catalogue, path)).encode()).hexdigest().upper()
    return f"/openapi/v3/{path}?hash={digest}"


def object_path(served: Served) -> str:
    """The path of a resource's objects, with the names of its parameters."""
    return f"{served.root}/{'namespaces/{namespace}/' if served.namespaced else ''}{served.plural}/{{name}}"


def _operations(served: Served) -> Doc:
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
