"""The instance metadata services of the built-in cluster's nodes, as its AWS describes their instances."""

from __future__ import annotations

from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.embedded.demo.aws.pools import DEMO
from kubectl_eksdoc.embedded.demo.nodes import instance_id
from kubectl_eksdoc.embedded.probed import MetadataServices


def metadata_services() -> MetadataServices:
    machines = [(machine, pool) for pool in DEMO.pools for machine in pool.machines]
    return MetadataServices(
        {machine.name: MetadataOptions(pool.tokens, pool.hops) for machine, pool in machines},
        instances={machine.name: instance_id(machine) for machine, _ in machines},
    )
