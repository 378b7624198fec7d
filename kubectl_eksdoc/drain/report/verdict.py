"""The plan in one paragraph, the words of its verdicts, and how the drain goes."""

from __future__ import annotations

from collections import Counter

from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.duration.generations import NEW_NODE_S
from kubectl_eksdoc.drain.outcome import PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.policy import AUTO, Means
from kubectl_eksdoc.drain.report.findings import Group, grouped
from kubectl_eksdoc.drain.report.plan import DrainView
from kubectl_eksdoc.drain.run.stall_timeouts import Soak
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import counted, joined, short

_TARGET_WORDS = {
    TargetVerdict.DRAINS: ("can", "can"),
    TargetVerdict.PARTIAL: ("can in part", "can in part"),
    TargetVerdict.SKIPPED: ("is skipped", "are skipped"),
    TargetVerdict.REFUSED: ("is refused", "are refused"),
    TargetVerdict.UNKNOWN: ("cannot be judged", "cannot be judged"),
}

ONE_TARGET = {
    TargetVerdict.DRAINS: "can be drained",
    TargetVerdict.PARTIAL: "can be drained in part",
    TargetVerdict.SKIPPED: "is skipped",
    TargetVerdict.REFUSED: "is refused",
    TargetVerdict.UNKNOWN: "cannot be judged",
}

_MEANS = {
    Means.EVICTION: ("eviction", "evictions"),
    Means.RESTART: ("restart of a single replica", "restarts of single replicas"),
    Means.DELETION: ("deletion past a budget", "deletions past budgets"),
    Means.PATIENCE: ("pod that is only waited for", "pods that are only waited for"),
}

NO_TIMES = "How long this takes is not known: run in virtual time it does not come to its end."

_LEFT_WORDS = {
    PodVerdict.STAY: ("stays", "stay"),
    PodVerdict.HELD: ("is held because its node is not drained", "are held because their nodes are not drained"),
    PodVerdict.BLOCKED: ("is blocked", "are blocked"),
    PodVerdict.UNKNOWN: ("could not be judged", "could not be judged"),
}


def verdict(view: DrainView) -> str:
    """``12 nodes to drain: 7 can, 4 are skipped, 1 is refused. 131 evictions in 9 rounds. 5 blockers.``"""
    # A plan of what is not so must say that first.
    policy = view.plan.policy
    given = [f"budget {key} allows {counted(count, 'disruption')}" for key, count in policy.assume_budgets]
    codes = sorted(policy.assume_fixed)
    given += [f"every finding {joined(codes)} is fixed"] if codes else []
    parts = [
        f"Assuming that {joined(given)}:" if given else "",
        _nodes(view),
        _evictions(view),
        _blockers(view),
        _open(view),
    ]
    return " ".join(part for part in parts if part)


def left_by_verdict(view: DrainView) -> str:
    """``41 pods are left: 24 stay (pod-daemonset 24), 3 are blocked (…).`` or "" when none is."""
    if not view.left:
        return ""
    parts = []
    for word in PodVerdict:
        rows = [row for row in view.left if row.verdict is word]
        if not rows or word not in _LEFT_WORDS:
            continue
        codes = Counter(row.codes[0] for row in rows if row.codes)
        why = ", ".join(f"{code} {n}" for code, n in sorted(codes.items(), key=lambda item: (-item[1], item[0])))
        one, many = _LEFT_WORDS[word]
        parts.append(f"{len(rows)} {one if len(rows) == 1 else many}" + (f" ({why})" if why else ""))
    return f"{counted(len(view.left), 'pod')} left on these nodes: {', '.join(parts)}."


def estimate_lines(view: DrainView) -> list[str]:
    """What the time in the verdict rests on, what bounds it, and what would shorten it."""
    estimate = view.plan.estimate
    if not view.evictions:
        return []
    if estimate is None:
        return [NO_TIMES]
    lines = [f"At most {counted(estimate.peak_away, 'pod')} away at one moment."]
    if estimate.least:
        least = estimate.least[0]
        lines.append(f"No run takes less than {duration(least.seconds)}, even if pods stop at once: {least.about}.")
    if estimate.bounds:
        order = "" if (gap := estimate.gap) is None else "; no other order is faster"
        if gap is not None and gap >= 0.005:
            order = f"; no other order is more than {gap:.0%} faster"
        lines.append(f"What decides: {estimate.bounds[0].about}{order}.")
    lines += [
        f"With {tried.change} it would take {duration(tried.makespan_s)}."
        for tried in estimate.relaxations
        if tried.saved_s >= 1
    ]
    return [*lines, "It assumes that:", *(f"- {text}" for text in estimate.assumptions)]


def blocker_count(groups: tuple[Group, ...]) -> str:
    """``5``, or ``5 on 38 objects`` where equal ones were put together."""
    objects = sum(len(group.findings) for group in groups)
    return str(len(groups)) + (f" on {objects} objects" if objects != len(groups) else "")


def _nodes(view: DrainView) -> str:
    total = len(view.targets)
    if not total:
        return "No node to drain."
    verdicts = Counter(target.verdict for target in view.targets)
    if total == 1:
        return f"1 node to drain: it {ONE_TARGET[view.targets[0].verdict]}."
    if verdicts[TargetVerdict.DRAINS] == total:
        return f"{total} nodes to drain: all can be drained."
    words = []
    for word in TargetVerdict:
        if verdicts[word] or word is TargetVerdict.DRAINS:
            one, many = _TARGET_WORDS[word]
            words.append(f"{verdicts[word] or 'none'} {one if verdicts[word] == 1 else many}")
    return f"{counted(total, 'node')} to drain: {', '.join(words)}."


def _evictions(view: DrainView) -> str:
    if not view.evictions:
        return "Nothing to evict."
    means = Counter(eviction.manner.means for eviction in view.evictions)
    said = [counted(means[word], *_MEANS[word]) for word in Means if means[word]]
    return f"{joined(said)} in {counted(view.plan.rounds, 'round')}{_time(view)}."


def _time(view: DrainView) -> str:
    """``, about 4m47s (p95 12m10s)``, and how much of it is assumed for new nodes."""
    estimate = view.plan.estimate
    if estimate is None:
        return ""
    needed = any(f.code.name == "needs-nodes" and f.status is not Status.FAIL for f in view.findings)
    waits = needed and not all(eviction.lands_on for eviction in view.evictions)
    new = f", including {short(NEW_NODE_S[0])} for new nodes (assumed)" if waits else ""
    wide = unmeasured(estimate)
    return f", about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)}{wide}){new}{soaked(view.soak)}"


def unmeasured(estimate: Estimate) -> str:
    """Why p95 is far from p50."""
    unknown = estimate.workloads - estimate.measured
    if not unknown:
        return ""
    of = "" if not estimate.measured else f" of {unknown} of {estimate.workloads} workloads"
    return f", stop times{of} not measured"


def soaked(soak: Soak | None) -> str:
    """`` + soak 2m after each of 3 waves``."""
    if soak is None:
        return ""
    after = "the first wave" if soak.times == 1 else f"each of {soak.times} waves"
    return f" + soak {short(soak.each_s)} after {after}"


def _blockers(view: DrainView) -> str:
    if not view.blockers:
        return "No blockers."
    groups = grouped(view.blockers, view)
    count, _, objects = blocker_count(groups).partition(" ")
    return f"{counted(int(count), 'blocker')} {objects}".rstrip() + "."


def _open(view: DrainView) -> str:
    """What is unknown must not be read as fine, so the first paragraph says it too."""
    accepted = view.plan.policy.accept_unknown
    codes = {f.code.name for f in view.unknowns}
    parts = []
    if codes - accepted:
        parts.append(f"{counted(len(codes - accepted), 'question')} could not be answered")
    if codes & accepted:
        parts.append(f"{counted(len(codes & accepted), 'unknown')} accepted")
    return f"{joined(parts)}." if parts else ""


# How the drain goes, in a sentence or two: which order was chosen of those tried, and what joins meanwhile.


_ORDERS = {
    "soonest": "the node that can be empty soonest goes first",
    "chain": "nodes with pods of the budget that takes longest go first",
    "light": "nodes whose pods need the least room go first",
    "efficiency": "nodes that give much room for little time go first",
    "zone": "nodes go zone by zone, in each the oldest first",
    "name": "nodes go in the order of their names",
}
"""What can be asked for (`policy.ORDERS`), in words."""

_VARIED = "~"
"""Stands in the name of an order that was tried behind that of the one it is a variation of."""


def course(view: DrainView) -> str:
    """``18 orders were tried, the best is light: … 2 new nodes join first, …``, "" where there is nothing to say."""
    if not any(target.order for target in view.targets):
        return ""
    return " ".join(text for text in (_order(view), joining(view)) if text)


def ordered_by(view: DrainView) -> str:
    """In which order the drained targets stand."""
    return "in the order of --order-file" if view.plan.policy.order_nodes else "in the order of the plan"


def new_names(view: DrainView) -> str:
    """What the names of nodes mean that are not there yet, "" where no pod lands on one."""
    if not any(eviction.lands_on.endswith(")") for eviction in view.evictions):
        return ""
    return "NODE (new) is the new node that takes the place of NODE, NODE (surge 1) one like it that joins first."


def _order(view: DrainView) -> str:
    policy, tried = view.plan.policy, view.plan.tried
    if policy.order_nodes:
        named = set(policy.order_nodes)
        others = any(target.order and target.node.name not in named for target in view.targets)
        return "The order is that of --order-file" + ("; other nodes follow, by name." if others else ".")
    if policy.order != AUTO:
        return f"The order is {policy.order}, as asked: {_ORDERS[policy.order]}."
    if len(tried) < 2:
        return ""
    name, varied, _ = tried[0].name.partition(_VARIED)
    like = "a variation of " if varied else ""
    return f"{len(tried)} orders were tried, the best is {like}{name}: {_ORDERS[name]}."


def joining(view: DrainView) -> str:
    """Which new nodes join meanwhile, "" where none does."""
    surge = view.plan.policy.surge
    if surge is None:
        return ""
    joins = f"{counted(surge, 'new node')} {'joins' if surge == 1 else 'join'} first, and" if surge else ""
    replaced = f"{joins or 'No node joins first, but'} each drained node is replaced by a new one"
    if not view.plan.in_generations:
        return f"{replaced}."
    generations = len({target.wave for target in view.targets if target.wave})
    if generations < 2:
        return f"{replaced}: no drain has to wait for one of those."
    return f"{replaced}: {generations} generations, a node begins when those its pods land on have joined."
