"""Version skew of kubelets and kube-proxies against the control plane, now and after each step of the upgrade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import KUBE_PROXY
from kubectl_eksdoc.amazon.versions import (
    Fit,
    along,
    beside_kubelet,
    in_words,
    kube_proxy_skew,
    kubelet_skew,
    minor_of,
)
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import basis
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import Version

from ..checking import CheckFacts, Gate, UpgradeCheck, unknown, unread
from .release_notes import NodeGroupNodes, counted, groups, named
from .software import RunningVersion, running


def _kubelets(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "kubelet-skew/all", severity=Severity.HIGH)
    for group in groups(facts.cluster.nodes):
        yield from _silent("kubelet-skew", group, Severity.HIGH)
    yield from _skews(facts, later=False)


def _skews(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    """`later`: only those that are too old for a step after the control plane's next one."""
    for group in groups(facts.cluster.nodes):
        blocked: dict[Version, list[Node]] = defaultdict(list)
        why: dict[Version, str] = {}
        for node in group.nodes:
            for each in along(facts.way.now, facts.way.steps, node.kubelet, kubelet_skew):
                if each.verdict.fit is Fit.TOO_OLD:
                    blocked[each.version].append(node)
                    why[each.version] = each.verdict.why
                    break
        for version in sorted(blocked):
            if facts.way.comes_later(version) is later:
                yield _too_old(facts, group, version, blocked[version], why[version])


def _silent(code: CodeName, group: NodeGroupNodes, severity: Severity) -> Iterator[Finding]:
    """A finding about nodes whose kubelet version is unknown."""
    silent = [node for node in group.nodes if node.kubelet is None]
    if silent:
        said = Unknown(f"{named(silent)}: {silent[0].kubelet_text or 'no version'} is told")
        yield unknown(f"{code}/kubelet-age", group.subject, said, severity)


def _too_old(facts: CheckFacts, group: NodeGroupNodes, version: Version, held: list[Node], why: str) -> Finding:
    return Finding.of(
        "kubelet-skew",
        group.subject,
        (named(held), basis("equal-nodes").clause),
        severity=Severity.HIGH if facts.way.comes_later(version) else Severity.CRITICAL,
        counted=counted(held),
        now=version == facts.way.now,
        why=why,
        in_words=in_words(version),
    )


def _newer(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "kubelet-newer/any")
    for group in groups(facts.cluster.nodes):
        yield from _silent("kubelet-newer", group, Severity.MEDIUM)
        newer = [each for each in group.nodes if kubelet_skew(facts.way.now, each.kubelet).fit is Fit.TOO_NEW]
        if newer:
            yield Finding.of(
                "kubelet-newer",
                group.subject,
                (named(newer), *_versions(newer)),
                counted=counted(newer),
                in_words=in_words(facts.way.now),
            )


def _behind(facts: CheckFacts) -> Iterator[Finding]:
    """Nodes that are behind the target; Fargate nodes have a code of their own."""
    yield from unread(facts, "nodes-behind/which")
    for group in groups(facts.cluster.nodes):
        known = [(each, each.kubelet) for each in group.nodes if each.kubelet is not None]
        behind = [each for each, kubelet in known if minor_of(kubelet) < facts.way.target]
        if group.owner is NodeOwner.FARGATE:
            continue
        yield from _silent("nodes-behind", group, Severity.LOW)
        if behind:
            yield Finding.of(
                "nodes-behind",
                group.subject,
                (named(behind), *_versions(behind)),
                behind_count=len(behind),
                counted=counted(group.nodes),
                in_words=in_words(facts.way.target),
                after=bool(facts.way.steps),
            )


def _fargate(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread(facts, "fargate-restart")
    old = {
        node.name: node
        for node in facts.cluster.nodes
        if node.owner is NodeOwner.FARGATE and (node.kubelet is None or minor_of(node.kubelet) < facts.way.target)
    }
    pods = [pod for pod in facts.cluster.pods if pod.node in old and not pod.finished and not pod.of_daemon_set]
    for pod in pods:
        node = old[pod.node]
        yield Finding.of(
            "fargate-restart/unknown" if node.kubelet is None else "fargate-restart/old",
            Subject("Pod", pod.name, pod.namespace),
            (f"node {node.name}",),
            version=node.kubelet_text,
        )


def _proxies(facts: CheckFacts) -> Iterator[Finding]:
    """EKS checks kube-proxy in an insight; here every pod is compared with the steps and with its node."""
    yield from unread(facts, "kube-proxy-skew")
    kubelets = {node.name: node.kubelet for node in facts.cluster.nodes}
    for each in running(facts.cluster.pods, KUBE_PROXY):
        if isinstance(each.version, Unknown):
            yield unknown("kube-proxy-skew", each.subject, each.version)
        else:
            yield from _beside(each, each.version, kubelets)
    yield from _proxy_skews(facts, later=False)


def _proxy_skews(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    """`later`: as in `_kubelet_skews`."""
    for each in running(facts.cluster.pods, KUBE_PROXY):
        version = None if isinstance(each.version, Unknown) else each.version
        steps = along(facts.way.now, facts.way.steps, version, kube_proxy_skew)
        step = next((step for step in steps if _bad(step.verdict.fit)), None)
        if step is not None and facts.way.comes_later(step.version) is later:
            yield Finding.of(
                "kube-proxy-skew/control-plane",
                each.subject,
                (f"image {each.image}",),
                step="" if step.version == facts.way.now else in_words(step.version),
                why=step.verdict.why,
                later=later,
                now=in_words(facts.way.now),
            )


def _beside(each: RunningVersion, version: Version, kubelets: Mapping[str, Version | None]) -> Iterator[Finding]:
    apart = {
        node: verdict.why for node in each.nodes if _bad((verdict := beside_kubelet(version, kubelets.get(node))).fit)
    }
    if apart:
        node, why = next(iter(sorted(apart.items())))
        yield Finding.of(
            "kube-proxy-skew/beside-kubelet", each.subject, (f"node {node}",), counted=counted([*apart]), why=why
        )


def _bad(fit: Fit) -> bool:
    return fit in (Fit.TOO_OLD, Fit.TOO_NEW)


def _versions(nodes: Iterable[Node]) -> tuple[str, ...]:
    found = sorted({node.kubelet_text for node in nodes})
    return (f"kubelets: {', '.join(found[:4])}{' …' if len(found) > 4 else ''}",)


_KUBELETS = UpgradeCheck.of("kubelet-skew", _kubelets)
_PROXIES = UpgradeCheck.of("kube-proxy-skew", _proxies)

CHECKS = (
    _KUBELETS,
    _KUBELETS.also(partial(_skews, later=True), Gate.AFTER),
    UpgradeCheck.of("kubelet-newer", _newer),
    UpgradeCheck.of("nodes-behind", _behind),
    UpgradeCheck.of("fargate-restart", _fargate),
    _PROXIES,
    _PROXIES.also(partial(_proxy_skews, later=True), Gate.AFTER),
)
