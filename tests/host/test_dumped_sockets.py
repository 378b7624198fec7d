"""Whatever ``kubectl dds`` finds in a dump is found here, too, and more; lists of the kinds that check alone reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubectl_eksdoc.check.facts import CheckFacts, UpgradePath
from kubectl_eksdoc.check.plan import CheckWish, plan_check
from kubectl_eksdoc.check.registry import chosen, kinds_of
from kubectl_eksdoc.host.archives.snapshot import SnapshotReader
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Code, Finding
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.quantities import Version
from tests.host.dumps import a_list, a_small_dump, an_object, archive, as_kubectl, lists_of
from tests.kubectl_dds import flagged_by_dds

SOCK = {"name": "sock", "hostPath": {"path": "/var/run/docker.sock"}}
WITHIN: Mapping[str, tuple[str, ...]] = {
    "Pod": (),
    "CronJob": ("jobTemplate", "spec", "template", "spec"),
}
"""Where each kind has its pod's spec, below its own; as a rule in a template."""
TEMPLATE = ("template", "spec")
API = {"Pod": "v1", "ReplicationController": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}


def made(kind: str, name: str, namespace: str, *volumes: Any, **spec: Any) -> dict[str, Any]:
    inner: dict[str, Any] = {"volumes": list(volumes), **spec}
    for part in reversed(WITHIN.get(kind, TEMPLATE)):
        inner = {part: inner}
    return an_object(kind, name, namespace, spec=inner) | {"apiVersion": API.get(kind, "apps/v1")}


def samples() -> list[dict[str, Any]]:
    """One of each kind that dds looks at, each in two namespaces, one of them kube-system; as its own samples are."""
    named = ("Deployment", "DaemonSet", "StatefulSet", "Job", "CronJob", "ReplicaSet", "Pod")
    return [made(kind, kind.lower(), namespace, SOCK) for kind in named for namespace in ("apps", "kube-system")]


def found_by_dds(objects: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """main.go: any volume of the pod's spec with a hostPath that names one of two sockets."""
    for each in objects:
        spec = each["spec"]
        for part in WITHIN.get(each["kind"], TEMPLATE):
            spec = spec[part]
        paths = [volume.get("hostPath", {}).get("path", "") for volume in spec["volumes"]]
        if any(map(flagged_by_dds, paths)):
            yield each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]


def read(path: Path, *codes: Code) -> Cluster:
    return SnapshotReader(str(path)).read(kinds_of(chosen([code.name for code in codes])))


def judged(cluster: Cluster, *codes: Code) -> tuple[Finding, ...]:
    names = [code.name for code in codes]
    facts = CheckFacts(cluster, UpgradePath(Version(1, 33), Version(1, 34), (Version(1, 34),), "as told"))
    return plan_check(facts, chosen(names), CheckWish(frozenset(names))).findings


def subjects(findings: tuple[Finding, ...]) -> set[tuple[str, str, str]]:
    return {(each.subject.kind, each.subject.namespace, each.subject.name) for each in findings}


def dumped(folder: Path, *objects: Any) -> Path:
    path = folder / "all.json"
    others = a_small_dump()["items"]
    path.write_bytes(as_kubectl(a_list(*others, *objects)))
    return path


def test_all_that_dds_finds(tmp_path: Path) -> None:
    objects = samples()
    expected = set(found_by_dds(objects))
    assert len(expected) == 14
    assert expected <= subjects(
        judged(read(dumped(tmp_path, *objects), Code.of("runtime-socket")), Code.of("runtime-socket"))
    )


@pytest.mark.parametrize("path", ["/var/run", "/run", "/", "/run/containerd/containerd.sock"])
def test_and_more(path: str, tmp_path: Path) -> None:
    """Folders above, containerd's socket, volumes that an init container alone mounts, and another kind."""
    volume = {"name": "host", "hostPath": {"path": path}}
    init = [{"name": "setup", "volumeMounts": [{"name": "host", "mountPath": "/host"}]}]
    objects = [
        made("DaemonSet", "agent", "kube-system", volume, initContainers=init, containers=[{"name": "main"}]),
        made("ReplicationController", "old", "apps", volume),
    ]
    assert not set(found_by_dds(objects[:1]))
    expected = {("DaemonSet", "kube-system", "agent"), ("ReplicationController", "apps", "old")}
    assert expected <= subjects(
        judged(read(dumped(tmp_path, *objects), Code.of("runtime-socket")), Code.of("runtime-socket"))
    )


_REGISTRATION = "apiregistration.k8s.io/v1"


def test_lists_that_check_alone_reads(tmp_path: Path) -> None:
    objects = [
        an_object("APIService", "v1.apps", spec={"group": "apps", "version": "v1"}) | {"apiVersion": _REGISTRATION},
        an_object("CustomResourceDefinition", "backups.example.com", spec={}),
        made("CronJob", "nightly", "apps", SOCK),
    ]
    more = (kinds.API_SERVICES, kinds.DEFINITIONS, kinds.CRON_JOBS)
    cluster = SnapshotReader(str(dumped(tmp_path, *objects))).read(more)
    assert {(each.resource, each.state, each.count) for each in cluster.reads} == {
        (resource, ReadState.READ, 1) for resource in more
    }
    assert cluster.api_services[0].group == "apps"
    assert cluster.cron_jobs[0].host.volumes


def test_definitions_still_tell_which_custom_kinds_there_are(tmp_path: Path) -> None:
    """Of a dump that has the definition of a kind and no list of it nobody knows the objects."""
    defined = an_object("CustomResourceDefinition", kinds.NODE_POOLS.full_name, spec={})
    path = dumped(tmp_path, defined)
    cluster = SnapshotReader(str(path)).read((kinds.DEFINITIONS, kinds.NODE_POOLS, kinds.NODE_CLASSES))
    states = {each.resource: each.state for each in cluster.reads}
    assert states == {
        kinds.DEFINITIONS: ReadState.READ,
        kinds.NODE_POOLS: ReadState.NOT_HELD,
        kinds.NODE_CLASSES: ReadState.NOT_SERVED,
    }


def test_the_rich_cluster() -> None:
    codes = (Code.of("runtime-socket"), Code.of("pods-bouncing"))
    found = {each for each in subjects(judged(read(archive("rich"), *codes), *codes)) if each[0] != "Cluster"}
    assert found == {
        ("DaemonSet", "kube-system", "log-agent"),
        ("DaemonSet", "kube-system", "node-agent"),
        ("Deployment", "default", "builder"),
        ("Deployment", "default", "ci-runner"),
        ("Deployment", "shop", "crashing"),
        ("Deployment", "shop", "half-sick"),
    }
    assert "docker.sock" in str(lists_of("rich")["pods"])
