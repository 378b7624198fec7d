"""The facts of the applications of a generated cluster: pods, controllers, budgets, claims and volumes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from bench.world_apps import SAFE, App, suffix
from kubectl_eksdoc.kubernetes.budgets import SUFFICIENT_PODS, scale_amount
from kubectl_eksdoc.model.budgets import Budget, BudgetStatus, IntOrPercent
from kubectl_eksdoc.model.nodes import ControllerOwner, Pod, Toleration, Volume, VolumeKind
from kubectl_eksdoc.model.placement import NodeTerm, PersistentVolume, PersistentVolumeClaim
from kubectl_eksdoc.model.selectors import Requirement, from_parts
from kubectl_eksdoc.model.workloads import Workload

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=timezone.utc)

START_JITTER = 0.25
"""Deviation of the logarithm of start times between replicas of one application."""

OLDEST_S, YOUNGEST_S = 30 * 86_400, 3600
"""How long ago pods were scheduled, between these."""

_DEFAULT_TOLERATIONS = tuple(
    Toleration(f"node.kubernetes.io/{key}", "Exists", "", "NoExecute") for key in ("not-ready", "unreachable")
)
_TOLERATES_ALL = (Toleration(operator="Exists"),)


def _numbered(number: int) -> str:
    """Three characters of the same kind, different for each of 19,683 numbers."""
    (high, rest), base = divmod(number, len(SAFE) ** 2), len(SAFE)
    return SAFE[high] + SAFE[rest // base] + SAFE[rest % base]


def pod_of(app: App, number: int, node: str, chance: random.Random) -> Pod:
    """The pod of that number: it became Ready about as long after being scheduled as its siblings."""
    name = f"{app.name}-{number}" if app.stateful else f"{app.owner.name}-{suffix(chance, 2)}{_numbered(number)}"
    created = NOW - timedelta(seconds=chance.randrange(YOUNGEST_S, OLDEST_S))
    start = math.ceil(app.start_s * chance.lognormvariate(0, START_JITTER))
    claim = (Volume("data", VolumeKind.CLAIM, claim_name(app, number)),) if app.stateful else ()
    return Pod(
        namespace=app.namespace,
        name=name,
        uid=f"{chance.getrandbits(128):032x}",
        labels=app.labels,
        node=node,
        phase="Running",
        ready=True,
        owner=app.owner,
        created_at=created,
        grace_seconds=app.grace_s,
        priority=2_000_001_000 if app.daemon else 0,
        tolerations=_TOLERATES_ALL if app.daemon else _DEFAULT_TOLERATIONS,
        volumes=claim,
        scheduled_at=created,
        ready_at=created + timedelta(seconds=start),
        placement=app.placement,
    )


def claim_name(app: App, number: int) -> str:
    return f"data-{app.name}-{number}"


def claims(bound: Iterable[tuple[App, int, str]]) -> list[PersistentVolumeClaim]:
    """The claims of (StatefulSet, number of its pod, zone)."""
    found = [
        PersistentVolumeClaim(a.namespace, claim_name(a, number), _volume_name(a, number), "gp3")
        for a, number, _ in bound
    ]
    return sorted(found, key=lambda claim: (claim.namespace, claim.name))


def volumes(bound: Iterable[tuple[App, int, str]]) -> list[PersistentVolume]:
    """Volumes as the EBS CSI driver creates them: a volume can be attached in its own zone only."""
    zones: dict[str, tuple[NodeTerm, ...]] = {}
    found = []
    for app, number, zone in bound:
        terms = zones.setdefault(zone, (NodeTerm((Requirement("topology.kubernetes.io/zone", "In", (zone,)),)),))
        name = _volume_name(app, number)
        found.append(
            PersistentVolume(
                name, f"uid-{name}", zones=(zone,), driver="ebs.csi.aws.com", storage_class="gp3", terms=terms
            )
        )
    return sorted(found, key=lambda volume: volume.name)


def _volume_name(app: App, number: int) -> str:
    return f"pvc-{app.name}-{number}"


def workloads(made: Iterable[App]) -> list[Workload]:
    """The controllers; a Deployment comes with its ReplicaSet."""
    found = []
    for app in made:
        daemon = app.daemon
        tolerations = _TOLERATES_ALL if daemon else ()
        top = Workload(app.kind, app.namespace, app.name, app.uid, app.replicas, None, app.labels, tolerations)
        if app.kind == "Deployment":
            top = replace(top, surges=True, rollout_unavailable=app.replicas // 4)
            under = ControllerOwner("Deployment", app.name, app.uid, "apps")
            own = app.owner
            found.append(Workload("ReplicaSet", app.namespace, own.name, own.uid, app.replicas, under, app.labels))
        found.append(top)
    return sorted(found, key=lambda w: (w.namespace, w.name, w.kind))


def budgets(made: Iterable[App]) -> list[Budget]:
    """One for each guarded application, in sync with its pods, all of which are healthy."""
    found = [_budget(app, app.guard) for app in made if app.guard is not None]
    return sorted(found, key=lambda budget: (budget.namespace, budget.name))


def _budget(app: App, guard: IntOrPercent) -> Budget:
    desired = max(0, app.replicas - scale_amount(guard, app.replicas))
    return Budget(
        namespace=app.namespace,
        name=app.name,
        uid=f"budget-{app.uid}",
        selector=from_parts({"app": app.name}),
        status=BudgetStatus(app.replicas - desired, app.replicas, desired, app.replicas),
        max_unavailable=guard,
        generation=1,
        observed_generation=1,
        condition_status="True",
        condition_reason=SUFFICIENT_PODS,
    )
