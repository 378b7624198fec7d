"""Which form of an answer a client asks for: ``application/json;as=Table;v=v1;g=meta.k8s.io,application/json``."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """What an answer is turned into before it is sent; `PLAIN` leaves it as it is."""

    kind: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"


PLAIN = Form()
TABLE = Form("Table", "meta.k8s.io", "v1")
PARTIAL = Form("PartialObjectMetadata", "meta.k8s.io", "v1")
PARTIAL_LIST = Form("PartialObjectMetadataList", "meta.k8s.io", "v1")
DISCOVERY_V2 = Form("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")
DISCOVERY_V2BETA1 = Form("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1")


def choose(accept: str, offered: Collection[Form]) -> Form | None:
    """The form the client likes best of those `offered` (`PLAIN` always is); None when it accepts none of them: 406.

    As apiserver negotiates (endpoints/handlers/negotiation): by quality, then in the order of the header; only JSON is
    spoken here, so that what asks for protobuf is passed over.
    """
    if not accept.strip():
        return PLAIN
    for form in _wanted(accept):
        if form == PLAIN or form in offered:
            return form
    return None


def _wanted(accept: str) -> Iterator[Form]:
    clauses = [_clause(text) for text in accept.split(",")]
    for media_type, parameters in sorted(clauses, key=lambda clause: -_quality(clause[1])):
        if media_type in ("application/json", "application/*", "*/*"):
            yield Form(parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))


def _clause(text: str) -> tuple[str, dict[str, str]]:
    media_type, *parameters = (part.strip() for part in text.split(";"))
    named = (parameter.partition("=") for parameter in parameters)
    return media_type.lower(), {name.strip().lower(): value.strip() for name, _, value in named}


def _quality(parameters: dict[str, str]) -> float:
    try:
        return float(parameters.get("q", "1"))
    except ValueError:
        return 1.0
