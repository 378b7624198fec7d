"""Protocols of everything outside: clusters, EKS, the lock and journals of a run, probe pods. Edge packages implement
them; `wiring` selects the implementation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse
from kubectl_eksdoc.kubernetes.updates import RunUpdate
from kubectl_eksdoc.model.actions import ClusterAction, Cordon, PodChange, RunCommand
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate, UpdateCall
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, HelmRelease, KindUsage, ObjectName
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.interruption import InterruptionEvent, ReportedChanges
from kubectl_eksdoc.model.journal import JournalEntries, JournalEntry, LockState, RunPhase, RunStarted, RunSummary
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner, ProbePodStatus
from kubectl_eksdoc.simulator.faults import FaultEvent
from kubectl_eksdoc.simulator.kubelets import KubeletTimes

# Reads of a session. The same Protocols apply to a live cluster, a snapshot, a dump and the demo.


class ClusterReader(Protocol):
    """Reads the objects of a cluster: live, from a dump, or from the demo."""

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Read all objects of `resources`; `Cluster.reads` names the resources that could not be read.

        Raises:
            ClusterError: the cluster refused the request or cannot be reached.
            SnapshotError: the dump cannot be read.
        """
        ...


class ObjectReader(Protocol):
    """Reads single objects of a cluster, a dump, or the demo as they are stored."""

    def read_object(self, object_name: ObjectName) -> Doc | Absent | Unknown:
        """Return the document of one object with its managedFields; `Unknown.missing` is the missing right.

        Raises:
            ClusterError: the cluster cannot be reached.
        """
        ...


class AppliedReader(Protocol):
    """Finds the objects of a cluster that a field manager has applied."""

    def applied_by(self, manager: str, other_kinds: bool = False) -> AppliedObjects | Unknown:
        """Return the objects that `manager` applied: of the kinds that add-on manifests use (`kinds.SEARCHED`), or of
        all `other_kinds`, such as Secrets and custom resources. Only metadata is read. Raises: as
        `ObjectReader.read_object`."""
        ...


class HistoryReader(Protocol):
    """Reads objects in which a controller keeps earlier versions (such as ControllerRevisions), of a cluster, a dump,
    or the demo."""

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """Return all objects of a namespace; `Unknown.missing` is the missing right.

        Raises:
            ClusterError: the cluster cannot be reached.
        """
        ...


class PodReader(Protocol):
    """Reads containers and logs of some pods, of a cluster, a dump (which has no logs), or the demo. A failure for one
    pod does not affect the others."""

    @property
    def has_logs(self) -> bool:
        """Whether logs are available at all."""
        ...

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """Return the containers of each pod (``namespace/name``), in the order of the pod; `Unknown.missing` is the
        missing right.

        Raises:
            ClusterError: the cluster cannot be reached.
        """
        ...

    def logs(self, requests: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        """Return the last lines of each requested log. Raises: as `containers`."""
        ...


class InterruptionReader(Protocol):
    """Reads what a cluster reports about interruptions apart from its objects; a dump has little of it."""

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        """Return the events of Karpenter and of the node termination handler about interruptions.

        Raises:
            ClusterError: the cluster cannot be reached.
        """
        ...

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """Return the metrics of a pod (``namespace/name``) in the Prometheus format. Raises: as `events`."""
        ...


class ApiUsageReader(Protocol):
    """Reads which clients and objects use which API version. Every method may raise ClusterError: the cluster cannot be
    reached."""

    def requested(self) -> tuple[str, ...] | Unknown: ...

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]: ...

    def releases(self) -> tuple[HelmRelease, ...] | Unknown: ...


class ChangeReader(Protocol):
    """Reads recent changes that the cluster reports. Raises: as `ApiUsageReader`."""

    def reported_changes(self) -> ReportedChanges: ...


class ExtraReader(
    ObjectReader, AppliedReader, HistoryReader, PodReader, InterruptionReader, ApiUsageReader, ChangeReader, Protocol
):
    """All reads of a cluster, a snapshot, or the demo."""


class AddonUpdateApi(Protocol):
    """The EKS API for the update of one add-on. Every method may raise AwsError: EKS cannot be called now."""

    def start_update(self, call: UpdateCall) -> EksAddonUpdate:
        """Start an update.

        Raises:
            AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin: nothing was changed; the error has the reason.
            AwsError: it is unknown whether the update was started.
        """
        ...

    def read_update(self, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """Return the state of an update by its EKS id."""
        ...

    def read_addon(self) -> Addon | Unknown | Absent: ...


class RunBackend(Protocol):
    """The cluster that is drained, and the user's hooks. Responses to actions and watched changes both arrive as
    updates."""

    def do(self, action: RunCommand) -> None:
        """Start an action. Exactly one update is its response; it is `LostResponse` if no response came."""
        ...

    def updates(self, wait_s: float) -> Sequence[RunUpdate]:
        """Return the updates since the last call; wait up to `wait_s` seconds if there are none.

        Raises:
            Unauthorized, Forbidden: the cluster must not be watched or listed (any more).
            LockLost: the lock refused an action, which was answered before.
        """
        ...

    def restart_watches(self) -> None:
        """Restart all watches. Changes requested before are not sent any more, and each is answered as `LostResponse`
        unless it was answered before, because it may have been sent already; reads are repeated. Updates start from the
        beginning: `AllNodes`, `AllPods` and `AllBudgets` follow."""
        ...

    def close(self) -> None:
        """Stop reading updates. Requests in progress may finish; their responses are not reported."""
        ...


class Journal(Protocol):
    """The journal of a run: intents are written before the actions, results after them."""

    def write(self, entries: Sequence[JournalEntry]) -> None:
        """Write entries. When this returns, they are stored on this machine and in the cluster, and the lock is still
        held.

        Raises:
            LockLost: another process holds the lock, or may hold it; no further action is allowed.
            JournalError: the entries are not stored, or it is unknown whether they are.
            Unauthorized, Forbidden: they cannot be stored.
        """
        ...

    def report_progress(self, phase: RunPhase, message: str) -> None:
        """Publish the progress of the run for lists of runs: `message` is a sentence. Raises: as `write`."""
        ...


class LocalJournal(Protocol):
    """The journal of one run on this machine."""

    def entries(self) -> JournalEntries:
        """Raises JournalError."""
        ...

    def append(self, entries: Sequence[JournalEntry]) -> None:
        """Raises JournalError."""
        ...


class RemoteJournal(Protocol):
    """The journal in the cluster, of one run at a time. Every method may raise what `Journal.write` raises."""

    def start(self, started: RunStarted) -> None:
        """Raises UsageError: the namespace does not exist."""
        ...

    def restore_head(self, run: str, leader: str, started: RunStarted | None = None) -> None:
        """Restore the head of a run whose journal was removed, so that it can be opened; an existing head is not
        changed. Raises: as `start`."""
        ...

    def open(self, run: str) -> JournalEntries:
        """Return the stored entries of a run that is to be adopted. Raises UsageError: there is no such run."""
        ...

    def adopt(self, leader: str, entries: Sequence[JournalEntry], phase: RunPhase) -> None:
        """From now on only `leader` can write to the run that was opened."""
        ...

    def append(self, entries: Sequence[JournalEntry]) -> None: ...

    def report_progress(self, phase: RunPhase, message: str = "") -> None:
        """Publish the progress of the run for lists of runs: `message` is a sentence."""
        ...


class DrainLock(Protocol):
    """The lock of all drains of one cluster."""

    @property
    def holder(self) -> str:
        """The identity of this process, as shown to other clients that want the lock."""
        ...

    def take(self, wait_s: float = 0.0) -> None:
        """Raises Locked: another client holds it."""
        ...

    def held(self) -> bool:
        """Whether this process certainly holds the lock now. Sends no request."""
        ...

    def must_be_held(self) -> None:
        """Raises LockLost; LockInDoubt if the lock can still be regained."""
        ...

    @property
    def in_doubt_s(self) -> float:
        """Seconds since the lock was last certainly held, including the time in which this machine slept; 0 while it is
        held."""
        ...

    def try_regain(self, wait_s: float) -> bool:
        """Whether the lock is held again and no other client held it in between; waits at most `wait_s`. Until `resume`
        is called, `must_be_held` raises. Raises LockLost: it cannot be regained."""
        ...

    def resume(self) -> None:
        """Confirm that everything was listed again after `try_regain`. Raises LockLost: as `must_be_held`."""
        ...


class DryRunBackend(Protocol):
    """Sends requests as a server-side dry run: the response is real, nothing is changed."""

    def dry_run(self, action: Cordon | PodChange) -> ApiStatus | LostResponse: ...


class RunStore(Protocol):
    """The runs that are stored in a cluster. Every method may raise Unreachable, Unauthorized, Forbidden."""

    def all(self) -> Sequence[RunSummary]:
        """All runs, the latest first."""
        ...

    def entries(self, run: str) -> JournalEntries:
        """Raises UsageError: there is no such run."""
        ...

    def request_phase(self, run: str, phase: RunPhase, requester: str) -> None:
        """Request that the leader pauses, continues or aborts the run; the last request counts. Raises UsageError: as
        `entries`."""
        ...

    def remove(self, run: str) -> None:
        """Remove the journal of a run. Raises UsageError: as `entries`."""
        ...

    def lock(self) -> LockState:
        """The lock of the cluster's drains, and its holder."""
        ...


class SimulatedCluster(ClusterReader, Protocol):
    """A cluster in virtual time on which a drain is rehearsed; no real cluster is touched.

    It receives the same requests as a real cluster and answers as its API server would.
    """

    @property
    def seconds(self) -> float:
        """Virtual time since the simulation was set up."""
        ...

    def start(self, kubelet_times: KubeletTimes) -> None:
        """Start the controllers, the scheduler, and the kubelets, the latter with these times."""
        ...

    def do(self, action: ClusterAction) -> RunUpdate:
        """Perform an action at once and return its response."""
        ...

    def updates(self) -> Sequence[RunUpdate]:
        """Return the changes since the last call, as a watch would report them."""
        ...

    def join_node(self, like: str, name: str) -> bool:
        """Add a new node like one that existed at the start; False if it does not join."""
        ...

    def pass_time(self, until_s: float) -> bool:
        """Let time pass until something has happened, at most until `until_s`; False if nothing happened."""
        ...

    @property
    def injected_faults(self) -> Sequence[FaultEvent]:
        """The requested faults that have happened so far."""
        ...

    def pending(self) -> Sequence[tuple[str, str]]:
        """Pods (ns/name) without a node, each with the scheduler's message."""
        ...


class ProbeNamespace(Protocol):
    """The namespace in which short-lived probe pods run. Every method may raise Unauthorized or ConfigError: no request
    is possible any more. `Unknown.missing` is the missing right."""

    def pod_security(self) -> str | Unknown:
        """The pod security level that is enforced by the namespace's label, "" without one."""
        ...

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        """The owner objects of all probes in the namespace, this one's and others'."""
        ...

    def create_owner(self, doc: Doc, is_dry_run: bool = False) -> ProbeOwner | ProbeFailure:
        """Create the owner object of a probe. `is_dry_run`: a server-side dry run only."""
        ...

    def create_pod(self, doc: Doc, is_dry_run: bool = False) -> ProbeFailure | None:
        """Create a probe pod; None if it was created. `is_dry_run`: a server-side dry run only."""
        ...

    def pod_states(self, probe: str) -> Mapping[str, ProbePodStatus] | Unknown:
        """The states of the existing pods of a probe, by name."""
        ...

    def log(self, pod: str) -> str | Unknown: ...

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        """Delete the owner and all it owns in the background; a missing one is no error. None: the request was
        accepted."""
        ...
