"""Volumes and claims, as far as they decide where a pod can go."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.core.model.placement import NodeTerm


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """`local`: its data lies on one node (a local or hostPath volume); `hostnames` are the nodes it names.

    `terms` is its required node affinity, None where it has none; `zone_labels` are its own labels that name a
    zone or region, with ``__`` between alternatives.
    """

    name: str
    uid: str
    local: bool = False
    hostnames: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    driver: str = ""
    storage_class: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    zone_labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """`volume` is "" while the claim is not bound."""

    namespace: str
    name: str
    volume: str = ""
    storage_class: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class StorageClass:
    name: str
    provisioner: str = ""
    binding_mode: str = "Immediate"
