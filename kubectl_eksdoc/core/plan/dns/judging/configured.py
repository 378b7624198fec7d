"""Whether CoreDNS takes its Corefile, and whether that has the plugins without which something does not work."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model import dns_codes as codes
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.corefile import Corefile, Import, Refusal
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, When
from kubectl_eksdoc.core.plan.dns.deployed import Deployed
from kubectl_eksdoc.core.plan.dns.facts import DnsFacts
from kubectl_eksdoc.core.plan.dns.judging.subjects import CONFIG, DEPLOYMENT, has_what_came_by_1_11, not_read
from kubectl_eksdoc.core.rules.corefile.addresses import split_host_port
from kubectl_eksdoc.core.rules.corefile.plugins import addresses


def judged(facts: DnsFacts) -> Iterator[Finding]:
    """Of the text as the ConfigMap has it."""
    corefile = facts.corefile
    if isinstance(corefile, (Absent, Unknown)):
        yield not_read("the Corefile", corefile, CONFIG)
    elif isinstance(corefile, Refusal):
        yield _refused(facts, (corefile,))
    else:
        found = facts.judged(corefile)
        if found.refusals:
            yield _refused(facts, found.refusals)
        elif found.doubts:
            yield _doubted(facts, found.doubts)
        yield from _plugins(facts, corefile, facts.deployed)


NO_START = (codes.COREFILE_REFUSED, codes.NO_READY)


def stoppers(facts: DnsFacts) -> tuple[Finding, ...]:
    """Why a pod that is made anew would not come up."""
    return tuple(each for each in judged(facts) if each.code in NO_START)


def _refused(facts: DnsFacts, told: tuple[Refusal, ...]) -> Finding:
    return Finding(
        codes.COREFILE_REFUSED,
        Severity.CRITICAL,
        Status.FAIL,
        CONFIG,
        f"CoreDNS would not take this Corefile: {told[0]}",
        tuple(map(str, told[1:])),
        (
            Remedy(
                "Until it is fixed, do not restart, drain or update CoreDNS: the pods that run keep their old Corefile."
            ),
            _put_right(facts, "Put right that line"),
        ),
    )


def _doubted(facts: DnsFacts, doubts: tuple[str, ...]) -> Finding:
    of = facts.deployed
    version = of.version if isinstance(of, Deployed) else ""
    return Finding(
        codes.COREFILE_UNKNOWN,
        Severity.LOW,
        Status.UNKNOWN,
        CONFIG,
        f"whether CoreDNS {version} would take this Corefile is not known: {doubts[0]}".replace("  ", " "),
        doubts[1:],
        (Remedy("Start that CoreDNS once with the file, outside of the cluster: coredns -conf Corefile."),),
        missing="the judgement of CoreDNS itself",
    )


def _put_right(facts: DnsFacts, what: str) -> Remedy:
    if isinstance(facts.addon, Absent):
        return Remedy(f"{what}.", "kubectl edit configmap coredns -n kube-system")
    return Remedy(
        f"{what} in the value corefile of the add-on, and send it: by hand it would be put back.",
        "kubectl eksdoc addon-diff coredns --configuration-values values.yaml --apply",
    )


def _plugins(facts: DnsFacts, corefile: Corefile, of: Deployed | Absent | Unknown) -> Iterator[Finding]:
    used = {each.name for block in corefile.servers for each in corefile.whole(block) if not isinstance(each, Import)}
    if corefile.files:
        return  # they may hold any plugin
    if "reload" not in used:
        yield Finding(
            codes.NO_RELOAD,
            Severity.LOW,
            Status.FAIL,
            CONFIG,
            "no server block has the plugin reload: a changed Corefile is taken up at the next restart only",
            remedy=(
                Remedy(
                    "After a change, once its budget allows it.",
                    "kubectl rollout restart deployment/coredns -n kube-system",
                ),
                Remedy("Add the line reload to the first server block.", when=When.TOMORROW),
            ),
        )
    if isinstance(of, (Absent, Unknown)):
        return
    yield from _probes(facts, corefile, of)
    if of.readiness is None:
        yield Finding(
            codes.READINESS_ASKS_HEALTH,
            Severity.MEDIUM,
            Status.FAIL,
            DEPLOYMENT,
            "it has no readiness probe over HTTP: its pods count as Ready before they can answer",
            remedy=(_asking_ready(facts),),
        )
        return
    wanted = {"/ready": "ready", "/health": "health"}.get(of.readiness.path)
    if wanted is not None and wanted not in used:
        yield Finding(
            codes.NO_READY,
            Severity.CRITICAL,
            Status.FAIL,
            DEPLOYMENT,
            f"the readiness probe asks {of.readiness.path}, and no server block has the plugin {wanted}: no pod of it "
            "becomes Ready",
            remedy=(_put_right(facts, f"Add the line {wanted} to the first server block"),),
        )
    elif wanted == "health":
        yield Finding(
            codes.READINESS_ASKS_HEALTH,
            Severity.MEDIUM,
            Status.FAIL,
            DEPLOYMENT,
            "the readiness probe asks /health, which is 200 before CoreDNS can answer and all through its lameduck",
            remedy=(_asking_ready(facts),),
        )


_ANSWERS = {"/ready": ("ready", ":8181"), "/health": ("health", ":8080")}
"""Of each path of a probe the plugin that answers it, and where if nothing else is said."""


def _probes(facts: DnsFacts, corefile: Corefile, of: Deployed) -> Iterator[Finding]:
    """That a plugin is there is not enough: it must answer on the port, and on the pod's own address. Of several blocks
    with `health` or `ready` each listens where it says."""
    for name, probe in (("readiness", of.readiness), ("liveness", of.liveness)):
        plugin, default = _ANSWERS.get(probe.path, ("", "")) if probe is not None else ("", "")
        listens = addresses(corefile, plugin, default) if plugin else ()
        if probe is None or not plugin or any("{$" in each or "{%" in each for each in listens):
            continue
        if (name == "readiness" and not listens) or any(_answers(each, probe.port) for each in listens):
            continue  # no plugin at all is another finding
        where = f"the plugin {plugin} listens on {', '.join(listens)}" if listens else f"there is no plugin {plugin}"
        then = "no pod of it becomes Ready" if name == "readiness" else "the kubelet restarts its container for ever"
        yield Finding(
            codes.NO_READY,
            Severity.CRITICAL,
            Status.FAIL,
            DEPLOYMENT,
            f"the {name} probe asks {probe.path} on port {probe.port}, and {where}: {then}",
            remedy=(_put_right(facts, f"Have {plugin} listen on :{probe.port}"),),
        )


def _answers(address: str, port: str) -> bool:
    """The kubelet asks the pod's own address; whether a name is that is not known, and taken for it."""
    split = split_host_port(address)
    return split is not None and split[1] == port and split[0] not in ("localhost", "127.0.0.1", "::1")


def _asking_ready(facts: DnsFacts) -> Remedy:
    ready = "see that the Corefile has the plugin ready first"
    if has_what_came_by_1_11(facts.addon):
        return Remedy(
            "The add-on brings a probe that asks /ready, and another client has changed it. Have EKS set it again, and "
            f"{ready}. What that would reset besides:",
            "kubectl eksdoc addon-diff coredns --resolve-conflicts OVERWRITE",
            When.TOMORROW,
        )
    if facts.self_managed:
        return Remedy(f"Have its manifest or chart ask /ready on port 8181, and {ready}.", when=When.TOMORROW)
    return Remedy(
        f"Update the add-on (v1.9.3-eksbuild.3, v1.10.1-eksbuild.6 and later ask /ready), and {ready}.",
        when=When.TOMORROW,
    )
