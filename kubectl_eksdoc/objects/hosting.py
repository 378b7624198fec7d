"""What of their node's files pod templates mount: their hostPaths, and which sockets their containers name."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from kubectl_eksdoc.core.model.pods import Volume, VolumeKind
from kubectl_eksdoc.core.model.workloads import NO_HOST_FILES, HostFiles
from kubectl_eksdoc.objects.caches import RawCache, Texts
from kubectl_eksdoc.objects.structs import NO_RAW, Lean


class HostPath(Lean):
    path: str | None = None
    type: str | None = None


class VolumeEntry(Lean):
    name: str | None = None
    host_path: HostPath | None = None


class Variable(Lean):
    value: str | None = None


class Container(Lean):
    command: list[str] | None = None
    args: list[str] | None = None
    env: list[Variable] | None = None


class HostingSpec(Lean):
    """The part of a template's spec that is read here."""

    volumes: msgspec.Raw = NO_RAW
    containers: msgspec.Raw = NO_RAW
    init_containers: msgspec.Raw = NO_RAW


_SOCKET = ".sock"


class Hosting:
    """The host files of one observation. Most templates have no hostPath: of those the containers are not decoded."""

    __slots__ = ("_pool", "_share", "_volumes", "_words")

    def __init__(self, share: Texts) -> None:
        self._share = share
        self._pool: dict[HostFiles, HostFiles] = {}
        each = "$.spec[...]template.spec"
        self._volumes: RawCache[list[VolumeEntry], tuple[Volume, ...]] = RawCache(
            f"{each}.volumes", list[VolumeEntry] | None, self._paths, ()
        )
        self._words: RawCache[list[Container], tuple[str, ...]] = RawCache(
            f"{each}.containers", list[Container] | None, self._named, ()
        )

    def __call__(self, spec: HostingSpec) -> HostFiles:
        """
        Raises:
            RawError: a part that is decoded late has a wrong type.
        """
        volumes = self._volumes(spec.volumes) if spec.volumes is not NO_RAW else ()
        if not volumes:
            return NO_HOST_FILES
        words = (*self._words(spec.init_containers), *self._words(spec.containers))
        found = HostFiles(volumes, tuple(dict.fromkeys(words)))
        return self._pool.setdefault(found, found)

    def _paths(self, given: list[VolumeEntry]) -> tuple[Volume, ...]:
        text = self._share.text
        return tuple(
            Volume(
                text(each.name), VolumeKind.HOST_PATH, text(each.host_path.path), path_type=text(each.host_path.type)
            )
            for each in given
            if each.host_path is not None
        )

    def _named(self, given: list[Container]) -> tuple[str, ...]:
        return tuple(word for each in given for word in _words(each) if _SOCKET in word)


def _words(of: Container) -> Iterator[str]:
    yield from of.command or ()
    yield from of.args or ()
    yield from (variable.value for variable in of.env or () if variable.value)
