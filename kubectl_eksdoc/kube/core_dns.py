"""CoreDNS of a live cluster: its service, endpoints and pods as they stand, and what may be done to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any

from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.actions import RESTARTED_AT
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.connection import Connection
from kubectl_eksdoc.model.coredns import NAME, SELECTOR, SERVICE, SYSTEM, DnsPod, DnsService, DnsStand, DnsWorkload
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import ENDED, Pod
from kubectl_eksdoc.model.placing import NotMade

from .config import ApiAccess
from .exchanges import RetryPolicy
from .requests import (
    JSON,
    MERGE_PATCH,
    Cautious,
    Clock,
    RetryLimits,
    SentRequest,
)
from .target import CredentialContext, utc_now
from .transport import HASTY, ClusterReads, in_order, pod_path

_CORE, _APPS = f"/api/v1/namespaces/{SYSTEM}", f"/apis/apps/v1/namespaces/{SYSTEM}"
_SLICES = f"/apis/discovery.k8s.io/v1/namespaces/{SYSTEM}/endpointslices"
_OF_SERVICE = {"labelSelector": f"kubernetes.io/service-name={SERVICE}"}


class CoreDns:
    """A `coredns_lameduck.measurement.Dns`. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, patience: RetryPolicy, clock: Clock, tries: RetryLimits = RetryLimits()
    ) -> None:
        self._server = Cautious(access, patience, SYSTEM, clock, tries)

    def service(self) -> DnsService | Absent | Unknown:
        """As `coredns_lameduck.measurement.Dns.service`."""
        sent = self._server.asked("GET", f"{_CORE}/services/{SERVICE}")
        if not sent.ok:
            return self._absent(sent, "get services")
        spec = sent.doc.get("spec") or {}
        single = [spec["clusterIP"]] if spec.get("clusterIP") else []
        addresses = [str(each) for each in spec.get("clusterIPs") or single if each != "None"]
        return DnsService(tuple(addresses), _port(spec.get("ports") or ()))

    def workload(self) -> DnsWorkload | Absent | Unknown:
        """As `coredns_lameduck.measurement.Dns.workload`."""
        sent = self._server.asked("GET", f"{_APPS}/deployments/{NAME}")
        if not sent.ok:
            return self._absent(sent, "get deployments.apps")
        replicas = at(sent.doc, "spec", "replicas")
        return DnsWorkload(str(sent.doc["metadata"].get("uid") or ""), 1 if replicas is None else int(replicas))

    def stand(self) -> DnsStand | Unknown:
        """As `coredns_lameduck.measurement.Dns.stand`."""
        pods = self._server.once(f"{_CORE}/pods", {"labelSelector": SELECTOR})
        if not pods.ok:
            return self._server.unknown(pods, "list pods")
        slices = self._server.once(_SLICES, _OF_SERVICE)
        items = slices.doc.get("items") or ()
        serving = _serving(items) if slices.ok else self._server.unknown(slices, "list endpointslices.discovery.k8s.io")
        port = next((_port(item.get("ports") or ()) for item in items), 53) if slices.ok else 53
        return DnsStand(pods.date or utc_now(), tuple(map(_pod, pods.doc.get("items") or ())), serving, port)

    def restart(self, of: DnsWorkload, dry: bool = False) -> NotMade | None:
        """As `coredns_lameduck.measurement.Dns.restart`: the uid is a precondition."""
        now = utc_now().strftime("%Y-%m-%dT%H:%M:%SZ")
        patch: Doc = {
            "metadata": {"uid": of.uid},
            "spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: now}}}},
        }
        path = f"{_APPS}/deployments/{NAME}"
        done = self._server.changed("PATCH", path, "patch deployments.apps", patch, MERGE_PATCH, dry)
        return done if isinstance(done, NotMade) else None

    def evict(self, pod: DnsPod, dry: bool = False) -> NotMade | None:
        """As `coredns_lameduck.measurement.Dns.evict`. Without the UID a pod that came in its place would be
        evicted."""
        options: Doc = {"preconditions": {"uid": pod.uid}} | ({"dryRun": ["All"]} if dry else {})
        meta = {"name": pod.name, "namespace": SYSTEM}
        body: Doc = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}
        done = self._server.changed("POST", f"{_CORE}/pods/{pod.name}/eviction", "create pods/eviction", body, JSON)
        return done if isinstance(done, NotMade) else None

    def _absent(self, sent: SentRequest, right: str) -> Absent | Unknown:
        return Absent(sent.said) if sent.code == 404 else self._server.unknown(sent, right)


def _port(ports: Iterable[Mapping[str, Any]]) -> int:
    """That of UDP; of TCP it is the same wherever DNS is served."""
    return next((int(each["port"]) for each in ports if each.get("protocol") == "UDP" and each.get("port")), 53)


def _serving(items: Iterable[Doc]) -> frozenset[str]:
    """A pod that is being deleted is not ready there, whatever its probes say (discovery/v1 EndpointConditions)."""
    every = [each for item in items for each in item.get("endpoints") or ()]
    ready = [each for each in every if (each.get("conditions") or {}).get("ready") is not False]
    return frozenset(str(address) for each in ready for address in each.get("addresses") or ())


def _pod(item: Doc) -> DnsPod:
    meta, status = item["metadata"], item.get("status") or {}
    addresses = [str(each["ip"]) for each in status.get("podIPs") or () if each.get("ip")]
    conditions = {each.get("type"): each.get("status") for each in status.get("conditions") or ()}
    # The deletion timestamp is that of the request and the grace period (meta/v1 ObjectMeta).
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


# CoreDNS' pods of a live cluster: which there are, what their metrics say, and what they printed since a moment ago.
#
# Metrics are asked for by way of the API server (pods/proxy): nobody else reaches a pod's port from a laptop. The
# kubelet counts the seconds of a log by its own clock, so that this machine's may be wrong (core/v1 PodLogOptions,
# sinceSeconds).


GET_PROXY, GET_LOG = "get pods/proxy", "get pods/log"
"""The rights this needs, in the namespace of CoreDNS."""

CONTAINER = "coredns"
MOST_BYTES = 1 << 20
"""Of a log. One that is longer is cut off at its end, so that what came last is not in it: nothing follows from it."""
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
        """`listed`: the pods, now. Raises: as `ClusterReads`."""
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
