"""Clients that keep one UDP socket, as Envoy and nginx do: how long they send to a CoreDNS pod that has ended.

In iptables and nftables mode kube-proxy deletes the UDP flows of an endpoint that it takes out (pkg/proxy/conntrack),
and lookups are lost where that comes late (kubernetes/kubernetes#125467, #129617). In IPVS mode a flow stays until it
has been idle for ipvs.udpTimeout, 300 s by default (#71514). NodeLocal DNSCache asks CoreDNS over TCP (force_tcp in its
usual Corefile); in IPVS mode pods ask it only where the kubelets' clusterDNS names it (kubernetes.io, nodelocaldns).
Confidence: medium, from the reports of users.
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

_MODE = re.compile(r"(?:^|[{,])[ \t]*[\"']?mode[\"']?[ \t]*:[ \t]*[\"']?(\w*)", re.MULTILINE)
_UDP_TIMEOUT = re.compile(r"^[ \t]+udpTimeout:[ \t]*[\"']?([\w.]+)", re.MULTILINE)


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Nothing where there is no ConfigMap of kube-proxy: something else does its work there."""
    found = facts.objects.get(KUBE_PROXY)
    if isinstance(found, Unknown):
        yield not_read("the mode of kube-proxy", found, PROXY)
    if not isinstance(found, dict):
        return
    text = _config(found)
    mode = _mode(text)
    local = {
        pod.node for pod in facts.cluster.pods if pod.labels.get("k8s-app") == "node-local-dns" and not pod.finished
    }
    everywhere = bool(local) and local >= {node.name for node in facts.cluster.nodes}
    if everywhere and mode in _DELETING:
        yield _note("pods ask NodeLocal DNSCache on each node, which keeps no UDP flow to CoreDNS")
    elif local and mode == "ipvs":
        yield _perhaps_local(len(local))
    elif mode == "ipvs":
        yield _ipvs(_udp_timeout_s(text))
    elif mode in _DELETING:
        yield _note(
            f"kube-proxy ({mode}) deletes UDP flows to a CoreDNS pod that ends; a client that keeps its socket, as "
            "Envoy and nginx do, loses answers where that comes late: --measure asks over such a socket, too"
        )
    else:
        yield not_read("the mode of kube-proxy", Unknown(f"its configuration names {mode or 'none'}"), PROXY)


_DELETING = ("iptables", "nftables")


def _mode(text: str) -> str:
    """As configured; "" where there is no configuration."""
    found = _MODE.search(text)
    return "" if not text.strip() else (found[1] if found else "") or "iptables"


def _perhaps_local(nodes: int) -> Finding:
    return Finding(
        codes.KEPT_FLOWS,
        Severity.LOW,
        Status.UNKNOWN,
        PROXY,
        f"kube-proxy is in IPVS mode, and NodeLocal DNSCache runs on {nodes} nodes: whether pods ask it, or keep flows "
        "to CoreDNS, is not known",
        remedy=(
            Remedy(
                "Check that NodeLocal DNSCache runs on each node, and that pods have its address as nameserver.",
                "kubectl get daemonset -n kube-system -l k8s-app=node-local-dns",
                When.TOMORROW,
            ),
        ),
        missing="clusterDNS of the kubelets",
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
