"""Version skew of kubelets and kube-proxies against the control plane, now and after each step of the upgrade."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from kubectl_eksdoc.amazon.addon_needs import KUBE_PROXY
from kubectl_eksdoc.amazon.versions import (
    Fit,
    format_version,
    kube_proxy_kubelet_skew,
    kube_proxy_skew,
    kubelet_skew,
    minor_of,
    skew_after_steps,
)
from kubectl_eksdoc.model.findings import CodeName, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import rule_basis
from kubectl_eksdoc.model.nodes import Node, NodeOwner
from kubectl_eksdoc.model.quantities import Version

from ..checking import CheckFacts, Gate, UpgradeCheck, unknown_finding, unread_lists
from .release_notes import NodeGroupNodes, group_nodes, node_count, node_names
from .software import RunningVersion, find_running_versions


def _check_kubelets(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "kubelet-skew/all", severity=Severity.HIGH)
    for group in group_nodes(facts.cluster.nodes):
        yield from _unknown_kubelets("kubelet-skew", group, Severity.HIGH)
    yield from _kubelet_skews(facts, later=False)


def _kubelet_skews(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    """`later`: only those that are too old for a step after the control plane's next one."""
    for group in group_nodes(facts.cluster.nodes):
        nodes_by_version: dict[Version, list[Node]] = defaultdict(list)
        reasons: dict[Version, str] = {}
        for node in group.nodes:
            for step_skew in skew_after_steps(facts.path.now, facts.path.steps, node.kubelet, kubelet_skew):
                if step_skew.verdict.fit is Fit.TOO_OLD:
                    nodes_by_version[step_skew.version].append(node)
                    reasons[step_skew.version] = step_skew.verdict.reason
                    break
        for version in sorted(nodes_by_version):
            if facts.path.is_after_next_step(version) is later:
                yield _kubelet_too_old(facts, group, version, nodes_by_version[version], reasons[version])


def _unknown_kubelets(code: CodeName, group: NodeGroupNodes, severity: Severity) -> Iterator[Finding]:
    """A finding about nodes whose kubelet version is unknown."""
    unknown_nodes = [node for node in group.nodes if node.kubelet is None]
    if unknown_nodes:
        reason = Unknown(f"{node_names(unknown_nodes)}: {unknown_nodes[0].kubelet_text or 'no version'} is told")
        yield unknown_finding(f"{code}/kubelet-age", group.subject, reason, severity)


def _kubelet_too_old(
    facts: CheckFacts, group: NodeGroupNodes, version: Version, old_nodes: list[Node], reason: str
) -> Finding:
    return Finding.of(
        "kubelet-skew",
        group.subject,
        (node_names(old_nodes), rule_basis("equal-nodes").clause),
        severity=Severity.HIGH if facts.path.is_after_next_step(version) else Severity.CRITICAL,
        counted=node_count(old_nodes),
        now=version == facts.path.now,
        why=reason,
        in_words=format_version(version),
    )


def _check_newer_kubelets(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "kubelet-newer/any")
    for group in group_nodes(facts.cluster.nodes):
        yield from _unknown_kubelets("kubelet-newer", group, Severity.MEDIUM)
        newer_nodes = [each for each in group.nodes if kubelet_skew(facts.path.now, each.kubelet).fit is Fit.TOO_NEW]
        if newer_nodes:
            yield Finding.of(
                "kubelet-newer",
                group.subject,
                (node_names(newer_nodes), *_kubelet_versions(newer_nodes)),
                counted=node_count(newer_nodes),
                in_words=format_version(facts.path.now),
            )


def _check_nodes_behind(facts: CheckFacts) -> Iterator[Finding]:
    """Nodes that are behind the target; Fargate nodes have a code of their own."""
    yield from unread_lists(facts, "nodes-behind/which")
    for group in group_nodes(facts.cluster.nodes):
        known_kubelets = [(each, each.kubelet) for each in group.nodes if each.kubelet is not None]
        old_nodes = [each for each, kubelet in known_kubelets if minor_of(kubelet) < facts.path.target]
        if group.owner is NodeOwner.FARGATE:
            continue
        yield from _unknown_kubelets("nodes-behind", group, Severity.LOW)
        if old_nodes:
            yield Finding.of(
                "nodes-behind",
                group.subject,
                (node_names(old_nodes), *_kubelet_versions(old_nodes)),
                behind_count=len(old_nodes),
                counted=node_count(group.nodes),
                in_words=format_version(facts.path.target),
                after=bool(facts.path.steps),
            )


def _check_fargate(facts: CheckFacts) -> Iterator[Finding]:
    yield from unread_lists(facts, "fargate-restart")
    old_nodes = {
        node.name: node
        for node in facts.cluster.nodes
        if node.owner is NodeOwner.FARGATE and (node.kubelet is None or minor_of(node.kubelet) < facts.path.target)
    }
    pods = [
        pod for pod in facts.cluster.pods if pod.node in old_nodes and not pod.finished and not pod.is_daemon_set_pod
    ]
    for pod in pods:
        node = old_nodes[pod.node]
        yield Finding.of(
            "fargate-restart/unknown" if node.kubelet is None else "fargate-restart/old",
            Subject("Pod", pod.name, pod.namespace),
            (f"node {node.name}",),
            version=node.kubelet_text,
        )


def _check_kube_proxies(facts: CheckFacts) -> Iterator[Finding]:
    """EKS checks kube-proxy in an insight; here every pod is compared with the steps and with its node."""
    yield from unread_lists(facts, "kube-proxy-skew")
    kubelets = {node.name: node.kubelet for node in facts.cluster.nodes}
    for running_version in find_running_versions(facts.cluster.pods, KUBE_PROXY):
        if isinstance(running_version.version, Unknown):
            yield unknown_finding("kube-proxy-skew", running_version.subject, running_version.version)
        else:
            yield from _kubelet_differences(running_version, running_version.version, kubelets)
    yield from _kube_proxy_skews(facts, later=False)


def _kube_proxy_skews(facts: CheckFacts, later: bool) -> Iterator[Finding]:
    """`later`: as in `_kubelet_skews`."""
    for running_version in find_running_versions(facts.cluster.pods, KUBE_PROXY):
        version = None if isinstance(running_version.version, Unknown) else running_version.version
        step_skews = skew_after_steps(facts.path.now, facts.path.steps, version, kube_proxy_skew)
        step_skew = next((step_skew for step_skew in step_skews if _is_misfit(step_skew.verdict.fit)), None)
        if step_skew is not None and facts.path.is_after_next_step(step_skew.version) is later:
            yield Finding.of(
                "kube-proxy-skew/control-plane",
                running_version.subject,
                (f"image {running_version.image}",),
                step="" if step_skew.version == facts.path.now else format_version(step_skew.version),
                why=step_skew.verdict.reason,
                later=later,
                now=format_version(facts.path.now),
            )


def _kubelet_differences(
    running_version: RunningVersion, version: Version, kubelets: Mapping[str, Version | None]
) -> Iterator[Finding]:
    reasons_by_node = {
        node: verdict.reason
        for node in running_version.nodes
        if _is_misfit((verdict := kube_proxy_kubelet_skew(version, kubelets.get(node))).fit)
    }
    if reasons_by_node:
        node, reason = next(iter(sorted(reasons_by_node.items())))
        yield Finding.of(
            "kube-proxy-skew/beside-kubelet",
            running_version.subject,
            (f"node {node}",),
            counted=node_count([*reasons_by_node]),
            why=reason,
        )


def _is_misfit(fit: Fit) -> bool:
    return fit in (Fit.TOO_OLD, Fit.TOO_NEW)


def _kubelet_versions(nodes: Iterable[Node]) -> tuple[str, ...]:
    versions = sorted({node.kubelet_text for node in nodes})
    return (f"kubelets: {', '.join(versions[:4])}{' …' if len(versions) > 4 else ''}",)


_KUBELET_CHECK = UpgradeCheck.of("kubelet-skew", _check_kubelets)
_KUBE_PROXY_CHECK = UpgradeCheck.of("kube-proxy-skew", _check_kube_proxies)

CHECKS = (
    _KUBELET_CHECK,
    _KUBELET_CHECK.at_gate(partial(_kubelet_skews, later=True), Gate.AFTER),
    UpgradeCheck.of("kubelet-newer", _check_newer_kubelets),
    UpgradeCheck.of("nodes-behind", _check_nodes_behind),
    UpgradeCheck.of("fargate-restart", _check_fargate),
    _KUBE_PROXY_CHECK,
    _KUBE_PROXY_CHECK.at_gate(partial(_kube_proxy_skews, later=True), Gate.AFTER),
)
