"""What a pod's containers ask for, added up as the scheduler adds it, and what a node has to give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kubectl_eksdoc.model.placement import CPU, EPHEMERAL_STORAGE, MEMORY, Requests
from kubectl_eksdoc.model.quantities import InvalidQuantity, millis, nanos, wholes
from kubectl_eksdoc.objects.structs import RawError

Quantity = str | int | float
Amounts = Mapping[str, int]
"""Billionths by resource: sums must be exact before they are rounded."""

NOTHING: Amounts = {}
HUGE_PAGES = "hugepages-"


def amounts(given: Mapping[str, Quantity | None], path: str) -> Amounts:
    """Billionths of each resource.

    Raises:
        RawError: one of them is not an amount.
    """
    found = {}
    for name, text in given.items():
        try:
            found[name] = nanos(str(text)) if text is not None else 0
        except InvalidQuantity as error:
            raise RawError(f"{error} - at `{path}.{name}`") from error
    return found


def requests(
    containers: Iterable[Amounts], inits: Iterable[tuple[Amounts, bool]], pod: Amounts, overhead: Amounts
) -> Requests:
    """What the pod takes off a node; `inits` are in their order, each with whether it keeps running (a sidecar).

    As ``PodRequests`` of component-helpers/resource/helpers.go: containers run together, init containers one after
    the other beside the sidecars started before them; requests of the pod itself replace the sum; overhead is on top.
    """
    total: dict[str, int] = {}
    for each in containers:
        _add(total, each)
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for each, stays in inits:
        if stays:
            _add(total, each)
            _add(sidecars, each)
            moment = sidecars
        else:
            moment = dict(sidecars)
            _add(moment, each)
        _raise_to(peak, moment)
    _raise_to(total, peak)
    total.update({name: amount for name, amount in pod.items() if _for_pods(name)})
    _add(total, overhead)
    others = {name: wholes(amount) for name, amount in total.items() if is_scalar(name)}
    return Requests(
        cpu=millis(total.get(CPU, 0)),
        memory=wholes(total.get(MEMORY, 0)),
        ephemeral=wholes(total.get(EPHEMERAL_STORAGE, 0)),
        others=tuple(sorted((name, amount) for name, amount in others.items() if amount)),
    )


def allocatable(given: Amounts) -> dict[str, int]:
    """Cpu in millicores, everything else in whole units."""
    return {name: millis(amount) if name == CPU else wholes(amount) for name, amount in given.items()}


def is_scalar(name: str) -> bool:
    """Whether the scheduler counts it by its name (``IsScalarResourceName``): huge pages and what has a domain."""
    return name.startswith((HUGE_PAGES, "attachable-volumes-")) or ("/" in name and not name.startswith("requests."))


def _for_pods(name: str) -> bool:
    """Resources that may be asked for by the pod as a whole (``IsSupportedPodLevelResource``)."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], least: Amounts) -> None:
    for name, amount in least.items():
        if amount > total.get(name, 0):
            total[name] = amount
