"""Release notes: the objects here that each affects, and the notes that the tool cannot check."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubectl_eksdoc.check.checking import CheckFacts, Gate
from kubectl_eksdoc.check.plan import CheckScope, plan_check
from kubectl_eksdoc.check.registry import choose_checks
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.findings import Finding, Severity, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.network import Service
from kubectl_eksdoc.model.placement import PersistentVolume
from kubectl_eksdoc.model.workloads import CronJob, Job
from tests.builders import a_claimed, a_node, a_pod
from tests.check.healthy import IMAGES, a_healthy_cluster, a_program, found, healthy

CRON = CronJob("shop", "report", "2")


def notes(facts: CheckFacts) -> dict[str, Finding]:
    return {each.subject.name: each for each in found(facts, "release-note")}


@pytest.mark.parametrize(
    ("image", "status"),
    [("registry.k8s.io/ingress-nginx/controller:v1.12.1", Status.PASS), ("nginx:1.27", None)],
)
def test_a_note_about_an_image(image: str, status: Status | None) -> None:
    facts = replace(healthy(now="1.34", target="1.35"), cluster=a_healthy_cluster(pods=[a_program("it", image)]))
    told = notes(facts).get("1.35 ingress-nginx-retired")
    assert (None if told is None else told.status) is status


@pytest.mark.parametrize(
    ("config", "status"),
    [
        ("mode: ipvs\nipvs: {}", Status.PASS),
        ("kube-proxy --v=2 --proxy-mode=ipvs", Status.PASS),
        ("kube-proxy --proxy-mode=eksdoc-digest:12", Status.UNKNOWN),
        ('mode: "iptables"', None),
        ("kind: KubeProxyConfiguration", None),
    ],
)
def test_the_mode_of_kube_proxy_is_judged(config: str, status: Status | None) -> None:
    facts = replace(healthy(now="1.34", target="1.35"), kube_proxy_config=config)
    told = notes(facts).get("1.35 ipvs-deprecated")
    assert (None if told is None else told.status) is status
    if status is Status.PASS:
        assert told is not None and told.evidence[0] == "kube-proxy is in ipvs mode"


def test_what_has_no_configuration_of_kube_proxy_is_not_known() -> None:
    for proxy in (Unknown("it is forbidden", "get configmaps"), Absent("it is not there"), ""):
        told = notes(replace(healthy(now="1.34", target="1.35"), kube_proxy_config=proxy))["1.35 ipvs-deprecated"]
        assert (told.status, told.severity) == (Status.UNKNOWN, Severity.INFO)
        assert any("kube-proxy-config" in each for each in told.evidence)
    assert notes(healthy(target="1.33")) == {}, "nothing is on the way to where one is"
    with_other_names = notes(replace(healthy(now="1.24", target="1.25"), kube_proxy_config="mode: ipvs"))
    assert with_other_names["1.25 aws-auth-braces"].status is Status.UNKNOWN, "another ConfigMap"


FIELDS = [
    ("1.34 apparmor-deprecated", {"noted": ("appArmorProfile",)}, "has appArmorProfile", Status.PASS),
    ("1.36 git-repo-volumes", {"noted": ("gitRepo",)}, "has gitRepo", Status.FAIL),
    (
        "1.36 selinux-mounts",
        {"noted": ("seLinuxOptions",), "volumes": [a_claimed("data")]},
        "has seLinuxOptions",
        Status.UNKNOWN,
    ),
]


@pytest.mark.parametrize(("note", "pod", "seen", "status"), FIELDS)
def test_a_note_about_a_field_of_pods(note: str, pod: dict[str, Any], seen: str, status: Status) -> None:
    target = note[:4]
    now = f"1.{int(target[2:]) - 1}"
    nodes = [a_node("new", version=f"v{now}.1")]
    without = a_healthy_cluster(pods=[a_pod("web")], nodes=nodes)
    assert note not in notes(replace(healthy(now=now, target=target), cluster=without))
    has_it = a_healthy_cluster(pods=[a_pod("web"), a_pod("old", **pod)], nodes=nodes)
    told = notes(replace(healthy(now=now, target=target), cluster=has_it))[note]
    assert told.status is status and seen in told.evidence[0] and "default/old" in told.evidence[0]
    assert (told.severity is Severity.LOW) is (status is Status.PASS) and bool(told.missing) is (
        status is Status.UNKNOWN
    )


def test_what_keeps_pods_from_starting_is_to_be_fixed_before_the_nodes() -> None:
    """``--gate before-nodes`` exited with 0 before."""
    nodes = [a_node("new", version="v1.35.1")]
    cluster = a_healthy_cluster(pods=[a_pod("old", noted=("gitRepo",))], nodes=nodes)
    facts, code = replace(healthy(now="1.35", target="1.36"), cluster=cluster), "release-note"
    plan = plan_check(facts, choose_checks([code], Gate.BEFORE_NODES), CheckScope(frozenset({code}), Gate.BEFORE_NODES))
    assert plan.outcome.status is Status.FAIL
    assert [each.subject.name for each in plan.outcome.fails] == ["1.36 git-repo-volumes"]


def test_a_node_that_may_have_cgroup_v2_fails_nothing() -> None:
    nodes = [a_node("u", version="v1.34.1", os_image="Ubuntu 22.04.5 LTS")]
    facts = replace(healthy(now="1.34", target="1.35"), cluster=a_healthy_cluster(nodes=nodes))
    assert notes(facts)["1.35 cgroup-v1"].status is Status.UNKNOWN


def test_without_a_volume_that_pods_may_share_labels_of_selinux_do_not_matter() -> None:
    cluster = a_healthy_cluster(pods=[a_pod("web", noted=("seLinuxOptions",))])
    assert "1.36 selinux-mounts" not in notes(replace(healthy(now="1.35", target="1.36"), cluster=cluster))


def test_pods_that_may_have_only_the_annotation_of_apparmor_are_not_known() -> None:
    """The API server sets the field for it from 1.30 on."""
    old = a_healthy_cluster(pods=[a_pod("web")], nodes=[a_node("old", version="v1.29.1")])
    told = notes(replace(healthy(now="1.32", target="1.34"), cluster=old))["1.34 apparmor-deprecated"]
    assert told.status is Status.UNKNOWN


@pytest.mark.parametrize(
    "templates", [{"unread": [kinds.DEPLOYMENTS]}, {"jobs": [Job("shop", "held", "1")]}, {"cron_jobs": [CRON]}]
)
def test_templates_without_pods_are_not_known(templates: dict[str, Any]) -> None:
    note, facts = "1.36 git-repo-volumes", healthy(now="1.35", target="1.36")
    assert note not in notes(facts)
    told = notes(replace(facts, cluster=a_healthy_cluster(**templates)))[note]
    assert (told.status, told.severity) == (Status.UNKNOWN, Severity.INFO)


def test_external_addresses_of_services() -> None:
    facts = healthy(now="1.35", target="1.36")
    note = "1.36 external-ips-deprecated"
    for services, status in (([], None), ([Service("shop", "web", external_ips=True)], Status.PASS)):
        told = notes(replace(facts, cluster=a_healthy_cluster(services=services))).get(note)
        assert (None if told is None else told.status) is status
    blind = a_healthy_cluster(unread=[kinds.SERVICES])
    assert notes(replace(facts, cluster=blind))[note].status is Status.UNKNOWN


def test_in_tree_volumes_need_their_driver_before_1_23() -> None:
    """It is the first step after which only the EBS CSI driver serves them."""
    volumes = [PersistentVolume("old", "u", driver="kubernetes.io/aws-ebs"), PersistentVolume("new", "v")]
    way = healthy(now="1.22", target="1.23")
    told = notes(replace(way, cluster=a_healthy_cluster(volumes=volumes)))["1.23 csi-migration"]
    assert (told.status, told.evidence[0]) == (Status.FAIL, "PersistentVolume old is of kubernetes.io/aws-ebs")
    assert "1.23 csi-migration" not in notes(replace(way, cluster=a_healthy_cluster(volumes=volumes[1:])))
    driver = a_program("ebs", f"{IMAGES}/eks/aws-ebs-csi-driver:v1.54.0")
    assert "1.23 csi-migration" not in notes(replace(way, cluster=a_healthy_cluster(volumes=volumes, pods=[driver])))
    unread = notes(replace(way, cluster=a_healthy_cluster(unread=[kinds.VOLUMES])))["1.23 csi-migration"]
    assert unread.status is Status.UNKNOWN


def test_those_of_nodes_count_from_the_oldest_kubelet() -> None:
    old = a_healthy_cluster(nodes=[a_node("old", version="v1.26.1"), a_node("new", version="v1.29.1")])
    facts = replace(healthy(now="1.29", target="1.29"), cluster=old)
    assert any(name.startswith("1.27 ") for name in notes(facts))
    assert not any(
        name.startswith("1.28 ") and each.message.startswith("when the control plane")
        for name, each in notes(facts).items()
    )


def test_what_is_not_read_is_not_known() -> None:
    facts = replace(healthy(), cluster=a_healthy_cluster(unread=[kinds.PODS], pods=()))
    assert found(facts, "release-note")[0].missing == "list pods"
