"""Who is who where a dump has lost its uids: identities made of names, and references that lead to them.

Facts are looked up by uid, and an empty one would make one object of many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from kubectl_eksdoc.model.network import Endpoint, EndpointSlice
from kubectl_eksdoc.model.pods import ControllerOwner, Pod
from kubectl_eksdoc.model.workloads import Job, Workload

Owned = TypeVar("Owned", Pod, Workload, Job)
Uids = Mapping[tuple[str, str], str]
"""The uids of one kind by (namespace, name), "" where the dump has none; cluster-scoped kinds have namespace ""."""


def identity_of(kind: str, namespace: str, name: str) -> str:
    """``Pod/shop/web-0`` or ``Node/old-1``: no uid looks like that, and no two objects share it."""
    return f"{kind}/{namespace}/{name}" if namespace else f"{kind}/{name}"


def note(counts: Mapping[str, int]) -> str:
    """What to tell the user of the objects without a uid, by kind; "" when there are none."""
    told = [f"{count:,} {kind}{'s' if count != 1 else ''}" for kind, count in sorted(counts.items()) if count]
    return f"without a uid, so known by kind, namespace and name: {', '.join(told)}" if told else ""


@dataclass(frozen=True, slots=True)
class References:
    """Leads references to objects as they are known here. `uids` by (kind, group); `whole`: no uid is missing."""

    uids: Mapping[tuple[str, str], Uids]
    whole: bool

    def of_owned(self, facts: Iterable[Owned]) -> tuple[Owned, ...]:
        """`facts` with owners that can be found by their uid."""
        shared: dict[ControllerOwner, ControllerOwner] = {}
        return tuple(self._owned(fact, shared) for fact in facts)

    def of_slices(self, slices: Iterable[EndpointSlice]) -> tuple[EndpointSlice, ...]:
        """`slices` with endpoints whose pods can be found by their uid."""
        return tuple(self._slice(piece) for piece in slices)

    def _owned(self, fact: Owned, shared: dict[ControllerOwner, ControllerOwner]) -> Owned:
        owner = fact.owner
        if owner is None or (owner.uid and self.whole):
            return fact
        uid = self._uid((owner.kind, owner.group), fact.namespace, owner.name, owner.uid)
        if uid == owner.uid:
            return fact
        found = replace(owner, uid=uid)
        return replace(fact, owner=shared.setdefault(found, found))

    def _slice(self, piece: EndpointSlice) -> EndpointSlice:
        if self.whole and all(e.pod_uid or not e.pod_name for e in piece.endpoints):
            return piece
        return replace(piece, endpoints=tuple(self._endpoint(e, piece.namespace) for e in piece.endpoints))

    def _endpoint(self, endpoint: Endpoint, namespace: str) -> Endpoint:
        if not endpoint.pod_name:
            return endpoint
        return replace(endpoint, pod_uid=self._uid(("Pod", ""), namespace, endpoint.pod_name, endpoint.pod_uid))

    def _uid(self, kind: tuple[str, str], namespace: str, name: str, told: str) -> str:
        """The uid a reference tells, unless it tells none or the object itself has lost its own."""
        known = self.uids.get(kind, {})
        for place in (namespace, ""):
            uid = known.get((place, name))
            if uid is not None:
                return (told or uid) if uid else identity_of(kind[0], place, name)
        return told or identity_of(kind[0], namespace, name)
