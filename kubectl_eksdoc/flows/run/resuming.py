"""Go on with a run that somebody began: from its journal and from the cluster as it is, on any machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kubectl_eksdoc.drain.landing.new_nodes import cordoned
from kubectl_eksdoc.drain.outcome import DrainTarget, TargetVerdict
from kubectl_eksdoc.drain.plan import make_plan
from kubectl_eksdoc.drain.policy import AUTO, DrainPolicy
from kubectl_eksdoc.drain.result import DrainPlan
from kubectl_eksdoc.drain.run.engine import Engine
from kubectl_eksdoc.drain.run.journal import Journaled
from kubectl_eksdoc.drain.run.limits import RunLimits
from kubectl_eksdoc.drain.run.others import OthersNode, drained_by_others
from kubectl_eksdoc.drain.run.patience import in_waves
from kubectl_eksdoc.drain.run.replanning import WAITED_FOR
from kubectl_eksdoc.drain.run.seen import ObservedState
from kubectl_eksdoc.flows.ports import Field
from kubectl_eksdoc.flows.run.draining import DrainClock
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.journal import IntentOutcome, JournalNote, Verb
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.pods import Pod
from kubectl_eksdoc.session.ports import ClusterReader


def engine_again(
    cluster: Cluster,
    journaled: Journaled,
    policy: DrainPolicy,
    limits: RunLimits = RunLimits(),
    hooks: frozenset[str] = frozenset(),
    run: str = "",
) -> Engine:
    """What is left of the run, planned anew for what is there now.

    Nodes that are done or gone stay as they are; those that were left alone are tried again, for somebody may have
    removed what was in the way. What was asked for without an answer is looked at before anything is asked for again. A
    node that the new plan does not drain is left alone, and told.

    A budget that has nothing left at the moment, perhaps since this very run used it, stops no node: it is waited for.
    Waves are made anew, and their numbers go on after the last one that was begun.
    """
    plan = rest_of(cluster, journaled, policy)
    known = {target.node.uid for target in plan.targets}
    skipped = tuple(_skipped(node) for node in _skipped_nodes(cluster, journaled) if node.uid not in known)
    engine = Engine(plan, ObservedState(cluster), limits, hooks, run, skipped)
    for target in plan.targets:
        if not target.order:
            engine.skip(target.node.name, "; ".join(target.why), 0.0)
    for node in journaled.protected:
        engine.protects(node.node, node.uid, node.confirmed)
    engine.doubt((change.intent.uid for change in journaled.in_doubt), 0.0)
    engine.awaits(_replacing(cluster, journaled), 0.0)
    return engine


def _replacing(cluster: Cluster, journaled: Journaled) -> Iterator[Pod]:
    """The pods that were made for those that this run has evicted, as far as names tell: a pod's begins with its
    owner's, and of the pods of an owner that are on no target, as many as were evicted of it, the latest are new."""
    there = {pod.uid for pod in cluster.pods}
    intents = (change.intent for change in journaled.changes if change.outcome is not IntentOutcome.REFUSED)
    gone = {each.uid: each for each in intents if each.kind == "Pod" and each.uid not in there}
    evicted = Counter((each.namespace, each.name.rpartition("-")[0]) for each in gone.values())
    targets = {aim.node for aim in journaled.begun.aims} if journaled.begun is not None else set()
    made = (pod for pod in cluster.pods if pod.owner is not None and pod.node not in targets)
    for pod in sorted(made, key=lambda pod: pod.created_at or cluster.observed_at, reverse=True):
        key = pod.namespace, pod.owner.name if pod.owner is not None else ""
        if evicted[key] > 0:
            evicted[key] -= 1
            yield pod


def rest_of(cluster: Cluster, journaled: Journaled, policy: DrainPolicy) -> DrainPlan:
    """The plan of what is left of a run; where nodes go in waves, those that were begun keep their numbers."""
    aims = journaled.begun.aims if journaled.begun is not None else ()
    over = {node for node, how in journaled.nodes.items() if how is not JournalNote.LEFT_ALONE}
    left = {aim.uid for aim in aims if aim.node not in over}
    order = tuple(aim.node for aim in aims)  # it was decided when the run began
    skipped = {node.uid for node in _skipped_nodes(cluster, journaled)}  # nothing is scheduled onto them
    cluster = replace(cluster, stops=(*cluster.stops, *journaled.stops))
    cluster = replace(cluster, nodes=tuple(cordoned(n) if n.uid in skipped else n for n in cluster.nodes))
    meant = replace(policy, delete_past_budget=policy.delete_past_budget - _spent(cluster, journaled))
    waiting = replace(meant, assume_fixed=policy.assume_fixed | WAITED_FOR, order=AUTO, order_nodes=order)
    plan = make_plan(cluster, [node for node in cluster.nodes if node.uid in left], waiting)
    return replace(plan, policy=meant, targets=_numbered(plan, journaled.last_wave))


def _skipped_nodes(cluster: Cluster, journaled: Journaled) -> tuple[Node, ...]:
    """The targets that the run cordons and does not drain, but for those that another client has uncordoned."""
    begun = journaled.begun
    uids = {aim.uid for aim in begun.skipped if aim.node not in journaled.uncordoned} if begun is not None else set()
    return tuple(node for node in cluster.nodes if node.uid in uids)


def _skipped(node: Node) -> DrainTarget:
    why = ("it was not to be drained when the run began",)
    return DrainTarget(node, TargetVerdict.SKIPPED, 0, 0, 0, 0, why, cordon_only=True)


def _numbered(plan: DrainPlan, before: int) -> tuple[DrainTarget, ...]:
    """What is one wave as a whole stays the first one."""
    if not before or not (in_waves(plan) or plan.in_generations):
        return plan.targets
    return tuple(replace(each, wave=each.wave + before) if each.wave else each for each in plan.targets)


def _spent(cluster: Cluster, journaled: Journaled) -> set[str]:
    """The pods (ns/name) that the user named, of which this run deleted one already: what has their name now is not
    what was meant."""
    there = {pod.key: pod.uid for pod in cluster.pods}
    deleted = (change.intent for change in journaled.changes if change.intent.verb is Verb.DELETE)
    names = {f"{intent.namespace}/{intent.name}": intent.uid for intent in deleted}
    return {name for name, uid in names.items() if there.get(name) != uid}


# Watch drains that somebody else is running, until nothing of them is left; nothing is changed.


LOOK_S = 2.0
"""So often it is shown anew, if something has changed."""

Show = Callable[[Cluster, Sequence[OthersNode]], object]


def attach(
    reader: ClusterReader, field: Field, clock: DrainClock, names: frozenset[str], show: Show, leave: Callable[[], bool]
) -> tuple[OthersNode, ...]:
    """Until every node is empty, or `leave` says so; `names` none: all nodes that somebody drains. How it stands then.

    Raises:
        ClusterError: the cluster cannot be read or watched.
    """
    facts = reader.read(kinds.ALL)
    seen, begun_s = ObservedState(facts), clock.monotonic()
    shown: list[object] | None = None
    while True:
        there = seen.now(facts, clock.monotonic() - begun_s)
        nodes = drained_by_others(there, names)
        facts_now: list[object] = [node.facts for node in nodes]
        if facts_now != shown:
            shown = facts_now
            show(there, nodes)
        if leave() or all(node.empty for node in nodes):
            return nodes
        until_s = clock.monotonic() + LOOK_S
        while (left_s := until_s - clock.monotonic()) > 0 and not leave():
            for news in field.news(left_s):
                seen.take(news)
