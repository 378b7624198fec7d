"""What the registry of a simulated cluster must know of a kind before objects of it are written."""

from __future__ import annotations

from kubectl_eksdoc.core.sim.cluster.registry import Registry
from kubectl_eksdoc.core.sim.cluster.traits import Traits
from kubectl_eksdoc.embedded.api.resources import Served


def known(registry: Registry, served: Served) -> Traits:
    """The traits of what is `served`, which the registry knows from now on."""
    return registry.traits.get(served.full_name) or registry.learn(
        served.plural,
        served.group,
        served.kind,
        api_version=served.api_version,
        namespaced=served.namespaced,
        has_status=served.subresource("status") is not None,
        counts=served.custom,
    )
