"""Single pods of a dump, found by going through it once more: which are wanted is known only after a first look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import msgspec

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.containers import Container, LogOf
from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.errors import SnapshotError
from kubectl_eksdoc.objects.containers import containers_of
from kubectl_eksdoc.objects.raw_objects import RawObjects, each_of
from kubectl_eksdoc.objects.single import NoSuchObject
from kubectl_eksdoc.objects.structs import Object


class HeldPods:
    """A `flows.ports.InsidePods`. `read` reads the pods into what it is given; `where`: ``the snapshot x``."""

    def __init__(self, read: Callable[[RawObjects], object], where: str) -> None:
        self._read = read
        self._where = where

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """As `flows.ports.InsidePods.containers`."""
        wanted = _Wanted(pods)
        try:
            if pods:
                self._read(wanted)
        except SnapshotError as error:  # as standard input, which was read to its end
            return dict.fromkeys(pods, Unknown(f"{self._where} cannot be read once more: {error.message}"))
        return {pod: self._containers(pod, wanted.kept.get(pod)) for pod in pods}

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, Unknown]:
        """As `flows.ports.InsidePods.logs`."""
        return dict.fromkeys(asked, Unknown(f"{self._where} holds no logs"))

    def _containers(self, pod: str, raw: bytes | None) -> tuple[Container, ...] | Absent | Unknown:
        if raw is None:
            return Absent(f"{self._where} has no pod {pod}")
        try:
            return containers_of(raw)
        except NoSuchObject as error:
            return Unknown(f"pod {pod} of {self._where} is none: {error}")


class _Wanted(RawObjects):
    """Keeps some pods, as they are. Mutable."""

    def __init__(self, pods: Collection[str]) -> None:
        super().__init__()
        self._pods = frozenset(pods)
        self.kept: dict[str, bytes] = {}

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource is kinds.PODS:
            for raw in each_of(body):
                self.add_item(resource, raw)

    def add_item(self, resource: Resource, raw: bytes | memoryview) -> None:
        if resource is not kinds.PODS:
            return
        meta = _decode(raw).metadata
        key = f"{meta.namespace}/{meta.name}" if meta is not None else ""
        if key in self._pods:
            self.kept[key] = bytes(raw)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        """Nobody asks for others."""


_decode = msgspec.json.Decoder(Object).decode
