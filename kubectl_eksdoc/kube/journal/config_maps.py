"""ConfigMaps of one namespace: reads that are tried again until they are answered, and writes that are sent once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kubectl_eksdoc.errors import JournalError
from kubectl_eksdoc.kube.sending import RetryLimits
from kubectl_eksdoc.kube.sent import JSON, MANAGER, MERGE_PATCH, UNASKED, Clock, RequestSender, SentRequest, refused
from kubectl_eksdoc.model.api_objects import Doc, at


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """`version` is its resourceVersion."""

    name: str
    uid: str
    version: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    data: Mapping[str, str] = field(repr=False)


class ConfigMaps:
    def __init__(
        self,
        sender: RequestSender,
        namespace: str,
        clock: Clock,
        tries: RetryLimits = RetryLimits(),
        fence: Callable[[], object] = lambda: None,
        refused_s: float = 0.0,
    ) -> None:
        """`fence` is asked before each try to read: what it raises, reading does, too. `refused_s`: so long it is asked
        again where credentials or rights are refused, until that is believed."""
        self.namespace = namespace
        self.clock = clock
        self.tries = tries
        self._sender = sender
        self._fence = fence
        self._refused_s = refused_s
        self._path = f"/api/v1/namespaces/{namespace}/configmaps"

    def get(self, name: str) -> ConfigMap | None:
        """
        Raises:
            JournalError: no answer, or a refusal, for as long as we are patient.
            Unauthorized, Forbidden
        """
        sent = self._read(f"{self._path}/{name}", {}, "get configmaps")
        return None if sent.code == 404 else config_map(sent.doc)

    def find(self, selector: str) -> Sequence[ConfigMap]:
        """All at one moment, by their labels. Raises: as `get`."""
        sent = self._read(self._path, {"labelSelector": selector}, "list configmaps")
        items = sent.doc.get("items", "") if sent.ok else None
        if not (items is None or isinstance(items, list)) or at(sent.doc, "metadata", "continue"):
            raise self.unread("list configmaps", sent)
        return [config_map(item) for item in items or ()]

    def create(self, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], data: Doc) -> SentRequest:
        meta = {"name": name, "namespace": self.namespace, "labels": dict(labels), "annotations": dict(annotations)}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}
        return self._sender.send("POST", self._path, MANAGER, body, JSON)

    def patch(self, name: str, version: str, annotations: Mapping[str, str], data: Doc) -> SentRequest:
        """Refused with 409 where it has another version."""
        meta: Doc = {"resourceVersion": version}
        if annotations:
            meta["annotations"] = dict(annotations)
        body = {"metadata": meta, "data": data}
        return self._sender.send("PATCH", f"{self._path}/{name}", MANAGER, body, MERGE_PATCH)

    def delete(self, name: str, uid: str) -> None:
        """Exactly this one; one that is gone is fine. Raises: as `get`."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        sent = UNASKED
        for pause in self.tries.each(self.clock):
            sent = self._sender.send("DELETE", f"{self._path}/{name}", {}, body, JSON)
            if sent.ok or sent.code in (404, 409):  # 409: another has its name by now
                return
            self.check(sent, "delete configmaps", f"delete {name}", pause.tried_s)
            pause.after(sent)
        raise self.failed(f"delete {name}", sent)

    def check(self, sent: SentRequest, right: str, what: str, tried_s: float) -> None:
        """`tried_s`: so long it had been tried before.

        Raises:
            Unauthorized, Forbidden, JournalError: trying again would not change this answer.
        """
        if error := refused(sent, right, self.namespace):
            if tried_s >= self._refused_s:
                raise error
            return
        if not sent.unknown and sent.code not in (409, 429):
            raise self.failed(what, sent)

    def unread(self, what: str, sent: SentRequest) -> JournalError:
        how = f"answered {sent.code}" if sent.code else "gave no answer"
        said = f"to {what}, the server {how}: {sent.said}"
        return JournalError(
            f"the journal of runs in namespace {self.namespace} cannot be read: {said}",
            "When the cluster answers again, resume the run.",
        )

    def failed(self, what: str, sent: SentRequest) -> JournalError:
        how = f"answered {sent.code}" if sent.code else "gave no answer"
        return JournalError(
            f"the journal of the run cannot be kept in namespace {self.namespace}: to {what}, the server {how}: "
            f"{sent.said}",
            "Nothing is done that is not written down first. When the cluster answers again, resume the run.",
        )

    def _read(self, path: str, query: Mapping[str, str], right: str) -> SentRequest:
        sent = UNASKED
        for pause in self.tries.each(self.clock):
            self._fence()
            sent = self._sender.send("GET", path, query, None)
            if sent.ok or sent.code == 404:
                return sent
            self.check(sent, right, right, pause.tried_s)
            pause.after(sent)
        raise self.unread(right, sent)


def config_map(doc: Doc) -> ConfigMap:
    """What a server sends, and what others may have done to it: no value of another form gets through."""
    data = _texts(at(doc, "data"))
    labels, annotations = _texts(at(doc, "metadata", "labels")), _texts(at(doc, "metadata", "annotations"))
    name, uid, version = (str(at(doc, "metadata", key) or "") for key in ("name", "uid", "resourceVersion"))
    return ConfigMap(name, uid, version, labels, annotations, data)


def _texts(found: object) -> Mapping[str, str]:
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
