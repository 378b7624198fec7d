"""Pods that reach a container runtime socket, their controllers, and the severity before 1.24 and after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject
from kubectl_eksdoc.model.nodes import Volume
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.model.workloads import CronJob, HostFiles
from tests.builders import a_hostpath, a_job, a_node, a_pod, a_workload, an_owner
from tests.check.of_cluster import facts, found, only
from tests.kubectl_dds import flagged_by_dds

SOCK = "/var/run/docker.sock"
OLD, NEW = Version(1, 23), Version(1, 24)


def host(path: str = SOCK, kind: str = "", *words: str) -> HostFiles:
    return HostFiles((a_volume(path, kind),), words)


def a_volume(path: str = SOCK, kind: str = "") -> Volume:
    return replace(a_hostpath(path, "sock"), path_type=kind)


def before(**of: Any) -> tuple[Finding, ...]:
    """An upgrade from 1.23 to 1.24."""
    nodes = [a_node(version="v1.23.17-eks-1", runtime="docker://20.10.25")]
    return found("runtime-socket", facts(now=OLD, target=NEW, nodes=nodes, **of))


def after(**of: Any) -> tuple[Finding, ...]:
    """A cluster in which all nodes are past 1.24."""
    return found("runtime-socket", facts(nodes=[a_node()], **of))


KINDS = ["Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "ReplicationController"]


@pytest.mark.parametrize("kind", KINDS)
def test_templates_of_every_kind(kind: str) -> None:
    (finding,) = before(workloads=[a_workload(f"{kind}/x", "kube-system", host=host())])
    assert (finding.subject, finding.severity) == (Subject(kind, "x", "kube-system"), Severity.HIGH)
    assert finding.evidence[:2] == (f"volume sock: hostPath {SOCK}", "no pod of it runs now")


def test_jobs_and_what_makes_them() -> None:
    owner = an_owner("CronJob/nightly", "ops")
    job = a_job("nightly-1", "ops", owner=owner, host=host())
    made = CronJob("ops", "nightly", owner.uid, host())
    pod = a_pod("nightly-1-x", "ops", owner="Job/nightly-1", volumes=(a_volume(),))
    alone = a_job("once", "ops", host=host())
    first, second = before(jobs=[job, alone], cron_jobs=[made], pods=[pod])
    assert [first.subject, second.subject] == [Subject("CronJob", "nightly", "ops"), Subject("Job", "once", "ops")]
    assert "pods: nightly-1-x" in first.evidence


def test_a_bare_pod_and_a_static_one() -> None:
    pods = [
        a_pod("bare", owner=None, volumes=(a_volume(),)),
        a_pod("static-old-0", "kube-system", owner="Node/old-0", volumes=(a_volume(),)),
    ]
    assert [each.subject for each in before(pods=pods)] == [
        Subject("Pod", "bare", "default"),
        Subject("Pod", "static-old-0", "kube-system"),
    ]


def test_a_deployment_is_told_once() -> None:
    """Its ReplicaSets, old ones too, and their pods are reported as the Deployment."""
    workloads = [
        a_workload("Deployment/web", host=host()),
        a_workload("ReplicaSet/web-1", owner="Deployment/web", host=host()),
        a_workload("ReplicaSet/web-0", owner="Deployment/web", replicas=0, host=host("/run")),
    ]
    pods = [a_pod(f"web-1-{i}", owner="ReplicaSet/web-1", volumes=(a_volume(),)) for i in range(7)]
    (finding,) = before(workloads=workloads, pods=pods)
    assert finding.subject == Subject("Deployment", "web", "default")
    assert finding.evidence[1] == "pods: web-1-0, web-1-1, web-1-2, web-1-3, web-1-4 and 2 more"


def test_a_pod_of_a_replica_set_that_was_not_read() -> None:
    labels = {"pod-template-hash": "5d4f"}
    pods = [a_pod(owner="ReplicaSet/web-5d4f", labels=labels, volumes=(a_volume(),))]
    assert [each.subject.kind for each in before(pods=pods, unread=[kinds.REPLICA_SETS])] == ["Deployment", "Cluster"]


def test_what_makes_a_deployment_or_a_replica_set_of_others() -> None:
    """An operator's DaemonSet is reported by its own name; a ReplicaSet of an Argo Rollout by that of the Rollout, if
    it has replicas."""
    workloads = [
        a_workload("DaemonSet/agent", owner="Agent/agent", host=host()),
        a_workload("ReplicaSet/web-1", owner="Rollout/web", host=host()),
        a_workload("ReplicaSet/old-1", owner="Rollout/old", replicas=0, host=host()),
    ]
    first, second = before(workloads=workloads)
    assert [str(first.subject.kind), str(second.subject.kind)] == ["DaemonSet", "Rollout"]
    assert first.remedy[0].command == (
        "kubectl get daemonset agent -n default -o 'jsonpath={.spec.template.spec.volumes}'"
    )
    assert second.remedy[0].command == ""


def test_the_old_vpc_cni() -> None:
    workloads = [a_workload("DaemonSet/aws-node", "kube-system", host=host("/var/run/dockershim.sock"))]
    (finding,) = before(workloads=workloads)
    assert (finding.status, finding.severity) == (Status.UNKNOWN, Severity.MEDIUM)
    assert any("update it first" in each for each in finding.evidence)


def test_owners_in_a_circle_end() -> None:
    workloads = [a_workload("ReplicaSet/a", owner="ReplicaSet/b"), a_workload("ReplicaSet/b", owner="ReplicaSet/a")]
    assert len(before(workloads=workloads, pods=[a_pod(owner="ReplicaSet/a", volumes=(a_volume(),))])) == 1


@pytest.mark.parametrize(
    ("mounts", "severity", "then"),
    [
        (host(SOCK, "Socket"), Severity.CRITICAL, "does not start"),
        (host("/run/docker.sock", "FileOrCreate"), Severity.HIGH, "finds an empty folder"),
        (host("/var/run", "Directory"), Severity.MEDIUM, "a folder above docker.sock"),
        (host("/run", "", f"unix://{SOCK}"), Severity.HIGH, ""),  # which its containers name
        (host("/"), Severity.MEDIUM, "the socket is not in its folder"),
    ],
)
def test_nodes_lose_docker_on_the_way(mounts: HostFiles, severity: Severity, then: str) -> None:
    (finding,) = before(workloads=[a_workload("Deployment/x", host=mounts)])
    assert (finding.status, finding.severity) == (Status.FAIL, severity)
    assert then in finding.message and finding.remedy
    named = f'its containers name "unix://{SOCK}"'
    assert (named in finding.evidence) is bool(mounts.socket_arguments)


@pytest.mark.parametrize(
    ("now", "target", "kubelet", "severity"),
    [
        (OLD, NEW, None, Severity.CRITICAL),  # without nodes the control plane tells
        (OLD, NEW, "", Severity.CRITICAL),
        (OLD, NEW, "v1.24.1", Severity.MEDIUM),  # nodes are nearer, and never newer
        (NEW, Version(1, 25), None, Severity.MEDIUM),
        (Version(1, 22), OLD, "v1.22.17-eks-1", Severity.INFO),  # it stays
    ],
)
def test_whether_there_is_docker_nodes_tell_first(
    now: Version, target: Version, kubelet: str | None, severity: Severity
) -> None:
    mount = [a_workload("Deployment/x", host=host(SOCK, "Socket"))]
    nodes = [] if kubelet is None else [a_node(version=kubelet)]
    assert only("runtime-socket", facts(now=now, target=target, nodes=nodes, workloads=mount)).severity is severity


@pytest.mark.parametrize(
    ("mounts", "status", "severity"),
    [
        (host(SOCK, "Socket"), Status.FAIL, Severity.MEDIUM),
        (host(SOCK), Status.FAIL, Severity.LOW),
        (host("/run", "Directory"), Status.PASS, Severity.INFO),  # agents mount it for other sockets
        (host("/var/run", "", SOCK), Status.FAIL, Severity.MEDIUM),
        (host("/run/containerd/containerd.sock"), Status.PASS, Severity.INFO),
        (host("/run/dockershim.sock"), Status.UNKNOWN, Severity.LOW),
    ],
)
def test_past_1_24_it_is_left_over(mounts: HostFiles, status: Status, severity: Severity) -> None:
    (finding,) = after(workloads=[a_workload("Deployment/x", host=mounts)])
    assert (finding.status, finding.severity) == (status, severity)
    assert (finding.missing != "") is (status is Status.UNKNOWN)


def test_what_pods_alone_tell() -> None:
    """The list of controllers may be missing: pods do not tell the mounts of their containers, only whether they
    run."""
    (folder,) = after(pods=[a_pod(owner="DaemonSet/x", volumes=(a_volume("/var/run"),))])
    assert (folder.status, folder.missing) == (Status.UNKNOWN, "whether its containers name docker.sock")
    (socket,) = after(pods=[a_pod(owner="DaemonSet/x", volumes=(a_volume(SOCK, "Socket"),))])
    assert "its pods are Ready, so there is such a socket on their nodes" in socket.message


def test_a_docker_that_somebody_brought() -> None:
    given_nodes = [a_node(runtime="docker://26.1.0"), a_node("b", runtime="containerd://1.7.27")]
    finding = only("runtime-socket", facts(nodes=given_nodes, workloads=[a_workload("Deployment/x", host=host())]))
    assert (finding.status, finding.missing) == (Status.UNKNOWN, "whether new nodes have Docker, too")


def test_containerd_2_is_told_where_it_comes() -> None:
    workloads = [a_workload("DaemonSet/x", host=host("/run/containerd"))]
    (finding,) = after(workloads=workloads)
    assert any("containerd 2.1" in each and "medium" in each for each in finding.evidence)
    past = facts(now=Version(1, 34), target=Version(1, 35), nodes=[a_node()], workloads=workloads)
    assert not any("containerd 2.1" in each for each in only("runtime-socket", past).evidence)


def test_what_has_ended_runs_no_more() -> None:
    (finding,) = before(jobs=[a_job("once", finished=True, host=host(SOCK, "Socket"))])
    assert (finding.status, finding.severity) == (Status.PASS, Severity.INFO)
    assert finding.message.endswith("it has ended, and does not run again")


@given(
    path=st.lists(st.sampled_from(["var", "run", "docker.sock", "dockershim.sock", "..", "opt", "x"]), max_size=5),
    kind=st.sampled_from(["", "Socket", "File", "Directory", "DirectoryOrCreate", "FileOrCreate", "CharDevice"]),
)
def test_whatever_dds_reports_is_not_passed_over(path: list[str], kind: str) -> None:
    mounted = f"/{'/'.join(path)}"
    for judged in (before, after):
        told = judged(workloads=[a_workload("Deployment/x", host=host(mounted, kind))])
        assert told or not flagged_by_dds(mounted)


def test_nodes_with_docker() -> None:
    nodes = [a_node("a", version="v1.23.17", runtime="docker://20.10.25"), a_node("b", version="v1.23.17")]
    finding = only("runtime-docker", facts(now=OLD, target=NEW, nodes=nodes))
    assert (finding.severity, finding.subject) == (Severity.CRITICAL, Subject("Nodegroup", "blue"))
    assert finding.message.startswith("1 of 2 nodes run Docker")
    assert found("runtime-docker", facts(now=Version(1, 22), target=OLD, nodes=nodes)) == ()
    assert found("runtime-docker", facts(nodes=[a_node(runtime="containerd://1.7.27")])) == ()
    own = only("runtime-docker", facts(nodes=[a_node(runtime="docker://26.1.0")]))
    assert (own.severity, "cri-dockerd" in own.message) == (Severity.MEDIUM, True)


@pytest.mark.parametrize(
    ("group", "runtime", "target", "statuses"),
    [
        ("blue", "containerd://1.7.27", 36, [Status.PASS]),
        ("", "containerd://1.7.27", 36, [Status.FAIL]),
        ("", "cri-o://1.30", 34, [Status.UNKNOWN]),
        ("", "", 34, [Status.UNKNOWN]),
        ("", "containerd://2.1.4", 36, []),
        ("", "docker://26", 36, []),
        ("", "containerd://1.7.27", 34, []),
    ],
)
def test_containerd_too_old(group: str, runtime: str, target: int, statuses: list[Status]) -> None:
    judged = facts(target=Version(1, target), nodes=[a_node(group=group, runtime=runtime)])
    assert [each.status for each in found("runtime-version", judged)] == statuses
