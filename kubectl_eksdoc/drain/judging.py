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
from .budget_verdicts import JudgedBudget, judge_budget, past_budgets_result, several_budgets_finding
from .filter_verdicts import restarted_workload
from .nodes import DrainContext
from .outcome import HOLDING_VERDICTS, PodVerdict
from .policy import PLAIN_EVICTION, EvictionMode
from .rule_results import (
    MAX_EVIDENCE,
    RuleResult,
    apply_assumed_fixed,
    evidence_line,
    unknown_finding,
    unknown_result,
    worst_verdict,
)
from .timeline import build_tuple


class JudgedPod(NamedTuple):
    """A pod with its verdict and results. `verdict` is the pod's own, before its target's: never HELD. `budgets`: the
    PodDisruptionBudgets that select it."""

    pod: Pod
    verdict: PodVerdict
    results: tuple[RuleResult, ...]
    budgets: tuple[Budget, ...] = ()

    @property
    def deciding_results(self) -> tuple[RuleResult, ...]:
        return tuple(result for result in self.results if result.verdict is self.verdict)

    @property
    def eviction_mode(self) -> EvictionMode:
        """How the pod leaves its node, if it does."""
        return next(
            (result.eviction_mode for result in self.results if result.eviction_mode is not PLAIN_EVICTION),
            PLAIN_EVICTION,
        )


@frozen
class Judgement:
    """Verdicts on pods and budgets. `pods` by node, `budgets` by namespace/name; `cluster_findings`: findings about the
    rest of the cluster; `exhausted_budgets`: keys of budgets that are permanently used up for some of their pods."""

    pods: Mapping[str, tuple[JudgedPod, ...]]
    budgets: Mapping[str, JudgedBudget]
    cluster_findings: tuple[Finding, ...] = ()
    exhausted_budgets: frozenset[str] = frozenset()

    def findings(self) -> Iterable[Finding]:
        for pods_on_node in self.pods.values():
            for judged in pods_on_node:
                for result in judged.results:  # mostly empty: a generator for each pod is slower
                    if result.finding is not None:
                        yield result.finding
        for budget in self.budgets.values():
            yield from budget.findings
        yield from self.cluster_findings

    def is_drained(self, node: str, partial: bool) -> bool:
        """Whether `node` is drained: no pod holds it, or the user wants its other pods evicted anyway (`partial`)."""
        return partial or not self.holding_pods(node)

    def holding_pods(self, node: str) -> list[JudgedPod]:
        """The pods for which `node` is not drained."""
        return [judged for judged in self.pods[node] if judged[1] in HOLDING_VERDICTS]


def judge_pods(context: DrainContext, targets: Iterable[Node]) -> Judgement:
    """Judge all pods on `targets` (nodes that are not refused)."""
    judged_by_rules = PodRules(context).judge_all
    by_rules = {node.name: judged_by_rules(context.pods_on[node.name]) for node in targets}
    candidates = [
        judged for pods_on_node in by_rules.values() for judged in pods_on_node if judged[1] is not PodVerdict.STAY
    ]
    selected: dict[str, tuple[Budget, list[Pod]]] = {}
    lists_by_budgets: dict[int, list[list[Pod]]] = {}  # by id of a pod's budgets
    for pod, _, _, pod_budgets in candidates:
        if not pod_budgets:
            continue
        lists = lists_by_budgets.get(id(pod_budgets))
        if lists is None:
            lists = lists_by_budgets[id(pod_budgets)] = [selected.setdefault(b.key, (b, []))[1] for b in pod_budgets]
        for pods_of_budget in lists:
            pods_of_budget.append(pod)
    budgets = {key: judge_budget(context, *selected[key]) for key in sorted(selected)}
    cluster_findings: tuple[Finding, ...] = (
        (*_not_read_findings(context), *_pending_pod_findings(context)) if candidates else ()
    )
    cluster_findings = (*cluster_findings, *pods.missing_node_findings(context), *_invalid_object_findings(context))
    return Judgement(_with_budget_results(context, by_rules, budgets), budgets, cluster_findings)


def update_judgement(
    context: DrainContext, judgement: Judgement, budgets: Iterable[str], pods: Iterable[Pod]
) -> Judgement:
    """Judge again in a context in which only the budgets with these keys differ, and only `pods` are affected."""
    new_budgets = dict(judgement.budgets)
    for key in budgets:
        on_targets = new_budgets[key].on_targets
        new_budgets[key] = judge_budget(context, context.budgets_of(on_targets[0])[0], on_targets)
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_node[pod.node].append(pod)
    judged_by_rules = PodRules(context).judge_all
    by_rules = {name: judged_by_rules(pods_on_node) for name, pods_on_node in by_node.items()}
    new_pods = _with_budget_results(context, by_rules, new_budgets)
    by_uid = {judged.pod.uid: judged for pods_on_node in new_pods.values() for judged in pods_on_node}
    merged_pods = {
        name: tuple([by_uid.get(old_judged.pod.uid, old_judged) for old_judged in judgement.pods[name]])
        for name in new_pods
    }
    return replace(judgement, budgets=new_budgets, pods={**judgement.pods, **merged_pods})


def _with_budget_results(
    context: DrainContext, judged_by_node: Mapping[str, Sequence[JudgedPod]], budgets: Mapping[str, JudgedBudget]
) -> dict[str, tuple[JudgedPod, ...]]:
    """`judged_by_node` with the results of the pods' budgets; most pods have none."""
    budgets_known = not context.cluster.not_read(kinds.BUDGETS)
    blocking_keys = {key for key, budget in budgets.items() if budget.blocked is not None or budget.past_budget}
    concluded = {}
    for name, pods_on_node in judged_by_node.items():
        concluded[name] = tuple(
            [
                _with_budget_result(context, judged, budgets)
                if judged[2]
                or not budgets_known
                or len(judged[3]) > 1
                or (blocking_keys and judged[3] and judged[3][0].key in blocking_keys)
                else judged
                for judged in pods_on_node
            ]
        )
    return concluded


def _with_budget_result(context: DrainContext, judged: JudgedPod, budgets: Mapping[str, JudgedBudget]) -> JudgedPod:
    pod, verdict, results, pod_budgets = judged
    if verdict is PodVerdict.STAY:
        return judged
    budget_result = _budget_result(context, pod, pod_budgets, budgets)
    results = tuple(
        apply_assumed_fixed([*results, budget_result] if budget_result is not None else results, context.policy)
    )
    return JudgedPod(pod, worst_verdict(results), results, pod_budgets)


def _budget_result(
    context: DrainContext, pod: Pod, pod_budgets: tuple[Budget, ...], budgets: Mapping[str, JudgedBudget]
) -> RuleResult | None:
    if pod.finished or pod.deleting or pod.phase == "Pending":
        return None  # the eviction endpoint does not check budgets for these
    if restarted_workload(context, pod) is not None:
        return None  # a rollout does not check budgets either
    not_read = context.cluster.not_read(kinds.BUDGETS)
    if not_read:
        return unknown_result(
            "pod-budget",
            not_read,
            evidence_line(pod),
            PodVerdict.UNKNOWN,
            Severity.CRITICAL,
            source=context.cluster.source,
        )
    if len(pod_budgets) > 1:
        if pod.key in context.policy.delete_past_budget:
            return past_budgets_result(context, pod, pod_budgets)
        finding = several_budgets_finding(context, pod, pod_budgets)
        return RuleResult(PodVerdict.BLOCKED, finding.message, finding.code, finding, finding.remedy)
    if pod_budgets:
        judged = budgets[pod_budgets[0].key]
        if judged.blocked is not None and judged.counts(pod):
            first_finding = judged.findings[0]
            reason = (
                f"budget {judged.budget.key} "
                f"{first_finding.message.removesuffix(f' ({judged.explanation})')}: {judged.explanation}"
            )
            return RuleResult(PodVerdict.BLOCKED, reason, judged.code, remedy=first_finding.remedy)
        if pod in judged.past_budget:
            return past_budgets_result(context, pod, pod_budgets)
    return None


def _not_read_findings(context: DrainContext) -> Iterable[Finding]:
    """Unknown findings about the whole cluster, once if any pod is to be evicted."""
    cluster = context.cluster
    for code in ("only-backend", "no-readiness-gate", "namespace-terminating"):
        not_read = cluster.not_read(*Code.of(code).needs)
        if not_read:
            yield unknown_finding(f"{code}/targets", not_read, source=cluster.source)


def _invalid_object_findings(context: DrainContext) -> Iterable[Finding]:
    """Everything depends on nodes and pods: invalid objects of these kinds always make something unknown."""
    cluster = context.cluster
    not_read = [read for read in cluster.not_read(kinds.NODES, kinds.PODS) if read.state is ReadState.INVALID]
    if not_read:
        evidence = tuple(each.message for each in cluster.invalid_entries if each.resource in (kinds.NODES, kinds.PODS))
        yield unknown_finding("objects-invalid", tuple(not_read), evidence[:MAX_EVIDENCE], source=cluster.source)


def _pending_pod_findings(context: DrainContext) -> Iterable[Finding]:
    """Pods without a node: evicted pods will miss the same resources."""
    for pod in context.cluster.pods:
        if pod.phase == "Pending" and not pod.node and not pod.deleting:
            yield Finding.of(
                "pod-pending",
                context.owner_subject(pod),
                (f"pod {pod.key}",),
                reason=pod.not_ready_because,
                command=kubectl("describe", "pod", pod.name, pod.namespace),
            )


def block_exhausted(judged: JudgedPod, budget: Budget) -> JudgedPod:
    """`judged` after `budget` is used up for it: other evictions of this plan would use it up permanently."""
    finding = Finding.of(
        "budget-exhausted/used-up",
        Subject("PodDisruptionBudget", budget.name, budget.namespace),
        (evidence_line(judged.pod),),
        budget=budget.key,
        rule=budget.rule,
    )
    return judged._replace(verdict=PodVerdict.BLOCKED, results=(*judged.results, RuleResult.of(finding)))


# Results of the rules, without budgets; most pods have none.


class PodRules:
    """Applies every rule to pods. Most pods are healthy replicas, and applying all rules to each would take most of the
    time: results that do not depend on the single pod are cached for pods like it."""

    def __init__(self, context: DrainContext) -> None:
        self._context = context
        self._options = filters.filter_options(context.policy)
        self._cached: dict[object, RuleOutcome] = {}
        self._budgets_of = context.pod_budgets.for_indexed_pod
        backend_pods = (
            pod
            for backends_of_pod in context.needed_backends.values()
            for backends in backends_of_pod
            for pod in backends.pods
        )
        self._backend_owners = {pod.owner.uid for pod in backend_pods if pod.owner is not None}
        not_read = context.cluster.not_read(kinds.CLAIMS, kinds.VOLUMES)
        self._may_have_local_volumes = bool(not_read) or any(volume.local for volume in context.cluster.volumes)

    def judge_all(self, candidates: Iterable[Pod]) -> list[JudgedPod]:
        """Each pod with its verdict, all results of the rules (a pod that stays is checked by the filters alone), and
        its budgets."""
        cached, backend_owners, judged_pods = self._cached, self._backend_owners, []
        for pod in candidates:
            owner = pod.owner
            if owner is None or pod.deletion_deadline is not None or pod.annotations or owner.uid in backend_owners:
                judged_pods.append(JudgedPod(pod, *self._apply_rules(pod)))  # this pod alone
                continue
            cache_key: object = (owner.uid, id(pod.labels), id(pod.tolerations), pod.phase, pod.ready)
            if pod.volumes or pod.readiness_gates:
                cache_key = cache_key, pod.readiness_gates, tuple([_volume_key(volume) for volume in pod.volumes])
            outcome = cached.get(cache_key)
            if outcome is None:
                outcome = self._apply_rules(pod)
                if self._holds_for_all_alike(pod, owner, *outcome[:2]):
                    cached[cache_key] = outcome
            elif (
                self._may_have_local_volumes
                and outcome[0] is not PodVerdict.STAY
                and pods.is_bound_to_its_node(self._context, pod) is not None
            ):
                outcome = self._apply_rules(pod)
            judged_pods.append(build_tuple(JudgedPod, (pod, *outcome)))
        return judged_pods

    def _apply_rules(self, pod: Pod) -> RuleOutcome:
        results = filters.apply_filters(self._context, pod, self._options)
        verdict = worst_verdict(results)
        if verdict is not PodVerdict.STAY:
            rule_results = [result for rule in pods.RULES if (result := rule(self._context, pod)) is not None]
            if rule_results:
                results += rule_results
                verdict = worst_verdict(results)
        return verdict, tuple(results), self._budgets_of(pod)

    def _holds_for_all_alike(
        self, pod: Pod, owner: ControllerOwner, verdict: PodVerdict, results: Sequence[RuleResult]
    ) -> bool:
        """Whether the outcome holds for all pods like it: no results, or they stay without a finding."""
        workload = self._context.workloads.get(owner.uid)
        if pod.finished or (workload is not None and workload.pinned_to):
            return False
        return not results or (verdict is PodVerdict.STAY and all(result.finding is None for result in results))


def _volume_key(volume: Volume) -> object:
    """The part of a volume that most rules read. The claim is left out: each replica of a StatefulSet has its own, and
    only one rule reads it."""
    return (volume.kind, "" if volume.kind is VolumeKind.CLAIM else volume.detail)


RuleOutcome = tuple[PodVerdict, tuple[RuleResult, ...], tuple[Budget, ...]]
"""The worst verdict, all results, and the budgets that select the pod."""
