"""Every pod on the targets judged: what the rules say of it, what its budget says, and the worst of both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from kubectl_eksdoc.core.model import codes, kinds
from kubectl_eksdoc.core.model.budgets import Budget
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.plan.drain.commands import kubectl
from kubectl_eksdoc.core.plan.drain.outcome import PodVerdict
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts import filters, pods
from kubectl_eksdoc.core.plan.drain.verdicts.assuming import as_if_fixed
from kubectl_eksdoc.core.plan.drain.verdicts.budgets import JudgedBudget, judge, several_budgets
from kubectl_eksdoc.core.plan.drain.verdicts.said import Said, cannot_tell, fold, unknown


class JudgedPod(NamedTuple):
    """`verdict` is the pod's own, before its target's: never HELD."""

    pod: Pod
    verdict: PodVerdict
    said: tuple[Said, ...]

    @property
    def deciding(self) -> tuple[Said, ...]:
        return tuple(s for s in self.said if s.verdict is self.verdict)

    @property
    def holds_its_node(self) -> bool:
        return self.verdict in (PodVerdict.BLOCKED, PodVerdict.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Judgement:
    """`pods` by node, `budgets` by ns/name; `around` is what to know of the rest of the cluster,
    `used_up` the budgets that have nothing left for some of their pods."""

    pods: Mapping[str, tuple[JudgedPod, ...]]
    budgets: Mapping[str, JudgedBudget]
    around: tuple[Finding, ...] = ()
    used_up: frozenset[str] = frozenset()

    def findings(self) -> Iterable[Finding]:
        for on in self.pods.values():
            for judged in on:
                yield from (said.finding for said in judged.said if said.finding is not None)
        for budget in self.budgets.values():
            yield from budget.findings
        yield from self.around

    def complete(self, node: str, partial: bool) -> bool:
        """Whether `node` is drained: nothing on it is held back, or the user wants the rest gone all the same."""
        return partial or not any(p.holds_its_node for p in self.pods[node])


def judge_pods(world: Survey, targets: Iterable[Node]) -> Judgement:
    """Judge all pods on `targets` (those that are not refused as nodes)."""
    asked = _asked(world, {node.name: world.pods_on[node.name] for node in targets})
    going = [pod for said in asked.values() for pod, told in said if not told or fold(told) is not PodVerdict.STAY]
    budgets = _judge_budgets(world, going)
    return Judgement(
        _concluded(world, asked, budgets),
        budgets,
        (*_unread(world, going), *_pending(world, going), *pods.on_missing_nodes(world)),
    )


def judge_again(world: Survey, judgement: Judgement, budgets: Iterable[str], pods: Iterable[Pod]) -> Judgement:
    """`judgement` of a world that differs in the `budgets` of those keys, and matters to those `pods` alone."""
    changed = dict(judgement.budgets)
    for key in budgets:
        on_targets = changed[key].on_targets
        changed[key] = judge(world, world.budgets_of(on_targets[0])[0], on_targets)
    by_node: dict[str, list[Pod]] = defaultdict(list)
    for pod in pods:
        by_node[pod.node].append(pod)
    again = _concluded(world, _asked(world, by_node), changed)
    by_uid = {judged.pod.uid: judged for on in again.values() for judged in on}
    found = {name: tuple([by_uid.get(old.pod.uid, old) for old in judgement.pods[name]]) for name in again}
    return replace(judgement, budgets=changed, pods={**judgement.pods, **found})


_Told = list[tuple[Pod, Sequence[Said]]]
"""The pods of one node, each with what rules say of it."""


def _concluded(
    world: Survey, asked: Mapping[str, _Told], budgets: Mapping[str, JudgedBudget]
) -> dict[str, tuple[JudgedPod, ...]]:
    sure, guarded = not world.cluster.unread(kinds.BUDGETS), world.guarded
    found: dict[str, tuple[JudgedPod, ...]] = {}
    for name, said in asked.items():
        on = []
        for pod, told in said:
            guards = guarded.get(pod.uid)
            if told or not sure or (guards and (len(guards) > 1 or budgets[guards[0].key].blocked is not None)):
                on.append(_conclude(world, pod, told, budgets))
            else:
                on.append(JudgedPod(pod, PodVerdict.EVICT, ()))  # most: budgets have nothing to say of it either
        found[name] = tuple(on)
    return found


def _asked(world: Survey, pods_on: Mapping[str, Iterable[Pod]]) -> dict[str, _Told]:
    nothing_to_say: set[object] = set()
    return {name: _ask(world, on, nothing_to_say) for name, on in pods_on.items()}


def _ask(world: Survey, on: Iterable[Pod], nothing_to_say: set[object]) -> _Told:
    """Everything the rules say, besides budgets; a pod that stays is asked nothing more.

    `nothing_to_say` grows: the likenesses of pods of which no rule had to say anything.
    """
    options = filters.options_of(world.policy)
    asked: _Told = []
    for pod in on:
        like = _likeness(world, pod)
        if like is not None and like in nothing_to_say:
            asked.append((pod, ()))
            continue
        told = filters.ask(world, pod, options)
        if fold(told) is not PodVerdict.STAY:
            told += [said for rule in pods.RULES if (said := rule(world, pod)) is not None]
        if like is not None and not told:
            nothing_to_say.add(like)
        asked.append((pod, told))
    return asked


def _likeness(world: Survey, pod: Pod) -> object | None:
    """What pods have in common of which nothing is to be said if nothing is said of one; None for one by itself.

    Most pods are healthy replicas, and to ask all rules about each of them takes most of the time.
    """
    owner = pod.owner
    if owner is None or pod.deleting or pod.finished or pod.annotations or pod.uid in world.needed:
        return None
    made_by = world.workloads.get(owner.uid)
    if made_by is not None and made_by.pinned_to:
        return None
    return (owner.uid, id(pod.labels), id(pod.tolerations), pod.volumes, pod.readiness_gates, pod.phase, pod.ready)


def _judge_budgets(world: Survey, going: Iterable[Pod]) -> dict[str, JudgedBudget]:
    selected: dict[str, list[Pod]] = defaultdict(list)
    budgets = {}
    for pod in going:
        for budget in world.guarded.get(pod.uid, ()):
            selected[budget.key].append(pod)
            budgets[budget.key] = budget
    return {key: judge(world, budgets[key], selected[key]) for key in sorted(selected)}


def _conclude(world: Survey, pod: Pod, told: Sequence[Said], budgets: Mapping[str, JudgedBudget]) -> JudgedPod:
    if fold(told) is not PodVerdict.STAY:
        said = _by_budgets(world, pod, budgets)
        told = as_if_fixed([*told, said] if said is not None else told, world.policy)
    return JudgedPod(pod, fold(told), tuple(told))


def _by_budgets(world: Survey, pod: Pod, budgets: Mapping[str, JudgedBudget]) -> Said | None:
    if pod.finished or pod.deleting or pod.phase == "Pending":
        return None  # the eviction endpoint does not read budgets for these
    unread = world.cluster.unread(kinds.BUDGETS)
    if unread:
        question = "which budgets guard the pods on the targets"
        return cannot_tell(codes.POD_BUDGET, question, unread, pods.where(pod), PodVerdict.UNKNOWN, Severity.CRITICAL)
    guards = world.budgets_of(pod)
    if len(guards) > 1:
        finding = several_budgets(world, pod, guards)
        return Said(PodVerdict.BLOCKED, finding.message, finding.code, finding, finding.remedy)
    if guards:
        judged = budgets[guards[0].key]
        if judged.blocked is not None and judged.counts(pod):
            reason = f"budget {judged.budget.key} {judged.in_short}: {judged.why}"
            return Said(PodVerdict.BLOCKED, reason, judged.code, remedy=judged.findings[0].remedy)
    return None


def _unread(world: Survey, going: Sequence[Pod]) -> Iterable[Finding]:
    """Questions about the whole cluster that were not answered, asked once if any pod is to go."""
    if not going:
        return
    cluster = world.cluster
    questions = (
        (codes.ONLY_BACKEND, "whether a target holds the only backend of something that replacements need"),
        (codes.NO_READINESS_GATE, "which pods a load balancer sends traffic to"),
        (codes.NAMESPACE_TERMINATING, "whether a namespace is being deleted"),
    )
    for code, question in questions:
        unread = cluster.unread(*code.needs)
        if unread:
            yield unknown(code, question, unread)


def _pending(world: Survey, going: Sequence[Pod]) -> Iterable[Finding]:
    """Pods without a node: what they miss, evicted pods will miss too."""
    if not going:
        return
    for pod in world.cluster.pods:
        if pod.phase == "Pending" and not pod.node and not pod.deleting:
            yield Finding(
                codes.POD_PENDING,
                Severity.MEDIUM,
                Status.PASS,
                world.owner_subject(pod),
                f"waits for a node before the drain begins: {pod.not_ready_because or 'no reason given'}",
                (f"pod {pod.key}",),
                (
                    Remedy(
                        "Find out whether the cluster is out of room before pods are evicted into it.",
                        kubectl("describe", "pod", pod.name, pod.namespace),
                    ),
                ),
            )


def used_up(judged: JudgedPod, budget: Budget) -> JudgedPod:
    """`judged` once `budget` has nothing left for it: other evictions of this plan would take it for good."""
    message = f"budget {budget.key} would be used up for good by evicting pods that nothing replaces ({budget.rule})"
    finding = Finding(
        codes.BUDGET_EXHAUSTED,
        Severity.HIGH,
        Status.FAIL,
        Subject("PodDisruptionBudget", budget.name, budget.namespace),
        message,
        (pods.where(judged.pod),),
        (Remedy("Create its pods again elsewhere (save them first), then plan again."),),
    )
    said = Said(PodVerdict.BLOCKED, message, codes.BUDGET_EXHAUSTED, finding, finding.remedy)
    return JudgedPod(judged.pod, PodVerdict.BLOCKED, (*judged.said, said))
