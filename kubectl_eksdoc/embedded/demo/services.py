"""The instance metadata services of the demo's nodes, as its AWS describes their instances."""

from __future__ import annotations

from kubectl_eksdoc.core.model.aws.machines import MetadataOptions
from kubectl_eksdoc.embedded.demo.files import account
from kubectl_eksdoc.embedded.probed import MetadataServices


def demo_services() -> MetadataServices:
    instances = account()["instances"]
    options = {node: MetadataOptions(said["tokens"], said["hops"]) for node, said in instances.items()}
    return MetadataServices(options, {node: said["id"] for node, said in instances.items()})
