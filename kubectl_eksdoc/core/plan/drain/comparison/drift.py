"""Whether the world is still what a plan was read for: if it is not, nothing of that plan may be done.

Pods come and go in any cluster. What is the same decision is no drift: a pod that has gone, or one that its owner made
in place of others that the plan evicts. Everything else is another plan than the one that was read.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.model.baseline import Promise
from kubectl_eksdoc.core.model.findings import Status
from kubectl_eksdoc.core.plan.drain.result import DrainPlan
from kubectl_eksdoc.errors import Drifted

_MOST_NAMES = 5


def promise_of(plan: DrainPlan) -> Promise:
    """What a reader of this plan knows of what will be done."""
    return Promise(
        {target.node.name: (target.node.uid, target.verdict.value) for target in plan.targets},
        {
            e.pod.uid: (e.pod.key, e.pod.owner.uid if e.pod.owner is not None else "", e.manner.means.value)
            for e in plan.evictions
        },
        {headroom.budget.key: headroom.verdict.value for headroom in plan.budgets},
        frozenset(finding.code.name for finding in plan.findings if finding.status is Status.UNKNOWN),
    )


def check_drift(read: Promise, plan: DrainPlan, since: str, next_step: str) -> None:
    """`since` what time (``the plan was shown``), and what to do instead, a sentence.

    Raises:
        Drifted: what this plan would do is not what was read.
    """
    differs = drift(read, promise_of(plan))
    if differs:
        said = "\n".join(f"- {each}" for each in differs)
        raise Drifted(f"the cluster has changed since {since}", f"{said}\nNothing was done. {next_step}")


def drift(read: Promise, now: Promise) -> tuple[str, ...]:
    """A sentence without its full stop for everything that is another decision now; none where nothing is."""
    return (*_nodes(read, now), *_pods(read, now), *_manners(read, now), *_budgets(read, now), *_unknown(read, now))


def _nodes(read: Promise, now: Promise) -> Iterator[str]:
    for name in sorted(read.nodes.keys() | now.nodes.keys()):
        if name not in now.nodes:
            yield f"node {name} is not there any more, or not selected"
        elif name not in read.nodes:
            yield f"node {name} is selected and was not in the plan"
        elif read.nodes[name][0] != now.nodes[name][0]:
            yield f"node {name} is another one than in the plan: its uid differs"
        elif read.nodes[name][1] != now.nodes[name][1]:
            yield f"node {name} was {read.nodes[name][1]} and is {now.nodes[name][1]} now"


def _pods(read: Promise, now: Promise) -> Iterator[str]:
    owners = {owner for _, owner, _ in read.evicted.values()} - {""}
    new = sorted(key for uid, (key, owner, _) in now.evicted.items() if uid not in read.evicted and owner not in owners)
    if new:
        more = f" and {len(new) - _MOST_NAMES} more" if len(new) > _MOST_NAMES else ""
        what = "a pod that the plan does not evict" if len(new) == 1 else "pods that the plan does not evict"
        yield f"{what} would be evicted: {', '.join(new[:_MOST_NAMES])}{more}"


def _manners(read: Promise, now: Promise) -> Iterator[str]:
    for uid in sorted(read.evicted.keys() & now.evicted.keys(), key=lambda each: now.evicted[each]):
        key, _, means = now.evicted[uid]
        if read.evicted[uid][2] != means:
            yield f"{key} was to go by {read.evicted[uid][2]} and goes by {means} now"


def _budgets(read: Promise, now: Promise) -> Iterator[str]:
    """One that has pods on the targets no more may be gone with them, which is no drift."""
    for key in sorted(read.budgets.keys() & now.budgets.keys()):
        if read.budgets[key] != now.budgets[key]:
            yield f"budget {key} was {read.budgets[key]} and is {now.budgets[key]} now"
    for key in sorted(now.budgets.keys() - read.budgets.keys()):
        yield f"budget {key} guards pods on the targets and was not in the plan"


def _unknown(read: Promise, now: Promise) -> Iterator[str]:
    for code in sorted(now.unknown - read.unknown):
        yield f"{code} cannot be judged any more"
