"""What steps and runs need of the outside; edges implement these, `wiring` chooses which."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostAnswer
from kubectl_eksdoc.kubernetes.news import News
from kubectl_eksdoc.model.actions import Act, Cordon, Errand, OfPod
from kubectl_eksdoc.model.addons import Addon, EksAddonUpdate, UpdateCall
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, HelmRelease, KindUsage, ObjectName
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.interruption import ReportedChanges, SpotEvent
from kubectl_eksdoc.model.journal import Entries, Entry, HeldLock, RunPhase, RunStarted, RunSummary
from kubectl_eksdoc.model.kinds import Absent, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeOwner
from kubectl_eksdoc.simulator.faults import InjectedMishap
from kubectl_eksdoc.simulator.kubelets import KubeletTimes

# What a session can be asked of a cluster, whatever stands behind it: the live one, a snapshot, a dump or the demo.


class ClusterReader(Protocol):
    """A cluster, a dump of one, or the demo."""

    def read(self, resources: Sequence[Resource]) -> Cluster:
        """Read all objects of `resources`; what cannot be read is said in `Cluster.reads`.

        Raises:
            ClusterError: the cluster refused or cannot be reached at all.
            SnapshotError: the dump cannot be read.
        """
        ...


class ObjectReader(Protocol):
    """Single objects as they are: of a cluster, a dump of one, or the demo."""

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        """The document with its managedFields; `Unknown.missing` is the right without which it is not had.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...


class AppliedReader(Protocol):
    """Which objects of a cluster a field manager has applied."""

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        """Of the kinds of which manifests of add-ons have objects (`kinds.SEARCHED`), or of all `others`, as Secrets
        and custom resources. Only metadata is read. Raises: as `ObjectReader.one`."""
        ...


class Histories(Protocol):
    """Objects in which a controller keeps what its own were like before: of a cluster, a dump of one, or the demo."""

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        """All of a namespace; `Unknown.missing` is the right without which they are not had.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...


class PodReader(Protocol):
    """What some pods are made of, and what they print: of a cluster, a dump of one (which has no logs), or the demo.
    One pod that is not had says nothing of the others."""

    @property
    def has_logs(self) -> bool:
        """Whether any log can be had at all."""
        ...

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """Of each (``namespace/name``) in its order; `Unknown.missing` is the right without which they are not had.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        """The last lines of each. Raises: as `containers`."""
        ...


class Signs(Protocol):
    """What a cluster says of interruptions besides its objects; a dump of one has little of it."""

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        """Those of Karpenter, and of the node termination handler, about interruptions.

        Raises:
            ClusterError: the cluster cannot be talked to.
        """
        ...

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """What a pod (``namespace/name``) counts, in the format of Prometheus. Raises: as `events`."""
        ...


class UsageSigns(Protocol):
    """Who uses which API version. Everything may raise ClusterError: the cluster cannot be talked to."""

    def requested(self) -> tuple[str, ...] | Unknown: ...

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]: ...

    def releases(self) -> tuple[HelmRelease, ...] | Unknown: ...


class ChangeReader(Protocol):
    """What tells of changes. Raises: as `UsageSigns`."""

    def told(self) -> ReportedChanges: ...


class ExtraReader(ObjectReader, AppliedReader, Histories, PodReader, Signs, UsageSigns, ChangeReader, Protocol):
    """Of a cluster, a snapshot, or the demo."""


class AddonEks(Protocol):
    """EKS, as far as the update of one add-on goes. Every method may raise AwsError: nothing can be asked just now."""

    def begin(self, call: UpdateCall) -> EksAddonUpdate:
        """
        Raises:
            AwsDenied, AwsRefused, AwsMissing, AwsThrottled, AwsLogin: nothing was changed; the error says why.
            AwsError: nobody knows whether it was begun.
        """
        ...

    def update(self, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """How one stands, by EKS's own id of it."""
        ...

    def addon(self) -> Addon | Unknown | Absent: ...


class Field(Protocol):
    """The cluster that is drained, and the user's hooks: what is asked is answered by news, together with what changes
    in it."""

    def do(self, act: Errand) -> None:
        """Begin it. Exactly one answer to it will be news, be it that none came (`LostAnswer`)."""
        ...

    def news(self, wait_s: float) -> Sequence[News]:
        """What was told since it was asked last; if nothing was, it waits for so long.

        Raises:
            Unauthorized, Forbidden: the cluster must not be watched or listed (any more).
            LockLost: the lock refused an act, which was answered before.
        """
        ...

    def renew(self) -> None:
        """Begin anew. Whatever was asked for and would change something is sent no more, and is answered as
        `LostAnswer` unless it was answered before; what only looks is done again. Everything is told from the
        beginning: `AllNodes`, `AllPods` and `AllBudgets` will be news."""
        ...

    def close(self) -> None:
        """Nobody asks any more: what is under way may come to its end, and is not told."""
        ...


class Journal(Protocol):
    """Where a run writes down what it intends, before it is done, and what came of it."""

    def write(self, entries: Sequence[Entry]) -> None:
        """They are kept, here and in the cluster, when it returns, and the lock is still held.

        Raises:
            LockLost: somebody else leads, or may by now: nothing must be done any more.
            JournalError: they are not, or nobody knows.
            Unauthorized, Forbidden: they cannot be.
        """
        ...

    def tell(self, phase: RunPhase, said: str) -> None:
        """For whoever lists runs: `said` is a sentence on how far it is. Raises: as `write`."""
        ...


class JournalHere(Protocol):
    """One run's journal on this machine."""

    def entries(self) -> Entries:
        """Raises JournalError."""
        ...

    def append(self, entries: Sequence[Entry]) -> None:
        """Raises JournalError."""
        ...


class JournalThere(Protocol):
    """The journal in the cluster; one run at a time. Everything may raise what `Journal.write` does."""

    def begin(self, begun: RunStarted) -> None:
        """Raises UsageError: its namespace is not there."""
        ...

    def put_back(self, run: str, leader: str, begun: RunStarted | None = None) -> None:
        """The head of a run whose journal was removed, to be opened then; one that is there stays as it is. Raises: as
        `begin`."""
        ...

    def open(self, run: str) -> Entries:
        """What is there of a run that is to be adopted. Raises UsageError: there is no such run."""
        ...

    def adopt(self, leader: str, entries: Sequence[Entry], phase: RunPhase) -> None:
        """From now on `leader` writes to the run that was opened, and nobody else can."""
        ...

    def append(self, entries: Sequence[Entry]) -> None: ...

    def tell(self, phase: RunPhase, said: str = "") -> None:
        """For whoever lists runs: `said` is a sentence on how far it is."""
        ...


class DrainLock(Protocol):
    """The lock of this cluster's drains."""

    @property
    def holder(self) -> str:
        """Who we are, to whoever else would take it."""
        ...

    def take(self, wait_s: float = 0.0) -> None:
        """Raises Locked: somebody else holds it."""
        ...

    def held(self) -> bool:
        """Asks nobody: whether we surely hold it now."""
        ...

    def must_be_held(self) -> None:
        """Raises LockLost; LockInDoubt where it may become ours again."""
        ...

    @property
    def doubted_s(self) -> float:
        """So long it has not surely been ours, time included in which this machine slept; 0 while it is."""
        ...

    def regained(self, wait_s: float) -> bool:
        """Whether it is ours again, as nobody else held it meanwhile; it waits so long for that at the most. Whoever
        asks `must_be_held` is refused until `go_on`. Raises LockLost: it never will be."""
        ...

    def go_on(self) -> None:
        """Everything was looked at anew since it was `regained`. Raises LockLost: as `must_be_held`."""
        ...


class DryRunField(Protocol):
    """What the cluster would answer; nothing is changed."""

    def would(self, act: Cordon | OfPod) -> ApiStatus | LostAnswer: ...


class RunStore(Protocol):
    """The runs of a cluster as it keeps them. Everything may raise Unreachable, Unauthorized, Forbidden."""

    def all(self) -> Sequence[RunSummary]:
        """The latest first."""
        ...

    def entries(self, run: str) -> Entries:
        """Raises UsageError: there is no such run."""
        ...

    def ask(self, run: str, wanted: RunPhase, who: str) -> None:
        """Ask whoever leads it to pause, go on or abort; the last word counts. Raises UsageError: as `entries`."""
        ...

    def remove(self, run: str) -> None:
        """Its journal. Raises UsageError: as `entries`."""
        ...

    def lock(self) -> HeldLock:
        """Who drains the cluster now."""
        ...


class SimulatedCluster(ClusterReader, Protocol):
    """A cluster in virtual time, on which a drain can be tried: nothing here touches a real one.

    What is asked of it is what is asked of a real cluster, and the answers are those of its API server.
    """

    @property
    def seconds(self) -> float:
        """Virtual time since it was set up."""
        ...

    def start(self, pace: KubeletTimes) -> None:
        """From now on everybody works: controllers, scheduler, and kubelets at this pace."""
        ...

    def do(self, act: Act) -> News:
        """Done at once, and answered."""
        ...

    def news(self) -> Sequence[News]:
        """What has changed since it was asked last, as it would be watched."""
        ...

    def join(self, like: str, name: str) -> bool:
        """A new node, like one that was there at the start; False if it does not come."""
        ...

    def pass_time(self, until_s: float) -> bool:
        """Let time pass until something has happened, at most until then; False if nothing happened."""
        ...

    @property
    def befallen(self) -> Sequence[InjectedMishap]:
        """What went wrong so far because it was asked for."""
        ...

    def pending(self) -> Sequence[tuple[str, str]]:
        """Pods (ns/name) without a node, each with what the scheduler said."""
        ...


class ProbeNamespace(Protocol):
    """The namespace in which short-lived pods of ours run. Everything may raise Unauthorized or ConfigError:
    nothing can be asked any more. `Unknown.missing` is the right without which something is not had."""

    def pod_security(self) -> str | Unknown:
        """The level of pod security that is enforced there by its label, "" without one."""
        ...

    def owners(self) -> tuple[ProbeOwner, ...] | Unknown:
        """Of all probes that are there, this one's and others'."""
        ...

    def make_owner(self, doc: Doc, dry: bool = False) -> ProbeOwner | NotMade:
        """`dry`: the server only says whether it would."""
        ...

    def make_pod(self, doc: Doc, dry: bool = False) -> NotMade | None:
        """`dry`: the server only says whether it would."""
        ...

    def stands(self, probe: str) -> Mapping[str, PodStand] | Unknown:
        """The pods of a probe that are there, by name."""
        ...

    def log(self, pod: str) -> str | Unknown: ...

    def remove(self, owner: ProbeOwner) -> Unknown | None:
        """With all that it owns, in the background; one that is gone is fine. None: it was taken in."""
        ...
