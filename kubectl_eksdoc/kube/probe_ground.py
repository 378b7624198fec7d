"""The namespace of a live cluster in which short-lived pods of ours run: they themselves, and what owns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.probe_pods import Marks, NotMade, Owner, PodStand
from kubectl_eksdoc.errors import Forbidden, Unreachable
from kubectl_eksdoc.kube.answers import NotServed, Refused
from kubectl_eksdoc.kube.cautious import Cautious
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.patience import Patience
from kubectl_eksdoc.kube.sent import Clock
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.kube.tries import Tries

ENFORCED = "pod-security.kubernetes.io/enforce"
GET_LOG = "get pods/log"
_LOG_TRIES = 3
"""A kubelet that does not answer its API server is no reason to wait."""


class ProbeGround:
    """A `flows.ports.ProbeGround`. Mutable: it holds a connection."""

    def __init__(
        self, access: Access, patience: Patience, namespace: str, clock: Clock, marks: Marks, tries: Tries = Tries()
    ) -> None:
        self._server = Cautious(access, patience, namespace, clock, tries)
        self._transport = Transport(access, replace(patience, tries=_LOG_TRIES), together=False)
        self._namespace = namespace
        self._marks = marks
        root = f"/api/v1/namespaces/{namespace}"
        self._owners, self._pods = f"{root}/configmaps", f"{root}/pods"

    def pod_security(self) -> str | Unknown:
        """As `flows.ports.ProbeGround.pod_security`."""
        sent = self._server.asked("GET", f"/api/v1/namespaces/{self._namespace}")
        if not sent.ok:
            return self._server.unknown(sent, "get namespaces")
        return str((at(sent.doc, "metadata", "labels") or {}).get(ENFORCED, ""))

    def owners(self) -> tuple[Owner, ...] | Unknown:
        """As `flows.ports.ProbeGround.owners`."""
        sent = self._server.asked("GET", self._owners, {"labelSelector": self._marks.label})
        if not sent.ok:
            return self._server.unknown(sent, "list configmaps")
        return tuple(self._owner(item, sent.date) for item in sent.doc.get("items") or ())

    def _owner(self, item: Doc, now: datetime | None) -> Owner:
        meta = item["metadata"]
        probe = str((meta.get("labels") or {}).get(self._marks.label, ""))
        age_s = 0.0 if now is None else (now - _time(str(meta.get("creationTimestamp") or ""), now)).total_seconds()
        return Owner(probe, str(meta["name"]), str(meta.get("uid") or ""), age_s)

    def make_owner(self, doc: Doc, dry: bool = False) -> Owner | NotMade:
        """As `flows.ports.ProbeGround.make_owner`."""
        made = self._server.changed("POST", self._owners, "create configmaps", doc, dry=dry)
        return made if isinstance(made, NotMade) else self._owner(made.doc, made.date)

    def make_pod(self, doc: Doc, dry: bool = False) -> NotMade | None:
        """As `flows.ports.ProbeGround.make_pod`."""
        made = self._server.changed("POST", self._pods, "create pods", doc, dry=dry)
        return made if isinstance(made, NotMade) else None

    def stands(self, probe: str) -> Mapping[str, PodStand] | Unknown:
        """As `flows.ports.ProbeGround.stands`."""
        sent = self._server.once(self._pods, {"labelSelector": f"{self._marks.label}={probe}"})
        if not sent.ok:
            return self._server.unknown(sent, "list pods")
        found = [_stand(item, self._marks.container) for item in sent.doc.get("items") or ()]
        return {stand.name: stand for stand in found}

    def log(self, pod: str) -> str | Unknown:
        """As `flows.ports.ProbeGround.log`."""
        query = {"container": self._marks.container, "limitBytes": str(self._marks.log_bytes)}
        try:
            answer = self._transport.get(f"{self._pods}/{pod}/log", query, right=GET_LOG, of_text=True)
        except Forbidden as error:
            return Unknown(f"its log cannot be read: {error.message}", GET_LOG)
        except (NotServed, Refused, Unreachable) as error:
            return Unknown(f"its log cannot be read: {error.message}")
        return answer.body.decode("utf-8", "replace")

    def remove(self, owner: Owner) -> Unknown | None:
        """As `flows.ports.ProbeGround.remove`."""
        body: Doc = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if owner.uid:
            body["preconditions"] = {"uid": owner.uid}
        sent = self._server.asked("DELETE", f"{self._owners}/{owner.name}", body=body)
        return None if sent.ok or sent.code in (404, 409) else self._server.unknown(sent, "delete configmaps")


def _time(text: str, otherwise: datetime) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return otherwise


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
