"""Summary of the plan in one paragraph, verdicts in words, the order of the drain, and the next steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Look, Tone, counted, cut, joined, listing, short, shown, wrapped

from ..duration.estimate import Estimate
from ..duration.generations import NEW_NODE_S
from ..outcome import BudgetVerdict, PodVerdict, TargetVerdict
from ..policy import AUTO, Means
from ..run.stall_timeouts import Soak
from .findings import FLAGS, Group, grouped
from .plan import DUMP, DrainView, NextStep, again, run

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
    # A plan that rests on assumptions must name them first.
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
    """``41 pods left on these nodes: 24 stay (pod-daemonset 24), 3 are blocked (…).``, or "" without such pods."""
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
    """The basis of the estimated time, its bounds, and changes that would shorten it."""
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
    """``5``, or ``5 on 38 objects`` where equal findings are grouped."""
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
    """``, about 4m47s (p95 12m10s)``, and the part that is assumed for new nodes."""
    estimate = view.plan.estimate
    if estimate is None:
        return ""
    needed = any(f.code.name == "needs-nodes" and f.status is not Status.FAIL for f in view.findings)
    waits = needed and not all(eviction.lands_on for eviction in view.evictions)
    new = f", including {short(NEW_NODE_S[0])} for new nodes (assumed)" if waits else ""
    wide = unmeasured(estimate)
    return f", about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)}{wide}){new}{soaked(view.soak)}"


def unmeasured(estimate: Estimate) -> str:
    """Why p95 is far from p50: the workloads whose stop times were not measured."""
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
    """The number of unknown findings: an unknown is never a pass, so the summary names it."""
    accepted = view.plan.policy.accept_unknown
    codes = {f.code.name for f in view.unknowns}
    parts = []
    if codes - accepted:
        parts.append(f"{counted(len(codes - accepted), 'question')} could not be answered")
    if codes & accepted:
        parts.append(f"{counted(len(codes & accepted), 'unknown')} accepted")
    return f"{joined(parts)}." if parts else ""


# The order of the drain in one or two sentences: the chosen order, and the new nodes that join.


_ORDERS = {
    "soonest": "the node that can be empty soonest goes first",
    "chain": "nodes with pods of the budget that takes longest go first",
    "light": "nodes whose pods need the least room go first",
    "efficiency": "nodes that give much room for little time go first",
    "zone": "nodes go zone by zone, in each the oldest first",
    "name": "nodes go in the order of their names",
}
"""The orders that can be requested (`policy.ORDERS`), in words."""

_VARIED = "~"
"""Separates the name of an order from the number of its variation."""


def course(view: DrainView) -> str:
    """``18 orders were tried, the best is light: … 2 new nodes join first, …``, or ""."""
    if not any(target.order for target in view.targets):
        return ""
    return " ".join(text for text in (_order(view), joining(view)) if text)


def ordered_by(view: DrainView) -> str:
    """The order of the drained targets in the tables."""
    return "in the order of --order-file" if view.plan.policy.order_nodes else "in the order of the plan"


def new_names(view: DrainView) -> str:
    """What the names of future nodes mean, or "" where no replacement is placed on one."""
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
    """Which new nodes join during the drain, or ""."""
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


# Next steps, also before the first eviction, and texts above the confirmation prompt of a run.


_MOST_NODES = 5

DO_IT = "Do it"

_NOT_DRAINED = (
    (TargetVerdict.SKIPPED, "skipped"),
    (TargetVerdict.REFUSED, "refused"),
    (TargetVerdict.UNKNOWN, "not judged"),
)


def answer(view: DrainView, look: Look, where: str = "above") -> str:
    """``5 of 8 nodes can be drained, about 2m06s; skipped: blue-6, blue-7, blue-8 (8 blockers above).``"""
    if not view.targets:
        return "No node to drain."
    verdicts = Counter(target.verdict for target in view.targets)
    time = f", about {duration(view.plan.estimate.p50_s)}" if view.plan.estimate else ""
    parts = [_can(len(view.targets), verdicts) + time]
    for verdict, word in _NOT_DRAINED:
        names = [target.node.name for target in view.targets if target.verdict is verdict]
        if len(names) == len(view.targets) > 1 and verdict is not TargetVerdict.UNKNOWN:
            parts[0] += f": all {word}"
        elif names and len(verdicts) > 1:
            parts.append(f"{word}: {listing(names, _MOST_NODES, look)}")
    blockers = len(grouped(view.blockers, view))
    return "; ".join(parts) + (f" ({counted(blockers, 'blocker')} {where})." if blockers else ".")


def steps(view: DrainView) -> tuple[NextStep, ...]:
    """The steps that apply to this plan, in the order in which a user would take them."""
    found = []
    if len(view.targets) > 1 and view.drained:
        found.append(NextStep("The names of the nodes that can be drained, in order", again(view, "-o", "name")))
    supposes = view.plan.policy.assume_budgets or view.plan.policy.assume_fixed
    if view.cluster.source is Source.LIVE and not supposes and view.drained:
        found.append(NextStep(f"{DO_IT}: shows this once more, and asks for a typed confirmation", run(view)))
    if view.blockers:
        found.append(NextStep("Fix what blocks, then plan again", again(view)))
    found += _allowing(view)
    found += _partly(view)
    still = sorted({f.code.name for f in view.unknowns} - view.plan.policy.accept_unknown)
    if still:
        found.append(NextStep("Answer what is unknown, or accept that it is", again(view, accept=still)))
    if any(f" {DUMP}" in each.command for each in found):
        found.append(NextStep(f"{DUMP} stands for the path of the dump"))
    return tuple(found)


def first_step(view: DrainView) -> NextStep | None:
    """Running the plan if that is possible, or else the first of `next_steps`."""
    found = steps(view)
    return next((each for each in found if each.text.startswith(DO_IT)), found[0] if found else None)


def _can(total: int, verdicts: Counter[TargetVerdict]) -> str:
    whole, partly = verdicts[TargetVerdict.DRAINS], verdicts[TargetVerdict.PARTIAL]
    if verdicts[TargetVerdict.UNKNOWN] == total > 1:
        return f"None of {total} nodes could be judged"
    if total == 1:
        return f"The node {ONE_TARGET[next(iter(verdicts))]}"
    if whole == total:
        return f"All {total} nodes can be drained"
    some = f", {partly} more in part" if partly else ""
    return f"{whole or 'None'} of {total} nodes can be drained{some}"


def _allowing(view: DrainView) -> Iterable[NextStep]:
    """The flags that remove a blocker, and the nodes that have no other blocker."""
    for code, flag, text in FLAGS:
        if view.options.get(flag) or all(f.code.name != code for f in view.blockers):
            continue
        on = [target for target in view.targets if any(code in row.codes for row in view.blocking(target))]
        freed = [target for target in on if all(set(row.codes) == {code} for row in view.blocking(target))]
        names = [target.node.name for target in freed]
        which = joined(names) if len(names) <= _MOST_NODES else f"{len(names)} of its nodes"
        helps = f"nothing else blocks {which}" if freed else "alone that frees no node"
        yield NextStep(f"{text} ({helps})" if on else text, again(view, f"--{flag}"))


def _partly(view: DrainView) -> Iterable[NextStep]:
    skipped = {t.node.name for t in view.targets if t.verdict in (TargetVerdict.SKIPPED, TargetVerdict.UNKNOWN)}
    held = [row for row in view.left if row.verdict is PodVerdict.HELD and row.node in skipped]
    if held and not view.plan.policy.partial:
        nodes = counted(len({row.node for row in held}), "skipped node")
        goes = f"{counted(len(held), 'more pod')} {'goes' if len(held) == 1 else 'go'}"
        text = f"Empty {nodes} as far as possible too: {goes}, what blocks stays"
        yield NextStep(text, again(view, "--partial"))


# Targets that are not drained are cordoned too, so that no replacement is scheduled there.


NO_RE_EVICTIONS = "all targets are cordoned before the first eviction"
BUT_OPEN = "only where nothing is scheduled onto the skipped targets, which are not cordoned (--no-cordon-skipped)"

BALANCERS = "a cordon alone takes no node out of load balancers' targets: pods that stay there serve on"
"""Kubernetes 1.19 and later, and the AWS Load Balancer Controller v2: see docs/drain-run.md."""

_MOST_SKIPPED = 6


def skipped_briefly(view: DrainView) -> str:
    """``blue-6 (budget-never-allows +2), blue-7 (pod-unmanaged)``, or "" where no target is skipped."""
    left_out, named = view.undrained, []
    for target in left_out[:_MOST_SKIPPED]:
        first, *others = view.codes_on(target) or [target.verdict.value]
        named.append(f"{target.node.name} ({first}{f' +{len(others)}' if others else ''})")
    more = len(left_out) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def how_skipped(view: DrainView) -> str:
    """``cordon only``, ``not cordoned``, ``cordon only for 2 of 3``: what a run will do with targets that are not
    drained."""
    cordoned, total = sum(target.cordon_only for target in view.undrained), len(view.undrained)
    some = f" for {cordoned} of {total}" if cordoned < total else ""
    return f"cordon only{some}" if cordoned else "not cordoned"


def not_drained(view: DrainView) -> str:
    """What a run does with targets that are not drained; follows "Targets that are not drained"."""
    if view.plan.open_targets:
        return ", not cordoned: evicted pods can go there"
    if view.plan.cordoned_only:
        return "; drain run cordons them too"
    return ""


# The text above the confirmation prompt: what the user has to know, on less than half a screen.


MOST_LINES = 12
"""So that the text and the prompt are visible together except on terminals of very few lines."""

_MOST_IN_A_ROW = 6
_MOST_PAST = 3
_LONG = ("skipped", "guards")
"""Rows that may take two lines."""

_BALANCERS = "pods that stay there are still targets of load balancers: a cordon changes nothing"


def confirmation(view: DrainView, look: Look, guards: Sequence[str], rollback: str) -> str:
    """`guards`: when the run holds or stops by itself, in words; `rollback`: the command that undoes the cordons."""
    drained = view.drained
    skipped, how = skipped_briefly(view), how_skipped(view)
    onto = listing((target.node.name for target in view.plan.open_targets), 3, look)
    twice = onto and f"evicted pods can be scheduled onto {onto}: evicted twice"
    estimate, time = view.plan.estimate, NO_TIMES if view.evictions else ""
    if estimate is not None:
        time = f"p50 {duration(estimate.p50_s)}, p95 {duration(estimate.p95_s)}"
        time += f"{unmeasured(estimate)}{soaked(view.soak)}"
    past = [eviction.pod.key for eviction in view.plan.past_budgets]
    rows = [
        ("nodes", f"{len(drained)} of {len(view.targets)}: {listing(drained, _MOST_IN_A_ROW, look)}"),
        ("evictions", f"{len(view.evictions) - len(past)} in {counted(view.plan.rounds, 'round')}"),
        ("past budget", past and f"{listing(past, _MOST_PAST, look)} {'is' if len(past) == 1 else 'are'} deleted"),
        # The cordon text comes before names that may be cut.
        ("skipped", skipped and f"{len(view.undrained)}, {how}: {skipped}"),
        ("", _BALANCERS if view.plan.cordoned_only else twice),
        ("time", time),
        ("budgets", _budgets(view, look)),
        ("guards", "; ".join(guards)),
        ("rollback", f"{rollback}; evicted pods do not move back"),
    ]
    title = f"DRAIN {view.cluster.identity.cluster or view.cluster.identity.context or 'this cluster'}"
    lines = [look.paint(shown(title, look), Tone.TITLE)]
    for name, text in rows:
        if text:
            lines += _row(name, text, look)
    return "\n".join(lines) + "\n"


def _row(name: str, text: str, look: Look) -> list[str]:
    first = f"  {name.ljust(11)} "
    lines = wrapped(text, look, first)
    most = 2 if name in _LONG else 1
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] = cut(f"{kept[-1]} {lines[most].lstrip()}", look.columns, look)
    return kept


def _budgets(view: DrainView, look: Look) -> str:
    """The budgets that limit how many pods are evicted at a time: they are at their limit throughout the run."""
    limited = [
        each for each in view.budgets if each.to_evict > each.per_round and each.verdict is not BudgetVerdict.FITS
    ]
    limited.sort(key=lambda each: -each.rounds)
    if not limited:
        return "none is at its limit"
    names = [f"{each.budget.key} ({each.per_round} of {each.to_evict} at a time)" for each in limited]
    return f"{len(names)} at their limit: {listing(names, 3, look)}"
