"""Judgement of every pod on the targets: the results of the rules, the result of its budget, and the worst of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.budgets import Budget
from kubectl_eksdoc.model.connection import kubectl
from kubectl_eksdoc.model.findings import Code, Finding, Severity, Subject
from kubectl_eksdoc.model.kinds import ReadState
from kubectl_eksdoc.model.nodes import ControllerOwner, Node, Pod, Volume, VolumeKind

from . import filter_verdicts as filters
from . import pod_verdicts as pods
from .budget_verdicts import JudgedBudget, judge, past_budgets, several_budgets
from .course import made
from .filter_verdicts import restarted
from .nodes import DrainContext
from .outcome import HOLDS, PodVerdict
from .policy import EVICTED, EvictionMode
from .rule_results import (
    MAX_EVIDENCE,
    RuleResult,
    as_if_fixed,
    cannot_tell,
    fold,
    unknown,
    where,
)


class JudgedPod(NamedTuple):
    """A pod with its verdict and results. `verdict` is the pod's own, before its target's: never HELD. `budgets`: the
    PodDisruptionBudgets that select it."""

    pod: Pod
    verdict: PodVerdict
    said: tuple[RuleResult, ...]
    guards: tuple[Budget, ...] = ()

    @property
    def deciding(self) -> tuple[RuleResult, ...]:
        return tuple(s for s in self.said if s.verdict is self.verdict)

    @property
    def manner(self) -> EvictionMode:
        """How the pod leaves its node, if it does."""
        return next((said.manner for said in self.said if said.manner is not EVICTED), EVICTED)


@frozen
class Judgement:
    """Verdicts on pods and budgets. `pods` by node, `budgets` by namespace/name; `cluster_findings`: findings about the
    rest of the cluster; `exhausted_budgets`: keys of budgets that are permanently used up for some of their pods."""

    pods: Mapping[str, tuple[JudgedPod, ...]]
    budgets: Mapping[str, JudgedBudget]
    around: tuple[Finding, ...] = ()
    used_up: frozenset[str] = frozenset()

    def findings(self) -> Iterable[Finding]:
        for on in self.pods.values():
            for judged in on:
                for said in judged.said:  # mostly empty: a generator for each pod is slower
                    if said.finding is not None:
                        yield said.finding
        for budget in self.budgets.values():
            yield from budget.findings
        yield from self.around

    def complete(self, node: str, partial: bool) -> bool:
        """Whether `node` is drained: no pod holds it, or the user wants its other pods evicted anyway (`partial`)."""
        return partial or not self.holding(node)

    def holding(self, node: str) -> list[JudgedPod]:
        """The pods for which `node` is not drained."""
        return [judged for judged in self.pods[node] if judged[1] in HOLDS]


def judge_pods(world: DrainContext, targets: Iterable[Node]) -> Judgement:
    """Judge all pods on `targets` (nodes that are not refused)."""
    judged_by_rules = Rules(world).judged
    asked = {node.name: judged_by_rules(world.pods_on[node.name]) for node in targets}
    going = [judged for on in asked.values() for judged in on if judged[1] is not PodVerdict.STAY]
    selected: dict[str, tuple[Budget, list[Pod]]] = {}
    chosen: dict[int, list[list[Pod]]] = {}  # by id of a pod's budgets
    for pod, _, _, guards in going:
        if not guards:
            continue
        lists = chosen.get(id(guards))
        if lists is None:
            lists = chosen[id(guards)] = [selected.setdefault(b.key, (b, []))[1] for b in guards]
        for each in lists:
            each.append(pod)
    budgets = {key: judge(world, *selected[key]) for key in sorted(selected)}
    around: tuple[Finding, ...] = (*_unread(world), *_pending(world)) if going else ()
    around = (*around, *pods.on_missing_nodes(world), *_left_out(world))
    return Judgement(_concluded(world, asked, budgets), budgets, around)


def judge_again(world: DrainContext, judgement: Judgement, budgets: Iterable[str], pods: Iterable[Pod]) -> Judgement:
    """Judge again in a context in which only the budgets with these keys differ, and only `pods` are affected."""
    changed = dict(judgement.budgets)
    for key in budgets:
        on_targets = changed[key].on_targets
        changed[key] = judge(world, world.budgets_of(on_targets[0])[0], on_targets)
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_node[pod.node].append(pod)
    judged_by_rules = Rules(world).judged
    asked = {name: judged_by_rules(on) for name, on in by_node.items()}
    again = _concluded(world, asked, changed)
    by_uid = {judged.pod.uid: judged for on in again.values() for judged in on}
    found = {name: tuple([by_uid.get(old.pod.uid, old) for old in judgement.pods[name]]) for name in again}
    return replace(judgement, budgets=changed, pods={**judgement.pods, **found})


def _concluded(
    world: DrainContext, asked: Mapping[str, Sequence[JudgedPod]], budgets: Mapping[str, JudgedBudget]
) -> dict[str, tuple[JudgedPod, ...]]:
    """`judged_by_node` with the results of the pods' budgets; most pods have none."""
    sure = not world.cluster.unread(kinds.BUDGETS)
    blocking = {key for key, budget in budgets.items() if budget.blocked is not None or budget.past}
    found = {}
    for name, on in asked.items():
        found[name] = tuple(
            [
                _conclude(world, judged, budgets)
                if judged[2]
                or not sure
                or len(judged[3]) > 1
                or (blocking and judged[3] and judged[3][0].key in blocking)
                else judged
                for judged in on
            ]
        )
    return found


def _conclude(world: DrainContext, judged: JudgedPod, budgets: Mapping[str, JudgedBudget]) -> JudgedPod:
    pod, verdict, told, guards = judged
    if verdict is PodVerdict.STAY:
        return judged
    said = _by_budgets(world, pod, guards, budgets)
    told = tuple(as_if_fixed([*told, said] if said is not None else told, world.policy))
    return JudgedPod(pod, fold(told), told, guards)


def _by_budgets(
    world: DrainContext, pod: Pod, guards: tuple[Budget, ...], budgets: Mapping[str, JudgedBudget]
) -> RuleResult | None:
    if pod.finished or pod.deleting or pod.phase == "Pending":
        return None  # the eviction endpoint does not check budgets for these
    if restarted(world, pod) is not None:
        return None  # a rollout does not check budgets either
    unread = world.cluster.unread(kinds.BUDGETS)
    if unread:
        return cannot_tell(
            "pod-budget",
            unread,
            where(pod),
            PodVerdict.UNKNOWN,
            Severity.CRITICAL,
            of=world.cluster.source,
        )
    if len(guards) > 1:
        if pod.key in world.policy.delete_past_budget:
            return past_budgets(world, pod, guards)
        finding = several_budgets(world, pod, guards)
        return RuleResult(PodVerdict.BLOCKED, finding.message, finding.code, finding, finding.remedy)
    if guards:
        judged = budgets[guards[0].key]
        if judged.blocked is not None and judged.counts(pod):
            first = judged.findings[0]
            reason = f"budget {judged.budget.key} {first.message.removesuffix(f' ({judged.why})')}: {judged.why}"
            return RuleResult(PodVerdict.BLOCKED, reason, judged.code, remedy=first.remedy)
        if pod in judged.past:
            return past_budgets(world, pod, guards)
    return None


def _unread(world: DrainContext) -> Iterable[Finding]:
    """Unknown findings about the whole cluster, once if any pod is to be evicted."""
    cluster = world.cluster
    for code in ("only-backend", "no-readiness-gate", "namespace-terminating"):
        unread = cluster.unread(*Code.of(code).needs)
        if unread:
            yield unknown(f"{code}/targets", unread, of=cluster.source)


def _left_out(world: DrainContext) -> Iterable[Finding]:
    """Everything depends on nodes and pods: invalid objects of these kinds always make something unknown."""
    cluster = world.cluster
    unread = [read for read in cluster.unread(kinds.NODES, kinds.PODS) if read.state is ReadState.INVALID]
    if unread:
        evidence = tuple(each.said for each in cluster.left_out if each.resource in (kinds.NODES, kinds.PODS))
        yield unknown("objects-invalid", tuple(unread), evidence[:MAX_EVIDENCE], of=cluster.source)


def _pending(world: DrainContext) -> Iterable[Finding]:
    """Pods without a node: evicted pods will miss the same resources."""
    for pod in world.cluster.pods:
        if pod.phase == "Pending" and not pod.node and not pod.deleting:
            yield Finding.of(
                "pod-pending",
                world.owner_subject(pod),
                (f"pod {pod.key}",),
                reason=pod.not_ready_because,
                command=kubectl("describe", "pod", pod.name, pod.namespace),
            )


def used_up(judged: JudgedPod, budget: Budget) -> JudgedPod:
    """`judged` after `budget` is used up for it: other evictions of this plan would use it up permanently."""
    finding = Finding.of(
        "budget-exhausted/used-up",
        Subject("PodDisruptionBudget", budget.name, budget.namespace),
        (where(judged.pod),),
        budget=budget.key,
        rule=budget.rule,
    )
    return judged._replace(verdict=PodVerdict.BLOCKED, said=(*judged.said, RuleResult.of(finding)))


# Results of the rules, without budgets; most pods have none.


class Rules:
    """Applies every rule to pods. Most pods are healthy replicas, and applying all rules to each would take most of the
    time: results that do not depend on the single pod are cached for pods like it."""

    def __init__(self, world: DrainContext) -> None:
        self._world = world
        self._options = filters.options_of(world.policy)
        self._remembered: dict[object, Told] = {}
        self._guards_of = world.guards.known
        served = (pod for found in world.needed.values() for backends in found for pod in backends.pods)
        self._needed = {pod.owner.uid for pod in served if pod.owner is not None}
        unread = world.cluster.unread(kinds.CLAIMS, kinds.VOLUMES)
        self._may_be_bound = bool(unread) or any(volume.local for volume in world.cluster.volumes)

    def judged(self, asked: Iterable[Pod]) -> list[JudgedPod]:
        """Each pod with its verdict, all results of the rules (a pod that stays is checked by the filters alone), and
        its budgets."""
        remembered, needed, found = self._remembered, self._needed, []
        for pod in asked:
            owner = pod.owner
            if owner is None or pod.deletion_deadline is not None or pod.annotations or owner.uid in needed:
                found.append(JudgedPod(pod, *self._ask(pod)))  # this pod alone
                continue
            alike: object = (owner.uid, id(pod.labels), id(pod.tolerations), pod.phase, pod.ready)
            if pod.volumes or pod.readiness_gates:
                alike = alike, pod.readiness_gates, tuple([_alike(volume) for volume in pod.volumes])
            told = remembered.get(alike)
            if told is None:
                told = self._ask(pod)
                if self._told_of_all(pod, owner, *told[:2]):
                    remembered[alike] = told
            elif (
                self._may_be_bound
                and told[0] is not PodVerdict.STAY
                and pods.is_bound_to_its_node(self._world, pod) is not None
            ):
                told = self._ask(pod)
            found.append(made(JudgedPod, (pod, *told)))
        return found

    def _ask(self, pod: Pod) -> Told:
        told = filters.ask(self._world, pod, self._options)
        verdict = fold(told)
        if verdict is not PodVerdict.STAY:
            more = [said for rule in pods.RULES if (said := rule(self._world, pod)) is not None]
            if more:
                told += more
                verdict = fold(told)
        return verdict, tuple(told), self._guards_of(pod)

    def _told_of_all(self, pod: Pod, owner: ControllerOwner, verdict: PodVerdict, told: Sequence[RuleResult]) -> bool:
        """Whether the outcome holds for all pods like it: no results, or they stay without a finding."""
        made_by = self._world.workloads.get(owner.uid)
        if pod.finished or (made_by is not None and made_by.pinned_to):
            return False
        return not told or (verdict is PodVerdict.STAY and all(said.finding is None for said in told))


def _alike(volume: Volume) -> object:
    """The part of a volume that most rules read. The claim is left out: each replica of a StatefulSet has its own, and
    only one rule reads it."""
    return (volume.kind, "" if volume.kind is VolumeKind.CLAIM else volume.detail)


Told = tuple[PodVerdict, tuple[RuleResult, ...], tuple[Budget, ...]]
"""The worst verdict, all results, and the budgets that select the pod."""
