"""What the demo cluster answers besides its lists."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.api_usage import KindTold, Release
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.changes import ChangesTold
from kubectl_eksdoc.core.model.containers import Container, LogOf
from kubectl_eksdoc.core.model.kinds import PODS, Resource
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.embedded.demo.files import held
from kubectl_eksdoc.embedded.demo.reader import add_others, kind_of
from kubectl_eksdoc.objects.containers import containers_of
from kubectl_eksdoc.objects.held_apis import HeldApis
from kubectl_eksdoc.objects.held_changes import HeldChanges
from kubectl_eksdoc.objects.single import decode

WHERE = "the demo"


class DemoBeside:
    """A `flows.beside.Beside` over the objects and texts of a scene, which it decodes on request."""

    def __init__(self, scene: str) -> None:
        self._scene = scene
        self._objects = held("objects", scene)

    def one(self, of: Named) -> Doc | Absent | Unknown:
        """Unknown where the namespace has no object of the kind at all, as of a dump."""
        several = self._objects.get(f"{of.api_version} {of.kind}", {})
        found = several.get(f"{of.namespace}/{of.name}")
        if found is not None:
            document: Doc = decode(found)
            return document
        if _within(several, of.namespace):
            return Absent(f"{WHERE} has no {of}")
        return _nothing(of.kind + (f" of namespace {of.namespace}" if of.namespace else ""))

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = _within(self._objects.get(kind_of(resource), {}), namespace)
        return tuple(map(decode, found)) if found else _nothing(f"{resource.kind} of namespace {namespace}")

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        all_pods = self._objects[kind_of(PODS)]
        return {
            pod: containers_of(all_pods[pod]) if pod in all_pods else Absent(f"{WHERE} has no pod {pod}")
            for pod in pods
        }

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        return {log: self._log(log) for log in asked}

    def _log(self, log: LogOf) -> str | Unknown:
        text = self._text("previous log" if log.previous else "log", f"{log.namespace}/{log.pod}/{log.container}")
        return _nothing(f"log of {log.pod}") if text is None else text

    def events(self) -> Unknown:
        return _nothing("Events")

    def metrics(self, pod: str, port: int) -> Unknown:
        return Unknown(f"{WHERE} holds nothing of what {pod} counts (port {port})")

    def requested(self) -> tuple[str, ...] | Unknown:
        return self._apis.requested()

    def written(self, resources: Sequence[Resource]) -> tuple[KindTold, ...]:
        return self._apis.written(resources)

    def releases(self) -> tuple[Release, ...] | Unknown:
        return self._apis.releases()

    def told(self) -> ChangesTold:
        changes = HeldChanges(WHERE)
        add_others(changes, self._scene)
        return changes.told()

    @cached_property
    def _apis(self) -> HeldApis:
        apis = HeldApis(WHERE, complete=True)
        add_others(apis, self._scene)
        if counted := self._text("metrics", "/metrics"):
            apis.count(counted)
        return apis

    def _text(self, kind: str, name: str) -> str | None:
        raw = held("texts", self._scene).get(kind, {}).get(name)
        return None if raw is None else str(decode(raw))


def _within(several: Mapping[str, bytes], namespace: str) -> list[bytes]:
    return [each for key, each in several.items() if key.startswith(f"{namespace}/")]


def _nothing(what: str) -> Unknown:
    return Unknown(f"{WHERE} holds no {what}")
