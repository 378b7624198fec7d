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
from kubectl_eksdoc.model.metadata import PROBE_POD_LABELS
from kubectl_eksdoc.model.permissions import AccessReview, Permission

if TYPE_CHECKING:
    from kubectl_eksdoc.coredns_lameduck.measurement import CorednsAccess
    from kubectl_eksdoc.host.journals import ChangeJournalFile
    from kubectl_eksdoc.in_cluster.apply import ObjectCreator
    from kubectl_eksdoc.kube.config import ApiAccess
    from kubectl_eksdoc.kube.exchanges import RetryPolicy
    from kubectl_eksdoc.kube.identity import AwsRequest
    from kubectl_eksdoc.kube.requests import ApiWriter, ConfigMapApplier
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.model.change_journal import SavedChange
    from kubectl_eksdoc.model.cluster import Identity
    from kubectl_eksdoc.model.connection import Connection
    from kubectl_eksdoc.model.interruption import PodReport
    from kubectl_eksdoc.model.journal import JournalEntries
    from kubectl_eksdoc.model.nodes import Pod
    from kubectl_eksdoc.model.placement import ProbeLabels
    from kubectl_eksdoc.ports import ClusterReader, DryRunBackend, ProbeNamespace, RunBackend, RunStore


JOURNAL_NAMESPACE = "kube-system"


@frozen
class JournalLocation:
    """Where a run (its id, "" for none in particular) is journaled and locked: a namespace of the cluster, and a folder
    by the environment and home of the user. `user` and `host` identify the run's process to other clients."""

    run: str
    user: str
    host: str
    environ: Mapping[str, str]
    home: str
    namespace: str = JOURNAL_NAMESPACE


def keeping_here(run: str, namespace: str, environ: Mapping[str, str]) -> JournalLocation:
    """Return the location for the user of this process, on this machine."""
    import getpass
    import socket

    try:
        user = environ.get("USER") or getpass.getuser()
    except (KeyError, OSError, ImportError):  # the user of a container may have no name
        user = f"user-{os.getuid()}" if hasattr(os, "getuid") else "somebody"
    home = environ.get("HOME") or os.path.expanduser("~")
    return JournalLocation(run, user, socket.gethostname(), environ, home, namespace)


def new_run_id(now: datetime) -> str:
    """``20261120-193005-4f2a``: the start in UTC, and a random suffix that makes it unique."""
    import secrets

    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


RESPONSE_TIMEOUT_S, CONNECT_TIMEOUT_S = 15.0, 5.0
"""Timeouts of a run's writes, shorter than the lease of its lock: a write is repeated, or given up in time."""

JOURNAL_RETRY_S = 75.0
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
def open_watch(connection: Connection) -> Iterator[RunBackend]:
    """Open a backend that only watches.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.host.processes import HookedBackend
    from kubectl_eksdoc.kube.live_backend import LiveRunBackend, RestartableBackend

    with closing(HookedBackend(RestartableBackend(lambda: LiveRunBackend(connection, "")), {}, "")) as watched:
        yield watched


def open_runs(connection: Connection, location: JournalLocation) -> RunStore:
    """Open all runs whose journals are in the cluster, to read them and to send requests to their leaders.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.lock import LeaseLock
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.runs import INTERACTIVE_RETRY_LIMITS, ConfigMaps, StoredRuns

    clock, sender = real_clock(), api_writer(connection)
    maps = ConfigMaps(sender, location.namespace, clock, INTERACTIVE_RETRY_LIMITS)
    return StoredRuns(maps, LeaseLock(sender, location.namespace, f"{location.user}@{location.host}", clock))


def earlier_journals(environ: Mapping[str, str], cluster: str, max_runs: int = 20) -> dict[str, JournalEntries]:
    """Return journals of the latest runs of this machine, by run id, for the cluster with this UID; unreadable ones are
    left out."""
    from kubectl_eksdoc.host.journals import read_run, run_ids, runs_folder
    from kubectl_eksdoc.model.journal import RunStarted

    journals: dict[str, JournalEntries] = {}
    try:
        folder = runs_folder(environ, environ.get("HOME", ""))
        names = run_ids(folder) if cluster else ()
    except LocalJournalError:  # a plan can do without them
        return journals
    for run in reversed(names):
        try:
            entries = read_run(folder, run)
        except LocalJournalError:
            continue
        if any(isinstance(entry, RunStarted) and entry.cluster == cluster for entry in entries.entries):
            journals[run] = entries
        if len(journals) == max_runs:
            break
    return journals


def open_trial(connection: Connection) -> DryRunBackend:
    """Open server-side dry runs.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.writes import DryRunRequests

    return DryRunRequests(api_writer(connection))


def pod_report(connection: Connection, pod: str) -> PodReport:
    """Return the present state of a pod (``namespace/name``).

    Raises:
        ConfigError, ClusterError: the kubeconfig cannot be used, or the cluster cannot be reached.
    """
    from kubectl_eksdoc.kube.pod_details import LivePodReader

    with closing(LivePodReader(connection)) as reader:
        return reader.pod_report(pod)


def denied(connection: Connection, permissions: Sequence[Permission]) -> tuple[Permission, ...]:
    """Return the requested permissions that the user does not have.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube import requests

    return requests.denied_permissions(api_writer(connection), permissions)


def reviewed(connection: Connection, permissions: Sequence[Permission]) -> tuple[AccessReview, ...]:
    """Return the cluster's review of each permission.

    Raises:
        ConfigError: the kubeconfig cannot be used.
        Unauthorized, Forbidden: the cluster refuses the review.
    """
    from kubectl_eksdoc.kube import requests

    return requests.review_permissions(api_writer(connection), permissions)


def events_file(location: JournalLocation) -> str:
    """Return the file of this machine with the run's recorded events. Raises JournalError: there is no folder."""
    from kubectl_eksdoc.host.journals import EVENTS_SUFFIX, runs_folder

    return str(runs_folder(location.environ, location.home) / f"{location.run}{EVENTS_SUFFIX}")


def add_events(location: JournalLocation, text: str) -> None:
    """Raises JournalError: they cannot be written."""
    from kubectl_eksdoc.host import journals

    journals.append_events(journals.runs_folder(location.environ, location.home), location.run, text)


def api_writer(connection: Connection) -> ApiWriter:
    """Return the writer of a run's journal and changes, with short timeouts.

    Raises:
        ConfigError: the kubeconfig cannot be used.
    """
    from kubectl_eksdoc.kube.config import open_access
    from kubectl_eksdoc.kube.exchanges import Exchanges, real_timing
    from kubectl_eksdoc.kube.requests import ApiWriter
    from kubectl_eksdoc.kube.target import process_credential_context

    return ApiWriter(Exchanges(open_access(connection, process_credential_context()), _retry_policy(), real_timing()))


# Implementations for changes and measurements: edges of the live cluster, and journals on this machine.


def change_journal(location: JournalLocation) -> ChangeJournalFile:
    """Return the journal file of a change.

    Raises:
        LocalJournalError: there is no folder for it.
    """
    from kubectl_eksdoc.host.journals import ChangeJournalFile, changes_folder

    return ChangeJournalFile(changes_folder(location.environ, location.home), location.run)


def saved_change(location: JournalLocation) -> SavedChange:
    """Return a journaled change. Raises LocalJournalError: this machine has no journal of it."""
    from kubectl_eksdoc.host.journals import changes_folder, read_change

    return read_change(changes_folder(location.environ, location.home), location.run)


def saved_changes(environ: Mapping[str, str], home: str, max_changes: int) -> tuple[SavedChange, ...]:
    """Return at most `max_changes` changes, the latest first. Raises LocalJournalError: they cannot be listed."""
    from kubectl_eksdoc.host.journals import change_ids, changes_folder, read_change
    from kubectl_eksdoc.model.change_journal import SavedChange

    folder = changes_folder(environ, home)
    changes = []
    for ident in change_ids(folder)[::-1][:max_changes]:
        try:
            changes.append(read_change(folder, ident))
        except LocalJournalError as error:
            changes.append(SavedChange(ident, (), error.message))
    return tuple(changes)


def pods_now(reader: Callable[[], ClusterReader]) -> tuple[Pod, ...] | Unknown:
    """Return the pods; Unknown with the reason if they must not be listed. Raises ClusterError: the cluster cannot be
    reached."""
    cluster = reader().read((kinds.PODS,))
    read = cluster.read_of(kinds.PODS)
    return cluster.pods if read.known else Unknown(read.detail, "list pods")


# Connections to a live cluster. Every function may raise ConfigError: the kubeconfig cannot be used.


def _retry_policy() -> RetryPolicy:
    from kubectl_eksdoc.kube.exchanges import RetryPolicy

    return RetryPolicy(silence_timeout=RESPONSE_TIMEOUT_S, connect_timeout=CONNECT_TIMEOUT_S)


def _pin_access(connection: Connection) -> ApiAccess:
    """Pin cluster and user for all later requests."""
    from kubectl_eksdoc.kube.config import open_access, pin_context
    from kubectl_eksdoc.kube.target import process_credential_context

    target = process_credential_context()
    return open_access(pin_context(connection, target), target)


def applied_maps(connection: Connection) -> ConfigMapApplier:
    from kubectl_eksdoc.kube.requests import ConfigMapApplier

    return ConfigMapApplier(api_writer(connection))


def node_class_writer(connection: Connection) -> LiveNodeClasses:
    from kubectl_eksdoc.kube.config import open_access
    from kubectl_eksdoc.kube.exchanges import Exchanges, real_timing
    from kubectl_eksdoc.kube.requests import ApiWriter
    from kubectl_eksdoc.kube.single_objects import LiveNodeClasses
    from kubectl_eksdoc.kube.target import process_credential_context
    from kubectl_eksdoc.kube.transport import Transport

    access = open_access(connection, process_credential_context())  # patches go to the same cluster as reads
    return LiveNodeClasses(
        Transport(access, _retry_policy()), ApiWriter(Exchanges(access, _retry_policy(), real_timing()))
    )


def open_placing(connection: Connection) -> ObjectCreator:
    from kubectl_eksdoc.kube.requests import LiveObjectWriter

    return LiveObjectWriter(api_writer(connection))


def open_ground(connection: Connection, namespace: str, labels: ProbeLabels = PROBE_POD_LABELS) -> ProbeNamespace:
    """Open the namespace for short-lived probe pods; `labels`: the labels of those pods."""
    from kubectl_eksdoc.kube.pod_details import LiveProbeNamespace
    from kubectl_eksdoc.kube.requests import real_clock

    return LiveProbeNamespace(_pin_access(connection), _retry_policy(), namespace, real_clock(), labels)


def open_dns(connection: Connection) -> CorednsAccess:
    """Open CoreDNS for a measurement."""
    from kubectl_eksdoc.kube.requests import real_clock
    from kubectl_eksdoc.kube.single_objects import CoreDns

    return CoreDns(_pin_access(connection), _retry_policy(), real_clock())


def identity_of(connection: Connection, aws_request: AwsRequest) -> Identity:
    """Return the cluster's identity from the kubeconfig and the flags alone; no request is sent."""
    from kubectl_eksdoc.kube.identity import aws_access, identify_cluster
    from kubectl_eksdoc.kube.kubeconfig import choose_target
    from kubectl_eksdoc.kube.target import process_credential_context

    target = process_credential_context()
    access = aws_access(connection, target, aws_request)
    identity = identify_cluster(choose_target(connection, target), target.environ).identity
    return identity.with_names(access.cluster, access.region)


# Identifiers


def new_probe_id() -> str:
    """Return an id that is unique in the namespace; it is part of object names."""
    import secrets

    return secrets.token_hex(4)
