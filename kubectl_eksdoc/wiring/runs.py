"""What runs, changes and probes have of the live cluster and of this machine, but for the lock of a run."""

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
    """Where a run (its id, "" for none in particular) is written down and locked: a namespace of the cluster, and a
    folder by the environment and home of whoever runs it. `who` and `host` name them to others."""

    run: str
    who: str
    host: str
    environ: Mapping[str, str]
    home: str
    namespace: str = JOURNAL_NAMESPACE


def keeping_here(run: str, namespace: str, environ: Mapping[str, str]) -> JournalLocation:
    """For whoever runs this process, on this machine."""
    import getpass
    import socket

    try:
        who = environ.get("USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container's user may have no name
        who = f"user-{os.getuid()}" if hasattr(os, "getuid") else "somebody"
    home = environ.get("HOME") or os.path.expanduser("~")
    return JournalLocation(run, who, socket.gethostname(), environ, home, namespace)


def new_run_id(now: datetime) -> str:
    """``20261120-193005-4f2a``: by its beginning in UTC, and unlike any other of that second."""
    import secrets

    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


SILENCE_S, CONNECT_S = 15.0, 5.0
"""What a run writes is waited for less long than its lock is held: it is written again, or given up in time."""

KEPT_S = 75.0
"""So long an entry of the journal is tried to be written: longer than the lock is held, which ends the tries where
nobody answers at all. It is held again then, or lost, and both are known better than the effect on an entry."""

REFUSED_S = 30.0
"""So long credentials or rights must be refused until a run believes it: who checks them may be away for a moment."""


@frozen
class Hooks:
    """What a shell of this machine runs before and after a wave, by `Hook.when`; each may take `timeout_s`."""

    commands: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 600.0


@contextmanager
def open_watch(connection: Connection) -> Iterator[Field]:
    """A field on which nothing is done: it tells what changes.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.host.processes import HookedField
    from kubectl_eksdoc.kube.live_field import LiveRunField, RenewableField

    with closing(HookedField(RenewableField(lambda: LiveRunField(connection, "")), {}, "")) as watched:
        yield watched


def open_runs(connection: Connection, keeping: JournalLocation) -> RunStore:
    """All runs that the cluster has a journal of, to look at and to ask something of.

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
    """Journals of the latest runs from this machine, by their ids, of the cluster with this uid; those that cannot be
    read are left out."""
    from kubectl_eksdoc.host.journals import read_run, runs, runs_folder
    from kubectl_eksdoc.model.journal import RunStarted

    found: dict[str, Entries] = {}
    try:
        folder = runs_folder(environ, environ.get("HOME", ""))
        names = runs(folder) if cluster else ()
    except LocalJournalError:  # a plan needs none of them
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
    """
    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.writes import DryTrial

    return DryTrial(sender_of(connection))


def pod_report(connection: Connection, pod: str) -> PodReport:
    """What the cluster says of that pod (``namespace/name``) now.

    Raises:
        ConfigError, ClusterError: the kubeconfig cannot be used, or nobody answers.
    """
    from kubectl_eksdoc.kube.inside_pods import LivePodReader

    with closing(LivePodReader(connection)) as reader:
        return reader.report(pod)


def denied(connection: Connection, asked: Sequence[Permission]) -> tuple[Permission, ...]:
    """Those of `asked` that the cluster says we do not have.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import requests

    return requests.denied(sender_of(connection), asked)


def reviewed(connection: Connection, asked: Sequence[Permission]) -> tuple[Review, ...]:
    """What the cluster says of each of `asked`.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        Unauthorized, Forbidden: the cluster does not let us ask.
    """
    from kubectl_eksdoc.kube import requests

    return requests.reviewed(sender_of(connection), asked)


def events_file(keeping: JournalLocation) -> str:
    """In which this machine keeps what the run tells for a replay. Raises JournalError: there is no folder."""
    from kubectl_eksdoc.host.journals import EVENTS, runs_folder

    return str(runs_folder(keeping.environ, keeping.home) / f"{keeping.run}{EVENTS}")


def add_events(keeping: JournalLocation, text: str) -> None:
    """Raises JournalError: they cannot be written."""
    from kubectl_eksdoc.host import journals

    journals.add_events(journals.runs_folder(keeping.environ, keeping.home), keeping.run, text)


def sender_of(connection: Connection) -> ApiWriter:
    """For what a run writes down: it does not wait for long.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import connect
    from kubectl_eksdoc.kube.exchanges import Exchanges, RetryPolicy, real_timing
    from kubectl_eksdoc.kube.requests import ApiWriter
    from kubectl_eksdoc.kube.target import of_this_process

    patience = RetryPolicy(silence=SILENCE_S, connect=CONNECT_S)
    return ApiWriter(Exchanges(connect(connection, of_this_process()), patience, real_timing()))


# What carries a change out, or measures something: edges of the live cluster, and journals on this machine.


def journal_of(keeping: JournalLocation) -> ChangeJournalFile:
    """Of the change that `keeping` names.

    Raises:
        LocalJournalError: there is no folder for it.
    """
    from kubectl_eksdoc.host.journals import ChangeJournalFile, changes_folder

    return ChangeJournalFile(changes_folder(keeping.environ, keeping.home), keeping.run)


def saved_change(keeping: JournalLocation) -> SavedChange:
    """The one that `keeping` names. Raises LocalJournalError: this machine has no journal of it."""
    from kubectl_eksdoc.host.journals import changes_folder, read_change

    return read_change(changes_folder(keeping.environ, keeping.home), keeping.run)


def saved_changes(environ: Mapping[str, str], home: str, most: int) -> tuple[SavedChange, ...]:
    """The latest first, so many. Raises LocalJournalError: it cannot be told which there are."""
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
    """What forbids to list them is why they are unknown. Raises ClusterError: the cluster cannot be talked to."""
    cluster = reader().read((kinds.PODS,))
    read = cluster.read_of(kinds.PODS)
    return cluster.pods if read.known else Unknown(read.detail, "list pods")


# What is asked of a live cluster. Everything may raise ConfigError: the kubeconfig cannot be used.


def _patience() -> RetryPolicy:
    from kubectl_eksdoc.kube.exchanges import RetryPolicy

    return RetryPolicy(silence=SILENCE_S, connect=CONNECT_S)


def _pinned(connection: Connection) -> ApiAccess:
    """The same cluster and user from now on."""
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

    access = connect(connection, of_this_process())  # what is patched is of the cluster that is read
    return LiveNodeClasses(Transport(access, _patience()), ApiWriter(Exchanges(access, _patience(), real_timing())))


def open_placing(connection: Connection) -> PlacingGround:
    from kubectl_eksdoc.kube.requests import LiveObjectWriter

    return LiveObjectWriter(sender_of(connection))


def open_ground(connection: Connection, namespace: str, marks: ProbeLabels = MARKS) -> ProbeNamespace:
    """For short-lived pods of ours; `marks`: of what runs there."""
    from kubectl_eksdoc.kube.inside_pods import LiveProbeNamespace
    from kubectl_eksdoc.kube.requests import real_clock

    return LiveProbeNamespace(_pinned(connection), _patience(), namespace, real_clock(), marks)


def open_dns(connection: Connection) -> Dns:
    """CoreDNS, as a measurement needs it."""
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.single_objects import CoreDns

    return CoreDns(_pinned(connection), _patience(), real_clock())


def identity_of(connection: Connection, wanted: AwsRequest) -> Identity:
    """By the kubeconfig and the flags alone: nobody is asked."""
    from kubectl_eksdoc.kube.identity import aws_access, identify
    from kubectl_eksdoc.kube.kubeconfig import choose
    from kubectl_eksdoc.kube.target import of_this_process

    around = of_this_process()
    access = aws_access(connection, around, wanted)
    told = identify(choose(connection, around), around.environ).identity
    return told.called(access.cluster, access.region)


# What goes with it.


def new_probe_id() -> str:
    """Unlike any other's in that namespace; part of names."""
    import secrets

    return secrets.token_hex(4)
