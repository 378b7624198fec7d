"""What to say of pods that are pushed out of their places: by whom, which, and what their budgets have to say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.codes import Code
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject, When
from kubectl_eksdoc.core.model.pods import Pod, pod_count
from kubectl_eksdoc.core.plan.drain.landing.preempting import MOST_KINDS, MOST_NODES, Preemption, PushOut
from kubectl_eksdoc.core.plan.drain.survey import Survey
from kubectl_eksdoc.core.plan.drain.verdicts.said import MAX_EVIDENCE, where

_REMEDIES = (
    Remedy("Have nodes with room for them Ready before: then nobody is pushed out."),
    Remedy(
        "Or give them a PriorityClass whose preemptionPolicy is Never: then they wait for room.", when=When.TOMORROW
    ),
)


def findings(world: Survey, found: Preemption, evictions: Iterable[Pod]) -> Iterator[Finding]:
    """`evictions` are the pods that this plan evicts: what those push out fails, the rest is remarked."""
    evicted = {pod.uid for pod in evictions} if found.push_outs else set()
    for push_out in found.push_outs:
        finding = _finding(world, push_out, evicted)
        if finding is not None:
            yield finding
    if found.not_examined:
        yield _not_examined(found.not_examined)


def _finding(world: Survey, push_out: PushOut, evicted: Collection[str]) -> Finding | None:
    victims = [pod for pod in push_out.victims.pods if not pod.deleting]  # those that leave anyway are waited for
    if not victims:
        return None
    first = push_out.pods[0]
    goes = any(pod.uid in evicted for pod in push_out.pods)
    beyond = sum(pod.uid in push_out.victims.beyond for pod in victims)
    whom = f"{pod_count(len(victims))} of lower priority, {beyond} beyond what their budgets allow"
    if goes:
        message = (
            f"while its replacements wait for a new node (priority {_named(world, first)}), the scheduler deletes "
            f"others for the first of them: {whom}"
        )
    else:
        message = (
            f"they stay, since there is no place for them; evicted all the same (priority {_named(world, first)}), the "
            f"first would have the scheduler delete others: {whom}"
        )
    count = len(push_out.pods)
    more = f", and {count - 1} more like it" if count > 1 else ""
    tried = (
        ()
        if push_out.all_tried
        else (f"only the first {MOST_NODES} nodes were tried: the scheduler may choose another",)
    )
    lines = tuple(_line(world, push_out, pod, evicted) for pod in victims)
    return Finding(
        Code.of("landing-preempts"),
        Severity.HIGH,
        Status.FAIL if goes else Status.PASS,
        world.owner_subject(first),
        message,
        (where(first) + more, *tried, *lines),
        _REMEDIES,
    )


def _line(world: Survey, push_out: PushOut, pod: Pod, evicted: Collection[str]) -> str:
    """``deletes pod shop/a on new-0: priority 0, beyond budget shop/a, which allows 0``."""
    node = push_out.victims.node
    what = f"the replacement of pod {pod.key}" if pod.node != node else f"pod {pod.key}"
    return f"deletes {what} on {node}: priority {_named(world, pod)}, {_budgets(world, push_out, pod)}"


def _budgets(world: Survey, push_out: PushOut, pod: Pod) -> str:
    if world.cluster.unread(kinds.BUDGETS):
        return "and its budgets were not read"
    guarded = world.guards.of(pod)
    if not guarded:
        return "no budget"
    said = " and ".join(f"{b.key}, which allows {b.status.allowed} now" for b in guarded)
    return f"{'beyond' if pod.uid in push_out.victims.beyond else 'within'} budget {said}"


def _named(world: Survey, pod: Pod) -> str:
    """The pod's priority, with its class where one alone has that value."""
    classes = [each.name for each in world.cluster.priority_classes if each.value == pod.priority]
    return f"{pod.priority} ({classes[0]})" if len(classes) == 1 else f"{pod.priority}"


def _not_examined(pods: tuple[Pod, ...]) -> Finding:
    return Finding.of(
        "landing-preempts",
        Subject("Cluster", "cluster"),
        tuple(where(pod) for pod in pods[:MAX_EVIDENCE]),
        pods_count=len(pods),
        most_kinds=MOST_KINDS,
        most_nodes=MOST_NODES,
    )
