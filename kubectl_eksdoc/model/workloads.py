"""What makes pods: ReplicaSets and their kin, Jobs and CronJobs."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen

from .nodes import ControllerOwner, Toleration, Volume
from .selectors import NOTHING, Labels, Selector

PROGRESS_S = 600
"""progressDeadlineSeconds where a Deployment does not say (pkg/apis/apps/v1/defaults.go)."""

REBOOT_LOCK = "weave.works/kured-node-lock"
"""Annotation of kured's DaemonSet: which nodes it drains and reboots now (its --lock-annotation names another)."""


class RebootLock(NamedTuple):
    """kured holds one for a node from before its drain until after its reboot; `until` None: it does not expire."""

    node: str
    until: datetime | None = None


@frozen
class HostFiles:
    """What of its node's files a pod template mounts. `volumes` are its hostPaths, mounted or not; `socket_words` the
    arguments, and values of variables, of its containers that name a socket (``unix:///var/run/docker.sock``), looked
    for only where there are hostPaths. Templates that mount the same share one object."""

    volumes: tuple[Volume, ...] = ()
    socket_words: tuple[str, ...] = ()


NO_HOST_FILES = HostFiles()


@frozen
class PodTemplate:
    """How the pods of a template start, end and are spread. `probed`: containers with a readiness probe, or a readiness
    gate tells; `spread`: a constraint or an anti-affinity, even one that only prefers, keeps them apart."""

    probed: bool = False
    spread: bool = False
    grace_s: int = 30


NO_TEMPLATE = PodTemplate()


@frozen
class Workload:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or ReplicationController.

    `replicas` is spec.replicas (the wanted number; for a DaemonSet status.desiredNumberScheduled).
    `pinned_to` is spec.nodeName of the pod template, "" in all but odd cases.
    `surges` is True where a rolling update starts a new pod before it stops an old one, `rollout_unavailable` how
    many of a Deployment's replicas an update may take away before their successors are Ready (all of them where
    its strategy is Recreate). The controllers do nothing about the template of a `paused` one. `progress_s`: seconds
    after which an update of a Deployment that makes no progress counts as failed (progressDeadlineSeconds).
    `selector`: which pods are its own; only that of a Deployment or StatefulSet is read, it is invalid elsewhere.
    `reboot_locks` are those that kured notes on its DaemonSet. `host` and `template`: of its pod template; the latter
    is read of Deployments, StatefulSets and DaemonSets. `min_ready_s`: minReadySeconds.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    replicas: int
    owner: ControllerOwner | None = None
    template_labels: Labels = field(default_factory=dict)
    template_tolerations: tuple[Toleration, ...] = ()
    pinned_to: str = ""
    surges: bool = False
    rollout_unavailable: int = 0
    paused: bool = False
    progress_s: int = PROGRESS_S
    selector: Selector = NOTHING
    reboot_locks: tuple[RebootLock, ...] = ()
    host: HostFiles = NO_HOST_FILES
    template: PodTemplate = NO_TEMPLATE
    min_ready_s: int = 0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class Job:
    """A Job. `ignores_disruption`: its podFailurePolicy does not count pods with DisruptionTarget.

    `fails_on_disruption`: it fails the Job, or the index of the pod, for such a pod. `backoff_limit_per_index`
    None: failures are not counted per index. `owner`: its CronJob, as a rule; `host`: of its pod template.
    """

    namespace: str
    name: str
    uid: str
    backoff_limit: int = 6
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    completions: int | None = None
    finished: bool = False
    ignores_disruption: bool = False
    fails_on_disruption: bool = False
    backoff_limit_per_index: int | None = None
    owner: ControllerOwner | None = None
    host: HostFiles = NO_HOST_FILES

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@frozen
class CronJob:
    """It makes Jobs. `host`: of the pod template of these."""

    namespace: str
    name: str
    uid: str
    host: HostFiles = NO_HOST_FILES


@frozen
class Autoscaler:
    """A HorizontalPodAutoscaler: it puts replicas back between `minimum` and `maximum`."""

    namespace: str
    name: str
    target_kind: str
    target_name: str
    minimum: int
    maximum: int
