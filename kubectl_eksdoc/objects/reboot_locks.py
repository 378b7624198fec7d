"""kured's lock, as it is written on its DaemonSet: of one node, or of several where kured has a --concurrency.

Source: kubereboot/kured pkg/daemonsetlock/daemonsetlock.go (LockAnnotationValue, multiLockAnnotationValue).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import msgspec

from kubectl_eksdoc.core.model.workloads import RebootLock
from kubectl_eksdoc.objects.structs import Lean, Time

_SECOND_NS = 1_000_000_000


class _Lock(Lean):
    node: str = msgspec.field(default="", name="nodeID")
    created: Time | None = None
    ttl_ns: int = msgspec.field(default=0, name="TTL")


class _Locks(_Lock):
    locks: list[_Lock] | None = None


_decode = msgspec.json.Decoder(_Locks).decode


def reboot_locks(written: str | None) -> tuple[RebootLock, ...]:
    """Those that are held, expired ones among them; none where kured itself could not read it."""
    if not written:
        return ()
    try:
        found = _decode(written)
    except (msgspec.MsgspecError, RecursionError):
        return ()
    return tuple(_held(found))


def _held(found: _Locks) -> Iterator[RebootLock]:
    for lock in (found, *(found.locks or ())):
        if lock.node:
            expires = lock.created is not None and lock.ttl_ns > 0
            until = lock.created + timedelta(seconds=lock.ttl_ns / _SECOND_NS) if expires and lock.created else None
            yield RebootLock(lock.node, until)
