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
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model import kinds, names
from kubectl_eksdoc.model.actions import RESTARTED_AT_ANNOTATION
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, ObjectName, nested_field, nested_string, object_name
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.coredns import (
    NAME,
    POD_SELECTOR,
    SERVICE,
    SYSTEM_NAMESPACE,
    CoreDnsDeployment,
    CoreDnsPod,
    CoreDnsState,
    DnsService,
)
from kubectl_eksdoc.model.kinds import NODE_CLASSES, Absent, Resource, Unknown
from kubectl_eksdoc.model.names import CompletionName, NameKind
from kubectl_eksdoc.model.nodes import FINISHED_PHASES, Pod
from kubectl_eksdoc.model.placement import ProbeFailure
from kubectl_eksdoc.objects.single import decode_object

from .config import ApiAccess, open_access
from .exchanges import RetryPolicy
from .reader import AppliedSearch
from .requests import (
    FIELD_MANAGER,
    JSON,
    MERGE_PATCH,
    ApiResponse,
    ApiWriter,
    Clock,
    RetryingClient,
    RetryLimits,
    change_error,
)
from .responses import ContinueTokenExpired, NotServed, ObjectNotFound, RequestRefused
from .runs import HEAD_PART, PART_LABEL, RUN_LABEL
from .target import CredentialContext, utc_now
from .transport import KUBELET_RETRY_POLICY, ClusterReadClient, Paging, Transport, parallel_in_order, pod_path

GET_VERB = "get"
_NO_API_HINT = "Is this the address of a Kubernetes API?"
GETTABLE = {resource.kind: resource for resource in kinds.READ_BY_NAME}
_APPLIED = {resource.kind: resource for resource in kinds.MANIFEST_KINDS}


class SingleObjects(ClusterReadClient):
    """A `ports.ObjectReader` and an `AppliedReader`. Mutable: it holds a connection, and the resources that a search
    found."""

    def __init__(self, connection: Connection, credential_context: CredentialContext | None = None) -> None:
        """Raises: as `ClusterReadClient`."""
        super().__init__(connection, credential_context)
        self._found_resources: dict[ObjectName, Resource] = {}

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """As `ports.AppliedReader.applied_by`."""
        search = AppliedSearch(self._transport, list_objects, self._page_size)
        applied = search.applied_by(manager, others)
        if not isinstance(applied, Unknown):
            self._found_resources |= {of: search.resources[of.api_version, of.kind] for of in applied.labels}
        return applied

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        """As `ports.ObjectReader.read_object`."""
        # Some kinds are read with the right to get them; objects found outside kube-system with the right to list.
        by_get = of.kind in GETTABLE and (of not in self._found_resources or of.namespace in ("", SYSTEM_NAMESPACE))
        resource = GETTABLE[of.kind] if by_get else self._found_resources.get(of) or _APPLIED[of.kind]
        right = f"{GET_VERB if by_get else LIST_VERB} {resource.full_name}"
        query = {"fieldSelector": f"metadata.name={of.name}"}
        try:
            if by_get:
                path = f"{resource.path_in(of.namespace)}/{of.name}"
                doc = _decode_doc(self._transport.get(path, right=right).body, of)
            else:
                docs = list_objects(self._transport, resource, 1, query, of.namespace, accept="")
                if (first := next(docs, None)) is None:
                    return Absent(f"there is no {of}")
                doc = first
        except NotServed as error:
            return Absent(error.message)
        except Forbidden as error:
            return Unknown(error.message, right)
        if isinstance(metadata := doc.get("metadata"), dict):
            metadata.setdefault("managedFields", [])  # the server has none; absent would mean that they were stripped
        return doc


def _decode_doc(body: bytes, name: ObjectName | str) -> Doc:
    if (doc := decode_object(body)) is None:
        raise RequestRefused(f"the answer to get {name} is no object in JSON", _NO_API_HINT)
    return doc


# All objects of one kind in one namespace of a live cluster, unchanged: revisions of pod templates.


LIST_VERB = "list"
ALL_NAMESPACES = ""
"""The `namespace` of a list over all namespaces."""


class NamespaceLists(ClusterReadClient):
    """A `ports.HistoryReader`. Mutable: it holds a connection, and each list that it has read."""

    def __init__(self, connection: Connection, credential_context: CredentialContext | None = None) -> None:
        """Raises: as `ClusterReadClient`."""
        super().__init__(connection, credential_context)
        self._lists: dict[tuple[Resource, str], tuple[Doc, ...] | Unknown] = {}

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """As `ports.HistoryReader.list_history`."""
        key = resource, namespace
        if key not in self._lists:
            self._lists[key] = self._list(resource, namespace)
        return self._lists[key]

    def _list(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        try:
            docs = list_objects(self._transport, resource, self._page_size, None, namespace, accept="")
            return tuple({object_name(each): each for each in docs}.values())
        except Forbidden as error:
            return Unknown(error.message, f"{LIST_VERB} {resource.full_name}")
        except NotServed as error:
            return Unknown(error.message)


# Lists of a live cluster, page by page, by default with the metadata of objects alone.
#
# Source: kubernetes.io, "Kubernetes API Concepts" (alternate representations; PartialObjectMetadata): every resource
# supports it, and it needs no permission but list.


METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_KIND = "PartialObjectMetadataList"


def list_objects(
    transport: Transport,
    resource: Resource,
    page_size: int,
    query: Mapping[str, str] | None = None,
    namespace: str = "",
    accept: str = METADATA_ONLY,
) -> Iterator[Doc]:
    """The objects of one namespace, or of all, in the newest version that the server serves; `apiVersion` of each says
    which. A page is requested when the one before it is used up. `accept` "": complete objects.

    Raises:
        NotServed: the server serves no version of the resource.
        Forbidden, RequestRefused, ContinueTokenExpired, Unauthorized, Unreachable: as `Transport.get`.
    """
    unlimited = query or {}
    limited = {**unlimited, "limit": str(page_size)}
    paging = Paging(resource.full_name)
    version, (items, token, size) = _first_page(transport, resource, limited, namespace, accept)
    while True:
        paging.check_page(token, len(items), size)
        with transport.count_read_time():
            yield from items
            if not token:
                return
            try:
                items, token, size = _list_page(transport, version, {**limited, "continue": token}, namespace, accept)
            except ContinueTokenExpired:  # a list in one answer cannot expire; earlier objects come again
                items, token, size = _list_page(transport, version, unlimited, namespace, accept)


_Page = tuple[list[Doc], str, int]
"""The objects of a page, the continue token of the next one, and the size of this one in bytes."""


def _first_page(
    transport: Transport, resource: Resource, query: Mapping[str, str], namespace: str, accept: str
) -> tuple[Resource, _Page]:
    """The first page, in the newest version that the server serves."""
    *newer, oldest = resource.versions
    for version in newer:
        with suppress(NotServed):
            return version, _list_page(transport, version, query, namespace, accept)
    return oldest, _list_page(transport, oldest, query, namespace, accept)


def _list_page(
    transport: Transport, resource: Resource, query: Mapping[str, str], namespace: str, accept: str
) -> _Page:
    right = f"{LIST_VERB} {resource.full_name}"
    body = transport.get(resource.path_in(namespace), query, right, accept=accept).body
    page = decode_object(body) or {}
    items = [] if page.get("items", "") is None else page.get("items")
    if not isinstance(items, list) or not all(isinstance(each, dict) for each in items):
        raise RequestRefused(f"the answer to {right} is no list of objects", _NO_API_HINT)
    if accept and page.get("kind") != _KIND:
        raise RequestRefused(f"the server does not answer {right} with metadata alone", _NO_API_HINT)
    # A list has the kind once; its items do not have it.
    docs = [{**each, "kind": resource.kind, "apiVersion": resource.api_version} for each in items]
    return docs, nested_string(page, "metadata", "continue"), len(body)


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
        message = ""
        for resource in NODE_CLASSES.versions:
            try:
                response = self._transport.get(f"{resource.path}/{name}", right=right)
            except ObjectNotFound as error:
                return Absent(error.message)
            except NotServed as error:
                message = error.message
                continue
            except Forbidden as error:
                return Unknown(error.message, right)
            self._resource = resource
            return _decode_doc(response.body, f"EC2NodeClass {name}")
        return Absent(message)

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        """As `imds_probe.apply.NodeClasses.patch`."""
        query = {**FIELD_MANAGER, **({"dryRun": "All"} if dry else {})}
        response = self._sender.send("PATCH", f"{self._resource.path}/{name}", query, body, MERGE_PATCH)
        if response.ok:
            return response.doc
        raise change_error(response, f"EC2NodeClass {name}", f"patch {_RIGHT}", f"{_RIGHT} {name}", "", dry)

    def close(self) -> None:
        self._transport.close()


# Names of objects in a live cluster, for shell completion: one short request each, for metadata alone.


MAX_NAMES = 500
"""At most so many names are read. A user with more types a letter, and the shell would ask before it shows them
anyway."""

_COMPLETION_RETRY_POLICY = RetryPolicy(tries=1, tries_to_connect=1, connect_timeout=5.0, silence_timeout=8.0)


def names_of(
    connection: Connection, kind: NameKind, namespace: str, credential_context: CredentialContext
) -> tuple[CompletionName, ...]:
    """Names of one kind for completion. `namespace`: that of pods and runs, "" for the one of the kubeconfig context.

    Raises:
        EksdocError: the names cannot be read.
    """
    access = open_access(connection, credential_context)
    with closing(Transport(access, _COMPLETION_RETRY_POLICY)) as transport:
        if kind in (NameKind.PODS, NameKind.RUNS):
            namespace = namespace or access.target.namespace or "default"
        return read_names(transport, kind, namespace)


def read_names(transport: Transport, kind: NameKind, namespace: str) -> tuple[CompletionName, ...]:
    """As `names_of`, over an open connection. Raises: as `names_of`."""
    if kind is NameKind.NODES:
        return names.node_names((_name(doc), _labels(doc)) for doc in _list_some(transport, kinds.NODES))
    if kind is NameKind.NODE_GROUPS:
        return names.node_group_names(map(_labels, _list_some(transport, kinds.NODES)), _node_pool_names(transport))
    if kind is NameKind.RUNS:
        return _run_names(transport, namespace)
    if kind is NameKind.PODS:
        return _names_from(map(_name, _list_some(transport, kinds.PODS, namespace)))
    if kind is NameKind.NAMESPACES:
        return _names_from(map(_name, _list_some(transport, kinds.NAMESPACES)))
    if kind in (NameKind.PODS_ANYWHERE, NameKind.BUDGETS):
        return _names_from(
            map(_full_name, _list_some(transport, kinds.BUDGETS if kind is NameKind.BUDGETS else kinds.PODS))
        )
    return ()  # not names of objects in a cluster


def _list_some(transport: Transport, resource: Resource, namespace: str = "", **query: str) -> Iterator[Doc]:
    return islice(list_objects(transport, resource, MAX_NAMES, query, quote(namespace, safe="")), MAX_NAMES)


def _node_pool_names(transport: Transport) -> list[str]:
    """The names of Karpenter NodePools; empty where Karpenter is absent or listing is forbidden. Node labels still name
    the NodePools that have nodes."""
    try:
        return [name for name in map(_name, _list_some(transport, kinds.NODE_POOLS)) if name]
    except EksdocError:
        return []


def _run_names(transport: Transport, namespace: str) -> tuple[CompletionName, ...]:
    """The ids of runs, the latest first."""
    head_maps = _list_some(transport, kinds.CONFIG_MAPS, namespace, labelSelector=f"{PART_LABEL}={HEAD_PART}")
    created_by_run = {
        _labels(doc).get(RUN_LABEL, ""): nested_string(doc, "metadata", "creationTimestamp") for doc in head_maps
    }
    runs = sorted(created_by_run.items(), key=lambda each: each[1], reverse=True)
    return tuple(CompletionName(run, f"begun {begun}" if begun else "") for run, begun in runs if run)


def _names_from(texts: Iterator[str]) -> tuple[CompletionName, ...]:
    return tuple(CompletionName(each) for each in sorted(set(texts)) if each)


def _name(doc: Doc) -> str:
    return nested_string(doc, "metadata", "name")


def _full_name(doc: Doc) -> str:
    namespace, name = nested_string(doc, "metadata", "namespace"), _name(doc)
    return f"{namespace}/{name}" if namespace and name else ""


def _labels(doc: Doc) -> Mapping[str, str]:
    labels = nested_field(doc, "metadata", "labels")
    if not isinstance(labels, dict):
        return {}
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}


# CoreDNS of a live cluster: its Service, endpoints and pods, and the actions on them.


_CORE, _APPS = f"/api/v1/namespaces/{SYSTEM_NAMESPACE}", f"/apis/apps/v1/namespaces/{SYSTEM_NAMESPACE}"
_ENDPOINT_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/endpointslices"
_SERVICE_SELECTOR = {"labelSelector": f"kubernetes.io/service-name={SERVICE}"}


class CoreDns:
    """A `coredns_lameduck.measurement.CorednsAccess`. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, retry_policy: RetryPolicy, clock: Clock, retry_limits: RetryLimits = RetryLimits()
    ) -> None:
        self._client = RetryingClient(access, retry_policy, SYSTEM_NAMESPACE, clock, retry_limits)

    def service(self) -> DnsService | Absent | Unknown:
        """As `coredns_lameduck.measurement.CorednsAccess.service`."""
        response = self._client.request("GET", f"{_CORE}/services/{SERVICE}")
        if not response.ok:
            return self._absent_or_unknown(response, "get services")
        spec = response.doc.get("spec") or {}
        single = [spec["clusterIP"]] if spec.get("clusterIP") else []
        addresses = [str(each) for each in spec.get("clusterIPs") or single if each != "None"]
        return DnsService(tuple(addresses), _udp_port(spec.get("ports") or ()))

    def workload(self) -> CoreDnsDeployment | Absent | Unknown:
        """As `coredns_lameduck.measurement.CorednsAccess.workload`."""
        response = self._client.request("GET", f"{_APPS}/deployments/{NAME}")
        if not response.ok:
            return self._absent_or_unknown(response, "get deployments.apps")
        replicas = nested_field(response.doc, "spec", "replicas")
        return CoreDnsDeployment(
            str(response.doc["metadata"].get("uid") or ""), 1 if replicas is None else int(replicas)
        )

    def stand(self) -> CoreDnsState | Unknown:
        """As `coredns_lameduck.measurement.CorednsAccess.stand`."""
        pods_response = self._client.get_once(f"{_CORE}/pods", {"labelSelector": POD_SELECTOR})
        if not pods_response.ok:
            return self._client.unknown(pods_response, "list pods")
        slices_response = self._client.get_once(_ENDPOINT_SLICES, _SERVICE_SELECTOR)
        items = slices_response.doc.get("items") or ()
        serving = (
            _ready_addresses(items)
            if slices_response.ok
            else self._client.unknown(slices_response, "list endpointslices.discovery.k8s.io")
        )
        port = next((_udp_port(item.get("ports") or ()) for item in items), 53) if slices_response.ok else 53
        return CoreDnsState(
            pods_response.date or utc_now(), tuple(map(_dns_pod, pods_response.doc.get("items") or ())), serving, port
        )

    def restart(self, of: CoreDnsDeployment, dry: bool = False) -> ProbeFailure | None:
        """As `coredns_lameduck.measurement.CorednsAccess.restart`; the UID is a precondition."""
        now = utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
        patch: Doc = {
            "metadata": {"uid": of.uid},
            "spec": {"template": {"metadata": {"annotations": {RESTARTED_AT_ANNOTATION: now}}}},
        }
        path = f"{_APPS}/deployments/{NAME}"
        result = self._client.change("PATCH", path, "patch deployments.apps", patch, MERGE_PATCH, dry)
        return result if isinstance(result, ProbeFailure) else None

    def evict(self, pod: CoreDnsPod, dry: bool = False) -> ProbeFailure | None:
        """As `coredns_lameduck.measurement.CorednsAccess.evict`. The UID is a precondition: without it a replacement
        pod of the same name would be evicted."""
        options: Doc = {"preconditions": {"uid": pod.uid}} | ({"dryRun": ["All"]} if dry else {})
        meta = {"name": pod.name, "namespace": SYSTEM_NAMESPACE}
        body: Doc = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}
        result = self._client.change("POST", f"{_CORE}/pods/{pod.name}/eviction", "create pods/eviction", body, JSON)
        return result if isinstance(result, ProbeFailure) else None

    def _absent_or_unknown(self, response: ApiResponse, right: str) -> Absent | Unknown:
        return Absent(response.message) if response.code == 404 else self._client.unknown(response, right)


def _udp_port(ports: Iterable[Mapping[str, Any]]) -> int:
    """The UDP port of DNS; TCP has the same wherever DNS is served."""
    return next((int(each["port"]) for each in ports if each.get("protocol") == "UDP" and each.get("port")), 53)


def _ready_addresses(items: Iterable[Doc]) -> frozenset[str]:
    """The addresses of ready endpoints. A pod that is being deleted is not ready there, whatever its probes say
    (discovery/v1 EndpointConditions)."""
    endpoints = [each for item in items for each in item.get("endpoints") or ()]
    ready_endpoints = [each for each in endpoints if (each.get("conditions") or {}).get("ready") is not False]
    return frozenset(str(address) for each in ready_endpoints for address in each.get("addresses") or ())


def _dns_pod(item: Doc) -> CoreDnsPod:
    meta, status = item["metadata"], item.get("status") or {}
    addresses = [str(each["ip"]) for each in status.get("podIPs") or () if each.get("ip")]
    conditions = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    # The deletion timestamp is the time of the request plus the grace period (meta/v1 ObjectMeta).
    deadline = parse_time(meta.get("deletionTimestamp"))
    return CoreDnsPod(
        str(meta["name"]),
        str(meta.get("uid") or ""),
        str(nested_field(item, "spec", "nodeName") or ""),
        tuple(addresses or [str(status["podIP"])] if status.get("podIP") or addresses else ()),
        conditions.get("Ready") == "True",
        deadline and deadline - timedelta(seconds=int(meta.get("deletionGracePeriodSeconds") or 0)),
        status.get("phase") in FINISHED_PHASES,
    )


# The CoreDNS pods of a live cluster, their metrics and their recent logs.
#
# Metrics are read through the API server (pods/proxy), because a laptop cannot reach the port of a pod directly. The
# kubelet counts the seconds of a log by its own clock, so this machine's clock may be wrong (core/v1 PodLogOptions,
# sinceSeconds).


GET_PROXY, GET_LOG = "get pods/proxy", "get pods/log"
"""The permissions that this needs, in the namespace of CoreDNS."""

CONTAINER = "coredns"
MAX_LOG_BYTES = 1 << 20
"""Of one log. The server truncates a longer log at its end, so its newest lines are missing and no conclusion is
drawn."""
_PARALLEL = 8


class ResolverPods(ClusterReadClient):
    """A `coredns_lameduck.read._Resolvers`."""

    default_retry_policy = KUBELET_RETRY_POLICY

    def __init__(
        self,
        connection: Connection,
        list_pods: Callable[[], tuple[Pod, ...] | Unknown],
        credential_context: CredentialContext | None = None,
        max_log_bytes: int = MAX_LOG_BYTES,
    ) -> None:
        """`list_pods` returns the pods of now. Raises: as `ClusterReadClient`."""
        super().__init__(connection, credential_context)
        self._list_pods = list_pods
        self._max_log_bytes = max_log_bytes

    def pods(self) -> tuple[Pod, ...] | Unknown:
        """As `coredns_lameduck.read._Resolvers.pods`."""
        return self._list_pods()

    def metrics(self, pods: Collection[str], port: int) -> Mapping[str, str | Absent | Unknown]:
        """As `coredns_lameduck.read._Resolvers.metrics`."""
        return self._read_each(pods, lambda path: (f"{path}:{port}/proxy/metrics", {}), GET_PROXY)

    def logs(self, pods: Collection[str], since_s: int) -> Mapping[str, str | Absent | Unknown]:
        """As `coredns_lameduck.read._Resolvers.logs`."""
        max_bytes = self._max_log_bytes
        query = {"container": CONTAINER, "sinceSeconds": str(max(1, since_s)), "limitBytes": str(max_bytes)}
        texts = self._read_each(pods, lambda path: (f"{path}/log", query), GET_LOG)
        truncated = Unknown(f"it has printed more than {max_bytes} bytes since, which are not read to their end")
        complete = {pod: not isinstance(text, str) or len(text.encode()) < max_bytes for pod, text in texts.items()}
        return {pod: text if complete[pod] else truncated for pod, text in texts.items()}

    def _read_each(
        self, pods: Collection[str], request_of: Callable[[str], tuple[str, Mapping[str, str]]], right: str
    ) -> Mapping[str, str | Absent | Unknown]:
        def read_pod(pod: str) -> str | Absent | Unknown:
            path, query = request_of(pod_path(pod))
            return self._get_text(path, right, query)

        return {pod: found() for pod, found in zip(pods, parallel_in_order(read_pod, pods, _PARALLEL), strict=True)}
