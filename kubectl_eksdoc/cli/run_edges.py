"""What the commands of a run are given of the world; tests give them something else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Protocol

from kubectl_eksdoc.cli.called import late
from kubectl_eksdoc.frozen import frozen

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.measurement import Dns
    from kubectl_eksdoc.drain.run.apply import RunEdges
    from kubectl_eksdoc.drain.run.loop import DrainClock
    from kubectl_eksdoc.in_cluster.apply import PlacingGround
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.journal import Entries
    from kubectl_eksdoc.model.permissions import Permission, Review
    from kubectl_eksdoc.model.placing import ProbeLabels
    from kubectl_eksdoc.ports import Field, ProbeNamespace, RunStore
    from kubectl_eksdoc.wiring.runs import Hooks, JournalLocation


class OpenGround(Protocol):
    """Where pods of ours run, found by their marks."""

    def __call__(self, connection: Connection, namespace: str, marks: ProbeLabels = ...) -> ProbeNamespace: ...


class WallClock:
    """Time as it is."""

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(timezone.utc)


@frozen
class DrainRunEdges:
    """`told_to_stop` gives how often the process was told to end while it is open."""

    open_run: Callable[[Connection, JournalLocation, float, Hooks], AbstractContextManager[RunEdges]] = late(
        "drain.run.apply.open_run"
    )
    open_runs: Callable[[Connection, JournalLocation], RunStore] = late("wiring.runs.open_runs")
    keeping: Callable[[str, str, Mapping[str, str]], JournalLocation] = late("wiring.runs.keeping_here")
    open_watch: Callable[[Connection], AbstractContextManager[Field]] = late("wiring.runs.open_watch")
    denied: Callable[[Connection, Sequence[Permission]], tuple[Permission, ...]] = late("wiring.runs.denied")
    reviewed: Callable[[Connection, Sequence[Permission]], tuple[Review, ...]] = late("wiring.runs.reviewed")
    pod_report: Callable[[Connection, str], PodReport] = late("wiring.runs.pod_report")
    new_run_id: Callable[[datetime], str] = late("wiring.runs.new_run_id")
    earlier_journals: Callable[[Mapping[str, str], str], dict[str, Entries]] = late("wiring.runs.earlier_journals")
    clock: DrainClock = WallClock()
    told_to_stop: Callable[[], AbstractContextManager[Callable[[], int]]] = late("host.signals.told_to_stop")
    open_ground: OpenGround = late("wiring.changes.open_ground")
    open_dns: Callable[[Connection], Dns] = late("wiring.changes.open_dns")
    packed_asker: Callable[[], bytes] = late("host.dns_load_archive.packed")
    new_probe_id: Callable[[], str] = late("wiring.changes.new_probe_id")
    open_placing: Callable[[Connection], PlacingGround] = late("wiring.changes.open_placing")
    identity_of: Callable[[Connection, AwsRequest], Identity] = late("wiring.changes.identity_of")
