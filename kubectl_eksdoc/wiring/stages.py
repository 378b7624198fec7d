"""Simulated clusters: for a rehearsal, or behind an API server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.session.sources import Progress, SourceChoice, open_reader

if TYPE_CHECKING:
    from kubectl_eksdoc.embedded.faults import FaultSet
    from kubectl_eksdoc.model.cluster import Cluster
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.ports import SimulatedCluster
    from kubectl_eksdoc.simulator.kubelets import KubeletTimes


@frozen
class RequestedFaults:
    """Requested faults, as users write them (``slow=2s@5%``), and the seed of the random numbers."""

    fault_texts: tuple[str, ...] = ()
    seed: int = 0


def open_stage(
    source: SourceChoice,
    connection: Connection,
    progress: Progress | None = None,
    faults: RequestedFaults = RequestedFaults(),
) -> SimulatedCluster:
    """Read the chosen source and load its objects into a simulated cluster; the source is not changed.

    Raises:
        as `open_reader`, and as reading does; UsageError: a fault names a node that does not exist.
    """
    from kubectl_eksdoc.embedded.stage import build_stage
    from kubectl_eksdoc.model import kinds
    from kubectl_eksdoc.objects.single import RawObjects

    raw = RawObjects()
    observed = open_reader(source, connection, progress, raw=raw).read(kinds.ALL)
    fault_set = _build_faults(faults, observed)
    return build_stage(observed, raw, fault_set.cluster, faults.seed)


def _build_faults(faults: RequestedFaults, observed: Cluster) -> FaultSet:
    from kubectl_eksdoc.embedded.faults import FaultSet, build_faults, check_nodes, parse_fault

    if not faults.fault_texts:
        return FaultSet()
    requests = [parse_fault(text) for text in faults.fault_texts]
    check_nodes(requests, {node.name for node in observed.nodes})
    return build_faults(requests, faults.seed)


@frozen
class ServeSettings:
    """`speed`: virtual seconds per second. The kubeconfig is written to `kubeconfig_out` ("": a temporary file, removed
    at the end). `ready` is called with its path and the server's address, `note` with remarks for users;
    `kubelet_times` returns pod start and stop times."""

    speed: float
    kubeconfig_out: str
    ready: Callable[[str, str], None]
    note: Callable[[str], None]
    kubelet_times: Callable[[Cluster], KubeletTimes]
    faults: RequestedFaults = RequestedFaults()


def serve(source: SourceChoice, connection: Connection, progress: Progress | None, settings: ServeSettings) -> None:
    """Serve the simulated cluster until the user interrupts, the terminal is closed, or the process is told to end.

    Raises:
        KeyboardInterrupt: the user interrupts again.
        as `served`.
    """
    from kubectl_eksdoc.host.processes import stop_signal_waiter

    with (
        stop_signal_waiter() as wait_for_end,
        served(source, connection, progress, settings, tells_speed=True) as (path, address),
    ):
        settings.ready(path, address)
        wait_for_end()


@contextmanager
def served(
    source: SourceChoice,
    connection: Connection,
    progress: Progress | None,
    settings: ServeSettings,
    tells_speed: bool = False,
) -> Iterator[tuple[str, str]]:
    """Serve the simulated cluster while it is open; yields the path of a kubeconfig, and the server's address. With
    `tells_speed` the server version contains the speed, for clients whose clock is slower.

    Raises:
        as `open_stage`; UsageError: the kubeconfig cannot be written.
    """
    import os
    import time

    from kubectl_eksdoc.embedded import stage
    from kubectl_eksdoc.embedded.demo.reader import demo_services
    from kubectl_eksdoc.embedded.loading import load_observed
    from kubectl_eksdoc.embedded.serving.faults import FaultyHandler
    from kubectl_eksdoc.embedded.serving.handler import serving
    from kubectl_eksdoc.embedded.stage import build_api, server_version
    from kubectl_eksdoc.errors import UsageError
    from kubectl_eksdoc.model import kinds
    from kubectl_eksdoc.model.cluster import simulated_version
    from kubectl_eksdoc.objects.single import RawObjects
    from kubectl_eksdoc.simulator.faults import FaultyControlPlane

    raw = RawObjects()
    observed = open_reader(source, connection, progress, raw=raw).read(kinds.ALL)
    loaded = load_observed(observed, raw)
    for note in observed.with_invalid(loaded.invalid).notes + loaded.notes:
        settings.note(note)
    users = stage.new_tokens()
    fault_set = _build_faults(settings.faults, observed)
    faulty_plane = FaultyControlPlane(
        loaded.plane, fault_set.cluster, lambda each: settings.note(f"fault: {each.message}"), settings.faults.seed
    )
    services = demo_services() if source.demo else None
    version = simulated_version(server_version(observed), settings.speed if tells_speed else 1.0)
    served_cluster = replace(observed, identity=replace(observed.identity, server_version=version))
    api = build_api(
        served_cluster,
        loaded,
        settings.kubelet_times(observed),
        users,
        settings.speed,
        time.monotonic,
        faulty_plane,
        services,
        settings.note,
    )
    ended = Event()  # sleeps of injected faults do not delay the end
    with serving(FaultyHandler(api, fault_set.requests, ended.wait, settings.faults.seed)) as server:
        text = stage.kubeconfig({user.name: server.url(token) for token, user in users.items()})
        try:
            path = stage.write_kubeconfig(text, settings.kubeconfig_out)
        except OSError as error:
            path_text = settings.kubeconfig_out or "a temporary file"
            raise UsageError(f"cannot write the kubeconfig to {path_text}: {error.strerror or error}") from error
        try:
            yield path, server.url()
        finally:
            ended.set()
            if not settings.kubeconfig_out:
                with suppress(FileNotFoundError):  # already removed by another process
                    os.unlink(path)
