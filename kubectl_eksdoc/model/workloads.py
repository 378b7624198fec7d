"""Workloads that create pods: Deployments, ReplicaSets and other controllers, Jobs and CronJobs."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen

from .nodes import ControllerOwner, Toleration, Volume
from .selectors import NOTHING, Labels, Selector

DEFAULT_PROGRESS_DEADLINE_S = 600
"""progressDeadlineSeconds of a Deployment that does not set it (pkg/apis/apps/v1/defaults.go)."""

REBOOT_LOCK_ANNOTATION = "weave.works/kured-node-lock"
"""Annotation of kured's DaemonSet: the nodes that it currently drains and reboots (--lock-annotation changes
the name)."""


class RebootLock(NamedTuple):
    """kured holds a lock for a node from before its drain until after its reboot; `until` None: it does not expire."""

    node: str
    until: datetime | None = None


@frozen
class HostFiles:
    """Files of the node that a pod template mounts. `volumes` are its hostPath volumes, mounted or not;
    `socket_arguments`: arguments, and values of variables, of its containers that name a socket
    (``unix:///var/run/docker.sock``), searched only if there are hostPath volumes. Templates that mount the same share
    one object."""

    volumes: tuple[Volume, ...] = ()
    socket_arguments: tuple[str, ...] = ()


NO_HOST_FILES = HostFiles()


@frozen
class PodTemplate:
    """How the pods of a template start, stop and are spread. `has_readiness_check`: its containers have a readiness
    probe, or it has a readiness gate; `spread`: it has a topology spread constraint or an anti-affinity, also a
    preferred one."""

    has_readiness_check: bool = False
    spread: bool = False
    grace_s: int = 30


NO_TEMPLATE = PodTemplate()


@frozen
class Workload:
    """A Deployment, ReplicaSet, StatefulSet, DaemonSet or ReplicationController.

    `replicas` is spec.replicas (the desired number; for a DaemonSet status.desiredNumberScheduled). `pinned_to` is
    spec.nodeName of the pod template, almost always "". `surges`: a rolling update starts a new pod before it stops an
    old one; `rollout_unavailable`: how many replicas of a Deployment an update may remove before their replacements are
    Ready (all of them with the strategy Recreate). The controllers ignore the template of a `paused` one.
    `progress_deadline_s`: seconds without progress after which an update of a Deployment counts as failed
    (progressDeadlineSeconds). `selector`: its own pods; only that of a Deployment or StatefulSet is read, for others it
    is invalid. `reboot_locks` are those that kured records on its DaemonSet. `host` and `template`: of its pod
    template; the latter is read for Deployments, StatefulSets and DaemonSets. `min_ready_s`: minReadySeconds.
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
    progress_deadline_s: int = DEFAULT_PROGRESS_DEADLINE_S
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

    `fails_on_disruption`: such a pod fails the Job, or the pod's index. `backoff_limit_per_index` None: failures are
    not counted per index. `owner`: usually its CronJob; `host`: of its pod template.
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
    """Creates Jobs. `host`: of their pod template."""

    namespace: str
    name: str
    uid: str
    host: HostFiles = NO_HOST_FILES


@frozen
class Autoscaler:
    """A HorizontalPodAutoscaler: it keeps replicas between `minimum` and `maximum`."""

    namespace: str
    name: str
    target_kind: str
    target_name: str
    minimum: int
    maximum: int
