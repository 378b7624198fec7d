"""How endpoints are spread over slices: each stays where it is, and as few slices as possible are written.

Source: staging/src/k8s.io/endpointslice/reconciler.go (reconcileByPortMapping, finalize), Kubernetes v1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.sim.cluster.store import Item

MOST = 100
"""Endpoints in one slice (--max-endpoints-per-slice)."""


@dataclass(frozen=True, slots=True)
class Spread:
    """`kept`: endpoints of each slice that stays, as they are to be; `new`: of those to make; `spare`: to delete."""

    kept: tuple[tuple[Item, list[Doc]], ...]
    new: tuple[list[Doc], ...]
    spare: tuple[Item, ...]


def spread(slices: Sequence[Item], wanted: Mapping[str, Doc]) -> Spread:
    """`wanted` by the pod's UID; `slices` are those of the same ports."""
    left = dict(wanted)
    stay: dict[Item, list[Doc]] = {}
    spare: list[Item] = []
    for item in slices:
        endpoints = _stay(item, left)
        if endpoints:
            stay[item] = endpoints
        else:
            spare.append(item)
    more = list(left.values())
    touched = [item for item, endpoints in stay.items() if endpoints != (item.doc.get("endpoints") or [])]
    for item in sorted(touched, key=lambda each: -len(stay[each])):
        room = MOST - len(stay[item])
        stay[item] = stay[item] + more[:room]
        more = more[room:]
    new: list[list[Doc]] = []
    while len(more) >= MOST:
        new.append(more[:MOST])
        more = more[MOST:]
    unchanged = {item: endpoints for item, endpoints in stay.items() if item not in touched}
    if more and (fitting := _fitting(unchanged, len(more))) is not None:
        stay[fitting] = stay[fitting] + more
    elif more:
        new.append(more)
    return Spread(tuple(stay.items()), tuple(new), tuple(spare))


def _stay(item: Item, left: dict[str, Doc]) -> list[Doc]:
    """The endpoints of a slice that are still wanted, as they are wanted; taken out of `left`."""
    kept = []
    for each in item.doc.get("endpoints") or ():
        new = left.pop((each.get("targetRef") or {}).get("uid", ""), None)
        if new is not None:
            kept.append(each if new is each or new == each else new)
    return kept


def _fitting(unchanged: Mapping[Item, list[Doc]], more: int) -> Item | None:
    """The slice that they fill best without overflowing."""
    able = [(len(endpoints), item) for item, endpoints in unchanged.items() if len(endpoints) + more <= MOST]
    return max(able, key=lambda each: each[0])[1] if able else None
