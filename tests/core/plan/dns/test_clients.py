"""Clients that keep their UDP socket: by the mode of kube-proxy, and where NodeLocal DNSCache answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.findings import Finding, Status
from kubectl_eksdoc.core.plan.dns.deployed import KUBE_PROXY
from kubectl_eksdoc.core.plan.dns.plan import plan_dns
from tests.builders import a_pod
from tests.core.plan.dns.made import PODS, facts

IPVS = 'mode: "ipvs"\nipvs:\n  scheduler: rr\n'


def config(text: str) -> Doc:
    return {"metadata": {"name": KUBE_PROXY.name}, "data": {"config": f"apiVersion: v1\n{text}"}}


def found(of: Doc | Absent | Unknown, local: bool = False) -> list[Finding]:
    more = [a_pod("cache", "kube-system", node="n1", labels={"k8s-app": "node-local-dns"})] if local else []
    made = facts(pods=(*PODS, *more))
    plan = plan_dns(replace(made, objects={**made.objects, KUBE_PROXY: of}))
    return [each for each in plan.findings if each.code is codes.KEPT_FLOWS or each.subject.name == KUBE_PROXY.name]


@pytest.mark.parametrize(("more", "seconds"), [("", 300), ("  udpTimeout: 0s\n", 300), ("  udpTimeout: 10s\n", 10)])
def test_ipvs_keeps_a_flow_until_its_timeout(more: str, seconds: int) -> None:
    (finding,) = found(config(IPVS + more))
    assert finding.status is Status.FAIL and f"for up to {seconds} s" in finding.message


@pytest.mark.parametrize(
    ("text", "mode"), [("", "iptables"), ('mode: ""\n', "iptables"), ("mode: nftables\n", "nftables")]
)
def test_other_modes_delete_it(text: str, mode: str) -> None:
    (finding,) = found(config(text))
    assert finding.status is Status.PASS and f"({mode})" in finding.message


def test_node_local_dns_cache_keeps_no_flow() -> None:
    (finding,) = found(config(IPVS), local=True)
    assert finding.status is Status.PASS and "NodeLocal DNSCache" in finding.message


def test_without_kube_proxy_nothing_is_said_and_what_is_not_read_is_unknown() -> None:
    assert found(Absent("none")) == []
    (finding,) = found(Unknown("forbidden", "get configmaps"))
    assert finding.status is Status.UNKNOWN and finding.missing == "get configmaps"
