"""Container runtimes: pods that mount their sockets, nodes with Docker, and containerd too old for the target."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from kubectl_eksdoc.amazon.amis import dockershim_ends, runtime_fits
from kubectl_eksdoc.amazon.sockets import (
    CONTAINERD,
    DOCKER,
    MountedSocket,
    NamedSocket,
    PodAfterUpgrade,
    SocketAccess,
    named_in,
    reached,
)
from kubectl_eksdoc.amazon.versions import Fit, SourcedVerdict, in_words, minor_of
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Finding, Severity, Subject, clause
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.nodes import Node, NodeOwner, Volume, VolumeKind
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.workloads import HostFiles, Workload

from ..checking import CheckFacts, UpgradeCheck, listed, unknown, unread
from .release_notes import NodeGroupNodes, groups, named
from .software import owners

_FIRST_CONTAINERD_2 = Version(1, 34)
_NOTE_2 = (
    "nodes of 1.34 have containerd 2.1 (EKS user guide, 1.34; confidence: medium): try first whether its client does"
)


class Docker(str, Enum):
    """What happens to Docker on the nodes of this cluster in the upgrade."""

    ENDS = "ends"
    """Nodes of 1.24 or newer replace the present ones, and have no Docker."""
    OWN = "own"
    """The nodes have their own Docker, which EKS does not install."""
    GONE = "gone"
    STAYS = "stays"


@frozen
class _Use:
    """The sockets that the pods and templates of one owner can reach, with the volumes. `socket_words`: in its
    templates' containers, None where no template was read; `may_run`: a pod runs, or may be created; `has_ready_pod`:
    at least one of the pods is Ready."""

    found: tuple[tuple[Volume, MountedSocket], ...]
    words: tuple[str, ...] | None
    pods: tuple[str, ...]
    alive: bool
    ready: bool

    @property
    def named(self) -> tuple[NamedSocket, ...]:
        return named_in(self.words or ())


def _sockets(facts: CheckFacts) -> Iterator[Finding]:
    docker = docker_on(facts)
    how_bad = Severity.HIGH if docker is Docker.ENDS else Severity.LOW
    yield from unread(facts, "runtime-socket", severity=how_bad)
    for subject, use in sorted(_uses(facts.cluster).items(), key=lambda each: (each[0].kind, str(each[0]))):
        yield _finding(facts, subject, use, docker)


def docker_on(facts: CheckFacts) -> Docker:
    """By the kubelets of the nodes, or by the control plane's version where no kubelet version is known."""
    known = [each.kubelet for each in facts.cluster.nodes if each.kubelet is not None]
    had = any(minor_of(each) < dockershim_ends() for each in known) if known else facts.way.now < dockershim_ends()
    if had:
        return Docker.STAYS if facts.way.target < dockershim_ends() else Docker.ENDS
    return Docker.OWN if any(map(_runs_docker, facts.cluster.nodes)) else Docker.GONE


def _runs_docker(node: Node) -> bool:
    return node.runtime.startswith("docker://")


def _uses(cluster: Cluster) -> Mapping[Subject, _Use]:
    """The uses by top owner. A subPath does not narrow a mount: any volume of any container counts."""
    found: dict[Subject, dict[tuple[Volume, MountedSocket], None]] = defaultdict(dict)
    words: dict[Subject, dict[str, None]] = defaultdict(dict)
    pods: dict[Subject, list[str]] = defaultdict(list)
    alive: set[Subject] = set()
    ready: set[Subject] = set()
    of = owners(cluster)
    for pod in cluster.pods:
        if pod.volumes and (reaching := _reaching(pod.volumes)):
            subject = of.of_pod(pod)
            found[subject] |= dict.fromkeys(reaching)
            if not pod.finished:
                alive.add(subject)
                pods[subject].append(pod.name)
                ready |= {subject} if pod.ready else set()
    for subject, host, runs in _templates(cluster):
        if reaching := _reaching(host.volumes):
            found[subject] |= dict.fromkeys(reaching)
            words[subject] |= dict.fromkeys(host.socket_words)
            alive |= {subject} if runs else set()
    return {
        subject: _Use(
            tuple(each),
            tuple(words[subject]) if subject in words else None,
            tuple(sorted(pods[subject])),
            subject in alive,
            subject in ready,
        )
        for subject, each in found.items()
    }


def _templates(cluster: Cluster) -> Iterator[tuple[Subject, HostFiles, bool]]:
    """Each template's owner, its mounts, and whether pods are or may be created from it. ReplicaSets of a Deployment
    are left out, because they have its present or former template; those of other owners (Argo's Rollouts) count if
    they have replicas."""
    of = owners(cluster)
    for each in cluster.workloads:
        if each.kind != "ReplicaSet" or each.owner is None or _current(each):
            yield of.of(each), each.host, True
    for job in cluster.jobs:
        if job.owner is None or not job.finished:
            yield of.of(job), job.host, not job.finished
    for made in cluster.cron_jobs:
        yield Subject("CronJob", made.name, made.namespace), made.host, True


def _current(each: Workload) -> bool:
    return each.replicas > 0 and each.owner is not None and each.owner.kind != "Deployment"


def _reaching(volumes: Iterable[Volume]) -> list[tuple[Volume, MountedSocket]]:
    return [
        (volume, each)
        for volume in volumes
        if volume.kind is VolumeKind.HOST_PATH
        for each in _reached(volume.detail, volume.path_type)
    ]


_reached = lru_cache(4096)(reached)
"""Cached, because thousands of pods have only a few different paths."""


def _finding(facts: CheckFacts, subject: Subject, use: _Use, docker: Docker) -> Finding:
    worst = min((_judged(subject, use, volume, each, docker) for volume, each in use.found), key=_rank)
    volumes = dict.fromkeys(f"volume {each.name}: hostPath {_path(each)}" for each, _ in use.found)
    if not use.alive:
        worst = Finding.of("runtime-socket/ended", subject, message=worst.message)
    evidence = [*volumes, f"pods: {listed(use.pods)}" if use.pods else "no pod of it runs now", *_said(use)]
    if any(each.socket is CONTAINERD for _, each in use.found) and _crosses_containerd_2(facts):
        evidence.append(_NOTE_2)
    if subject == _AWS_NODE and not any(each.socket is DOCKER for _, each in use.found):
        evidence.append(_CNI)
    evidence += dict.fromkeys(str(each.socket.source) for _, each in use.found if each.socket is DOCKER or _meant(each))
    return replace(worst, evidence=tuple(evidence))


_AWS_NODE = Subject("DaemonSet", "aws-node", "kube-system")
_CNI = (
    "old versions of vpc-cni mount dockershim.sock, newer ones do without it: update it first "
    "(aws/amazon-vpc-cni-k8s, issue 2316; confidence: medium)"
)

_TEMPLATE = "{.spec.template.spec.volumes}"
_VOLUMES = {
    "Pod": "{.spec.volumes}",
    "CronJob": "{.spec.jobTemplate.spec.template.spec.volumes}",
    **dict.fromkeys(
        ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController", "Job"), _TEMPLATE
    ),
}


def _show(subject: Subject) -> str:
    """The command that shows its volumes; "" for kinds that are not built in."""
    path = _VOLUMES.get(subject.kind)
    if path is None:
        return ""
    return kubectl("get", subject.kind.lower(), subject.name, subject.namespace, "-o", f"jsonpath={path}")


def _meant(each: MountedSocket) -> bool:
    """Whether a socket of uncertain fate is mounted by itself, and not with its folder."""
    return each.socket is not CONTAINERD and each.how is not SocketAccess.FOLDER


def _rank(judged: Finding) -> tuple[int, int]:
    return judged.status.rank, judged.severity.rank


def _path(volume: Volume) -> str:
    return f"{volume.detail} ({volume.path_type})" if volume.path_type else volume.detail


def _said(use: _Use) -> Iterator[str]:
    if found := use.named:
        words = sorted({f'"{each.word}"' for each in found})
        yield f"its containers name {listed(words, 2)}"


def _crosses_containerd_2(facts: CheckFacts) -> bool:
    return facts.way.now < _FIRST_CONTAINERD_2 and not facts.way.target < _FIRST_CONTAINERD_2


def _judged(subject: Subject, use: _Use, volume: Volume, each: MountedSocket, docker: Docker) -> Finding:
    detail = volume.detail
    if each.socket is CONTAINERD:
        return Finding.of("runtime-socket/containerd", subject, detail=detail)
    if docker is Docker.STAYS:
        return Finding.of("runtime-socket/docker-stays", subject, detail=detail)
    if each.socket is DOCKER and each.how is not SocketAccess.LOOKS_LIKE:
        return _docker(subject, use, each, docker, detail)
    if not _meant(each):
        return Finding.of("runtime-socket/folder", subject, detail=detail, runtime=each.socket.runtime)
    return Finding.of(
        "runtime-socket/other",
        subject,
        severity=Severity.MEDIUM if docker is Docker.ENDS else Severity.LOW,
        detail=detail,
        like=each.socket.path if each.how is SocketAccess.LOOKS_LIKE else "",
        why=each.socket.why,
        command=_show(subject),
    )


def _docker(subject: Subject, use: _Use, each: MountedSocket, docker: Docker, detail: str) -> Finding:
    """After 1.24 nothing changes any more: the mounts are left over from before."""
    said = any(found.socket is DOCKER for found in use.named)
    folder = each.how is SocketAccess.FOLDER
    beside = folder and not said  # agents mount /run for other sockets
    needed, ends = each.then is PodAfterUpgrade.WILL_NOT_START, docker is Docker.ENDS
    in_use = needed and use.ready
    severity = Severity.MEDIUM if docker is Docker.OWN or (not beside and (needed or said)) else Severity.LOW
    if ends:
        severity = Severity.HIGH if said and _ENDS[each.then] is Severity.MEDIUM else _ENDS[each.then]
    elif docker is not Docker.OWN and beside and use.words is not None:
        severity = Severity.INFO
    return Finding.of(
        "runtime-socket/docker-own"
        if docker is Docker.OWN
        else "runtime-socket/docker"
        if ends or not beside
        else "runtime-socket/beside-unknown"
        if use.words is None
        else "runtime-socket/beside",
        subject,
        severity=severity,
        detail=detail,
        folder=folder,
        then=clause("runtime-socket/then", needed=needed, folder=folder),
        ends=ends,
        in_use=in_use,
        left=not (ends or in_use),
        command=_show(subject),
    )


_ENDS = {
    PodAfterUpgrade.WILL_NOT_START: Severity.CRITICAL,
    PodAfterUpgrade.EMPTY: Severity.HIGH,
    PodAfterUpgrade.MISSING: Severity.MEDIUM,
}


def _docker_nodes(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "runtime-docker", severity=Severity.CRITICAL)
    if facts.way.target < dockershim_ends():
        return
    for group in groups(facts.cluster.nodes):
        running = [node for node in group.nodes if _runs_docker(node)]
        past = [node for node in running if node.kubelet is not None and not minor_of(node.kubelet) < dockershim_ends()]
        if not running:
            continue
        yield Finding.of(
            "runtime-docker",
            group.subject,
            (
                named(running),
                f"runtime: {listed(sorted({node.runtime for node in running}), 3)}",
                str(basis("dockershim").source),
            ),
            severity=Severity.MEDIUM if len(past) == len(running) else Severity.CRITICAL,
            running_count=len(running),
            nodes_count=len(group.nodes),
            past=bool(past),
        )


_BRING_THEIR_OWN = (NodeOwner.MANAGED, NodeOwner.KARPENTER, NodeOwner.AUTO_MODE, NodeOwner.FARGATE)
"""Owners whose nodes are replaced by nodes that EKS or Karpenter launches."""


def _versions(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "runtime-version/all")
    for group in groups(facts.cluster.nodes):
        by_fit: dict[Fit, list[tuple[Node, SourcedVerdict]]] = defaultdict(list)
        for node in group.nodes:
            if not _runs_docker(node):  # covered by runtime-docker
                verdict = runtime_fits(node.runtime, facts.way.target)
                by_fit[verdict.fit].append((node, verdict))
        if old := by_fit[Fit.TOO_OLD]:
            yield _too_old(facts, group, old)
        if strange := by_fit[Fit.UNKNOWN]:
            told = Unknown(f"{named([node for node, _ in strange])}: {strange[0][1].why}")
            yield unknown("runtime-version/group", group.subject, told, Severity.LOW)


def _too_old(facts: CheckFacts, group: NodeGroupNodes, old: list[tuple[Node, SourcedVerdict]]) -> Finding:
    nodes, verdict = [node for node, _ in old], old[0][1]
    return Finding.of(
        "runtime-version/replaced" if group.owner in _BRING_THEIR_OWN else "runtime-version/own",
        group.subject,
        (named(nodes), *(str(source) for source in (verdict.source,) if source is not None)),
        old=len(nodes),
        nodes=len(group.nodes),
        target=in_words(facts.way.target),
        why=verdict.why,
    )


CHECKS = (
    UpgradeCheck.of("runtime-socket", _sockets),
    UpgradeCheck.of("runtime-docker", _docker_nodes),
    UpgradeCheck.of("runtime-version", _versions),
)
