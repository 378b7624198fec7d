"""The demo cluster behind the reader's port: the same bytes each time, from no network and no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubectl_eksdoc.core.model.cluster import Cluster, Source
from kubectl_eksdoc.core.model.kinds import ReadState, Resource
from kubectl_eksdoc.embedded.demo.files import IDENTITY, NOW, held
from kubectl_eksdoc.objects.collector import Collector
from kubectl_eksdoc.objects.raw_objects import RawObjects


class DemoReader:
    """The demo cluster as a `flows.ports.ClusterReader`; `raw` gets all of its objects."""

    def __init__(self, raw: RawObjects | None = None, scene: str = "") -> None:
        self._raw = raw
        self._scene = scene

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """All of `resources`: nothing is ever refused here."""
        collector = Collector(Source.DEMO, self._raw)
        objects = held("objects", self._scene)
        for resource in resources:
            collector.add_page(resource, a_list(resource, objects.get(kind_of(resource), {}).values()), "the demo")
            collector.mark(resource, ReadState.READ)
        if self._raw is not None:
            add_others(self._raw, self._scene, frozenset(map(kind_of, resources)))
        return collector.cluster(IDENTITY, NOW)


def add_others(raw: RawObjects, scene: str, read: frozenset[str] = frozenset()) -> None:
    """Objects of all kinds but those that were `read`."""
    for kind, several in held("objects", scene).items():
        if kind not in read:
            api_version, _, name = kind.partition(" ")
            for each in several.values():
                raw.add_other(name, api_version, each)


def kind_of(resource: Resource) -> str:
    """The name of the resource's kind in the snapshot."""
    return f"{resource.api_version} {resource.kind}"


def a_list(resource: Resource, items: Iterable[bytes]) -> bytes:
    """`items` as the answer to a list request."""
    head = f'{{"kind":"{resource.kind}List","apiVersion":"{resource.api_version}","metadata":{{}},"items":['
    return b"".join((head.encode(), b",".join(items), b"]}"))
