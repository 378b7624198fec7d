"""The branch interfaces of pods with security groups of their own, out of their annotation and their probes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from kubectl_eksdoc.core.model.branches import Asks, Branch, Probe
from kubectl_eksdoc.objects.caches import RawError, placed
from kubectl_eksdoc.objects.structs import NO_RAW, Lean


class Probing(Lean):
    """What of a container asks whether it lives, left as it is until it is looked at."""

    name: str | None = None
    readiness_probe: msgspec.Raw = NO_RAW
    liveness_probe: msgspec.Raw = NO_RAW
    startup_probe: msgspec.Raw = NO_RAW


class _Interface(Lean):
    private_ip: str | None = None
    ipv6_addr: str | None = None


class _Probe(Lean):
    """Of the ways only the presence counts."""

    http_get: msgspec.Raw = NO_RAW
    tcp_socket: msgspec.Raw = NO_RAW
    grpc: msgspec.Raw = NO_RAW
    period_seconds: int | None = None
    failure_threshold: int | None = None


_interfaces = msgspec.json.Decoder(list[_Interface])
_probe = msgspec.json.Decoder(_Probe | None)


def branch(address: str, noted: str | None, containers: Iterable[Probing]) -> Branch:
    """`noted`: the annotation's text; one that is not what the controller writes counts as none.

    Raises:
        RawError: a probe has a wrong type.
    """
    return Branch(address, _interface(noted, address), tuple(each for one in containers for each in _probes(one)))


def _interface(noted: str | None, address: str) -> str:
    """Its address of the family that the pod's is of: in a cluster with IPv6 an interface has both."""
    try:
        found = _interfaces.decode(noted or "[]")
    except (msgspec.MsgspecError, RecursionError):
        return ""
    if not found:
        return ""
    return (found[0].ipv6_addr if ":" in address else found[0].private_ip) or ""


def _probes(container: Probing) -> Iterator[Probe]:
    for asks, raw in (
        (Asks.READINESS, container.readiness_probe),
        (Asks.LIVENESS, container.liveness_probe),
        (Asks.STARTUP, container.startup_probe),
    ):
        given = bytes(raw)
        if not given:
            continue
        try:
            decoded = _probe.decode(given)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RawError(placed(error, f"$.spec.containers[...].{asks.value}Probe")) from error
        if decoded is None:
            continue
        ways = (("httpGet", decoded.http_get), ("tcpSocket", decoded.tcp_socket), ("grpc", decoded.grpc))
        by = next((way for way, said in ways if bytes(said) not in (b"", b"null")), "")
        if by:  # an exec probe runs inside
            # Defaults as core/v1 Probe says; the server has filled them in, a dump by hand may lack them.
            yield Probe(container.name or "", asks, by, decoded.period_seconds or 10, decoded.failure_threshold or 3)
