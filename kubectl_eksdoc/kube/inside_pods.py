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
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.interruption import PodReport, ReportedEvent
from kubectl_eksdoc.model.kinds import EVENTS, Absent, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeLabels, ProbeOwner
from kubectl_eksdoc.objects.containers import containers_of
from kubectl_eksdoc.objects.held import event
from kubectl_eksdoc.objects.single import NoSuchObject

from .config import ApiAccess
from .exchanges import RetryPolicy
from .requests import Cautious, Clock, RetryLimits
from .responses import NotServed, RequestRefused
from .single_objects import listed
from .transport import HASTY, ClusterReads, Transport, answer_of, in_order, pod_path

GET_POD, GET_LOG, LIST_EVENTS = "get pods", "get pods/log", "list events"
"""The permissions that this needs, in the namespaces of the pods."""

LINES, FEWER_LINES, MOST_BYTES = 100, 5, 64 << 10
MOST_EVENTS = 500
_AT_ONCE = 8


class LivePodReader(ClusterReads):
    """A `ports.PodReader`."""

    has_logs = True
    patience = HASTY

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """As `ports.PodReader.containers`."""
        return {pod: found() for pod, found in zip(pods, in_order(self._pod, pods, _AT_ONCE), strict=True)}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        """As `ports.PodReader.logs`."""
        return {log: found() for log, found in zip(asked, in_order(self._log, asked, _AT_ONCE), strict=True)}

    def report(self, pod: str) -> PodReport:
        """All information on one pod, ``namespace/name``."""
        namespace, _, name = pod.partition("/")
        containers = self.containers([pod])[pod]
        asked = [
            LogOf(namespace, name, each.name, previous)
            for each in (containers if isinstance(containers, tuple) else ())
            for previous in ((False, True) if each.ended_before else (False,))
        ]
        return PodReport(pod, containers, self._events(namespace, name), self.logs(asked))

    def _events(self, namespace: str, name: str) -> tuple[ReportedEvent, ...] | Absent | Unknown:
        fields = {"fieldSelector": f"involvedObject.kind=Pod,involvedObject.name={name}"}

        def read() -> tuple[ReportedEvent, ...]:
            docs = listed(self._transport, EVENTS, MOST_EVENTS, fields, quote(namespace, safe=""), accept="")
            found = (event(each) for each in islice(docs, MOST_EVENTS))
            return tuple(sorted((each for each in found if each is not None), key=lambda each: each.at, reverse=True))

        return answer_of(read, LIST_EVENTS)

    def _pod(self, pod: str) -> tuple[Container, ...] | Absent | Unknown:
        try:
            return answer_of(lambda: containers_of(self._transport.get(pod_path(pod), right=GET_POD).body), GET_POD)
        except NoSuchObject as error:
            return Unknown(f"the answer to {GET_POD} is no pod: {error}")

    def _log(self, log: LogOf) -> str | Absent | Unknown:
        def read() -> str:
            body = self._lines(log, LINES)
            if len(body) >= MOST_BYTES:
                body = self._lines(log, FEWER_LINES)
            return body.decode("utf-8", "replace")

        return answer_of(read, GET_LOG)

    def _lines(self, log: LogOf, lines: int) -> bytes:
        query = {"container": log.container, "tailLines": str(lines), "limitBytes": str(MOST_BYTES)}
        if log.previous:
            query["previous"] = "true"
        path = f"{pod_path(f'{log.namespace}/{log.pod}')}/log"
        return self._transport.get(path, query, right=GET_LOG, of_text=True).body


# The namespace of a live cluster in which short-lived probe pods run: the pods, and the ConfigMaps that own them.


ENFORCED = "pod-security.kubernetes.io/enforce"
GET_PROBE_LOG = "get pods/log"
_LOG_TRIES = 3
"""A kubelet that does not answer its API server is no reason to wait."""


class LiveProbeNamespace:
    """A `ports.ProbeNamespace`. Mutable: it holds a connection."""

    def __init__(
        self,
        access: ApiAccess,
        patience: RetryPolicy,
        namespace: str,
        clock: Clock,
        marks: ProbeLabels,
        tries: RetryLimits = RetryLimits(),
    ) -> None:
        self._server = Cautious(access, patience, namespace, clock, tries)
        self._transport = Transport(access, replace(patience, tries=_LOG_TRIES), together=False)
        self._namespace = namespace
        self._marks = marks
        root = f"/api/v1/namespaces/{namespace}"
        self._owners, self._pods = f"{root}/configmaps", f"{root}/pods"

    def pod_security(self) -> str | Unknown:
        """As `ports.ProbeNamespace.pod_security`."""
        sent = self._server.asked("GET", f"/api/v1/namespaces/{self._namespace}")
        if not sent.ok:
            return self._server.unknown(sent, "get namespaces")
        return str((at(sent.doc, "metadata", "labels") or {}).get(ENFORCED, ""))

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        """As `ports.ProbeNamespace.owners`."""
        sent = self._server.asked("GET", self._owners, {"labelSelector": self._marks.label})
        if not sent.ok:
            return self._server.unknown(sent, "list configmaps")
        return tuple(self._owner(item, sent.date) for item in sent.doc.get("items") or ())

    def _owner(self, item: Doc, now: datetime | None) -> ProbeOwner:
        meta = item["metadata"]
        probe = str((meta.get("labels") or {}).get(self._marks.label, ""))
        made = parsed(meta.get("creationTimestamp"))
        age_s = (now - made).total_seconds() if now and made else 0.0
        return ProbeOwner(probe, str(meta["name"]), str(meta.get("uid") or ""), age_s)

    def make_owner(self, doc: Doc, dry: bool = False) -> ProbeOwner | NotMade:
        """As `ports.ProbeNamespace.create_owner`."""
        made = self._server.changed("POST", self._owners, "create configmaps", doc, dry=dry)
        return made if isinstance(made, NotMade) else self._owner(made.doc, made.date)

    def make_pod(self, doc: Doc, dry: bool = False) -> NotMade | None:
        """As `ports.ProbeNamespace.create_pod`."""
        made = self._server.changed("POST", self._pods, "create pods", doc, dry=dry)
        return made if isinstance(made, NotMade) else None

    def stands(self, probe: str) -> Mapping[str, PodStand] | Unknown:
        """As `ports.ProbeNamespace.pod_states`."""
        sent = self._server.once(self._pods, {"labelSelector": f"{self._marks.label}={probe}"})
        if not sent.ok:
            return self._server.unknown(sent, "list pods")
        found = [_stand(item, self._marks.container) for item in sent.doc.get("items") or ()]
        return {stand.name: stand for stand in found}

    def log(self, pod: str) -> str | Unknown:
        """As `ports.ProbeNamespace.log`."""
        query = {"container": self._marks.container, "limitBytes": str(self._marks.log_bytes)}
        try:
            answer = self._transport.get(f"{self._pods}/{pod}/log", query, right=GET_PROBE_LOG, of_text=True)
        except Forbidden as error:
            return Unknown(f"its log cannot be read: {error.message}", GET_PROBE_LOG)
        except (NotServed, RequestRefused, Unreachable) as error:
            return Unknown(f"its log cannot be read: {error.message}")
        return answer.body.decode("utf-8", "replace")

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        """As `ports.ProbeNamespace.remove`."""
        body: Doc = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if owner.uid:
            body["preconditions"] = {"uid": owner.uid}
        sent = self._server.asked("DELETE", f"{self._owners}/{owner.name}", body=body)
        return None if sent.ok or sent.code in (404, 409) else self._server.unknown(sent, "delete configmaps")


def _stand(item: Doc, container: str) -> PodStand:
    status: Mapping[str, Any] = item.get("status") or {}
    containers = status.get("containerStatuses") or ()
    state: Doc = next((each.get("state") or {} for each in containers if each.get("name") == container), {})
    waiting, ended = state.get("waiting") or {}, state.get("terminated")
    return PodStand(
        str(item["metadata"]["name"]),
        str(status.get("phase") or "Pending"),
        str(status.get("reason") or ""),
        str(status.get("message") or (ended or {}).get("message") or ""),
        str(waiting.get("reason") or ""),
        str(waiting.get("message") or ""),
        None if ended is None else int(ended.get("exitCode") or 0),
        "" if ended is None else str(ended.get("reason") or ""),
        state.get("running") is not None,
    )
