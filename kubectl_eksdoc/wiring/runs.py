"""Implementations for runs, changes and probes on the live cluster and this machine, except for the lock of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from kubectl_eksdoc.errors import LocalJournalError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.metadata import MARKS
from kubectl_eksdoc.model.permissions import Permission, Review

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.measurement import Dns
    from kubectl_eksdoc.host.journals import ChangeJournalFile
    from kubectl_eksdoc.in_cluster.apply import PlacingGround
    from kubectl_eksdoc.kube.config import ApiAccess
    from kubectl_eksdoc.kube.exchanges import RetryPolicy
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kube.requests import ApiWriter, AppliedMaps
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.model.change_journal import SavedChange
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.journal import Entries
    from kubectl_eksdoc.model.nodes import Pod
    from kubectl_eksdoc.model.placing import ProbeLabels
    from kubectl_eksdoc.ports import ClusterReader, DryRunField, Field, ProbeNamespace, RunStore


JOURNAL_NAMESPACE = "kube-system"


@frozen
class JournalLocation:
    """Where a run (its id, "" for none in particular) is journaled and locked: a namespace of the cluster, and a folder
    by the environment and home of the user. `user` and `host` identify the run's process to other clients."""

    run: str
    who: str
    host: str
    environ: Mapping[str, str]
    home: str
    namespace: str = JOURNAL_NAMESPACE


def keeping_here(run: str, namespace: str, environ: Mapping[str, str]) -> JournalLocation:
    """Return the location for the user of this process, on this machine."""
    import getpass
    import socket

    try:
        who = environ.get("USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):  # the user of a container may have no name
        who = f"user-{os.getuid()}" if hasattr(os, "getuid") else "somebody"
    home = environ.get("HOME") or os.path.expanduser("~")
    return JournalLocation(run, who, socket.gethostname(), environ, home, namespace)


def new_run_id(now: datetime) -> str:
    """``20261120-193005-4f2a``: the start in UTC, and a random suffix that makes it unique."""
    import secrets

    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


SILENCE_S, CONNECT_S = 15.0, 5.0
"""Timeouts of a run's writes, shorter than the lease of its lock: a write is repeated, or given up in time."""

KEPT_S = 75.0
"""How long writing a journal entry is retried: longer than the lease of the lock, which ends the retries if the
server does not respond at all. The lock is then held again, or lost; both are known better than whether an entry was
written."""

REFUSED_S = 30.0
"""How long credentials or permissions must be refused until a run gives up: the authenticator may be unavailable for a
moment."""


@frozen
class Hooks:
    """Shell commands of this machine before and after a wave, by `Hook.when`; `timeout_s` applies to each."""

    commands: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 600.0


@contextmanager
def open_watch(connection: Connection) -> Iterator[Field]:
    """Open a backend that only watches.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.host.processes import HookedField
    from kubectl_eksdoc.kube.live_field import LiveRunField, RenewableField

    with closing(HookedField(RenewableField(lambda: LiveRunField(connection, "")), {}, "")) as watched:
        yield watched


def open_runs(connection: Connection, keeping: JournalLocation) -> RunStore:
    """Open all runs whose journals are in the cluster, to read them and to send requests to their leaders.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.lock import Lock
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.runs import PATIENCE, ConfigMaps, StoredRuns

    clock, sender = real_clock(), sender_of(connection)
    maps = ConfigMaps(sender, keeping.namespace, clock, PATIENCE)
    return StoredRuns(maps, Lock(sender, keeping.namespace, f"{keeping.who}@{keeping.host}", clock))


def earlier_journals(environ: Mapping[str, str], cluster: str, most: int = 20) -> dict[str, Entries]:
    """Return journals of the latest runs of this machine, by run id, for the cluster with this UID; unreadable ones are
    left out."""
    from kubectl_eksdoc.host.journals import read_run, runs, runs_folder
    from kubectl_eksdoc.model.journal import RunStarted

    found: dict[str, Entries] = {}
    try:
        folder = runs_folder(environ, environ.get("HOME", ""))
        names = runs(folder) if cluster else ()
    except LocalJournalError:  # a plan can do without them
        return found
    for run in reversed(names):
        try:
            entries = read_run(folder, run)
        except LocalJournalError:
            continue
        if any(isinstance(entry, RunStarted) and entry.cluster == cluster for entry in entries.entries):
            found[run] = entries
        if len(found) == most:
            break
    return found


def open_trial(connection: Connection) -> DryRunField:
    """Open server-side dry runs.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.writes import DryTrial

    return DryTrial(sender_of(connection))


def pod_report(connection: Connection, pod: str) -> PodReport:
    """Return the present state of a pod (``namespace/name``).

    Raises:
        ConfigError, ClusterError: the kubeconfig cannot be used, or the cluster cannot be reached.
    """
    from kubectl_eksdoc.kube.inside_pods import LivePodReader

    with closing(LivePodReader(connection)) as reader:
        return reader.report(pod)


def denied(connection: Connection, asked: Sequence[Permission]) -> tuple[Permission, ...]:
    """Return the requested permissions that the user does not have.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import requests

    return requests.denied(sender_of(connection), asked)


def reviewed(connection: Connection, asked: Sequence[Permission]) -> tuple[Review, ...]:
    """Return the cluster's review of each permission.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        Unauthorized, Forbidden: the cluster refuses the review.
    """
    from kubectl_eksdoc.kube import requests

    return requests.reviewed(sender_of(connection), asked)


def events_file(keeping: JournalLocation) -> str:
    """Return the file of this machine with the run's recorded events. Raises JournalError: there is no folder."""
    from kubectl_eksdoc.host.journals import EVENTS, runs_folder

    return str(runs_folder(keeping.environ, keeping.home) / f"{keeping.run}{EVENTS}")


def add_events(keeping: JournalLocation, text: str) -> None:
    """Raises JournalError: they cannot be written."""
    from kubectl_eksdoc.host import journals

    journals.add_events(journals.runs_folder(keeping.environ, keeping.home), keeping.run, text)


def sender_of(connection: Connection) -> ApiWriter:
    """Return the writer of a run's journal and changes, with short timeouts.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
    from kubectl_eksdoc.kube.requests import ApiWriter
    from kubectl_eksdoc.kube.target import of_this_process

    patience = RetryPolicy(silence=SILENCE_S, connect=CONNECT_S)
    return ApiWriter(Exchanges(connect(connection, of_this_process()), patience, real_timing()))


# Implementations for changes and measurements: edges of the live cluster, and journals on this machine.


def journal_of(keeping: JournalLocation) -> ChangeJournalFile:
    """Return the journal file of a change.

    Raises:
        LocalJournalError: there is no folder for it.
    """
    from kubectl_eksdoc.host.journals import ChangeJournalFile, changes_folder

    return ChangeJournalFile(changes_folder(keeping.environ, keeping.home), keeping.run)


def saved_change(keeping: JournalLocation) -> SavedChange:
    """Return a journaled change. Raises LocalJournalError: this machine has no journal of it."""
    from kubectl_eksdoc.host.journals import changes_folder, read_change

    return read_change(changes_folder(keeping.environ, keeping.home), keeping.run)


def saved_changes(environ: Mapping[str, str], home: str, most: int) -> tuple[SavedChange, ...]:
    """Return at most `max_changes` changes, the latest first. Raises LocalJournalError: they cannot be listed."""
    from kubectl_eksdoc.host.journals import change_ids, changes_folder, read_change
    from kubectl_eksdoc.model.change_journal import SavedChange

    folder = changes_folder(environ, home)
    found = []
    for ident in change_ids(folder)[::-1][:most]:
        try:
            found.append(read_change(folder, ident))
        except LocalJournalError as error:
            found.append(SavedChange(ident, (), error.message))
    return tuple(found)


def pods_now(reader: Callable[[], ClusterReader]) -> tuple[Pod, ...] | Unknown:
    """Return the pods; Unknown with the reason if they must not be listed. Raises ClusterError: the cluster cannot be
    reached."""
    cluster = reader().read((kinds.PODS,))
    read = cluster.read_of(kinds.PODS)
    return cluster.pods if read.known else Unknown(read.detail, "list pods")


# Connections to a live cluster. Every function may raise ConfigError: the kubeconfig cannot be used.


def _patience() -> RetryPolicy:
    from kubectl_eksdoc.kube.exchanges import RetryPolicy

    return RetryPolicy(silence=SILENCE_S, connect=CONNECT_S)


def _pinned(connection: Connection) -> ApiAccess:
    """Pin cluster and user for all later requests."""
    from kubectl_eksdoc.kube.config import connect, pinned
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    return connect(pinned(connection, around), around)


def maps_of(connection: Connection) -> AppliedMaps:
    from kubectl_eksdoc.kube.requests import AppliedMaps

    return AppliedMaps(sender_of(connection))


def node_classes_of(connection: Connection) -> LiveNodeClasses:
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, real_timing
    from kubectl_eksdoc.kube.requests import ApiWriter
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.kube.target import of_this_process
    from kubectl_eksdoc.kube.transport import Transport

    access = connect(connection, of_this_process())  # patches go to the same cluster as reads
    return LiveNodeClasses(Transport(access, _patience()), ApiWriter(Exchanges(access, _patience(), real_timing())))


def open_placing(connection: Connection) -> PlacingGround:
    from kubectl_eksdoc.kube.requests import LiveObjectWriter

    return LiveObjectWriter(sender_of(connection))


def open_ground(connection: Connection, namespace: str, marks: ProbeLabels = MARKS) -> ProbeNamespace:
    """Open the namespace for short-lived probe pods; `labels`: the labels of those pods."""
    from kubectl_eksdoc.kube.inside_pods import LiveProbeNamespace
    from kubectl_eksdoc.kube.requests import real_clock

    return LiveProbeNamespace(_pinned(connection), _patience(), namespace, real_clock(), marks)


def open_dns(connection: Connection) -> Dns:
    """Open CoreDNS for a measurement."""
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.single_objects import CoreDns

    return CoreDns(_pinned(connection), _patience(), real_clock())


def identity_of(connection: Connection, wanted: AwsRequest) -> Identity:
    """Return the cluster's identity from the kubeconfig and the flags alone; no request is sent."""
    from kubectl_eksdoc.kube.identity import aws_access, identify
    from kubectl_eksdoc.kube.kubeconfig import choose
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    access = aws_access(connection, around, wanted)
    told = identify(choose(connection, around), around.environ).identity
    return told.called(access.cluster, access.region)


# Identifiers


def new_probe_id() -> str:
    """Return an id that is unique in the namespace; it is part of object names."""
    import secrets

    return secrets.token_hex(4)
