"""Volumes and claims, as far as they decide where a pod can go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PersistentVolume:
    """`local`: its data lies on one node (a local or hostPath volume); `hostnames` are the nodes it names."""

    name: str
    uid: str
    local: bool = False
    hostnames: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    driver: str = ""
    storage_class: str = ""


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
