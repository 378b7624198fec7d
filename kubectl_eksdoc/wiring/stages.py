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
class Faults:
    """Requested faults, as users write them (``slow=2s@5%``), and the seed of the random numbers."""

    texts: tuple[str, ...] = ()
    seed: int = 0


def open_stage(
    source: SourceChoice, connection: Connection, progress: Progress | None = None, faults: Faults = Faults()
) -> SimulatedCluster:
    """Read the chosen source and load its objects into a simulated cluster; the source is not changed.

    Raises:
        as `open_reader`, and as reading does; UsageError: a fault names a node that does not exist.
    """
    from kubectl_eksdoc.embedded.stage import stage_of
    from kubectl_eksdoc.model import kinds
    from kubectl_eksdoc.objects.single import RawObjects

    raw = RawObjects()
    observed = open_reader(source, connection, progress, raw=raw).read(kinds.ALL)
    chosen = _chosen(faults, observed)
    return stage_of(observed, raw, chosen.cluster, faults.seed)


def _chosen(faults: Faults, observed: Cluster) -> FaultSet:
    from kubectl_eksdoc.embedded.faults import FaultSet, check_nodes, made, parse

    if not faults.texts:
        return FaultSet()
    asked = [parse(text) for text in faults.texts]
    check_nodes(asked, {node.name for node in observed.nodes})
    return made(asked, faults.seed)


@frozen
class Serving:
    """`speed`: virtual seconds per second. The kubeconfig is written to `kubeconfig_out` ("": a temporary file, removed
    at the end). `ready` is called with its path and the server's address, `note` with remarks for users;
    `kubelet_times` returns pod start and stop times."""

    speed: float
    kubeconfig_out: str
    ready: Callable[[str, str], None]
    note: Callable[[str], None]
    pace: Callable[[Cluster], KubeletTimes]
    faults: Faults = Faults()


def serve(source: SourceChoice, connection: Connection, progress: Progress | None, how: Serving) -> None:
    """Serve the simulated cluster until the user interrupts, the terminal is closed, or the process is told to end.

    Raises:
        KeyboardInterrupt: the user interrupts again.
        as `served`.
    """
    from kubectl_eksdoc.host.processes import told_to_end

    with told_to_end() as told, served(source, connection, progress, how, tells_speed=True) as (path, address):
        how.ready(path, address)
        told()


@contextmanager
def served(
    source: SourceChoice, connection: Connection, progress: Progress | None, how: Serving, tells_speed: bool = False
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
    from kubectl_eksdoc.embedded.serving.faults import Faulty
    from kubectl_eksdoc.embedded.serving.handler import serving
    from kubectl_eksdoc.embedded.stage import api_of, version_of
    from kubectl_eksdoc.errors import UsageError
    from kubectl_eksdoc.model import kinds
    from kubectl_eksdoc.model.cluster import played
    from kubectl_eksdoc.objects.single import RawObjects
    from kubectl_eksdoc.simulator.faults import FaultyControlPlane

    raw = RawObjects()
    observed = open_reader(source, connection, progress, raw=raw).read(kinds.ALL)
    loaded = load_observed(observed, raw)
    for note in observed.leaving_out(loaded.invalid).notes + loaded.notes:
        how.note(note)
    users = stage.tokens()
    chosen = _chosen(how.faults, observed)
    troubled = FaultyControlPlane(
        loaded.plane, chosen.cluster, lambda each: how.note(f"fault: {each.said}"), how.faults.seed
    )
    services = demo_services() if source.demo else None
    version = played(version_of(observed), how.speed if tells_speed else 1.0)
    named = replace(observed, identity=replace(observed.identity, server_version=version))
    api = api_of(named, loaded, how.pace(observed), users, how.speed, time.monotonic, troubled, services, how.note)
    over = Event()  # sleeps of injected faults do not delay the end
    with serving(Faulty(api, chosen.requests, over.wait, how.faults.seed)) as server:
        text = stage.kubeconfig({user.name: server.url(token) for token, user in users.items()})
        try:
            path = stage.write(text, how.kubeconfig_out)
        except OSError as error:
            where = how.kubeconfig_out or "a temporary file"
            raise UsageError(f"cannot write the kubeconfig to {where}: {error.strerror or error}") from error
        try:
            yield path, server.url()
        finally:
            over.set()
            if not how.kubeconfig_out:
                with suppress(FileNotFoundError):  # already removed by another process
                    os.unlink(path)
