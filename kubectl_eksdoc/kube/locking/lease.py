"""A Lease as the lock sees it, and its document: times of it are those of the API server's clock.

Source: coordination.k8s.io/v1 (staging/src/k8s.io/api/coordination/v1/types.go); MicroTime has exactly six digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.objects.common import moment

CLOCK, SERVERS = "eksdoc.io/renew-time-by", "server"
"""The annotation that a renewTime is by the API server's clock: only then may that clock say that it is over."""


@dataclass(frozen=True, slots=True)
class LeaseSeen:
    """`holder` "": it is free. `duration_s` 0 and the times None: they are missing, or of no form that we know.
    `spec` is whole: it changes whenever its holder renews it."""

    holder: str
    duration_s: int
    renewed: datetime | None
    taken: datetime | None
    transitions: int
    by_server: bool
    spec: Doc
    doc: Doc


def seen(doc: Doc) -> LeaseSeen:
    spec = at(doc, "spec")
    spec = spec if isinstance(spec, dict) else {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return LeaseSeen(
        str(spec.get("holderIdentity") or ""),
        duration if isinstance(duration, int) and duration > 0 else 0,
        moment(spec.get("renewTime")),
        moment(spec.get("acquireTime")),
        transitions if isinstance(transitions, int) else 0,
        at(doc, "metadata", "annotations", CLOCK) == SERVERS,
        spec,
        doc,
    )


def new(name: str, namespace: str, spec: Doc, clock: str, labels: Mapping[str, str]) -> Doc:
    meta = {"name": name, "namespace": namespace, "labels": dict(labels), "annotations": {CLOCK: clock}}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def changed(lease: LeaseSeen, spec: Doc, clock: str) -> Doc:
    """The whole object with another spec, at the version that was seen: an update of any other is refused."""
    meta = {key: value for key, value in lease.doc.get("metadata", {}).items() if key != "managedFields"}
    meta["annotations"] = {**(meta.get("annotations") or {}), CLOCK: clock}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def micro_time(when: datetime) -> str:
    return when.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
