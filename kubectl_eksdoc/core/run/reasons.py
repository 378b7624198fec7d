"""Why a run waits: for which pod, budget or node, since when, what is usual, and what would help.

For users who see no screen: a log, a Job, a terminal in which nothing happens for a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kubectl_eksdoc.core.model.commands import kubectl, shell
from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.run.engine import Engine
from kubectl_eksdoc.core.run.nodes import DrainedNode, Phase
from kubectl_eksdoc.core.run.pursuits import Pursuit, Step
from kubectl_eksdoc.core.run.standing import GATES, waiting


class Reason(NamedTuple):
    """`of` a pod (ns/name) or a node, "" for the whole run; `why` is a clause; `for_s`: since so long, None where that
    is not known. `usual`: what is usual, a clause, `remedy` a command that shows or ends it; "" for none. `more`: so
    many others wait for the same."""

    of: str
    why: str
    for_s: float | None = None
    usual: str = ""
    remedy: str = ""
    more: int = 0


def reasons(engine: Engine, now_s: float) -> tuple[Reason, ...]:
    """What the run waits for now, what holds all of it first."""
    usual = _usual(engine)
    of_pods, of_ends = _of_pods(engine, usual, now_s), _of_ends(engine, usual, now_s)
    return (*_of_run(engine, now_s), *of_pods, *_of_nodes(engine, now_s), *of_ends)


def _of_run(engine: Engine, now_s: float) -> Iterator[Reason]:
    if why := engine.stopped or engine.held:
        yield Reason("", f"{'stopping' if engine.stopped else 'held'}: {why}")
    if engine.bakes_left_s(now_s) and not any(node.phase is Phase.ACTIVE for node in engine.nodes):
        yield Reason("", f"the next wave is begun in {in_words(round(engine.bakes_left_s(now_s)))}")


def _of_pods(engine: Engine, usual: Mapping[str, float], now_s: float) -> Iterator[Reason]:
    """Those that wait for the same budget are one reason."""
    of_budgets: dict[str, Reason] = {}
    others: list[Reason] = []
    pursuits = {each.pod.key: each for node in engine.nodes for each in node.pursuits.values()}
    for waits in waiting(engine, list(engine.nodes), now_s):
        pursuit = pursuits[waits.pod]
        of, for_s = f"{waits.pod} on {waits.node}", engine.refused_s(pursuit, now_s)
        if waits.budget and waits.budget in of_budgets:
            before = of_budgets[waits.budget]
            longest_s = max((each for each in (before.for_s, for_s) if each is not None), default=None)
            of_budgets[waits.budget] = before._replace(more=before.more + 1, for_s=longest_s)
        elif waits.budget:
            of_budgets[waits.budget] = _of_budget(engine, of, waits.budget, for_s, usual, now_s)
        elif pursuit.step is Step.LEAVING or engine.held or waits.why.endswith("others go first"):
            continue  # told below, or of the whole run, or no reason
        else:
            others.append(Reason(of, waits.why, for_s, remedy=_describe(pursuit.pod)))
    yield from of_budgets.values()
    yield from others
    for node in engine.nodes:
        yield from (_leaving(node, each, now_s) for each in node.pursuits.values() if each.step is Step.LEAVING)


def _leaving(node: DrainedNode, pursuit: Pursuit, now_s: float) -> Reason:
    pod = pursuit.pod
    usual = f"its grace period is {in_words(pod.grace_seconds)}"
    why = "it is stopping" + (f", with finalizers {', '.join(pod.finalizers)}" if pod.finalizers else "")
    return Reason(f"{pod.key} on {node.name}", why, now_s - pursuit.since_s, usual, _describe(pod))


def _of_budget(
    engine: Engine, of: str, key: str, for_s: float | None, usual: Mapping[str, float], now_s: float
) -> Reason:
    """What it lacks, and which pods it waits for."""
    namespace, _, name = key.partition("/")
    budget = engine.seen.budgets.get(key)
    if budget is None:
        return Reason(of, f"budget {key} has no room", for_s)
    status = budget.status
    why = f"budget {key} allows no eviction: {status.current} healthy, {status.desired} needed"
    unready = [
        pod
        for pod in engine.seen.pods()
        if pod.namespace == namespace and not (pod.ready or pod.finished) and budget.selector.matches(pod.labels)
    ]
    starting = [pod for pod in unready if not pod.deleting]
    for pod in sorted(starting, key=lambda each: each.key)[:1]:
        more = f" (and {len(starting) - 1} more)" if len(starting) > 1 else ""
        why = f"{why}; {_state(engine, pod, now_s)}{more}"
        return Reason(of, why, for_s, _usually(pod, usual), _describe(pod))
    if unready:
        return Reason(of, f"{why}; {unready[0].key} is stopping", for_s, remedy=_describe(unready[0]))
    return Reason(of, why, for_s, "", kubectl("describe", "pdb", name, namespace))


def _of_nodes(engine: Engine, now_s: float) -> Iterator[Reason]:
    said = {
        Phase.OPEN: "it is not seen cordoned yet",
        Phase.DETACHING: "it is empty; volumes of its pods are still attached",
        Phase.GOING: "another client drains it, or it is gone: its pods are waited for",
    }
    for node in engine.nodes:
        if node.phase in said:
            yield Reason(
                node.name, said[node.phase], now_s - node.since_s, remedy=kubectl("describe", "node", node.name)
            )
        elif node.phase is Phase.CORDONED and (needs := engine.needs(node.name)):
            yield Reason(node.name, f"it waits for new nodes in the place of {', '.join(needs)}")


def _of_ends(engine: Engine, usual: Mapping[str, float], now_s: float) -> Iterator[Reason]:
    """Replacements that are not Ready, when that is all that is waited for; those without a node in any case."""
    pods = engine.unready if engine.drained else engine.pending
    for pod in sorted(pods, key=lambda each: each.key):
        yield Reason("", _state(engine, pod, now_s), None, _usually(pod, usual), _describe(pod))


def _state(engine: Engine, pod: Pod, now_s: float) -> str:
    """``replacement shop/web-x on green-1 is not Ready (ContainersNotReady), 1 min 40 s old``."""
    where = f" on {pod.node}" if pod.node else ""
    because = pod.not_ready_because
    gates = f"waits for {', '.join(pod.readiness_gates)}" if pod.readiness_gates and because == GATES else ""
    what = "is not Ready" if pod.node else "has no node"
    said = f"replacement {pod.key}{where} {what} ({gates or because or pod.phase})"
    if pod.created_at is None:
        return said
    now = engine.seen.first.observed_at.timestamp() + now_s
    return f"{said}, {in_words(max(0, round(now - pod.created_at.timestamp())))} old"


def _usual(engine: Engine) -> Mapping[str, float]:
    """From an eviction to the readiness of what replaces the pod, by its owner's UID, by the plan."""
    estimate = engine.plan.estimate
    found: dict[str, float] = {}
    owners = {each.pod.uid: each.pod.owner.uid for each in engine.plan.evictions if each.pod.owner is not None}
    for moved in estimate.moves if estimate is not None else ():
        if moved.uid in owners and moved.ready_s is not None:
            owner = owners[moved.uid]
            found[owner] = max(found.get(owner, 0.0), moved.ready_s - moved.evicted_s)
    return found


def _usually(pod: Pod, usual: Mapping[str, float]) -> str:
    ready_s = usual.get(pod.owner.uid) if pod.owner is not None else None
    return f"usually Ready {in_words(round(ready_s))} after the eviction" if ready_s else ""


def _describe(pod: Pod) -> str:
    if pod.restarted and not pod.ready:
        return shell("kubectl", "logs", f"pod/{pod.name}", "-n", pod.namespace, "--previous")
    return kubectl("describe", "pod", pod.name, pod.namespace)
