"""The namespace of a live cluster in which probes of the metadata service run: their pods, and what owns them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.metadata_probe import CONTAINER, PROBE_LABEL, NotMade, Owner, PodStand
from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized, Unreachable
from kubectl_eksdoc.kube.answers import NotServed, Refused
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.exchanges import Exchanges
from kubectl_eksdoc.kube.patience import Patience, real_timing
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import JSON, MANAGER, UNASKED, Clock, Sent, refused
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.kube.tries import Tries

ENFORCED = "pod-security.kubernetes.io/enforce"
MOST_BYTES = 1 << 16
GET_LOG = "get pods/log"
_LOG_TRIES = 3
"""A kubelet that does not answer its API server is no reason to wait."""


class ProbeGround:
    """A `flows.ports.ProbeGround`. Mutable: it holds a connection."""

    def __init__(
        self, access: Access, patience: Patience, namespace: str, clock: Clock, tries: Tries = Tries()
    ) -> None:
        self._sender = Sender(Exchanges(access, patience, real_timing()))
        self._transport = Transport(access, replace(patience, tries=_LOG_TRIES))
        self._namespace = namespace
        self._clock = clock
        self._tries = tries
        root = f"/api/v1/namespaces/{namespace}"
        self._owners, self._pods = f"{root}/configmaps", f"{root}/pods"

    def pod_security(self) -> str | Unknown:
        """As `flows.ports.ProbeGround.pod_security`."""
        sent = self._asked("GET", f"/api/v1/namespaces/{self._namespace}", self._tries)
        if not sent.ok:
            return self._unknown(sent, "get namespaces")
        return str((at(sent.doc, "metadata", "labels") or {}).get(ENFORCED, ""))

    def owners(self) -> tuple[Owner, ...] | Unknown:
        """As `flows.ports.ProbeGround.owners`."""
        sent = self._asked("GET", self._owners, self._tries, {"labelSelector": PROBE_LABEL})
        if not sent.ok:
            return self._unknown(sent, "list configmaps")
        return tuple(self._owner(item, sent.date) for item in sent.doc.get("items") or ())

    def _owner(self, item: Doc, now: datetime | None) -> Owner:
        meta = item["metadata"]
        probe = str((meta.get("labels") or {}).get(PROBE_LABEL, ""))
        age_s = 0.0 if now is None else (now - _time(str(meta.get("creationTimestamp") or ""), now)).total_seconds()
        return Owner(probe, str(meta["name"]), str(meta.get("uid") or ""), age_s)

    def make_owner(self, doc: Doc) -> Owner | NotMade:
        """As `flows.ports.ProbeGround.make_owner`."""
        sent = self._sender.send("POST", self._owners, MANAGER, doc, JSON)
        return self._owner(sent.doc, sent.date) if sent.ok else self._not_made(sent, "create configmaps")

    def make_pod(self, doc: Doc, dry: bool = False) -> NotMade | None:
        """As `flows.ports.ProbeGround.make_pod`."""
        query = {**MANAGER, "dryRun": "All"} if dry else MANAGER
        sent = self._sender.send("POST", self._pods, query, doc, JSON)
        return None if sent.ok else self._not_made(sent, "create pods")

    def stands(self, probe: str) -> Mapping[str, PodStand] | Unknown:
        """As `flows.ports.ProbeGround.stands`."""
        query = {"labelSelector": f"{PROBE_LABEL}={probe}"}
        sent = self._sender.send("GET", self._pods, query, None)
        if not sent.ok:
            return self._unknown(sent, "list pods")
        found = [_stand(item) for item in sent.doc.get("items") or ()]
        return {stand.name: stand for stand in found}

    def log(self, pod: str) -> str | Unknown:
        """As `flows.ports.ProbeGround.log`."""
        query = {"container": CONTAINER, "limitBytes": str(MOST_BYTES)}
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
        sent = self._asked("DELETE", f"{self._owners}/{owner.name}", self._tries, body=body)
        return None if sent.ok or sent.code in (404, 409) else self._unknown(sent, "delete configmaps")

    def _asked(
        self, method: str, path: str, tries: Tries, query: Mapping[str, str] | None = None, body: Doc | None = None
    ) -> Sent:
        """Asked again while nobody answers, or says that it cannot just now: what may be done twice."""
        sent = UNASKED
        for pause in tries.each(self._clock):
            sent = self._sender.send(method, path, query or {}, body, JSON)
            if not sent.unknown and sent.code != 429:
                return sent
            pause.after(sent)
        return sent

    def _unknown(self, sent: Sent, right: str) -> Unknown:
        """
        Raises:
            Unauthorized: nothing more can be asked.
        """
        error = self._refused(sent, right)
        if error is not None:
            return Unknown(error.message, right)
        how = f"answered {sent.code}" if sent.code else "gave no answer"
        return Unknown(f"to {right}, the server {how}: {sent.said}")

    def _not_made(self, sent: Sent, right: str) -> NotMade:
        error = self._refused(sent, right)
        if error is not None:
            return NotMade(error.message, right)
        how = f"answered {sent.code}" if sent.code else "gave no answer"
        return NotMade(f"to {right}, the server {how}: {sent.said}", maybe=sent.unknown)

    def _refused(self, sent: Sent, right: str) -> ClusterError | None:
        error = refused(sent, right, self._namespace)
        if isinstance(error, Unauthorized):
            raise Unauthorized(error.message, "Sign in anew, and probe again.")
        return error


def _time(text: str, otherwise: datetime) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except ValueError:
        return otherwise


def _stand(item: Doc) -> PodStand:
    status: Mapping[str, Any] = item.get("status") or {}
    containers = status.get("containerStatuses") or ()
    state: Doc = next((each.get("state") or {} for each in containers if each.get("name") == CONTAINER), {})
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
    )
