"""Corefile findings: whether CoreDNS accepts its Corefile, and whether it has the necessary plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.kubernetes.corefile_edits import EKS
from kubectl_eksdoc.kubernetes.corefile_grammar import split_host_port
from kubectl_eksdoc.kubernetes.corefile_plugins import addresses
from kubectl_eksdoc.model.addons import AddonSide
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import NAME, SERVICE, SYSTEM, Corefile, CorefileRefusal
from kubectl_eksdoc.model.findings import ClauseName, Finding, Remedy, Subject, clause
from kubectl_eksdoc.model.kinds import Absent, Unknown, known_or_unknown
from kubectl_eksdoc.model.missing_rights import learned
from kubectl_eksdoc.model.quantities import Version, go_duration, parse

from .deployed import KUBE_PROXY, Deployed, DnsFacts

# Subjects of the findings, and remedies that several of them share.


DEPLOYMENT = Subject("Deployment", NAME, SYSTEM)
CONFIG = Subject("ConfigMap", NAME, SYSTEM)
SERVED = Subject("Service", SERVICE, SYSTEM)
ADDON = Subject("Addon", NAME)

SET = ("kubectl", "eksdoc", "coredns-lameduck")
LOOK = shell(*SET)


def place_elsewhere(self_managed: bool) -> str:
    """The command that moves CoreDNS. The Deployment of a self-managed CoreDNS is not changed: its commands are
    printed."""
    return shell(*SET, "--place", "on-demand", *(() if self_managed else ("--apply",)))


def set_to(seconds: int) -> str:
    return shell(*SET, "--set", f"lameduck={seconds}s", "--apply")


def scale_to(replicas: int) -> str:
    return shell("kubectl", "scale", f"deployment/{NAME}", "-n", SYSTEM, f"--replicas={replicas}")


_BY = Version(1, 11, 3)


def has_what_came_by_1_11(addon: AddonSide | Absent | Unknown) -> bool:
    """Whether the installed add-on has these features: a readiness probe for /ready, a budget, and the value
    topologySpreadConstraints. False where unknown. Builds of 1.9 and 1.10 got them one by one (EKS user guide, "Manage
    CoreDNS")."""
    version = parse(addon.addon.version) if isinstance(addon, AddonSide) else None
    return version is not None and not version.older_than(_BY)


def not_read(asked: ClauseName, told: Absent | Unknown, of: Subject = DEPLOYMENT, **values: object) -> Finding:
    """A finding for a missing fact: conclusions from it are unknown."""
    why, what = known_or_unknown(told), clause(asked, **values)
    lacking = told.missing or what
    return Finding.of("dns-unread/fact", of, remedy=(learned(why),), what=what, why=why, lacking=lacking)


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Findings about the text in the ConfigMap."""
    corefile = facts.corefile
    if isinstance(corefile, (Absent, Unknown)):
        yield not_read("dns-unread/corefile", corefile, CONFIG)
    elif isinstance(corefile, CorefileRefusal):
        yield _refused(facts, (corefile,))
    else:
        found = facts.judged(corefile)
        if found.refusals:
            yield _refused(facts, found.refusals)
        elif found.doubts:
            yield _doubted(facts, found.doubts)
        yield from _plugins(facts, corefile, facts.deployed)


NO_START = ("dns-corefile-refused", "dns-no-ready")


def stoppers(facts: DnsFacts) -> tuple[Finding, ...]:
    """Why a new pod would not start or become Ready."""
    return tuple(each for each in judged(facts) if each.code.name in NO_START)


def _refused(facts: DnsFacts, told: tuple[CorefileRefusal, ...]) -> Finding:
    return Finding.of(
        "dns-corefile-refused/live",
        CONFIG,
        tuple(map(str, told[1:])),
        told=told[0],
        by_hand=isinstance(facts.addon, Absent),
    )


def _doubted(facts: DnsFacts, doubts: tuple[str, ...]) -> Finding:
    of = facts.deployed
    version = f"{of.version} " if isinstance(of, Deployed) and of.version else ""
    return Finding.of("dns-corefile-unknown/live", CONFIG, doubts[1:], version=version, doubt=doubts[0])


def _plugins(facts: DnsFacts, corefile: Corefile, of: Deployed | Absent | Unknown) -> Iterator[Finding]:
    used = {each.name for each in corefile.directives}
    if corefile.files:
        return  # they may contain any plugin
    if "reload" not in used:
        yield Finding.of("dns-no-reload", CONFIG)
    if isinstance(of, (Absent, Unknown)):
        return
    yield from _probes(facts, corefile, of)
    if of.readiness is None:
        yield Finding.of("dns-readiness-asks-health/no-probe", DEPLOYMENT, remedy=(_asking_ready(facts, of),))
        return
    wanted = {"/ready": "ready", "/health": "health"}.get(of.readiness.path)
    if wanted is not None and wanted not in used:
        yield Finding.of(
            "dns-no-ready/no-plugin",
            DEPLOYMENT,
            path=of.readiness.path,
            wanted=wanted,
            by_hand=isinstance(facts.addon, Absent),
        )
    elif wanted == "health":
        yield Finding.of("dns-readiness-asks-health/health", DEPLOYMENT, remedy=(_asking_ready(facts, of),))


_ANSWERS = {"/ready": ("ready", ":8181"), "/health": ("health", ":8080")}
"""For each probe path the plugin that answers it, and its default address."""


def _probes(facts: DnsFacts, corefile: Corefile, of: Deployed) -> Iterator[Finding]:
    """The plugin must answer on the probe's port, and on the pod's own address. With several blocks with `health` or
    `ready` each listens on its own address."""
    for name, probe in (("readiness", of.readiness), ("liveness", of.liveness)):
        plugin, default = _ANSWERS.get(probe.path, ("", "")) if probe is not None else ("", "")
        listens = addresses(corefile, plugin, default) if plugin else ()
        if probe is None or not plugin or any("{$" in each or "{%" in each for each in listens):
            continue
        if (name == "readiness" and not listens) or any(_answers(each, probe.port) for each in listens):
            continue  # a missing plugin is another finding
        yield Finding.of(
            "dns-no-ready/wrong-port",
            DEPLOYMENT,
            name=name,
            path=probe.path,
            port=probe.port,
            plugin=plugin,
            listens=", ".join(listens),
            ready=name == "readiness",
            by_hand=isinstance(facts.addon, Absent),
        )


def _answers(address: str, port: str) -> bool:
    """Whether the kubelet's probe, which uses the pod's own address, reaches `address`. An unknown host name counts as
    the pod's."""
    split = split_host_port(address)
    return split is not None and split[1] == port and split[0] not in ("localhost", "127.0.0.1", "::1")


def _asking_ready(facts: DnsFacts, of: Deployed) -> Remedy:
    """The remedy. Owners of the fields decide which an update resets, as in addon-diff: EKS's own fields stay as they
    are."""
    if EKS in of.readiness_by:
        return Remedy.of("probe-of-eks")
    if has_what_came_by_1_11(facts.addon):
        return Remedy.of("probe-of-addon", by=", ".join(of.readiness_by))
    return Remedy.of("probe-of-manifest" if facts.self_managed else "probe-of-update")


# Clients with one long-lived UDP socket, such as Envoy and nginx: how long they send to a CoreDNS pod that has ended.
#
# In iptables and nftables mode, kube-proxy deletes the UDP flows of a removed endpoint (pkg/proxy/conntrack), and
# lookups are lost where that is late (kubernetes/kubernetes#125467, #129617). In IPVS mode, a flow stays until it has
# been idle for ipvs.udpTimeout, 300 s by default (#71514). NodeLocal DNSCache queries CoreDNS over TCP (force_tcp in
# its default Corefile); in IPVS mode pods only use it where the kubelets' clusterDNS names it (kubernetes.io,
# nodelocaldns). Confidence: medium, from reports of users.


PROXY = Subject("ConfigMap", KUBE_PROXY.name, SYSTEM)
_BY_FLAG = Subject("DaemonSet", guards.DAEMON_SET.name, SYSTEM)
IPVS_UDP_S = 300
"""The kernel's timeout, where ipvs.udpTimeout is 0 or not set."""

_UDP_TIMEOUT = re.compile(r"(?:^[ \t]+udpTimeout:[ \t]*|--ipvs-udp-timeout[= ])[\"']?([\w.]+)", re.MULTILINE)


def judged_clients(facts: DnsFacts) -> Iterator[Finding]:
    """No finding where kube-proxy has neither a ConfigMap nor flags: another proxy is in use."""
    none = Absent("it was not asked for")
    text = guards.configuration(*(facts.objects.get(of, none) for of in (guards.DAEMON_SET, KUBE_PROXY)))
    if isinstance(text, Unknown):
        yield not_read("dns-unread/proxy-mode", text, PROXY)
    if not isinstance(text, str):
        return
    mode = guards.mode(text)
    local = {
        pod.node for pod in facts.cluster.pods if pod.labels.get("k8s-app") == "node-local-dns" and not pod.finished
    }
    everywhere = bool(local) and local >= {node.name for node in facts.cluster.nodes}
    if everywhere and mode in guards.DELETING:
        yield Finding.of("dns-kept-flows/local-everywhere", PROXY)
    elif local and mode == guards.IPVS:
        yield Finding.of("dns-kept-flows/local-cache", PROXY, nodes=len(local))
    elif mode == guards.IPVS:
        yield Finding.of(
            "dns-kept-flows/ipvs",
            _BY_FLAG if "--proxy-mode" in text else PROXY,
            ("kubernetes/kubernetes#71514; lameduck covers it only where it is longer than that (confidence: medium)",),
            timeout_s=_udp_timeout_s(text),
        )
    elif mode in guards.DELETING:
        yield Finding.of("dns-kept-flows/deleted", PROXY, mode=mode)
    else:
        yield not_read("dns-unread/proxy-mode", Unknown(f"its configuration names {mode or 'none'}"), PROXY)


def _udp_timeout_s(text: str) -> float:
    given = _UDP_TIMEOUT.search(text)
    length = go_duration(given[1]) if given else None
    return length.total_seconds() if length else IPVS_UDP_S
