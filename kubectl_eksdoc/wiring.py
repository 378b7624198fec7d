"""The composition root: which implementation stands behind each port.

Imports of edges are inside the functions, because what one source needs (an SDK, decoding) must not
cost another one its start-up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from kubectl_eksdoc.core.model.baseline import Baseline
    from kubectl_eksdoc.core.model.cluster import Cluster
    from kubectl_eksdoc.core.model.connection import Connection
    from kubectl_eksdoc.embedded.faults.registry import Chosen
    from kubectl_eksdoc.flows.ports import ClusterReader, Stage
    from kubectl_eksdoc.flows.run.journal import RunJournal
    from kubectl_eksdoc.kube.locking.lock import Lock
    from kubectl_eksdoc.kube.sent import Clock, Sender
    from kubectl_eksdoc.objects.raw_objects import RawObjects

Progress = Callable[[str, int], None]
"""Called with a resource's plural and the number of its objects read so far."""


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """A dump at `snapshot`, the built-in cluster if `demo`, the live cluster if neither."""

    snapshot: str = ""
    demo: bool = False

    @property
    def live(self) -> bool:
        return not (self.snapshot or self.demo)


def open_reader(
    source: SourceChoice, connection: Connection, progress: Progress | None = None, raw: RawObjects | None = None
) -> ClusterReader:
    """The reader of what the user chose; `raw` gets the objects that it reads.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        SnapshotError: the dump cannot be opened.
    """
    if source.demo:
        from kubectl_eksdoc.embedded.demo.reader import DemoReader

        return DemoReader(raw)
    if source.snapshot:
        from kubectl_eksdoc.host.snapshot import SnapshotReader

        return SnapshotReader(source.snapshot, progress, raw=raw)
    from kubectl_eksdoc.kube.reader import LiveReader

    return LiveReader(connection, progress=progress, raw=raw)


@dataclass(frozen=True, slots=True)
class Faults:
    """What is to go wrong on purpose, as users write it (``slow=2s@5%``), and the seed of its chance."""

    texts: tuple[str, ...] = ()
    seed: int = 0


def open_stage(
    source: SourceChoice, connection: Connection, progress: Progress | None = None, faults: Faults = Faults()
) -> Stage:
    """What the user chose, read, and its objects on a stage of their own: nothing there touches what was read.

    Raises:
        as `open_reader`, and as reading does; UsageError: a fault is of a node that is not there.
    """
    from kubectl_eksdoc.core.model import kinds
    from kubectl_eksdoc.embedded.stage import stage_of
    from kubectl_eksdoc.objects.raw_objects import RawObjects

    raw = RawObjects()
    observed = open_reader(source, connection, progress, raw).read(kinds.ALL)
    chosen = _chosen(faults, observed)
    return stage_of(observed, raw, chosen.cluster, faults.seed)


def _chosen(faults: Faults, observed: Cluster) -> Chosen:
    from kubectl_eksdoc.embedded.faults.registry import Chosen, check_nodes, made, parse

    if not faults.texts:
        return Chosen()
    asked = [parse(text) for text in faults.texts]
    check_nodes(asked, {node.name for node in observed.nodes})
    return made(asked, faults.seed)


@dataclass(frozen=True, slots=True)
class Serving:
    """`speed`: virtual seconds in a second. The kubeconfig is written to `kubeconfig_out` ("": a new file, which goes
    when serving is over). `ready` is called with its path and the server's address, `note` with what users should know
    of what is served."""

    speed: float
    kubeconfig_out: str
    ready: Callable[[str, str], None]
    note: Callable[[str], None]
    faults: Faults = Faults()


def serve(source: SourceChoice, connection: Connection, progress: Progress | None, how: Serving) -> None:
    """Serve the simulated cluster until the user interrupts, the terminal is closed, or the program is told to end.

    Raises:
        KeyboardInterrupt: the user insists.
        as `open_stage`; UsageError: the kubeconfig cannot be written.
    """
    import os
    import time
    from contextlib import suppress
    from threading import Event

    from kubectl_eksdoc.core.model import kinds
    from kubectl_eksdoc.core.sim.cluster.troubles import Troubled
    from kubectl_eksdoc.embedded import kubeconfigs
    from kubectl_eksdoc.embedded.loading import load_observed
    from kubectl_eksdoc.embedded.served import api_of
    from kubectl_eksdoc.embedded.serving.faults import Faulty
    from kubectl_eksdoc.embedded.serving.server import serving
    from kubectl_eksdoc.errors import UsageError
    from kubectl_eksdoc.flows.rehearse import pace_of
    from kubectl_eksdoc.host.endings import told_to_end
    from kubectl_eksdoc.objects.raw_objects import RawObjects

    raw = RawObjects()
    observed = open_reader(source, connection, progress, raw).read(kinds.ALL)
    loaded = load_observed(observed, raw)
    for note in observed.notes + loaded.notes:
        how.note(note)
    users = kubeconfigs.tokens()
    chosen = _chosen(how.faults, observed)
    troubled = Troubled(loaded.plane, chosen.cluster, lambda each: how.note(f"fault: {each.said}"), how.faults.seed)
    api = api_of(observed, loaded, pace_of(observed), users, how.speed, time.monotonic, troubled)
    over = Event()  # who sleeps for a fault does not hold up the end
    with told_to_end() as told, serving(Faulty(api, chosen.requests, over.wait, how.faults.seed)) as server:
        text = kubeconfigs.kubeconfig({user.name: server.url(token) for token, user in users.items()})
        try:
            path = kubeconfigs.write(text, how.kubeconfig_out)
        except OSError as error:
            where = how.kubeconfig_out or "a temporary file"
            raise UsageError(f"cannot write the kubeconfig to {where}: {error.strerror or error}") from error
        try:
            how.ready(path, server.url())
            told()
        finally:
            over.set()
            if not how.kubeconfig_out:
                with suppress(FileNotFoundError):  # whoever took it away already
                    os.unlink(path)


def read_baseline(path: str) -> Baseline:
    """A plan that was saved at `path` with ``-o json``.

    Raises:
        BaselineError: it cannot be read, or is no drain plan of this version.
    """
    from kubectl_eksdoc.host import baseline

    return baseline.read_baseline(path)


JOURNAL_NAMESPACE = "kube-system"


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where a run is written down and locked: a namespace of the cluster, and a folder by the environment and home of
    whoever runs it. `who` and `host` name them to others."""

    run: str
    who: str
    host: str
    environ: Mapping[str, str]
    home: str
    namespace: str = JOURNAL_NAMESPACE


def open_run_journal(sender: Sender, keeping: Keeping, clock: Clock | None = None) -> tuple[RunJournal, Lock]:
    """The journal of a run, to be begun or adopted when the lock is taken.

    Raises:
        JournalError: there is no folder for it.
    """
    import os
    import secrets

    from kubectl_eksdoc.flows.run.journal import RunJournal
    from kubectl_eksdoc.host.journal_file import JournalFile, runs_folder
    from kubectl_eksdoc.kube.journal.cluster_journal import ClusterJournal
    from kubectl_eksdoc.kube.journal.config_maps import ConfigMaps
    from kubectl_eksdoc.kube.locking.lock import Lock
    from kubectl_eksdoc.kube.sent import real_clock

    clock = clock or real_clock()
    writer = secrets.token_hex(3)  # in a container every process may be number 1 of the same host
    holder = f"{keeping.who}@{keeping.host}/{os.getpid()}/{keeping.run}/{writer}"
    lock = Lock(sender, keeping.namespace, holder, clock)
    folder = runs_folder(keeping.environ, keeping.home)
    there = ClusterJournal(ConfigMaps(sender, keeping.namespace, clock), writer, lock.must_be_held)
    return RunJournal(lambda run: JournalFile(folder, run), there, lock), lock


def new_run_id(now: datetime) -> str:
    """``20261120-193005-4f2a``: by its beginning in UTC, and unlike any other of that second."""
    import secrets

    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
