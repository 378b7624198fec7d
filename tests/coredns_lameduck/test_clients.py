"""DNS clients that keep their UDP socket: the effect of kube-proxy's mode and of NodeLocal DNSCache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from kubectl_eksdoc.coredns_lameduck.deployed import KUBE_PROXY
from kubectl_eksdoc.coredns_lameduck.plan import plan_dns
from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.findings import Finding, Status
from kubectl_eksdoc.model.kinds import Absent, Unknown
from tests.builders import a_pod
from tests.coredns_lameduck.made import PODS, facts

NODES = [node.name for node in facts().cluster.nodes]
IPVS = 'mode: "ipvs"\nipvs:\n  scheduler: rr\n'


def config(text: str) -> Doc:
    return {"metadata": {"name": KUBE_PROXY.name}, "data": {"config": f"apiVersion: v1\n{text}"}}


def daemon_set(*words: str) -> Doc:
    return {"spec": {"template": {"spec": {"containers": [{"command": ["kube-proxy"], "args": [*words]}]}}}}


AS_EKS_HAS_IT = daemon_set("--v=2", "--config=/var/lib/kube-proxy-config/config")


def found(
    of: Doc | Absent | Unknown, local: Sequence[str] = (), by: Doc | Absent | Unknown = AS_EKS_HAS_IT
) -> list[Finding]:
    labels = {"k8s-app": "node-local-dns"}
    more = [a_pod(f"cache-{node}", "kube-system", node=node, labels=labels) for node in local]
    made = facts(pods=(*PODS, *more))
    plan = plan_dns(replace(made, objects={**made.objects, KUBE_PROXY: of, guards.KUBE_PROXY_DAEMON_SET: by}))
    return [
        each for each in plan.findings if each.code.name == "dns-kept-flows" or each.subject.name == KUBE_PROXY.name
    ]


@pytest.mark.parametrize(("more", "seconds"), [("", 300), ("  udpTimeout: 0s\n", 300), ("  udpTimeout: 10s\n", 10)])
def test_ipvs_keeps_a_flow_until_its_timeout(more: str, seconds: int) -> None:
    (finding,) = found(config(IPVS + more))
    assert finding.status is Status.FAIL and f"for up to {seconds} s" in finding.message


@pytest.mark.parametrize(
    ("text", "mode"), [("", "iptables"), ('mode: ""\n', "iptables"), ("#mode: ipvs\nmode: nftables\n", "nftables")]
)
def test_other_modes_delete_it(text: str, mode: str) -> None:
    (finding,) = found(config(text))
    assert finding.status is Status.PASS and f"({mode})" in finding.message


@pytest.mark.parametrize("text", ["  mode: ipvs\n", '{"kind": "KubeProxyConfiguration", "mode": "ipvs"}'])
def test_the_mode_is_found_however_it_is_written(text: str) -> None:
    assert [each.status for each in found(config(text))] == [Status.FAIL]


@pytest.mark.parametrize("of", [config("mode: kernelspace\n"), {"metadata": {"name": KUBE_PROXY.name}, "data": {}}])
def test_a_mode_that_is_not_known_is_no_pass(of: Doc) -> None:
    (finding,) = found(of)
    assert finding.status is Status.UNKNOWN and finding.missing


def test_node_local_dns_cache_keeps_no_flow() -> None:
    (finding,) = found(config(""), local=NODES)
    assert finding.status is Status.PASS and "NodeLocal DNSCache" in finding.message
    (some,) = found(config(""), local=NODES[:1])
    assert "kube-proxy (iptables)" in some.message, "elsewhere pods ask CoreDNS"


def test_in_ipvs_mode_node_local_dns_cache_is_asked_only_where_the_kubelets_name_it() -> None:
    for nodes in (NODES, NODES[:1]):
        (finding,) = found(config(IPVS), local=nodes)
        assert finding.status is Status.UNKNOWN and finding.missing == "clusterDNS of the kubelets"


@pytest.mark.parametrize(
    "words",
    [
        ["--proxy-mode=ipvs"],
        ["--proxy-mode", "ipvs", "--ipvs-udp-timeout=10s"],
        ["--proxy-mode=ipvs", "--config-sync-period=15m"],
    ],
)
@pytest.mark.parametrize("of", [config(""), Absent("none"), Unknown("forbidden", "get configmaps")])
def test_a_flag_is_the_mode_where_no_file_is_named(words: list[str], of: Doc | Absent | Unknown) -> None:
    """It passed before, with the ConfigMap that EKS left behind."""
    (finding,) = found(of, by=daemon_set(*words))
    assert finding.status is Status.FAIL and finding.subject.kind == "DaemonSet"
    assert f"for up to {10 if '--ipvs-udp-timeout=10s' in words else 300} s" in finding.message


def test_without_a_mode_in_its_flags_it_is_in_iptables_mode() -> None:
    (finding,) = found(config(IPVS), by=daemon_set("--v=2"))
    assert finding.status is Status.PASS


def test_the_flags_of_a_container_beside_it_are_not_its_own() -> None:
    """It passed before, if a sidecar had a file of its own."""
    beside = [
        {"name": "reloader", "args": ["--config=/etc/reload", "--proxy-mode=iptables"]},
        {"name": "kube-proxy", "command": ["kube-proxy", "--proxy-mode=ipvs"]},
    ]
    (finding,) = found(config(""), by={"spec": {"template": {"spec": {"containers": beside}}}})
    assert finding.status is Status.FAIL


def test_a_file_wins_over_the_flag() -> None:
    (finding,) = found(config(""), by=daemon_set("--config=/etc/config", "--proxy-mode=ipvs"))
    assert finding.status is Status.PASS


@pytest.mark.parametrize(
    ("by", "of"),
    [
        (Unknown("forbidden", "get daemonsets"), config("")),
        (AS_EKS_HAS_IT, Absent("none")),
        (daemon_set("--proxy-mode=$(MODE)"), Absent("none")),
        ({"spec": {"template": {"spec": {"containers": [{"command": ["eksdoc-digest:12"]}]}}}}, config("")),
    ],
)
def test_what_does_not_tell_the_mode_is_unknown(by: Doc | Unknown, of: Doc | Absent) -> None:
    (finding,) = found(of, by=by)
    assert finding.status is Status.UNKNOWN


def test_without_kube_proxy_nothing_is_said_and_what_is_not_read_is_unknown() -> None:
    assert found(Absent("none"), by=Absent("none")) == []
    (finding,) = found(Unknown("forbidden", "get configmaps"))
    assert finding.status is Status.UNKNOWN and finding.missing == "get configmaps"
