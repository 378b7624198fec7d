"""What is served still and should not be asked for any more: answers carry a warning, and ``/metrics`` tells of them.

Source: apiserver pkg/endpoints/deprecation/deprecation.go (WarningMessage), pkg/endpoints/installer.go;
k8s.io/api core/v1 zz_generated.prerelease-lifecycle.go, v1.36. Of what a 1.36 server serves these two are all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kubectl_eksdoc.embedded.serving.messages import Reply
from kubectl_eksdoc.embedded.serving.metrics import DeprecatedUse
from kubectl_eksdoc.embedded.serving.targets import Target


@dataclass(frozen=True, slots=True)
class Deprecation:
    """Since minor version `since`; nothing says in which it is `removed`."""

    since: int
    instead: str = ""
    removed: str = ""


_ALL: Mapping[str, Deprecation] = {
    "endpoints": Deprecation(33, "discovery.k8s.io/v1 EndpointSlice"),
    "componentstatuses": Deprecation(19),
}


def of(target: Target, minor: int) -> Deprecation | None:
    """Of a server of that minor version; None where there is none."""
    found = _ALL.get(target.resource)
    return found if found is not None and minor >= found.since else None


def use_of(target: Target, found: Deprecation) -> DeprecatedUse:
    served = target.served
    return DeprecatedUse(served.group, served.version, served.plural, found.removed, target.subresource)


def warned(reply: Reply, target: Target, found: Deprecation) -> Reply:
    """The reply with a warning, which clients print."""
    instead = f"; use {found.instead}" if found.instead else ""
    text = f"{target.served.api_version} {target.served.kind} is deprecated in v1.{found.since}+{instead}"
    return replace(reply, headers={**reply.headers, "Warning": f'299 - "{text}"'})
