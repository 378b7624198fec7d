"""Clients that keep one UDP socket, as Envoy and nginx do: how long they send to a CoreDNS pod that has ended.

In iptables and nftables mode kube-proxy deletes the UDP flows of an endpoint that it takes out (pkg/proxy/conntrack),
and lookups are lost where that comes late (kubernetes/kubernetes#125467, #129617). In IPVS mode a flow stays until it
has been idle for ipvs.udpTimeout, 300 s by default (#71514). NodeLocal DNSCache asks CoreDNS over TCP (force_tcp in its
usual Corefile). Confidence: medium, from the reports of users.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.coredns import SYSTEM
from kubectl_eksdoc.core.model.durations import go_duration
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.core.plan.dns.deployed import KUBE_PROXY
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.subjects import not_read

PROXY = Subject("ConfigMap", KUBE_PROXY.name, SYSTEM)
IPVS_UDP_S = 300
"""Of the kernel, where ipvs.udpTimeout is 0 or not given."""

_MODE = re.compile(r"^mode:[ \t]*[\"']?(\w*)", re.MULTILINE)
_UDP_TIMEOUT = re.compile(r"^[ \t]+udpTimeout:[ \t]*[\"']?([\w.]+)", re.MULTILINE)


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Nothing where there is no ConfigMap of kube-proxy: something else does its work there."""
    found = facts.objects.get(KUBE_PROXY)
    if isinstance(found, Unknown):
        yield not_read("the mode of kube-proxy", found, PROXY)
    if not isinstance(found, dict):
        return
    text = _config(found)
    mode = (_MODE.search(text) or [""] * 2)[1] or "iptables"
    cached = sum(pod.labels.get("k8s-app") == "node-local-dns" and not pod.finished for pod in facts.cluster.pods)
    if cached:
        yield _note(f"pods on {cached} nodes ask NodeLocal DNSCache, which keeps no UDP flow to CoreDNS")
    elif mode == "ipvs":
        yield _ipvs(_udp_timeout_s(text))
    else:
        yield _note(
            f"kube-proxy ({mode}) deletes UDP flows to a CoreDNS pod that ends; a client that keeps its socket, as "
            "Envoy and nginx do, loses answers where that comes late: --measure asks over such a socket, too"
        )


def _config(doc: Doc) -> str:
    return str(at(doc, "data", "config") or at(doc, "data", "config.conf") or "")


def _udp_timeout_s(text: str) -> float:
    given = _UDP_TIMEOUT.search(text)
    length = go_duration(given[1]) if given else None
    return length.total_seconds() if length else IPVS_UDP_S


def _note(message: str) -> Finding:
    return Finding(codes.KEPT_FLOWS, Severity.INFO, Status.PASS, PROXY, message)


def _ipvs(timeout_s: float) -> Finding:
    return Finding(
        codes.KEPT_FLOWS,
        Severity.MEDIUM,
        Status.FAIL,
        PROXY,
        f"kube-proxy is in IPVS mode: for up to {timeout_s:g} s lookups from a source port that was used before go to "
        "a CoreDNS pod that has ended",
        ("kubernetes/kubernetes#71514; lameduck covers it only where it is longer than that (confidence: medium)",),
        (
            Remedy(
                "Change kube-proxy to iptables or nftables mode (IPVS is deprecated since Kubernetes 1.35), or give "
                "ipvs.udpTimeout a few seconds.",
                "kubectl eksdoc addon-diff kube-proxy",
                When.TOMORROW,
            ),
            Remedy("Measure what is lost.", "kubectl eksdoc coredns-lameduck --measure=rollout", When.TOMORROW),
        ),
    )
