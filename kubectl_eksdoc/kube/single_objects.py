"""Single objects of a live cluster as they are, with who owns which of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from urllib.parse import quote

from kubectl_eksdoc.errors import EksdocError, Forbidden
from kubectl_eksdoc.model import kinds, names
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName, at, named, text_at
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.coredns import SYSTEM
from kubectl_eksdoc.model.kinds import NODE_CLASSES, Absent, Resource, Unknown
from kubectl_eksdoc.model.names import Name, NameKind
from kubectl_eksdoc.objects.single import document

from .applied_objects import AppliedSearch
from .config import connect
from .exchanges import RetryPolicy
from .requests import MANAGER, MERGE_PATCH, ApiWriter, not_taken
from .responses import (
    ContinueTokenExpired,
    NotServed,
    ObjectNotFound,
    RequestRefused,
)
from .runs import HEAD, PART_LABEL, RUN_LABEL
from .target import CredentialContext
from .transport import ClusterReads, Paging, Transport

VERB = "get"
_HINT = "Is this the address of a Kubernetes API?"
READ = {resource.kind: resource for resource in kinds.SINGLE}
_APPLIED = {resource.kind: resource for resource in kinds.APPLIED}


class SingleObjects(ClusterReads):
    """A `ports.ObjectReader` and an `AppliedReader`. Mutable: a connection, and which kinds a search found."""

    def __init__(self, connection: Connection, around: CredentialContext | None = None) -> None:
        """Raises: as `ClusterReads`."""
        super().__init__(connection, around)
        self._found: dict[ObjectName, Resource] = {}

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """As `ports.AppliedReader.applied_by`."""
        search = AppliedSearch(self._transport, listed, self._page_size)
        found = search.applied_by(manager, others)
        if not isinstance(found, Unknown):
            self._found |= {of: search.resources[of.api_version, of.kind] for of in found.labels}
        return found

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        """As `ports.ObjectReader.one`."""
        # For some kinds there is the right to get one, of what was found elsewhere than in kube-system that to list.
        single = of.kind in READ and (of not in self._found or of.namespace in ("", SYSTEM))
        resource = READ[of.kind] if single else self._found.get(of) or _APPLIED[of.kind]
        right = f"{VERB if single else LIST_VERB} {resource.full_name}"
        query = {"fieldSelector": f"metadata.name={of.name}"}
        try:
            if single:
                path = f"{resource.path_in(of.namespace)}/{of.name}"
                found = _doc(self._transport.get(path, right=right).body, of)
            else:
                every = listed(self._transport, resource, 1, query, of.namespace, accept="")
                if (only := next(every, None)) is None:
                    return Absent(f"there is no {of}")
                found = only
        except NotServed as error:
            return Absent(error.message)
        except Forbidden as error:
            return Unknown(error.message, right)
        if isinstance(meta := found.get("metadata"), dict):
            meta.setdefault("managedFields", [])  # the server has none, which is not the same as not to have been shown
        return found


def _doc(body: bytes, of: ObjectName | str) -> Doc:
    if (doc := document(body)) is None:
        raise RequestRefused(f"the answer to get {of} is no object in JSON", _HINT)
    return doc


# All objects of one kind in one namespace of a live cluster, as they are: revisions of pod templates.


LIST_VERB = "list"
EVERY = ""
"""Of all namespaces."""


class NamespaceLists(ClusterReads):
    """A `ports.Histories`. Mutable: it holds a connection, and what it has read once."""

    def __init__(self, connection: Connection, around: CredentialContext | None = None) -> None:
        """Raises: as `ClusterReads`."""
        super().__init__(connection, around)
        self._read: dict[tuple[Resource, str], tuple[Doc, ...] | Unknown] = {}

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `ports.Histories.listed`."""
        key = resource, namespace
        if key not in self._read:
            self._read[key] = self._listed(resource, namespace)
        return self._read[key]

    def _listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        try:
            found = listed(self._transport, resource, self._page_size, None, namespace, accept="")
            return tuple({named(each): each for each in found}.values())
        except Forbidden as error:
            return Unknown(error.message, f"{LIST_VERB} {resource.full_name}")
        except NotServed as error:
            return Unknown(error.message)


# Lists of a live cluster, page by page, as a rule with the metadata of objects alone.
#
# Source: kubernetes.io, "Kubernetes API Concepts" (alternate representations; PartialObjectMetadata): every resource
# has it, and no right is needed but that to list.


ACCEPT = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_KIND = "PartialObjectMetadataList"


def listed(
    transport: Transport,
    resource: Resource,
    page: int,
    query: Mapping[str, str] | None = None,
    namespace: str = "",
    accept: str = ACCEPT,
) -> Iterator[Doc]:
    """Of that namespace, or over all of them, in the newest version that is served, which is that of ``apiVersion``. A
    page is asked for when the one before it is used up. `accept` "": whole objects.

    Raises:
        NotServed: in none.
        Forbidden, Refused, Expired, Unauthorized, Unreachable: as `Transport.get`.
    """
    whole = query or {}
    limited = {**whole, "limit": str(page)}
    paging = Paging(resource.full_name)
    form, (items, token, size) = _first(transport, resource, limited, namespace, accept)
    while True:
        paging.check(token, len(items), size)
        with transport.counted():
            yield from items
            if not token:
                return
            try:
                items, token, size = _page(transport, form, {**limited, "continue": token}, namespace, accept)
            except ContinueTokenExpired:  # what comes in one answer cannot expire; what came before comes again
                items, token, size = _page(transport, form, whole, namespace, accept)


_Page = tuple[list[Doc], str, int]
"""Its objects, the token of the next one, and its bytes."""


def _first(
    transport: Transport, resource: Resource, query: Mapping[str, str], namespace: str, accept: str
) -> tuple[Resource, _Page]:
    """In the newest version that is served."""
    *newer, oldest = resource.versions
    for form in newer:
        with suppress(NotServed):
            return form, _page(transport, form, query, namespace, accept)
    return oldest, _page(transport, oldest, query, namespace, accept)


def _page(transport: Transport, form: Resource, query: Mapping[str, str], namespace: str, accept: str) -> _Page:
    right = f"{LIST_VERB} {form.full_name}"
    body = transport.get(form.path_in(namespace), query, right, accept=accept).body
    page = document(body) or {}
    items = [] if page.get("items", "") is None else page.get("items")
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise RequestRefused(f"the answer to {right} is no list of objects", _HINT)
    if accept and page.get("kind") != _KIND:
        raise RequestRefused(f"the server does not answer {right} with metadata alone", _HINT)
    # A list names the kind once, and its items do not.
    docs = [{**each, "kind": form.kind, "apiVersion": form.api_version} for each in items]
    return docs, text_at(page, "metadata", "continue"), len(body)


# Karpenter's EC2NodeClasses of a live cluster, one by one: as they are, and patched.


_RIGHT = NODE_CLASSES.full_name


class LiveNodeClasses:
    """A `imds_probe.apply.NodeClasses`. Mutable: connections, and in which version the server has them."""

    def __init__(self, transport: Transport, sender: ApiWriter) -> None:
        self._transport = transport
        self._sender = sender
        self._resource = NODE_CLASSES

    def one(self, name: str) -> Doc | Absent | Unknown:
        """As `imds_probe.apply.NodeClasses.one`."""
        right = f"get {_RIGHT}"
        said = ""
        for resource in NODE_CLASSES.versions:
            try:
                answer = self._transport.get(f"{resource.path}/{name}", right=right)
            except ObjectNotFound as error:
                return Absent(error.message)
            except NotServed as error:
                said = error.message
                continue
            except Forbidden as error:
                return Unknown(error.message, right)
            self._resource = resource
            return _doc(answer.body, f"EC2NodeClass {name}")
        return Absent(said)

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        """As `imds_probe.apply.NodeClasses.patch`."""
        query = {**MANAGER, **({"dryRun": "All"} if dry else {})}
        sent = self._sender.send("PATCH", f"{self._resource.path}/{name}", query, body, MERGE_PATCH)
        if sent.ok:
            return sent.doc
        raise not_taken(sent, f"EC2NodeClass {name}", f"patch {_RIGHT}", f"{_RIGHT} {name}", "", dry)

    def close(self) -> None:
        self._transport.close()


# Names of what a live cluster has, for completion: one short question each, whose answer has metadata alone.


MOST = 500
"""So many are asked for, and no more: who has more types a letter, and the shell would ask first anyway."""

_PATIENCE = RetryPolicy(tries=1, tries_to_connect=1, connect=5.0, silence=8.0)


def names_of(connection: Connection, kind: NameKind, namespace: str, around: CredentialContext) -> tuple[Name, ...]:
    """`namespace`: of pods and runs, "" for that of the context.

    Raises:
        EksdocError: they cannot be had.
    """
    access = connect(connection, around)
    with closing(Transport(access, _PATIENCE)) as transport:
        if kind in (NameKind.PODS, NameKind.RUNS):
            namespace = namespace or access.target.namespace or "default"
        return asked_of(transport, kind, namespace)


def asked_of(transport: Transport, kind: NameKind, namespace: str) -> tuple[Name, ...]:
    """Raises: as `names_of`."""
    if kind is NameKind.NODES:
        return names.of_nodes((_name(doc), _labels(doc)) for doc in _some(transport, kinds.NODES))
    if kind is NameKind.NODE_GROUPS:
        return names.of_groups(map(_labels, _some(transport, kinds.NODES)), _pools(transport))
    if kind is NameKind.RUNS:
        return _runs(transport, namespace)
    if kind is NameKind.PODS:
        return _plain(map(_name, _some(transport, kinds.PODS, namespace)))
    if kind is NameKind.NAMESPACES:
        return _plain(map(_name, _some(transport, kinds.NAMESPACES)))
    if kind in (NameKind.PODS_ANYWHERE, NameKind.BUDGETS):
        return _plain(map(_whole, _some(transport, kinds.BUDGETS if kind is NameKind.BUDGETS else kinds.PODS)))
    return ()  # the cluster does not know them


def _some(transport: Transport, resource: Resource, namespace: str = "", **query: str) -> Iterator[Doc]:
    return islice(listed(transport, resource, MOST, query, quote(namespace, safe="")), MOST)


def _pools(transport: Transport) -> list[str]:
    """None where there is no Karpenter, or they may not be listed: those that have nodes are known by these."""
    try:
        return [name for name in map(_name, _some(transport, kinds.NODE_POOLS)) if name]
    except EksdocError:
        return []


def _runs(transport: Transport, namespace: str) -> tuple[Name, ...]:
    """The latest first."""
    heads = _some(transport, kinds.CONFIG_MAPS, namespace, labelSelector=f"{PART_LABEL}={HEAD}")
    found = {_labels(doc).get(RUN_LABEL, ""): text_at(doc, "metadata", "creationTimestamp") for doc in heads}
    runs = sorted(found.items(), key=lambda each: each[1], reverse=True)
    return tuple(Name(run, f"begun {begun}" if begun else "") for run, begun in runs if run)


def _plain(found: Iterator[str]) -> tuple[Name, ...]:
    return tuple(Name(each) for each in sorted(set(found)) if each)


def _name(doc: Doc) -> str:
    return text_at(doc, "metadata", "name")


def _whole(doc: Doc) -> str:
    namespace, name = text_at(doc, "metadata", "namespace"), _name(doc)
    return f"{namespace}/{name}" if namespace and name else ""


def _labels(doc: Doc) -> Mapping[str, str]:
    labels = at(doc, "metadata", "labels")
    if not isinstance(labels, dict):
        return {}
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}
