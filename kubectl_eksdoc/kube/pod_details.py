"""Containers, logs and events of single pods in a live cluster, and the namespace of short-lived probe pods.

Sources: core/v1 PodLogOptions; the kubelet finds the last lines first and then sends so many bytes of them, so that of
a log with very long lines the newest are cut off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import quote

from kubectl_eksdoc.errors import Forbidden, Unreachable
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.interruption import KubernetesEvent, PodReport
from kubectl_eksdoc.model.kinds import EVENTS, Absent, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeLabels, ProbeOwner, ProbePodStatus
from kubectl_eksdoc.objects.containers import decode_containers
from kubectl_eksdoc.objects.dump_readers import event_from_document
from kubectl_eksdoc.objects.single import InvalidObjectKind

from .config import ApiAccess
from .exchanges import RetryPolicy
from .requests import Clock, RetryingClient, RetryLimits
from .responses import NotServed, RequestRefused
from .single_objects import list_objects
from .transport import KUBELET_RETRY_POLICY, ClusterReadClient, Transport, parallel_in_order, pod_path, read_or_unknown

GET_POD, GET_LOG, LIST_EVENTS = "get pods", "get pods/log", "list events"
"""The permissions that this needs, in the namespaces of the pods."""

LOG_LINES, FEWER_LOG_LINES, MAX_LOG_BYTES = 100, 5, 64 << 10
MAX_EVENTS = 500
_PARALLEL = 8


class LivePodReader(ClusterReadClient):
    """A `ports.PodReader`."""

    has_logs = True
    default_retry_policy = KUBELET_RETRY_POLICY

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """As `ports.PodReader.containers`."""
        return {
            pod: found()
            for pod, found in zip(pods, parallel_in_order(self._containers_of, pods, _PARALLEL), strict=True)
        }

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        """As `ports.PodReader.logs`."""
        return {log: found() for log, found in zip(asked, parallel_in_order(self._log, asked, _PARALLEL), strict=True)}

    def pod_report(self, pod: str) -> PodReport:
        """All information on one pod, ``namespace/name``."""
        namespace, _, name = pod.partition("/")
        containers = self.containers([pod])[pod]
        logs_to_read = [
            LogKey(namespace, name, each.name, previous)
            for each in (containers if isinstance(containers, tuple) else ())
            for previous in ((False, True) if each.ended_before else (False,))
        ]
        return PodReport(pod, containers, self._events(namespace, name), self.logs(logs_to_read))

    def _events(self, namespace: str, name: str) -> tuple[KubernetesEvent, ...] | Absent | Unknown:
        fields = {"fieldSelector": f"involvedObject.kind=Pod,involvedObject.name={name}"}

        def read() -> tuple[KubernetesEvent, ...]:
            docs = list_objects(self._transport, EVENTS, MAX_EVENTS, fields, quote(namespace, safe=""), accept="")
            events = (event_from_document(each) for each in islice(docs, MAX_EVENTS))
            return tuple(sorted((each for each in events if each is not None), key=lambda each: each.at, reverse=True))

        return read_or_unknown(read, LIST_EVENTS)

    def _containers_of(self, pod: str) -> tuple[Container, ...] | Absent | Unknown:
        try:
            return read_or_unknown(
                lambda: decode_containers(self._transport.get(pod_path(pod), right=GET_POD).body), GET_POD
            )
        except InvalidObjectKind as error:
            return Unknown(f"the answer to {GET_POD} is no pod: {error}")

    def _log(self, log: LogKey) -> str | Absent | Unknown:
        def read() -> str:
            body = self._log_lines(log, LOG_LINES)
            if len(body) >= MAX_LOG_BYTES:
                body = self._log_lines(log, FEWER_LOG_LINES)
            return body.decode("utf-8", "replace")

        return read_or_unknown(read, GET_LOG)

    def _log_lines(self, log: LogKey, lines: int) -> bytes:
        query = {"container": log.container, "tailLines": str(lines), "limitBytes": str(MAX_LOG_BYTES)}
        if log.previous:
            query["previous"] = "true"
        path = f"{pod_path(f'{log.namespace}/{log.pod}')}/log"
        return self._transport.get(path, query, right=GET_LOG, as_text=True).body


# The namespace of a live cluster in which short-lived probe pods run: the pods, and the ConfigMaps that own them.


ENFORCE_LABEL = "pod-security.kubernetes.io/enforce"
GET_PROBE_LOG = "get pods/log"
_MAX_LOG_TRIES = 3
"""A kubelet that does not answer its API server is no reason to wait."""


class LiveProbeNamespace:
    """A `ports.ProbeNamespace`. Mutable: it holds a connection."""

    def __init__(
        self,
        access: ApiAccess,
        retry_policy: RetryPolicy,
        namespace: str,
        clock: Clock,
        labels: ProbeLabels,
        retry_limits: RetryLimits = RetryLimits(),
    ) -> None:
        self._client = RetryingClient(access, retry_policy, namespace, clock, retry_limits)
        self._transport = Transport(access, replace(retry_policy, tries=_MAX_LOG_TRIES), counts_read_time=False)
        self._namespace = namespace
        self._labels = labels
        root = f"/api/v1/namespaces/{namespace}"
        self._owners_path, self._pods_path = f"{root}/configmaps", f"{root}/pods"

    def pod_security(self) -> str | Unknown:
        """As `ports.ProbeNamespace.pod_security`."""
        response = self._client.request("GET", f"/api/v1/namespaces/{self._namespace}")
        if not response.ok:
            return self._client.unknown(response, "get namespaces")
        return str((nested_field(response.doc, "metadata", "labels") or {}).get(ENFORCE_LABEL, ""))

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        """As `ports.ProbeNamespace.owners`."""
        response = self._client.request("GET", self._owners_path, {"labelSelector": self._labels.label})
        if not response.ok:
            return self._client.unknown(response, "list configmaps")
        return tuple(self._owner(item, response.date) for item in response.doc.get("items") or ())

    def _owner(self, item: Doc, now: datetime | None) -> ProbeOwner:
        metadata = item["metadata"]
        probe = str((metadata.get("labels") or {}).get(self._labels.label, ""))
        created_at = parse_time(metadata.get("creationTimestamp"))
        age_s = (now - created_at).total_seconds() if now and created_at else 0.0
        return ProbeOwner(probe, str(metadata["name"]), str(metadata.get("uid") or ""), age_s)

    def create_owner(self, doc: Doc, is_dry_run: bool = False) -> ProbeOwner | ProbeFailure:
        """As `ports.ProbeNamespace.create_owner`."""
        result = self._client.change("POST", self._owners_path, "create configmaps", doc, dry_run=is_dry_run)
        return result if isinstance(result, ProbeFailure) else self._owner(result.doc, result.date)

    def create_pod(self, doc: Doc, is_dry_run: bool = False) -> ProbeFailure | None:
        """As `ports.ProbeNamespace.create_pod`."""
        result = self._client.change("POST", self._pods_path, "create pods", doc, dry_run=is_dry_run)
        return result if isinstance(result, ProbeFailure) else None

    def pod_states(self, probe: str) -> Mapping[str, ProbePodStatus] | Unknown:
        """As `ports.ProbeNamespace.pod_states`."""
        response = self._client.get_once(self._pods_path, {"labelSelector": f"{self._labels.label}={probe}"})
        if not response.ok:
            return self._client.unknown(response, "list pods")
        states = [_pod_state(item, self._labels.container) for item in response.doc.get("items") or ()]
        return {stand.name: stand for stand in states}

    def log(self, pod: str) -> str | Unknown:
        """As `ports.ProbeNamespace.log`."""
        query = {"container": self._labels.container, "limitBytes": str(self._labels.log_bytes)}
        try:
            response = self._transport.get(f"{self._pods_path}/{pod}/log", query, right=GET_PROBE_LOG, as_text=True)
        except Forbidden as error:
            return Unknown(f"its log cannot be read: {error.message}", GET_PROBE_LOG)
        except (NotServed, RequestRefused, Unreachable) as error:
            return Unknown(f"its log cannot be read: {error.message}")
        return response.body.decode("utf-8", "replace")

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        """As `ports.ProbeNamespace.remove`."""
        body: Doc = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if owner.uid:
            body["preconditions"] = {"uid": owner.uid}
        response = self._client.request("DELETE", f"{self._owners_path}/{owner.name}", body=body)
        return (
            None if response.ok or response.code in (404, 409) else self._client.unknown(response, "delete configmaps")
        )


def _pod_state(item: Doc, container: str) -> ProbePodStatus:
    status: Mapping[str, Any] = item.get("status") or {}
    containers = status.get("containerStatuses") or ()
    state: Doc = next((each.get("state") or {} for each in containers if each.get("name") == container), {})
    waiting, terminated = state.get("waiting") or {}, state.get("terminated")
    return ProbePodStatus(
        str(item["metadata"]["name"]),
        str(status.get("phase") or "Pending"),
        str(status.get("reason") or ""),
        str(status.get("message") or (terminated or {}).get("message") or ""),
        str(waiting.get("reason") or ""),
        str(waiting.get("message") or ""),
        None if terminated is None else int(terminated.get("exitCode") or 0),
        "" if terminated is None else str(terminated.get("reason") or ""),
        state.get("running") is not None,
    )
