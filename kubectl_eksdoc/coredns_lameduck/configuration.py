"""Corefile findings: whether CoreDNS accepts its Corefile, and whether it has the necessary plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubectl_eksdoc.kubernetes import guards
from kubectl_eksdoc.kubernetes.corefile_edits import EKS_MANAGER
from kubectl_eksdoc.kubernetes.corefile_grammar import split_host_port
from kubectl_eksdoc.kubernetes.corefile_plugins import listen_addresses
from kubectl_eksdoc.model.addons import AddonUpdateFacts
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.coredns import NAME, SERVICE, SYSTEM_NAMESPACE, Corefile, CorefileError
from kubectl_eksdoc.model.findings import ClauseName, Finding, Remedy, Subject, clause
from kubectl_eksdoc.model.kinds import Absent, Unknown, absent_as_unknown
from kubectl_eksdoc.model.missing_rights import remedy_for
from kubectl_eksdoc.model.quantities import Version, go_duration, parse_version

from .deployed import KUBE_PROXY, CorednsDeployment, DnsFacts

# Subjects of the findings, and remedies that several of them share.


DEPLOYMENT = Subject("Deployment", NAME, SYSTEM_NAMESPACE)
CONFIG = Subject("ConfigMap", NAME, SYSTEM_NAMESPACE)
SERVICE_SUBJECT = Subject("Service", SERVICE, SYSTEM_NAMESPACE)
ADDON = Subject("Addon", NAME)

PROGRAM = ("kubectl", "eksdoc", "coredns-lameduck")
CHECK_COMMAND = shell(*PROGRAM)


def place_command(self_managed: bool) -> str:
    """The command that moves CoreDNS. The Deployment of a self-managed CoreDNS is not changed: its commands are
    printed."""
    return shell(*PROGRAM, "--place", "on-demand", *(() if self_managed else ("--apply",)))


def set_lameduck_command(seconds: int) -> str:
    return shell(*PROGRAM, "--set", f"lameduck={seconds}s", "--apply")


def scale_command(replicas: int) -> str:
    return shell("kubectl", "scale", f"deployment/{NAME}", "-n", SYSTEM_NAMESPACE, f"--replicas={replicas}")


_FEATURES_VERSION = Version(1, 11, 3)


def has_features_of_1_11(addon: AddonUpdateFacts | Absent | Unknown) -> bool:
    """Whether the installed add-on has these features: a readiness probe for /ready, a budget, and the value
    topologySpreadConstraints. False where unknown. Builds of 1.9 and 1.10 got them one by one (EKS user guide, "Manage
    CoreDNS")."""
    version = parse_version(addon.addon.version) if isinstance(addon, AddonUpdateFacts) else None
    return version is not None and not version.older_than(_FEATURES_VERSION)


def unread_finding(
    clause_name: ClauseName, missing_value: Absent | Unknown, subject_of: Subject = DEPLOYMENT, **values: object
) -> Finding:
    """A finding for a missing fact: conclusions from it are unknown."""
    why, what = absent_as_unknown(missing_value), clause(clause_name, **values)
    missing_text = missing_value.missing or what
    return Finding.of(
        "dns-unread/fact", subject_of, remedy=(remedy_for(why),), what=what, why=why, lacking=missing_text
    )


def corefile_findings(facts: DnsFacts) -> Iterator[Finding]:
    """Findings about the text in the ConfigMap."""
    corefile = facts.corefile
    if isinstance(corefile, (Absent, Unknown)):
        yield unread_finding("dns-unread/corefile", corefile, CONFIG)
    elif isinstance(corefile, CorefileError):
        yield _refused_finding(facts, (corefile,))
    else:
        verdict = facts.judge_corefile(corefile)
        if verdict.refusals:
            yield _refused_finding(facts, verdict.refusals)
        elif verdict.doubts:
            yield _doubted_finding(facts, verdict.doubts)
        yield from _plugin_findings(facts, corefile, facts.deployed)


NO_START_CODES = ("dns-corefile-refused", "dns-no-ready")


def startup_blockers(facts: DnsFacts) -> tuple[Finding, ...]:
    """Why a new pod would not start or become Ready."""
    return tuple(each for each in corefile_findings(facts) if each.code.name in NO_START_CODES)


def _refused_finding(facts: DnsFacts, refusals: tuple[CorefileError, ...]) -> Finding:
    return Finding.of(
        "dns-corefile-refused/live",
        CONFIG,
        tuple(map(str, refusals[1:])),
        told=refusals[0],
        by_hand=isinstance(facts.addon, Absent),
    )


def _doubted_finding(facts: DnsFacts, doubts: tuple[str, ...]) -> Finding:
    deployment = facts.deployed
    version = f"{deployment.version} " if isinstance(deployment, CorednsDeployment) and deployment.version else ""
    return Finding.of("dns-corefile-unknown/live", CONFIG, doubts[1:], version=version, doubt=doubts[0])


def _plugin_findings(
    facts: DnsFacts, corefile: Corefile, deployment: CorednsDeployment | Absent | Unknown
) -> Iterator[Finding]:
    plugins = {each.name for each in corefile.directives}
    if corefile.imported_files:
        return  # they may contain any plugin
    if "reload" not in plugins:
        yield Finding.of("dns-no-reload", CONFIG)
    if isinstance(deployment, (Absent, Unknown)):
        return
    yield from _probe_findings(facts, corefile, deployment)
    if deployment.readiness is None:
        yield Finding.of("dns-readiness-asks-health/no-probe", DEPLOYMENT, remedy=(_probe_remedy(facts, deployment),))
        return
    needed_plugin = {"/ready": "ready", "/health": "health"}.get(deployment.readiness.path)
    if needed_plugin is not None and needed_plugin not in plugins:
        yield Finding.of(
            "dns-no-ready/no-plugin",
            DEPLOYMENT,
            path=deployment.readiness.path,
            wanted=needed_plugin,
            by_hand=isinstance(facts.addon, Absent),
        )
    elif needed_plugin == "health":
        yield Finding.of("dns-readiness-asks-health/health", DEPLOYMENT, remedy=(_probe_remedy(facts, deployment),))


_PROBE_PLUGINS = {"/ready": ("ready", ":8181"), "/health": ("health", ":8080")}
"""For each probe path the plugin that answers it, and its default address."""


def _probe_findings(facts: DnsFacts, corefile: Corefile, deployment: CorednsDeployment) -> Iterator[Finding]:
    """The plugin must answer on the probe's port, and on the pod's own address. With several blocks with `health` or
    `ready` each listens on its own address."""
    for name, probe in (("readiness", deployment.readiness), ("liveness", deployment.liveness)):
        plugin, default = _PROBE_PLUGINS.get(probe.path, ("", "")) if probe is not None else ("", "")
        listens = listen_addresses(corefile, plugin, default) if plugin else ()
        if probe is None or not plugin or any("{$" in each or "{%" in each for each in listens):
            continue
        if (name == "readiness" and not listens) or any(_is_reached(each, probe.port) for each in listens):
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


def _is_reached(address: str, port: str) -> bool:
    """Whether the kubelet's probe, which uses the pod's own address, reaches `address`. An unknown host name counts as
    the pod's."""
    host_port = split_host_port(address)
    return host_port is not None and host_port[1] == port and host_port[0] not in ("localhost", "127.0.0.1", "::1")


def _probe_remedy(facts: DnsFacts, deployment: CorednsDeployment) -> Remedy:
    """The remedy. Owners of the fields decide which an update resets, as in addon-diff: EKS's own fields stay as they
    are."""
    if EKS_MANAGER in deployment.readiness_managers:
        return Remedy.of("probe-of-eks")
    if has_features_of_1_11(facts.addon):
        return Remedy.of("probe-of-addon", by=", ".join(deployment.readiness_managers))
    return Remedy.of("probe-of-manifest" if facts.self_managed else "probe-of-update")


# Clients with one long-lived UDP socket, such as Envoy and nginx: how long they send to a CoreDNS pod that has ended.
#
# In iptables and nftables mode, kube-proxy deletes the UDP flows of a removed endpoint (pkg/proxy/conntrack), and
# lookups are lost where that is late (kubernetes/kubernetes#125467, #129617). In IPVS mode, a flow stays until it has
# been idle for ipvs.udpTimeout, 300 s by default (#71514). NodeLocal DNSCache queries CoreDNS over TCP (force_tcp in
# its default Corefile); in IPVS mode pods only use it where the kubelets' clusterDNS names it (kubernetes.io,
# nodelocaldns). Confidence: medium, from reports of users.


PROXY = Subject("ConfigMap", KUBE_PROXY.name, SYSTEM_NAMESPACE)
_PROXY_FLAGS = Subject("DaemonSet", guards.KUBE_PROXY_DAEMON_SET.name, SYSTEM_NAMESPACE)
IPVS_UDP_S = 300
"""The kernel's timeout, where ipvs.udpTimeout is 0 or not set."""

_UDP_TIMEOUT = re.compile(r"(?:^[ \t]+udpTimeout:[ \t]*|--ipvs-udp-timeout[= ])[\"']?([\w.]+)", re.MULTILINE)


def client_findings(facts: DnsFacts) -> Iterator[Finding]:
    """No finding where kube-proxy has neither a ConfigMap nor flags: another proxy is in use."""
    not_requested = Absent("it was not asked for")
    text = guards.kube_proxy_configuration(
        *(facts.objects.get(name, not_requested) for name in (guards.KUBE_PROXY_DAEMON_SET, KUBE_PROXY))
    )
    if isinstance(text, Unknown):
        yield unread_finding("dns-unread/proxy-mode", text, PROXY)
    if not isinstance(text, str):
        return
    mode = guards.kube_proxy_mode(text)
    cache_nodes = {
        pod.node for pod in facts.cluster.pods if pod.labels.get("k8s-app") == "node-local-dns" and not pod.finished
    }
    is_everywhere = bool(cache_nodes) and cache_nodes >= {node.name for node in facts.cluster.nodes}
    if is_everywhere and mode in guards.CONNTRACK_DELETING_MODES:
        yield Finding.of("dns-kept-flows/local-everywhere", PROXY)
    elif cache_nodes and mode == guards.IPVS:
        yield Finding.of("dns-kept-flows/local-cache", PROXY, nodes=len(cache_nodes))
    elif mode == guards.IPVS:
        yield Finding.of(
            "dns-kept-flows/ipvs",
            _PROXY_FLAGS if "--proxy-mode" in text else PROXY,
            ("kubernetes/kubernetes#71514; lameduck covers it only where it is longer than that (confidence: medium)",),
            timeout_s=_udp_timeout_s(text),
        )
    elif mode in guards.CONNTRACK_DELETING_MODES:
        yield Finding.of("dns-kept-flows/deleted", PROXY, mode=mode)
    else:
        yield unread_finding("dns-unread/proxy-mode", Unknown(f"its configuration names {mode or 'none'}"), PROXY)


def _udp_timeout_s(text: str) -> float:
    match = _UDP_TIMEOUT.search(text)
    timeout = go_duration(match[1]) if match else None
    return timeout.total_seconds() if timeout else IPVS_UDP_S
