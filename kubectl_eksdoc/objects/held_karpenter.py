"""What of a dump the handling of interruptions is judged by, besides its lists: kept while a reader goes through it."""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.interruption import SpotEvent
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.model.named import Named, named
from kubectl_eksdoc.objects.raw_objects import RawObjects, each_of
from kubectl_eksdoc.objects.single import document
from kubectl_eksdoc.objects.spot_events import spot_event

_KINDS = ("ConfigMap", "Deployment", "ServiceAccount")
_EVENT = "Event"


class HeldKarpenter(RawObjects):
    """A `flows.ports.Objects` and a `flows.interruption.Signs` over what a reader has read into it. Mutable. `where`:
    ``the snapshot x``."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where
        self._kept: dict[Named, Doc] = {}
        self._seen: set[tuple[str, str]] = set()
        self._events: list[SpotEvent] = []
        self._has_events = False

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind in _KINDS:
            for raw in each_of(body):
                self.add_item(resource, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        self._keep(resource.kind, resource.api_version, raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        self._keep(kind, api_version, raw)

    def _keep(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        if kind not in (*_KINDS, _EVENT):
            return
        doc = document(raw)
        if doc is None:
            return
        if kind == _EVENT:
            self._has_events = True
            event = spot_event(doc)
            self._events += [event] if event is not None else []
            return
        of = named({**doc, "kind": kind, "apiVersion": api_version})
        self._seen.add((kind, of.namespace))
        if kind != "ConfigMap" or "karpenter" in of.name:
            self._kept[of] = doc

    def one(self, of: Named) -> Doc | Absent | Unknown:
        """As `flows.ports.Objects.one`; of a kind without any object of the namespace nothing is known."""
        found = self._kept.get(of)
        if found is not None:
            return found
        if (of.kind, of.namespace) in self._seen:
            return Absent(f"{self._where} has no {of}")
        return Unknown(f"{self._where} holds no {of.kind} of namespace {of.namespace}")

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """As `flows.interruption.Signs.events`."""
        return tuple(self._events) if self._has_events else Unknown(f"{self._where} holds no Events")

    def metrics(self, pod: str, port: int) -> Unknown:
        """As `flows.interruption.Signs.metrics`."""
        return Unknown(f"{self._where} holds nothing of what {pod} counts (port {port})")
