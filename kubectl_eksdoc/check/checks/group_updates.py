"""Updates of managed node groups and of the cluster: one that is under way, and why the last one failed, by pod."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kubectl_eksdoc.amazon.group_updates import PATIENCE
from kubectl_eksdoc.check.areas import Area, Gate
from kubectl_eksdoc.check.checking import UpgradeCheck, cluster_of, unknown, unread
from kubectl_eksdoc.check.checks.managed import nodes_of, subject
from kubectl_eksdoc.check.facts import CheckFacts
from kubectl_eksdoc.check.wording import ago, aws, issue, name_of
from kubectl_eksdoc.kubernetes.evictions import evict
from kubectl_eksdoc.kubernetes.guards import matching
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate, UpdateHistory
from kubectl_eksdoc.model.check_needs import CheckNeed
from kubectl_eksdoc.model.codes import Code
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.findings import Finding, Remedy
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import Pod

IN_PROGRESS, FAILED, SUCCESSFUL = "InProgress", "Failed", "Successful"
"""As EKS writes the status of an update (botocore, eks/2017-11-01, UpdateStatus)."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """`unknown`: one of them that could not be described; `failed`: the latest, where it did not succeed."""

    unknown: Unknown | None
    under_way: tuple[EksAddonUpdate, ...]
    failed: EksAddonUpdate | None


def standing(history: UpdateHistory) -> _Standing:
    known = [each for each in history.updates if isinstance(each, EksAddonUpdate)]
    unknown = next((each for each in history.updates if isinstance(each, Unknown)), None)
    failed = known[0] if known and known[0].status == FAILED else None
    return _Standing(unknown, tuple(each for each in known if each.status == IN_PROGRESS), failed)


def begun(facts: CheckFacts, each: EksAddonUpdate) -> str:
    """``, begun 5 hours ago``; "" where it is not told."""
    return "" if each.begun is None else f", begun {ago(facts.cluster.observed_at, each.begun)}"


def describe(facts: CheckFacts, each: EksAddonUpdate, *of: str) -> str:
    """The command that shows it; `of`: the words that say whose it is, none for the cluster's own."""
    return aws(facts, "eks", "describe-update", "--name", name_of(facts), *of, "--update-id", each.id)


EVICTION_FAILURE = "PodEvictionFailure"
_MOST = 5
_KINDS = (kinds.NODES, kinds.PODS, kinds.BUDGETS)


def _updates(facts: CheckFacts) -> Iterator[Finding]:
    told = facts.aws.group_updates
    if isinstance(told, Unknown):
        what = "how the latest updates of the node groups went"
        yield unknown(Code.of("nodegroup-update"), cluster_of(facts), what, told)
        return
    for name, history in sorted(told.items()):
        if isinstance(history, Unknown):
            yield unknown(Code.of("nodegroup-update"), subject(name), "how its latest updates went", history)
            continue
        found = standing(history)
        if found.unknown is not None:
            yield unknown(
                Code.of("nodegroup-update"), subject(name), "how one of its latest updates went", found.unknown
            )
        for each in found.under_way:
            yield _under_way(facts, name, each)
        if found.failed is not None:
            yield from _failed(facts, name, found.failed)


def _under_way(facts: CheckFacts, name: str, each: EksAddonUpdate) -> Finding:
    return Finding.of(
        "nodegroup-update/under-way",
        subject(name),
        (*_parameters(each), f"update {each.id}"),
        type=each.type,
        begun=begun(facts, each),
        command=describe(facts, each, "--nodegroup-name", name),
    )


def _failed(facts: CheckFacts, name: str, each: EksAddonUpdate) -> Iterator[Finding]:
    evictions = [error for error in each.errors if error.code == EVICTION_FAILURE]
    seen: tuple[str, ...] = ()
    if evictions:
        yield from unread(facts, Code.of("nodegroup-update"), "which pods hold its update up", *_KINDS)
        seen = tuple(
            _in_the_way(facts, name, [one for error in evictions for one in (*error.resources, error.message)])
        )
    drain = shell("kubectl", "eksdoc", "drain", "plan", f"--nodegroup={name}")
    seen_by = describe(facts, each, "--nodegroup-name", name)
    remedies = [Remedy("See what each of its pods is held by, and what to do:", drain)] if evictions else []
    yield Finding.of(
        "nodegroup-update/failed",
        subject(name),
        (*seen, *map(issue, each.errors), *_parameters(each), f"update {each.id}"),
        remedy=(*remedies, Remedy("Find out why it failed, and fix that first.", seen_by)),
        type=each.type,
        begun=begun(facts, each),
        codes=_codes(each),
    )


def _codes(each: EksAddonUpdate) -> str:
    found = dict.fromkeys(error.code for error in each.errors if error.code)
    return ", ".join(found) or "EKS does not say why"


def _parameters(each: EksAddonUpdate) -> tuple[str, ...]:
    said = [f"{name} {value}" for name, value in each.parameters if value]
    return (f"asked for: {', '.join(said)}",) if said else ()


def _in_the_way(facts: CheckFacts, name: str, said: list[str]) -> Iterator[str]:
    """The pods that would be refused now, on the nodes that EKS names, or on those of the group where these have gone.
    What has changed since the update failed is not seen."""
    if facts.cluster.unread(*_KINDS):
        return
    nodes = _nodes(facts, name, said)
    names = {node.name for node in nodes}
    guards = matching(facts.cluster.budgets, ())
    held = []
    for pod in facts.cluster.pods:
        if pod.node in names and not _stays(pod):
            budgets = guards.of(pod)
            answer = evict(pod, budgets, facts.cluster.observed_at, dry_run=True)
            if not answer.ok:
                by = " and ".join(each.name for each in budgets)
                held.append(f"pod {pod.key} on {pod.node} may not go now: budget {by}")
            elif pod.tolerates("node.kubernetes.io/unschedulable", "", "NoSchedule") and _everything(pod):
                held.append(f"pod {pod.key} on {pod.node} tolerates every taint: it is rescheduled onto the same node")
    waited = f"{int(PATIENCE.total_seconds()) // 60} minutes"
    if not held:
        yield f"no budget holds a pod of {', '.join(sorted(names)[:_MOST]) or 'the group'} now; EKS waits {waited}"
    yield from held[: 2 * _MOST]
    if len(held) > 2 * _MOST:
        yield f"{len(held) - 2 * _MOST} more pods"


def _stays(pod: Pod) -> bool:
    return pod.finished or pod.mirror or pod.of_daemon_set


def _everything(pod: Pod) -> bool:
    """EKS user guide, managed-node-update-behavior: a pod that tolerates all taints comes back where it was."""
    return any(each.operator == "Exists" and not each.key and not each.effect for each in pod.tolerations)


def _nodes(facts: CheckFacts, name: str, said: list[str]) -> list[Node]:
    ours = nodes_of(facts, name)
    words = {word.strip("[](),.;:'\"") for text in said for word in text.split()}
    return [node for node in ours if node.name in words] or ours


CHECKS = (
    UpgradeCheck(
        (Code.of("nodegroup-update"),), Area.NODES, Gate.BEFORE_NODES, _updates, _KINDS, (CheckNeed.GROUP_UPDATES,)
    ),
)
