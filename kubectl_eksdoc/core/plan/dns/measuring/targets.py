"""Whom the pods ask: the service, as clients do, and each endpoint, so that it can be told who was silent."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import DnsService, DnsStand, Target

MOST_ENDPOINTS = 12
"""Addresses of pods that are asked: of more, the first ones by name stand for all."""


def targets(service: DnsService, stand: DnsStand) -> tuple[Target, ...]:
    """The service's addresses first."""
    of_service = [Target(f"service-{_family(address)}", address, service.port) for address in service.addresses]
    return (*of_service, *list(_endpoints(service, stand))[:MOST_ENDPOINTS])


def _endpoints(service: DnsService, stand: DnsStand) -> Iterator[Target]:
    """Of the families that the service has: a pod's other address is nobody's way to DNS."""
    families = {_family(address) for address in service.addresses}
    for pod in sorted(stand.pods, key=lambda pod: pod.name):
        for address in pod.addresses:
            known = stand.serving if not isinstance(stand.serving, Unknown) else {address}
            if pod.ready and not pod.ended and address in known and _family(address) in families:
                yield Target(f"{pod.name}-{_family(address)}", address, stand.port, pod.name)


def absent_families(service: DnsService) -> dict[str, str]:
    """Families that do not apply, and why."""
    there = {_family(address) for address in service.addresses}
    named = {"v4": "IPv4", "v6": "IPv6"}
    return {each: f"the service has no {named[each]} address" for each in ("v4", "v6") if each not in there}


def _family(address: str) -> str:
    return "v6" if ":" in address else "v4"
