"""Kubernetes API objects as JSON documents, untyped, of any kind.

A document is immutable: a change makes a new document that shares the unchanged parts. So a watch event, a list that is
being paged and the store can hold the same object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen

from .kinds import NOT_REQUESTED, Resource, Unknown

Doc = dict[str, Any]
"""A JSON object: a Kubernetes object, or a part of one. Never changed in place after it has been passed on."""

HELM_TEMPLATE = "HelmTemplate"
"""A kind of this tool: objects that a chart creates and that its text does not show."""


def nested_field(doc: Doc, *path: str) -> Any:
    """The value at `path`, None if any step is missing."""
    value: Any = doc
    for step in path:
        if not isinstance(value, dict):
            return None
        value = value.get(step)
    return value


def nested_string(doc: Doc, *path: str) -> str:
    """Like `nested_field`; "" if the value is not text."""
    value = nested_field(doc, *path)
    return value if isinstance(value, str) else ""


def without_nulls(value: Any) -> Any:
    """`value` without null members, also in objects in lists; null entries of lists stay.

    RFC 7386 does not change lists. The API server's library does.
    """
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def same_json(first: Any, second: Any) -> bool:
    """Whether both are the same in JSON: true is not 1, and 1.0 is not 1, because a configuration is finally text."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same_json(value, second[key]) for key, value in first.items())
    if isinstance(first, list):
        return len(first) == len(second) and all(map(same_json, first, second))
    return bool(first == second)


def with_value(doc: Doc, path: Sequence[str], value: Any) -> Doc:
    """`doc` with `value` at `path`; missing objects on the path are created."""
    first, rest = path[0], path[1:]
    if not rest:
        return {**doc, first: value}
    inner = doc.get(first)
    return {**doc, first: with_value(inner if isinstance(inner, dict) else {}, rest, value)}


def without_path(doc: Doc, path: Sequence[str]) -> Doc:
    """`doc` without the value at `path`; objects that become empty stay."""
    first, rest = path[0], path[1:]
    if first not in doc:
        return doc
    if not rest:
        return {key: value for key, value in doc.items() if key != first}
    inner = doc[first]
    return {**doc, first: without_path(inner, rest)} if isinstance(inner, dict) else doc


# Results of a server-side apply.


@frozen(order=True)
class ApplyConflict:
    """`owner` is the field manager that owns the field, in the server's words."""

    field: str
    owner: str


@frozen
class ApplyResult:
    """The object after the apply, or after a dry run."""

    doc: Doc


@frozen
class ApplyConflicts:
    """Nothing was changed: other managers own these fields, with other values. Sorted."""

    conflicts: tuple[ApplyConflict, ...]


# Names of single objects, in the form of server-side apply.


@frozen(order=True)
class ObjectName:
    """The name of an object. `namespace` is "" for cluster-scoped objects."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node``, ``ConfigMap coredns``: the form in conflict messages."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.kind}.{group} {self.name}" if group else f"{self.kind} {self.name}"


def object_name(doc: Doc) -> ObjectName:
    """The name of a document; missing parts are ""."""
    parts = (
        doc.get("apiVersion"),
        doc.get("kind"),
        nested_field(doc, "metadata", "namespace"),
        nested_field(doc, "metadata", "name"),
    )
    return ObjectName(*(each if isinstance(each, str) else "" for each in parts))


# API versions that clients and manifests use, as far as the API server, stored objects, and files show.
#
# Of objects only their metadata is read; of Helm releases and files, only which objects they contain; never the content
# of these.


class WriteSource(str, Enum):
    """The evidence, the more certain first."""

    LAST_APPLIED = "last-applied-configuration"  # the manifest of the last client-side kubectl apply
    MANAGED_FIELDS = "managedFields"


@frozen
class WriteRecord:
    """Evidence that a client wrote the object as `kind` in `api_version`. `manager`, `operation` (Apply or Update) and
    `time` (RFC 3339, "" if not known) are those of its managedFields entry, "" for the annotation. `subresource`: it
    wrote only that."""

    by: WriteSource
    api_version: str
    kind: str
    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""


@frozen
class WrittenObject:
    """`signs`: all write records. `kept_by_server`: the API server creates the object and keeps it up to date."""

    of: ObjectName
    signs: tuple[WriteRecord, ...]
    kept_by_server: bool = False


@frozen
class KindUsage:
    """The objects of a resource with at least one write record of a version that is removed in some release; Unknown if
    they could not be listed. `lacking`: other facts about them that could not be read."""

    resource: Resource
    objects: tuple[WrittenObject, ...] | Unknown
    lacking: Unknown | None = None


NAMING_LABELS = (
    "app",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "eks.amazonaws.com/component",
    "helm.sh/chart",
    "k8s-app",
)
"""Labels by which software identifies its objects."""


@frozen
class AppliedObjects:
    """Objects that a field manager has applied, and those without managedFields (`stripped`), of all kinds, with their
    `NAMING_LABELS`. `unlisted`: resources whose objects are unknown, ``roles.rbac.authorization.k8s.io``, or API
    groups, ``*.wgpolicyk8s.io``."""

    labels: Mapping[ObjectName, Mapping[str, str]]
    stripped: frozenset[ObjectName] = frozenset()
    unlisted: Mapping[str, Unknown] = field(default_factory=dict)


@frozen
class ManifestObject:
    """An object of a manifest. `line`: its first line, from 1."""

    of: ObjectName
    line: int


@frozen
class UnreadablePart:
    """A part of a manifest that could not be read, from `line` on (0: the whole manifest); `why` in a clause.
    `template`: it must be rendered to YAML first."""

    line: int
    why: str
    template: bool = False


@frozen
class ManifestText:
    """The objects in a text of one or more documents. `path` is "" if it is not a file, "-" for standard input.
    `template`: it contains a Helm template, so kubectl cannot read the file."""

    path: str
    documents: tuple[ManifestObject, ...] = ()
    unread: tuple[UnreadablePart, ...] = ()
    template: bool = False


@frozen
class HelmRelease:
    """A Helm release in its current revision. `manifest` is Unknown if its Secret could not be read; then `hooks` are
    not known either."""

    namespace: str
    name: str
    revision: int
    status: str
    manifest: ManifestText | Unknown
    hooks: ManifestText = ManifestText("")


@frozen
class ApiUsage:
    """Each answer, or the reason why there is none. `requested`: the lines of ``/metrics`` about deprecated APIs,
    unchanged. `manifests`: those of the user's files."""

    requested: tuple[str, ...] | Unknown = NOT_REQUESTED
    written: tuple[KindUsage, ...] = ()
    releases: tuple[HelmRelease, ...] | Unknown = NOT_REQUESTED
    manifests: tuple[ManifestText, ...] = ()


# Extensions of the API: groups that other servers serve, and custom resources with their versions.


@frozen
class ServerTarget:
    """A server that the API server calls: a Service, or the server at `url` ("" for a Service)."""

    namespace: str = ""
    service: str = ""
    url: str = ""
    port: int = 443


@frozen
class ApiService:
    """An APIService, for one group version. `service` is None if the API server serves it itself. `available` is the
    status of its condition of that name, "" without one; `reason` and `message` are the condition's."""

    name: str
    group: str
    version: str
    service: ServerTarget | None = None
    available: str = ""
    reason: str = ""
    message: str = ""


@frozen
class CrdVersion:
    name: str
    served: bool = False


@frozen
class CustomResourceDefinition:
    """A CustomResourceDefinition. `converter` is None without a conversion webhook; `stored` are the versions in which
    objects may be stored in etcd (status.storedVersions)."""

    name: str
    kind: str
    versions: tuple[CrdVersion, ...] = ()
    stored: tuple[str, ...] = ()
    converter: ServerTarget | None = None


# Kinds of this tool's JSON documents, shared by their writers and the readers of saved documents.


API_VERSION = "eksdoc.io/v1alpha1"
ADDON_DIFF = "AddonDiff"
DRAIN_PLAN = "DrainPlan"
DRAIN_RUN = "DrainRun"
DRAIN_RUN_EVENT = "DrainRunEvent"
DRAIN_RUN_STANDING = "DrainRunStanding"
FLEET = "Fleet"
IMDS_PROBE = "ImdsProbe"
UPGRADE_CHECK = "UpgradeCheck"


NAME_LABEL, INSTANCE_LABEL, VERSION_LABEL = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/version",
)
COMPONENT_LABEL, MANAGED_BY_LABEL = "app.kubernetes.io/component", "app.kubernetes.io/managed-by"
NAMESPACE_LABEL = "eksdoc.io/namespace"
"""The namespace that an object belongs to: some objects are cluster-scoped, or in another namespace."""
PROGRAM = "kubectl-eksdoc"
FIELD_MANAGER = "eksdoc"
