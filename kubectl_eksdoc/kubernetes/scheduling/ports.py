"""NodePorts: a port of the node belongs to one pod (plugins/nodeports, HostPortInfo of framework/types.go)."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.kubernetes.scheduling.refusals import SchedulerFilter, SchedulingRefusal
from kubectl_eksdoc.model.placement import HostPort

EVERYWHERE = "0.0.0.0"

_REFUSED = SchedulingRefusal(
    SchedulerFilter.NODE_PORTS, ("node(s) didn't have free ports for the requested pod ports",), resolvable=True
)


class UsedPorts:
    """The ports taken on one node: how many pods hold each address, by protocol and number."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[tuple[str, int], dict[str, int]] = {}

    def add(self, ports: Iterable[HostPort], count: int = 1) -> None:
        """`count` pods take the ports; a negative number of pods gives them back."""
        for port in ports:
            held = self._held.setdefault((port.protocol, port.port), {})
            held[port.address] = held.get(port.address, 0) + count
            if not held[port.address]:
                del held[port.address]

    def taken(self, port: HostPort) -> bool:
        """Every address conflicts with any other address."""
        held = self._held.get((port.protocol, port.port))
        if not held:
            return False
        return port.address == EVERYWHERE or port.address in held or EVERYWHERE in held


def refusal(ports: Iterable[HostPort], used: UsedPorts) -> SchedulingRefusal | None:
    return _REFUSED if any(used.taken(port) for port in ports) else None
