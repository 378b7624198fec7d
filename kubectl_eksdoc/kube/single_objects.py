"""Objects of a live cluster, unchanged and with their managedFields; also EC2NodeClasses, names for completion,
CoreDNS."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import timedelta
from itertools import islice
from typing import Any
from urllib.parse import quote

from kubectl_eksdoc.errors import EksdocError, Forbidden
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model import kinds, names
from kubectl_eksdoc.model.actions import RESTARTED_AT
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName, at, named, text_at
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.coredns import NAME, SELECTOR, SERVICE, SYSTEM, DnsPod, DnsService, DnsStand, DnsWorkload
from kubectl_eksdoc.model.kinds import NODE_CLASSES, Absent, Resource, Unknown
from kubectl_eksdoc.model.names import Name, NameKind
from kubectl_eksdoc.model.nodes import ENDED, Pod
from kubectl_eksdoc.model.placing import NotMade
from kubectl_eksdoc.objects.single import document

from .config import ApiAccess, connect
from .exchanges import RetryPolicy
from .reader import AppliedSearch
from .requests import JSON, MANAGER, MERGE_PATCH, ApiWriter, Cautious, Clock, RetryLimits, SentRequest, not_taken
from .responses import ContinueTokenExpired, NotServed, ObjectNotFound, RequestRefused
from .runs import HEAD, PART_LABEL, RUN_LABEL
from .target import CredentialContext, utc_now
from .transport import HASTY, ClusterReads, Paging, Transport, in_order, pod_path

VERB = "get"
_HINT = "Is this the address of a Kubernetes API?"
READ = {resource.kind: resource for resource in kinds.SINGLE}
_APPLIED = {resource.kind: resource for resource in kinds.APPLIED}


class SingleObjects(ClusterReads):
    """A `ports.ObjectReader` and an `AppliedReader`. Mutable: it holds a connection, and the resources that a search
    found."""

    def __init__(self, connection: Connection, around: CredentialContext | None = None) -> None:
        """Raises: as `ClusterReadClient`."""
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
        """As `ports.ObjectReader.read_object`."""
        # Some kinds are read with the right to get them; objects found outside kube-system with the right to list.
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
            meta.setdefault("managedFields", [])  # the server has none; absent would mean that they were stripped
        return found


def _doc(body: bytes, of: ObjectName | str) -> Doc:
    if (doc := document(body)) is None:
        raise RequestRefused(f"the answer to get {of} is no object in JSON", _HINT)
    return doc


# All objects of one kind in one namespace of a live cluster, unchanged: revisions of pod templates.


LIST_VERB = "list"
EVERY = ""
"""The `namespace` of a list over all namespaces."""


class NamespaceLists(ClusterReads):
    """A `ports.HistoryReader`. Mutable: it holds a connection, and each list that it has read."""

    def __init__(self, connection: Connection, around: CredentialContext | None = None) -> None:
        """Raises: as `ClusterReadClient`."""
        super().__init__(connection, around)
        self._read: dict[tuple[Resource, str], tuple[Doc, ...] | Unknown] = {}

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `ports.HistoryReader.list_history`."""
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


# Lists of a live cluster, page by page, by default with the metadata of objects alone.
#
# Source: kubernetes.io, "Kubernetes API Concepts" (alternate representations; PartialObjectMetadata): every resource
# supports it, and it needs no permission but list.


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
    """The objects of one namespace, or of all, in the newest version that the server serves; `apiVersion` of each says
    which. A page is requested when the one before it is used up. `accept` "": complete objects.

    Raises:
        NotServed: the server serves no version of the resource.
        Forbidden, RequestRefused, ContinueTokenExpired, Unauthorized, Unreachable: as `Transport.get`.
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
            except ContinueTokenExpired:  # a list in one answer cannot expire; earlier objects come again
                items, token, size = _page(transport, form, whole, namespace, accept)


_Page = tuple[list[Doc], str, int]
"""The objects of a page, the continue token of the next one, and the size of this one in bytes."""


def _first(
    transport: Transport, resource: Resource, query: Mapping[str, str], namespace: str, accept: str
) -> tuple[Resource, _Page]:
    """The first page, in the newest version that the server serves."""
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
    # A list has the kind once; its items do not have it.
    docs = [{**each, "kind": form.kind, "apiVersion": form.api_version} for each in items]
    return docs, text_at(page, "metadata", "continue"), len(body)


# Karpenter's EC2NodeClasses of a live cluster: read and patched one by one.


_RIGHT = NODE_CLASSES.full_name


class LiveNodeClasses:
    """An `imds_probe.apply.NodeClasses`. Mutable: it holds connections, and the API version that the server serves."""

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


# Names of objects in a live cluster, for shell completion: one short request each, for metadata alone.


MOST = 500
"""At most so many names are read. A user with more types a letter, and the shell would ask before it shows them
anyway."""

_PATIENCE = RetryPolicy(tries=1, tries_to_connect=1, connect=5.0, silence=8.0)


def names_of(connection: Connection, kind: NameKind, namespace: str, around: CredentialContext) -> tuple[Name, ...]:
    """Names of one kind for completion. `namespace`: that of pods and runs, "" for the one of the kubeconfig context.

    Raises:
        EksdocError: the names cannot be read.
    """
    access = connect(connection, around)
    with closing(Transport(access, _PATIENCE)) as transport:
        if kind in (NameKind.PODS, NameKind.RUNS):
            namespace = namespace or access.target.namespace or "default"
        return asked_of(transport, kind, namespace)


def asked_of(transport: Transport, kind: NameKind, namespace: str) -> tuple[Name, ...]:
    """As `names_of`, over an open connection. Raises: as `names_of`."""
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
    return ()  # not names of objects in a cluster


def _some(transport: Transport, resource: Resource, namespace: str = "", **query: str) -> Iterator[Doc]:
    return islice(listed(transport, resource, MOST, query, quote(namespace, safe="")), MOST)


def _pools(transport: Transport) -> list[str]:
    """The names of Karpenter NodePools; empty where Karpenter is absent or listing is forbidden. Node labels still name
    the NodePools that have nodes."""
    try:
        return [name for name in map(_name, _some(transport, kinds.NODE_POOLS)) if name]
    except EksdocError:
        return []


def _runs(transport: Transport, namespace: str) -> tuple[Name, ...]:
    """The ids of runs, the latest first."""
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


# CoreDNS of a live cluster: its Service, endpoints and pods, and the actions on them.


_CORE, _APPS = f"/api/v1/namespaces/{SYSTEM}", f"/apis/apps/v1/namespaces/{SYSTEM}"
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices"
_OF_SERVICE = {"labelSelector": f"kubernetes.io/service-name={SERVICE}"}


class CoreDns:
    """A `coredns_lameduck.measurement.CorednsAccess`. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, patience: RetryPolicy, clock: Clock, tries: RetryLimits = RetryLimits()
    ) -> None:
        self._server = Cautious(access, patience, SYSTEM, clock, tries)

    def service(self) -> DnsService | Absent | Unknown:
        """As `coredns_lameduck.measurement.CorednsAccess.service`."""
        sent = self._server.asked("GET", f"{_CORE}/services/{SERVICE}")
        if not sent.ok:
            return self._absent(sent, "get services")
        spec = sent.doc.get("spec") or {}
        single = [spec["clusterIP"]] if spec.get("clusterIP") else []
        addresses = [str(each) for each in spec.get("clusterIPs") or single if each != "None"]
        return DnsService(tuple(addresses), _port(spec.get("ports") or ()))

    def workload(self) -> DnsWorkload | Absent | Unknown:
        """As `coredns_lameduck.measurement.CorednsAccess.workload`."""
        sent = self._server.asked("GET", f"{_APPS}/deployments/{NAME}")
        if not sent.ok:
            return self._absent(sent, "get deployments.apps")
        replicas = at(sent.doc, "spec", "replicas")
        return DnsWorkload(str(sent.doc["metadata"].get("uid") or ""), 1 if replicas is None else int(replicas))

    def stand(self) -> DnsStand | Unknown:
        """As `coredns_lameduck.measurement.CorednsAccess.stand`."""
        pods = self._server.once(f"{_CORE}/pods", {"labelSelector": SELECTOR})
        if not pods.ok:
            return self._server.unknown(pods, "list pods")
        slices = self._server.once(_SLICES, _OF_SERVICE)
        items = slices.doc.get("items") or ()
        serving = _serving(items) if slices.ok else self._server.unknown(slices, "list endpointslices.discovery.k8s.io")
        port = next((_port(item.get("ports") or ()) for item in items), 53) if slices.ok else 53
        return DnsStand(pods.date or utc_now(), tuple(map(_pod, pods.doc.get("items") or ())), serving, port)

    def restart(self, of: DnsWorkload, dry: bool = False) -> NotMade | None:
        """As `coredns_lameduck.measurement.CorednsAccess.restart`; the UID is a precondition."""
        now = utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
        patch: Doc = {
            "metadata": {"uid": of.uid},
            "spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}},
        }
        path = f"{_APPS}/deployments/{NAME}"
        done = self._server.changed("PATCH", path, "patch deployments.apps", patch, MERGE_PATCH, dry)
        return done if isinstance(done, NotMade) else None

    def evict(self, pod: DnsPod, dry: bool = False) -> NotMade | None:
        """As `coredns_lameduck.measurement.CorednsAccess.evict`. The UID is a precondition: without it a replacement
        pod of the same name would be evicted."""
        options: Doc = {"preconditions": {"uid": pod.uid}} | ({"dryRun": ["All"]} if dry else {})
        meta = {"name": pod.name, "namespace": SYSTEM}
        body: Doc = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}
        done = self._server.changed("POST", f"{_CORE}/pods/{pod.name}/eviction", "create pods/eviction", body, JSON)
        return done if isinstance(done, NotMade) else None

    def _absent(self, sent: SentRequest, right: str) -> Absent | Unknown:
        return Absent(sent.said) if sent.code == 404 else self._server.unknown(sent, right)


def _port(ports: Iterable[Mapping[str, Any]]) -> int:
    """The UDP port of DNS; TCP has the same wherever DNS is served."""
    return next((int(each["port"]) for each in ports if each.get("protocol") == "UDP" and each.get("port")), 53)


def _serving(items: Iterable[Doc]) -> frozenset[str]:
    """The addresses of ready endpoints. A pod that is being deleted is not ready there, whatever its probes say
    (discovery/v1 EndpointConditions)."""
    every = [each for item in items for each in item.get("endpoints") or ()]
    ready = [each for each in every if (each.get("conditions") or {}).get("ready") is not False]
    return frozenset(str(address) for each in ready for address in each.get("addresses") or ())


def _pod(item: Doc) -> DnsPod:
    meta, status = item["metadata"], item.get("status") or {}
    addresses = [str(each["ip"]) for each in status.get("podIPs") or () if each.get("ip")]
    conditions = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    # The deletion timestamp is the time of the request plus the grace period (meta/v1 ObjectMeta).
    deadline = parsed(meta.get("deletionTimestamp"))
    return DnsPod(
        str(meta["name"]),
        str(meta.get("uid") or ""),
        str(at(item, "spec", "nodeName") or ""),
        tuple(addresses or [str(status["podIP"])] if status.get("podIP") or addresses else ()),
        conditions.get("Ready") == "True",
        deadline and deadline - timedelta(seconds=int(meta.get("deletionGracePeriodSeconds") or 0)),
        status.get("phase") in ENDED,
    )


# The CoreDNS pods of a live cluster, their metrics and their recent logs.
#
# Metrics are read through the API server (pods/proxy), because a laptop cannot reach the port of a pod directly. The
# kubelet counts the seconds of a log by its own clock, so this machine's clock may be wrong (core/v1 PodLogOptions,
# sinceSeconds).


GET_PROXY, GET_LOG = "get pods/proxy", "get pods/log"
"""The permissions that this needs, in the namespace of CoreDNS."""

CONTAINER = "coredns"
MOST_BYTES = 1 << 20
"""Of one log. The server truncates a longer log at its end, so its newest lines are missing and no conclusion is
drawn."""
_AT_ONCE = 8


class ResolverPods(ClusterReads):
    """A `coredns_lameduck.read._Resolvers`."""

    patience = HASTY

    def __init__(
        self,
        connection: Connection,
        listed: Callable[[], tuple[Pod, ...] | Unknown],
        around: CredentialContext | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`list_pods` returns the pods of now. Raises: as `ClusterReadClient`."""
        super().__init__(connection, around)
        self._listed = listed
        self._most_bytes = most_bytes

    def pods(self) -> tuple[Pod, ...] | Unknown:
        """As `coredns_lameduck.read._Resolvers.pods`."""
        return self._listed()

    def metrics(self, pods: Collection[str], port: int) -> Mapping[str, str | Absent | Unknown]:
        """As `coredns_lameduck.read._Resolvers.metrics`."""
        return self._each(pods, lambda path: (f"{path}:{port}/proxy/metrics", {}), GET_PROXY)

    def logs(self, pods: Collection[str], since_s: int) -> Mapping[str, str | Absent | Unknown]:
        """As `coredns_lameduck.read._Resolvers.logs`."""
        most = self._most_bytes
        query = {"container": CONTAINER, "sinceSeconds": str(max(1, since_s)), "limitBytes": str(most)}
        found = self._each(pods, lambda path: (f"{path}/log", query), GET_LOG)
        cut = Unknown(f"it has printed more than {most} bytes since, which are not read to their end")
        whole = {pod: not isinstance(text, str) or len(text.encode()) < most for pod, text in found.items()}
        return {pod: text if whole[pod] else cut for pod, text in found.items()}

    def _each(
        self, pods: Collection[str], way: Callable[[str], tuple[str, Mapping[str, str]]], right: str
    ) -> Mapping[str, str | Absent | Unknown]:
        def asked(pod: str) -> str | Absent | Unknown:
            path, query = way(pod_path(pod))
            return self._text(path, right, query)

        return {pod: found() for pod, found in zip(pods, in_order(asked, pods, _AT_ONCE), strict=True)}
