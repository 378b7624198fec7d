"""Metadata of synthetic objects: names, ids that never change, and times relative to a fixed time."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import Any

from kubectl_eksdoc.embedded.demo.reader import NOW

__all__ = ["NOW"]

Json = dict[str, Any]

# Kinds without a generation in the API.
_WITHOUT_GENERATION = frozenset(
    (
        "CSINode",
        "Lease",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Service",
        "StorageClass",
        "VolumeAttachment",
    )
)

_SAFE = "bcdfghjklmnpqrstvwxz2456789"  # the alphabet of generated names (apimachinery's util/rand)


@cache
def ago(minutes: float, micro: bool = False) -> str:
    """RFC 3339 time `minutes` before `NOW`; `micro` as MicroTime, which Leases use."""
    return (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.000000Z" if micro else "%Y-%m-%dT%H:%M:%SZ")


def hexadecimal(length: int, *parts: object) -> str:
    """`length` (at most 64) hexadecimal digits that depend on `parts` alone."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:length]


def suffix(length: int, *parts: object) -> str:
    """The end of a generated name, as controllers build it, but always the same for the same `parts`."""
    digest = hashlib.sha256(("name/" + "/".join(map(str, parts))).encode()).digest()
    return "".join(_SAFE[byte % len(_SAFE)] for byte in digest[:length])


def uid(kind: str, namespace: str, name: str) -> str:
    """The uid of an object, computed, so that a reference does not need the object."""
    d = hexadecimal(32, "uid", kind, namespace, name)
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:32]}"


def owner(api_version: str, kind: str, namespace: str, name: str) -> Json:
    """The controller's entry of ownerReferences."""
    return {
        "apiVersion": api_version,
        "blockOwnerDeletion": True,
        "controller": True,
        "kind": kind,
        "name": name,
        "uid": uid(kind, namespace, name),
    }


def an_object(
    api_version: str,
    kind: str,
    name: str,
    namespace: str = "",
    *,
    age: float = 40_000,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    owned_by: Json | None = None,
    **body: Any,
) -> Json:
    """An object as the API prints it, without its resourceVersion; `age` in minutes, `body` is spec, status …"""
    metadata: Json = {"name": name, "uid": uid(kind, namespace, name), "creationTimestamp": ago(age)}
    said: Json = {"namespace": namespace, "labels": dict(labels or {}), "annotations": dict(annotations or {})}
    metadata |= {key: value for key, value in said.items() if value}
    if owned_by:
        metadata["ownerReferences"] = [owned_by]
    if kind not in _WITHOUT_GENERATION:
        metadata["generation"] = 1
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}


def condition(kind: str, holds: bool, age: float, **said: Any) -> Json:
    """One entry of status.conditions."""
    return {"type": kind, "status": str(holds), "lastTransitionTime": ago(age), **said}
