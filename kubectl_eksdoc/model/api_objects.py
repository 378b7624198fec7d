"""API objects as documents: what JSON has, untyped, whatever their kind.

A document is a value: whoever changes one makes a new one that shares what stayed the same, so that a watch event, a
list that is being paged and the store can hold the same object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen

from .kinds import NOT_ASKED, Resource, Unknown

Doc = dict[str, Any]
"""A JSON object: a Kubernetes object, or a part of one. Never changed in place once it was handed on."""

HELM_TEMPLATE = "HelmTemplate"
"""A kind of our own: what a chart makes, and its text does not tell."""


def at(doc: Doc, *path: str) -> Any:
    """What stands at `path`, None where any step of it is missing."""
    found: Any = doc
    for step in path:
        if not isinstance(found, dict):
            return None
        found = found.get(step)
    return found


def text_at(doc: Doc, *path: str) -> str:
    """As `at`; "" where there is no text."""
    found = at(doc, *path)
    return found if isinstance(found, str) else ""


def without_nulls(value: Any) -> Any:
    """`value` without members that are null, those of objects in lists included; null entries of lists stay.

    RFC 7386 leaves lists alone. The API server's library does not.
    """
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


def same_json(one: Any, other: Any) -> bool:
    """Whether they are the same in JSON: true is not 1, and 1.0 is not 1, as a configuration is text in the end."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same_json, one, other))
    return bool(one == other)


def with_value(doc: Doc, path: Sequence[str], value: Any) -> Doc:
    """`doc` with `value` at `path`, the objects on the way made where they are missing."""
    first, rest = path[0], path[1:]
    if not rest:
        return {**doc, first: value}
    inner = doc.get(first)
    return {**doc, first: with_value(inner if isinstance(inner, dict) else {}, rest, value)}


def without(doc: Doc, path: Sequence[str]) -> Doc:
    """`doc` without what stands at `path`; objects that this leaves empty stay."""
    first, rest = path[0], path[1:]
    if first not in doc:
        return doc
    if not rest:
        return {key: value for key, value in doc.items() if key != first}
    inner = doc[first]
    return {**doc, first: without(inner, rest)} if isinstance(inner, dict) else doc


# What a server-side apply is answered with.


@frozen(order=True)
class Conflict:
    """`owner` is the field manager that has the field, in the server's words."""

    field: str
    owner: str


@frozen
class AppliedObject:
    """The object as it is then, or would be."""

    doc: Doc


@frozen
class Conflicting:
    """Nothing was changed: others have these fields, with other values. Sorted."""

    conflicts: tuple[Conflict, ...]


# Single objects of a cluster by their names, called as server-side apply calls them.


@frozen(order=True)
class ObjectName:
    """An object. `namespace` is "" for those of the cluster."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        """``DaemonSet.apps aws-node``, ``ConfigMap coredns``: as in the message of a conflict."""
        group = self.api_version.rpartition("/")[0]
        return f"{self.kind}.{group} {self.name}" if group else f"{self.kind} {self.name}"


def named(doc: Doc) -> ObjectName:
    """Whatever of it is missing is ""."""
    said = (doc.get("apiVersion"), doc.get("kind"), at(doc, "metadata", "namespace"), at(doc, "metadata", "name"))
    return ObjectName(*(each if isinstance(each, str) else "" for each in said))


# Which API versions clients and manifests use, as far as the API server, what is stored in it, and files tell.
#
# Of objects it is their metadata, of Helm's releases and of files which objects are in them; never what any of them
# says.


class WrittenBy(str, Enum):
    """What says so: the surer one first."""

    LAST_APPLIED = "last-applied-configuration"  # the manifest of the last kubectl apply, client side
    MANAGED_FIELDS = "managedFields"


@frozen
class Written:
    """That somebody wrote the object as `kind` in `api_version`. `manager`, `operation` (Apply or Update) and `time`
    (RFC 3339, "" if not told) are those of its entry, "" for the annotation. `subresource`: it wrote only that."""

    by: WrittenBy
    api_version: str
    kind: str
    manager: str = ""
    operation: str = ""
    time: str = ""
    subresource: str = ""


@frozen
class WrittenObject:
    """`signs`: all of them. `kept_by_server`: the API server brings it and keeps it as it should be."""

    of: ObjectName
    signs: tuple[Written, ...]
    kept_by_server: bool = False


@frozen
class KindUsage:
    """Those objects of a resource of which at least one sign is of a version that is removed at some time; Unknown
    where they could not be listed. `lacking`: what else could not be seen of them."""

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
"""By which software names its objects."""


@frozen
class AppliedObjects:
    """Objects that a field manager has applied, and those without managedFields (`stripped`), of all kinds, with their
    `NAMING_LABELS`. `unlisted`: of which resources they are unknown, ``roles.rbac.authorization.k8s.io``, or of which
    API groups, ``*.wgpolicyk8s.io``."""

    labels: Mapping[ObjectName, Mapping[str, str]]
    stripped: frozenset[ObjectName] = frozenset()
    unlisted: Mapping[str, Unknown] = field(default_factory=dict)


@frozen
class Document:
    """An object of a manifest. `line`: its first, from 1."""

    of: ObjectName
    line: int


@frozen
class Unread:
    """A part of a manifest that could not be read, from `line` on (0: all of it); `why` in a clause. `template`: it is
    to be made YAML first."""

    line: int
    why: str
    template: bool = False


@frozen
class ManifestText:
    """What is in a text of one or more documents. `path` is "" where it is no file, "-" standard input. `template`: a
    part of it is one of Helm, so that kubectl does not read the file."""

    path: str
    documents: tuple[Document, ...] = ()
    unread: tuple[Unread, ...] = ()
    template: bool = False


@frozen
class HelmRelease:
    """A release of Helm in the revision that counts. `manifest` is Unknown where its Secret could not be read, and
    nothing is known of its `hooks` then."""

    namespace: str
    name: str
    revision: int
    status: str
    manifest: ManifestText | Unknown
    hooks: ManifestText = ManifestText("")


@frozen
class ApiUsage:
    """Each answer, or why there is none. `requested`: the lines of ``/metrics`` about deprecated APIs, as they are.
    `manifests`: of the files that the user names."""

    requested: tuple[str, ...] | Unknown = NOT_ASKED
    written: tuple[KindUsage, ...] = ()
    releases: tuple[HelmRelease, ...] | Unknown = NOT_ASKED
    manifests: tuple[ManifestText, ...] = ()


# What extends the API: groups that other servers answer for, and custom resources with their versions.


@frozen
class Callee:
    """Whom the API server calls: a Service, or what is at `url` ("" for a Service)."""

    namespace: str = ""
    service: str = ""
    url: str = ""
    port: int = 443


@frozen
class ApiService:
    """A group version. `service` is None where the API server answers itself. `available` is the status of its
    condition of that name, "" without one; `reason` and `message` are the condition's."""

    name: str
    group: str
    version: str
    service: Callee | None = None
    available: str = ""
    reason: str = ""
    message: str = ""


@frozen
class DefinedVersion:
    name: str
    served: bool = False


@frozen
class Definition:
    """A CustomResourceDefinition. `converter` is None where nobody is called to convert its objects; `stored` are the
    versions in which some of them may lie in etcd (status.storedVersions)."""

    name: str
    kind: str
    versions: tuple[DefinedVersion, ...] = ()
    stored: tuple[str, ...] = ()
    converter: Callee | None = None


# What the documents of this tool are called: who writes them and who reads a saved one must agree.


API_VERSION = "eksdoc.io/v1alpha1"
ADDON_DIFF = "AddonDiff"
DRAIN_PLAN = "DrainPlan"
DRAIN_RUN = "DrainRun"
DRAIN_RUN_EVENT = "DrainRunEvent"
DRAIN_RUN_STANDING = "DrainRunStanding"
FLEET = "Fleet"
IMDS_PROBE = "ImdsProbe"
UPGRADE_CHECK = "UpgradeCheck"


NAME, INSTANCE, VERSION = "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version"
COMPONENT, MANAGED_BY = "app.kubernetes.io/component", "app.kubernetes.io/managed-by"
OF_NAMESPACE = "eksdoc.io/namespace"
"""In which what they belong to runs: some are in no namespace, or in another one."""
PROGRAM = "kubectl-eksdoc"
MANAGER = "eksdoc"
