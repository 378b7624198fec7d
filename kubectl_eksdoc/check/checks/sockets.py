"""Container runtimes: pods that mount their sockets, nodes with Docker, and containerd too old for the target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from kubectl_eksdoc.amazon.amis import check_runtime, dockershim_removed_in
from kubectl_eksdoc.amazon.sockets import (
    CONTAINERD,
    DOCKER,
    MountedSocket,
    NamedSocket,
    PodAfterUpgrade,
    SocketAccess,
    reachable_sockets,
    sockets_named_in,
)
from kubectl_eksdoc.amazon.versions import Fit, SourcedVerdict, format_version, minor_of
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Volume, VolumeKind
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.workloads import HostFiles, Workload

from ..checking import CheckFacts, UpgradeCheck, join_names, unknown_finding, unread_lists
from .release_notes import NodeGroupNodes, group_nodes, node_names
from .software import build_owner_index

_FIRST_CONTAINERD_2 = Version(1, 34)
_CONTAINERD_2_NOTE = (
    "nodes of 1.34 have containerd 2.1 (EKS user guide, 1.34; confidence: medium): try first whether its client does"
)


class DockerFate(str, Enum):
    """What happens to Docker on the nodes of this cluster in the upgrade."""

    ENDS = "ends"
    """Nodes of 1.24 or newer replace the present ones, and have no Docker."""
    OWN = "own"
    """The nodes have their own Docker, which EKS does not install."""
    GONE = "gone"
    STAYS = "stays"


@frozen
class _SocketUse:
    """The sockets that the pods and templates of one owner can reach, with the volumes. `socket_words`: in its
    templates' containers, None where no template was read; `may_run`: a pod runs, or may be created; `has_ready_pod`:
    at least one of the pods is Ready."""

    mounts: tuple[tuple[Volume, MountedSocket], ...]
    socket_words: tuple[str, ...] | None
    pods: tuple[str, ...]
    may_run: bool
    has_ready_pod: bool

    @property
    def named(self) -> tuple[NamedSocket, ...]:
        return sockets_named_in(self.socket_words or ())


def _check_sockets(facts: CheckFacts) -> Iterator[Finding]:
    docker = docker_fate(facts)
    unread_severity = Severity.HIGH if docker is DockerFate.ENDS else Severity.LOW
    yield from unread_lists(facts, "runtime-socket", severity=unread_severity)
    for subject, use in sorted(_socket_uses(facts.cluster).items(), key=lambda each: (each[0].kind, str(each[0]))):
        yield _socket_finding(facts, subject, use, docker)


def docker_fate(facts: CheckFacts) -> DockerFate:
    """By the kubelets of the nodes, or by the control plane's version where no kubelet version is known."""
    kubelets = [each.kubelet for each in facts.cluster.nodes if each.kubelet is not None]
    has_dockershim = (
        any(minor_of(each) < dockershim_removed_in() for each in kubelets)
        if kubelets
        else facts.path.now < dockershim_removed_in()
    )
    if has_dockershim:
        return DockerFate.STAYS if facts.path.target < dockershim_removed_in() else DockerFate.ENDS
    return DockerFate.OWN if any(map(_runs_docker, facts.cluster.nodes)) else DockerFate.GONE


def _runs_docker(node: Node) -> bool:
    return node.runtime.startswith("docker://")


def _socket_uses(cluster: Cluster) -> Mapping[Subject, _SocketUse]:
    """The uses by top owner. A subPath does not narrow a mount: any volume of any container counts."""
    mounts: dict[Subject, dict[tuple[Volume, MountedSocket], None]] = defaultdict(dict)
    socket_words: dict[Subject, dict[str, None]] = defaultdict(dict)
    pod_names: dict[Subject, list[str]] = defaultdict(list)
    may_run: set[Subject] = set()
    with_ready_pod: set[Subject] = set()
    owner_index = build_owner_index(cluster)
    for pod in cluster.pods:
        if pod.volumes and (socket_mounts := _socket_mounts(pod.volumes)):
            subject = owner_index.of_pod(pod)
            mounts[subject] |= dict.fromkeys(socket_mounts)
            if not pod.finished:
                may_run.add(subject)
                pod_names[subject].append(pod.name)
                with_ready_pod |= {subject} if pod.ready else set()
    for subject, host, template_runs in _pod_templates(cluster):
        if socket_mounts := _socket_mounts(host.volumes):
            mounts[subject] |= dict.fromkeys(socket_mounts)
            socket_words[subject] |= dict.fromkeys(host.socket_arguments)
            may_run |= {subject} if template_runs else set()
    return {
        subject: _SocketUse(
            tuple(each),
            tuple(socket_words[subject]) if subject in socket_words else None,
            tuple(sorted(pod_names[subject])),
            subject in may_run,
            subject in with_ready_pod,
        )
        for subject, each in mounts.items()
    }


def _pod_templates(cluster: Cluster) -> Iterator[tuple[Subject, HostFiles, bool]]:
    """Each template's owner, its mounts, and whether pods are or may be created from it. ReplicaSets of a Deployment
    are left out, because they have its present or former template; those of other owners (Argo's Rollouts) count if
    they have replicas."""
    owner_index = build_owner_index(cluster)
    for workload in cluster.workloads:
        if workload.kind != "ReplicaSet" or workload.owner is None or _has_own_replicas(workload):
            yield owner_index.of_template(workload), workload.host, True
    for job in cluster.jobs:
        if job.owner is None or not job.finished:
            yield owner_index.of_template(job), job.host, not job.finished
    for cron_job in cluster.cron_jobs:
        yield Subject("CronJob", cron_job.name, cron_job.namespace), cron_job.host, True


def _has_own_replicas(workload: Workload) -> bool:
    return workload.replicas > 0 and workload.owner is not None and workload.owner.kind != "Deployment"


def _socket_mounts(volumes: Iterable[Volume]) -> list[tuple[Volume, MountedSocket]]:
    return [
        (volume, each)
        for volume in volumes
        if volume.kind is VolumeKind.HOST_PATH
        for each in _sockets_in_path(volume.detail, volume.path_type)
    ]


_sockets_in_path = lru_cache(4096)(reachable_sockets)
"""Cached, because thousands of pods have only a few different paths."""


def _socket_finding(facts: CheckFacts, subject: Subject, use: _SocketUse, docker: DockerFate) -> Finding:
    worst = min((_judge_mount(subject, use, volume, each, docker) for volume, each in use.mounts), key=_finding_rank)
    volumes = dict.fromkeys(f"volume {each.name}: hostPath {_volume_path(each)}" for each, _ in use.mounts)
    if not use.may_run:
        worst = Finding.of("runtime-socket/ended", subject, message=worst.message)
    evidence = [
        *volumes,
        f"pods: {join_names(use.pods)}" if use.pods else "no pod of it runs now",
        *_named_socket_evidence(use),
    ]
    if any(each.socket is CONTAINERD for _, each in use.mounts) and _crosses_containerd_2(facts):
        evidence.append(_CONTAINERD_2_NOTE)
    if subject == _AWS_NODE and not any(each.socket is DOCKER for _, each in use.mounts):
        evidence.append(_VPC_CNI_NOTE)
    evidence += dict.fromkeys(
        str(each.socket.source) for _, each in use.mounts if each.socket is DOCKER or _is_mounted_alone(each)
    )
    return replace(worst, evidence=tuple(evidence))


_AWS_NODE = Subject("DaemonSet", "aws-node", "kube-system")
_VPC_CNI_NOTE = (
    "old versions of vpc-cni mount dockershim.sock, newer ones do without it: update it first "
    "(aws/amazon-vpc-cni-k8s, issue 2316; confidence: medium)"
)

_TEMPLATE_PATH = "{.spec.template.spec.volumes}"
_VOLUME_PATHS = {
    "Pod": "{.spec.volumes}",
    "CronJob": "{.spec.jobTemplate.spec.template.spec.volumes}",
    **dict.fromkeys(
        ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job"), _TEMPLATE_PATH
    ),
}


def _show_volumes_command(subject: Subject) -> str:
    """The command that shows its volumes; "" for kinds that are not built in."""
    path = _VOLUME_PATHS.get(subject.kind)
    if path is None:
        return ""
    return kubectl("get", subject.kind.lower(), subject.name, subject.namespace, "-o", f"jsonpath={path}")


def _is_mounted_alone(mount: MountedSocket) -> bool:
    """Whether a socket of uncertain fate is mounted by itself, and not with its folder."""
    return mount.socket is not CONTAINERD and mount.how is not SocketAccess.FOLDER


def _finding_rank(judged: Finding) -> tuple[int, int]:
    return judged.status.rank, judged.severity.rank


def _volume_path(volume: Volume) -> str:
    return f"{volume.detail} ({volume.path_type})" if volume.path_type else volume.detail


def _named_socket_evidence(use: _SocketUse) -> Iterator[str]:
    if named_sockets := use.named:
        quoted_words = sorted({f'"{each.word}"' for each in named_sockets})
        yield f"its containers name {join_names(quoted_words, 2)}"


def _crosses_containerd_2(facts: CheckFacts) -> bool:
    return facts.path.now < _FIRST_CONTAINERD_2 and not facts.path.target < _FIRST_CONTAINERD_2


def _judge_mount(
    subject: Subject, use: _SocketUse, volume: Volume, mount: MountedSocket, docker: DockerFate
) -> Finding:
    detail = volume.detail
    if mount.socket is CONTAINERD:
        return Finding.of("runtime-socket/containerd", subject, detail=detail)
    if docker is DockerFate.STAYS:
        return Finding.of("runtime-socket/docker-stays", subject, detail=detail)
    if mount.socket is DOCKER and mount.how is not SocketAccess.LOOKS_LIKE:
        return _docker_finding(subject, use, mount, docker, detail)
    if not _is_mounted_alone(mount):
        return Finding.of("runtime-socket/folder", subject, detail=detail, runtime=mount.socket.runtime)
    return Finding.of(
        "runtime-socket/other",
        subject,
        severity=Severity.MEDIUM if docker is DockerFate.ENDS else Severity.LOW,
        detail=detail,
        like=mount.socket.path if mount.how is SocketAccess.LOOKS_LIKE else "",
        why=mount.socket.why,
        command=_show_volumes_command(subject),
    )


def _docker_finding(
    subject: Subject, use: _SocketUse, mount: MountedSocket, docker: DockerFate, detail: str
) -> Finding:
    """After 1.24 nothing changes any more: the mounts are left over from before."""
    names_docker = any(found.socket is DOCKER for found in use.named)
    is_folder = mount.how is SocketAccess.FOLDER
    is_incidental = is_folder and not names_docker  # agents mount /run for other sockets
    is_required, docker_ends = mount.then is PodAfterUpgrade.WILL_NOT_START, docker is DockerFate.ENDS
    in_use = is_required and use.has_ready_pod
    severity = (
        Severity.MEDIUM
        if docker is DockerFate.OWN or (not is_incidental and (is_required or names_docker))
        else Severity.LOW
    )
    if docker_ends:
        severity = (
            Severity.HIGH
            if names_docker and _SEVERITY_AT_END[mount.then] is Severity.MEDIUM
            else _SEVERITY_AT_END[mount.then]
        )
    elif docker is not DockerFate.OWN and is_incidental and use.socket_words is not None:
        severity = Severity.INFO
    return Finding.of(
        "runtime-socket/docker-own"
        if docker is DockerFate.OWN
        else "runtime-socket/docker"
        if docker_ends or not is_incidental
        else "runtime-socket/beside-unknown"
        if use.socket_words is None
        else "runtime-socket/beside",
        subject,
        severity=severity,
        detail=detail,
        folder=is_folder,
        then=clause("runtime-socket/then", needed=is_required, folder=is_folder),
        ends=docker_ends,
        in_use=in_use,
        left=not (docker_ends or in_use),
        command=_show_volumes_command(subject),
    )


_SEVERITY_AT_END = {
    PodAfterUpgrade.WILL_NOT_START: Severity.CRITICAL,
    PodAfterUpgrade.EMPTY: Severity.HIGH,
    PodAfterUpgrade.MISSING: Severity.MEDIUM,
}


def _check_docker_nodes(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "runtime-docker", severity=Severity.CRITICAL)
    if facts.path.target < dockershim_removed_in():
        return
    for group in group_nodes(facts.cluster.nodes):
        docker_nodes = [node for node in group.nodes if _runs_docker(node)]
        past_end = [
            node
            for node in docker_nodes
            if node.kubelet is not None and not minor_of(node.kubelet) < dockershim_removed_in()
        ]
        if not docker_nodes:
            continue
        yield Finding.of(
            "runtime-docker",
            group.subject,
            (
                node_names(docker_nodes),
                f"runtime: {join_names(sorted({node.runtime for node in docker_nodes}), 3)}",
                str(rule_basis("dockershim").source),
            ),
            severity=Severity.MEDIUM if len(past_end) == len(docker_nodes) else Severity.CRITICAL,
            running_count=len(docker_nodes),
            nodes_count=len(group.nodes),
            past=bool(past_end),
        )


_REPLACED_BY_OWNERS = (NodeOwner.MANAGED, NodeOwner.KARPENTER, NodeOwner.AUTO_MODE, NodeOwner.FARGATE)
"""Owners whose nodes are replaced by nodes that EKS or Karpenter launches."""


def _check_runtime_versions(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "runtime-version/all")
    for group in group_nodes(facts.cluster.nodes):
        by_fit: dict[Fit, list[tuple[Node, SourcedVerdict]]] = defaultdict(list)
        for node in group.nodes:
            if not _runs_docker(node):  # covered by runtime-docker
                verdict = check_runtime(node.runtime, facts.path.target)
                by_fit[verdict.fit].append((node, verdict))
        if old_nodes := by_fit[Fit.TOO_OLD]:
            yield _runtime_too_old(facts, group, old_nodes)
        if unknown_nodes := by_fit[Fit.UNKNOWN]:
            reason = Unknown(f"{node_names([node for node, _ in unknown_nodes])}: {unknown_nodes[0][1].reason}")
            yield unknown_finding("runtime-version/group", group.subject, reason, Severity.LOW)


def _runtime_too_old(facts: CheckFacts, group: NodeGroupNodes, old_nodes: list[tuple[Node, SourcedVerdict]]) -> Finding:
    nodes, verdict = [node for node, _ in old_nodes], old_nodes[0][1]
    return Finding.of(
        "runtime-version/replaced" if group.owner in _REPLACED_BY_OWNERS else "runtime-version/own",
        group.subject,
        (node_names(nodes), *(str(source) for source in (verdict.source,) if source is not None)),
        old=len(nodes),
        nodes=len(group.nodes),
        target=format_version(facts.path.target),
        why=verdict.reason,
    )


CHECKS = (
    UpgradeCheck.of("runtime-socket", _check_sockets),
    UpgradeCheck.of("runtime-docker", _check_docker_nodes),
    UpgradeCheck.of("runtime-version", _check_runtime_versions),
)
