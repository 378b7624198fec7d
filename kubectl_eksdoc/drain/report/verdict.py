"""Summary of the plan in one paragraph, verdicts in words, the order of the drain, and the next steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.findings import Status
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.text import (
    Appearance,
    Tone,
    join_words,
    list_names,
    pluralize,
    printable,
    short_duration,
    truncate,
    wrap_printable,
)

from ..duration.estimate import Estimate
from ..duration.generations import NEW_NODE_TIMES_S
from ..outcome import BudgetVerdict, PodVerdict, TargetVerdict
from ..policy import AUTO_ORDER, EvictionMethod
from ..run.stall_timeouts import Soak
from .findings import ALLOWING_FLAGS, FindingGroup, grouped
from .plan import DUMP, DrainView, NextStep, plan_command, run_command

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

_METHOD_WORDS = {
    EvictionMethod.EVICT: ("eviction", "evictions"),
    EvictionMethod.RESTART: ("restart of a single replica", "restarts of single replicas"),
    EvictionMethod.DELETE: ("deletion past a budget", "deletions past budgets"),
    EvictionMethod.WAIT: ("pod that is only waited for", "pods that are only waited for"),
}

NO_TIMES = "How long this takes is not known: run in virtual time it does not come to its end."

_NOT_EVICTED_WORDS = {
    PodVerdict.STAY: ("stays", "stay"),
    PodVerdict.HELD: ("is held because its node is not drained", "are held because their nodes are not drained"),
    PodVerdict.BLOCKED: ("is blocked", "are blocked"),
    PodVerdict.UNKNOWN: ("could not be judged", "could not be judged"),
}


def plan_summary(view: DrainView) -> str:
    """``12 nodes to drain: 7 can, 4 are skipped, 1 is refused. 131 evictions in 9 rounds. 5 blockers.``"""
    # A plan that rests on assumptions must name them first.
    policy = view.plan.policy
    assumptions = [f"budget {key} allows {pluralize(count, 'disruption')}" for key, count in policy.assume_budgets]
    codes = sorted(policy.assume_fixed)
    assumptions += [f"every finding {join_words(codes)} is fixed"] if codes else []
    parts = [
        f"Assuming that {join_words(assumptions)}:" if assumptions else "",
        _nodes_text(view),
        _evictions_text(view),
        _blockers_text(view),
        _unknowns_text(view),
    ]
    return " ".join(part for part in parts if part)


def not_evicted_summary(view: DrainView) -> str:
    """``41 pods left on these nodes: 24 stay (pod-daemonset 24), 3 are blocked (…).``, or "" without such pods."""
    if not view.left:
        return ""
    parts = []
    for pod_verdict in PodVerdict:
        rows = [row for row in view.left if row.verdict is pod_verdict]
        if not rows or pod_verdict not in _NOT_EVICTED_WORDS:
            continue
        codes = Counter(row.codes[0] for row in rows if row.codes)
        codes_text = ", ".join(f"{code} {n}" for code, n in sorted(codes.items(), key=lambda item: (-item[1], item[0])))
        one, many = _NOT_EVICTED_WORDS[pod_verdict]
        parts.append(f"{len(rows)} {one if len(rows) == 1 else many}" + (f" ({codes_text})" if codes_text else ""))
    return f"{pluralize(len(view.left), 'pod')} left on these nodes: {', '.join(parts)}."


def estimate_lines(view: DrainView) -> list[str]:
    """The basis of the estimated time, its bounds, and changes that would shorten it."""
    estimate = view.plan.estimate
    if not view.evictions:
        return []
    if estimate is None:
        return [NO_TIMES]
    lines = [f"At most {pluralize(estimate.peak_away, 'pod')} away at one moment."]
    if estimate.lower_bounds:
        bound = estimate.lower_bounds[0]
        lines.append(
            f"No run takes less than {format_duration(bound.seconds)}, even if pods stop at once: {bound.about}."
        )
    if estimate.bounds:
        order = "" if (gap := estimate.gap) is None else "; no other order is faster"
        if gap is not None and gap >= 0.005:
            order = f"; no other order is more than {gap:.0%} faster"
        lines.append(f"What decides: {estimate.bounds[0].about}{order}.")
    lines += [
        f"With {relaxation.change} it would take {format_duration(relaxation.makespan_s)}."
        for relaxation in estimate.relaxations
        if relaxation.saved_s >= 1
    ]
    return [*lines, "It assumes that:", *(f"- {text}" for text in estimate.assumptions)]


def blocker_count(groups: tuple[FindingGroup, ...]) -> str:
    """``5``, or ``5 on 38 objects`` where equal findings are grouped."""
    objects = sum(len(group.findings) for group in groups)
    return str(len(groups)) + (f" on {objects} objects" if objects != len(groups) else "")


def _nodes_text(view: DrainView) -> str:
    total = len(view.targets)
    if not total:
        return "No node to drain."
    verdicts = Counter(target.verdict for target in view.targets)
    if total == 1:
        return f"1 node to drain: it {ONE_TARGET[view.targets[0].verdict]}."
    if verdicts[TargetVerdict.DRAINS] == total:
        return f"{total} nodes to drain: all can be drained."
    texts = []
    for node_verdict in TargetVerdict:
        if verdicts[node_verdict] or node_verdict is TargetVerdict.DRAINS:
            one, many = _TARGET_WORDS[node_verdict]
            texts.append(f"{verdicts[node_verdict] or 'none'} {one if verdicts[node_verdict] == 1 else many}")
    return f"{pluralize(total, 'node')} to drain: {', '.join(texts)}."


def _evictions_text(view: DrainView) -> str:
    if not view.evictions:
        return "Nothing to evict."
    counts = Counter(eviction.eviction_mode.means for eviction in view.evictions)
    texts = [pluralize(counts[method], *_METHOD_WORDS[method]) for method in EvictionMethod if counts[method]]
    return f"{join_words(texts)} in {pluralize(view.plan.rounds, 'round')}{_time_text(view)}."


def _time_text(view: DrainView) -> str:
    """``, about 4m47s (p95 12m10s)``, and the part that is assumed for new nodes."""
    estimate = view.plan.estimate
    if estimate is None:
        return ""
    needs_nodes = any(f.code.name == "needs-nodes" and f.status is not Status.FAIL for f in view.findings)
    waits = needs_nodes and not all(eviction.lands_on for eviction in view.evictions)
    new_nodes = f", including {short_duration(NEW_NODE_TIMES_S[0])} for new nodes (assumed)" if waits else ""
    unmeasured_text = unmeasured_note(estimate)
    return (
        f", about {format_duration(estimate.p50_s)} (p95 "
        f"{format_duration(estimate.p95_s)}{unmeasured_text}){new_nodes}{soak_note(view.soak)}"
    )


def unmeasured_note(estimate: Estimate) -> str:
    """Why p95 is far from p50: the workloads whose stop times were not measured."""
    unknown = estimate.workloads - estimate.measured
    if not unknown:
        return ""
    share = "" if not estimate.measured else f" of {unknown} of {estimate.workloads} workloads"
    return f", stop times{share} not measured"


def soak_note(soak: Soak | None) -> str:
    """`` + soak 2m after each of 3 waves``."""
    if soak is None:
        return ""
    after = "the first wave" if soak.times == 1 else f"each of {soak.times} waves"
    return f" + soak {short_duration(soak.each_s)} after {after}"


def _blockers_text(view: DrainView) -> str:
    if not view.blockers:
        return "No blockers."
    groups = grouped(view.blockers, view)
    count, _, objects = blocker_count(groups).partition(" ")
    return f"{pluralize(int(count), 'blocker')} {objects}".rstrip() + "."


def _unknowns_text(view: DrainView) -> str:
    """The number of unknown findings: an unknown is never a pass, so the summary names it."""
    accepted = view.plan.policy.accept_unknown
    codes = {f.code.name for f in view.unknowns}
    parts = []
    if codes - accepted:
        parts.append(f"{pluralize(len(codes - accepted), 'question')} could not be answered")
    if codes & accepted:
        parts.append(f"{pluralize(len(codes & accepted), 'unknown')} accepted")
    return f"{join_words(parts)}." if parts else ""


# The order of the drain in one or two sentences: the chosen order, and the new nodes that join.


_ORDER_WORDS = {
    "soonest": "the node that can be empty soonest goes first",
    "chain": "nodes with pods of the budget that takes longest go first",
    "light": "nodes whose pods need the least room go first",
    "efficiency": "nodes that give much room for little time go first",
    "zone": "nodes go zone by zone, in each the oldest first",
    "name": "nodes go in the order of their names",
}
"""The orders that can be requested (`policy.ORDERS`), in words."""

_VARIATION_MARK = "~"
"""Separates the name of an order from the number of its variation."""


def order_summary(view: DrainView) -> str:
    """``18 orders were tried, the best is light: … 2 new nodes join first, …``, or ""."""
    if not any(target.order for target in view.targets):
        return ""
    return " ".join(text for text in (_order_text(view), surge_summary(view)) if text)


def order_name(view: DrainView) -> str:
    """The order of the drained targets in the tables."""
    return "in the order of --order-file" if view.plan.policy.order_nodes else "in the order of the plan"


def new_node_names(view: DrainView) -> str:
    """What the names of future nodes mean, or "" where no replacement is placed on one."""
    if not any(eviction.lands_on.endswith(")") for eviction in view.evictions):
        return ""
    return "NODE (new) is the new node that takes the place of NODE, NODE (surge 1) one like it that joins first."


def _order_text(view: DrainView) -> str:
    policy, tried = view.plan.policy, view.plan.tried_orders
    if policy.order_nodes:
        named = set(policy.order_nodes)
        has_others = any(target.order and target.node.name not in named for target in view.targets)
        return "The order is that of --order-file" + ("; other nodes follow, by name." if has_others else ".")
    if policy.order != AUTO_ORDER:
        return f"The order is {policy.order}, as asked: {_ORDER_WORDS[policy.order]}."
    if len(tried) < 2:
        return ""
    name, variation, _ = tried[0].name.partition(_VARIATION_MARK)
    prefix = "a variation of " if variation else ""
    return f"{len(tried)} orders were tried, the best is {prefix}{name}: {_ORDER_WORDS[name]}."


def surge_summary(view: DrainView) -> str:
    """Which new nodes join during the drain, or ""."""
    surge = view.plan.policy.surge
    if surge is None:
        return ""
    joining_nodes = f"{pluralize(surge, 'new node')} {'joins' if surge == 1 else 'join'} first, and" if surge else ""
    replaced = f"{joining_nodes or 'No node joins first, but'} each drained node is replaced by a new one"
    if not view.plan.uses_generations:
        return f"{replaced}."
    generations = len({target.wave for target in view.targets if target.wave})
    if generations < 2:
        return f"{replaced}: no drain has to wait for one of those."
    return f"{replaced}: {generations} generations, a node begins when those its pods land on have joined."


# Next steps, also before the first eviction, and texts above the confirmation prompt of a run.


_MAX_NODES = 5

RUN_STEP = "Do it"

_NOT_DRAINED_WORDS = (
    (TargetVerdict.SKIPPED, "skipped"),
    (TargetVerdict.REFUSED, "refused"),
    (TargetVerdict.UNKNOWN, "not judged"),
)


def headline(view: DrainView, appearance: Appearance, blockers_location: str = "above") -> str:
    """``5 of 8 nodes can be drained, about 2m06s; skipped: blue-6, blue-7, blue-8 (8 blockers above).``"""
    if not view.targets:
        return "No node to drain."
    verdicts = Counter(target.verdict for target in view.targets)
    time = f", about {format_duration(view.plan.estimate.p50_s)}" if view.plan.estimate else ""
    parts = [_drainable_text(len(view.targets), verdicts) + time]
    for verdict, word in _NOT_DRAINED_WORDS:
        names = [target.node.name for target in view.targets if target.verdict is verdict]
        if len(names) == len(view.targets) > 1 and verdict is not TargetVerdict.UNKNOWN:
            parts[0] += f": all {word}"
        elif names and len(verdicts) > 1:
            parts.append(f"{word}: {list_names(names, _MAX_NODES, appearance)}")
    blockers = len(grouped(view.blockers, view))
    return "; ".join(parts) + (f" ({pluralize(blockers, 'blocker')} {blockers_location})." if blockers else ".")


def next_steps(view: DrainView) -> tuple[NextStep, ...]:
    """The steps that apply to this plan, in the order in which a user would take them."""
    steps = []
    if len(view.targets) > 1 and view.drained:
        steps.append(NextStep("The names of the nodes that can be drained, in order", plan_command(view, "-o", "name")))
    has_assumptions = view.plan.policy.assume_budgets or view.plan.policy.assume_fixed
    if view.cluster.source is Source.LIVE and not has_assumptions and view.drained:
        steps.append(
            NextStep(f"{RUN_STEP}: shows this once more, and asks for a typed confirmation", run_command(view))
        )
    if view.blockers:
        steps.append(NextStep("Fix what blocks, then plan again", plan_command(view)))
    steps += _allowing_steps(view)
    steps += _partial_steps(view)
    not_accepted = sorted({f.code.name for f in view.unknowns} - view.plan.policy.accept_unknown)
    if not_accepted:
        steps.append(NextStep("Answer what is unknown, or accept that it is", plan_command(view, accept=not_accepted)))
    if any(f" {DUMP}" in each.command for each in steps):
        steps.append(NextStep(f"{DUMP} stands for the path of the dump"))
    return tuple(steps)


def first_next_step(view: DrainView) -> NextStep | None:
    """Running the plan if that is possible, or else the first of `next_steps`."""
    all_steps = next_steps(view)
    return next((each for each in all_steps if each.text.startswith(RUN_STEP)), all_steps[0] if all_steps else None)


def _drainable_text(total: int, verdicts: Counter[TargetVerdict]) -> str:
    complete, partial = verdicts[TargetVerdict.DRAINS], verdicts[TargetVerdict.PARTIAL]
    if verdicts[TargetVerdict.UNKNOWN] == total > 1:
        return f"None of {total} nodes could be judged"
    if total == 1:
        return f"The node {ONE_TARGET[next(iter(verdicts))]}"
    if complete == total:
        return f"All {total} nodes can be drained"
    partial_text = f", {partial} more in part" if partial else ""
    return f"{complete or 'None'} of {total} nodes can be drained{partial_text}"


def _allowing_steps(view: DrainView) -> Iterable[NextStep]:
    """The flags that remove a blocker, and the nodes that have no other blocker."""
    for code, flag, text in ALLOWING_FLAGS:
        if view.options.get(flag) or all(f.code.name != code for f in view.blockers):
            continue
        blocked = [target for target in view.targets if any(code in row.codes for row in view.blocking(target))]
        freed = [target for target in blocked if all(set(row.codes) == {code} for row in view.blocking(target))]
        names = [target.node.name for target in freed]
        which = join_words(names) if len(names) <= _MAX_NODES else f"{len(names)} of its nodes"
        effect = f"nothing else blocks {which}" if freed else "alone that frees no node"
        yield NextStep(f"{text} ({effect})" if blocked else text, plan_command(view, f"--{flag}"))


def _partial_steps(view: DrainView) -> Iterable[NextStep]:
    skipped = {t.node.name for t in view.targets if t.verdict in (TargetVerdict.SKIPPED, TargetVerdict.UNKNOWN)}
    held = [row for row in view.left if row.verdict is PodVerdict.HELD and row.node in skipped]
    if held and not view.plan.policy.partial:
        nodes = pluralize(len({row.node for row in held}), "skipped node")
        pods_text = f"{pluralize(len(held), 'more pod')} {'goes' if len(held) == 1 else 'go'}"
        text = f"Empty {nodes} as far as possible too: {pods_text}, what blocks stays"
        yield NextStep(text, plan_command(view, "--partial"))


# Targets that are not drained are cordoned too, so that no replacement is scheduled there.


NO_RE_EVICTIONS = "all targets are cordoned before the first eviction"
RE_EVICTIONS_POSSIBLE = (
    "only where nothing is scheduled onto the skipped targets, which are not cordoned (--no-cordon-skipped)"
)

LOAD_BALANCER_NOTE = "a cordon alone takes no node out of load balancers' targets: pods that stay there serve on"
"""Kubernetes 1.19 and later, and the AWS Load Balancer Controller v2: see docs/drain-run.md."""

_MAX_SKIPPED = 6


def skipped_summary(view: DrainView) -> str:
    """``blue-6 (budget-never-allows +2), blue-7 (pod-unmanaged)``, or "" where no target is skipped."""
    undrained, names = view.undrained, []
    for target in undrained[:_MAX_SKIPPED]:
        first, *others = view.codes_on(target) or [target.verdict.value]
        names.append(f"{target.node.name} ({first}{f' +{len(others)}' if others else ''})")
    more = len(undrained) - len(names)
    return ", ".join(names) + (f" and {more} more" if more else "")


def cordon_summary(view: DrainView) -> str:
    """``cordon only``, ``not cordoned``, ``cordon only for 2 of 3``: what a run will do with targets that are not
    drained."""
    cordoned, total = sum(target.cordon_only for target in view.undrained), len(view.undrained)
    share = f" for {cordoned} of {total}" if cordoned < total else ""
    return f"cordon only{share}" if cordoned else "not cordoned"


def not_drained_note(view: DrainView) -> str:
    """What a run does with targets that are not drained; follows "Targets that are not drained"."""
    if view.plan.open_targets:
        return ", not cordoned: evicted pods can go there"
    if view.plan.cordoned_only:
        return "; drain run cordons them too"
    return ""


# The text above the confirmation prompt: what the user has to know, on less than half a screen.


MAX_LINES = 12
"""So that the text and the prompt are visible together except on terminals of very few lines."""

_MAX_NODE_NAMES = 6
_MAX_PAST_BUDGET = 3
_TWO_LINE_ROWS = ("skipped", "guards")
"""Rows that may take two lines."""

_LOAD_BALANCER_NOTE = "pods that stay there are still targets of load balancers: a cordon changes nothing"


def confirmation_text(view: DrainView, appearance: Appearance, guards: Sequence[str], rollback: str) -> str:
    """`guards`: when the run holds or stops by itself, in words; `rollback`: the command that undoes the cordons."""
    drained = view.drained
    skipped, cordon_text = skipped_summary(view), cordon_summary(view)
    open_targets = list_names((target.node.name for target in view.plan.open_targets), 3, appearance)
    re_eviction_note = open_targets and f"evicted pods can be scheduled onto {open_targets}: evicted twice"
    estimate, time = view.plan.estimate, NO_TIMES if view.evictions else ""
    if estimate is not None:
        time = f"p50 {format_duration(estimate.p50_s)}, p95 {format_duration(estimate.p95_s)}"
        time += f"{unmeasured_note(estimate)}{soak_note(view.soak)}"
    past_budget = [eviction.pod.key for eviction in view.plan.past_budgets]
    rows = [
        ("nodes", f"{len(drained)} of {len(view.targets)}: {list_names(drained, _MAX_NODE_NAMES, appearance)}"),
        ("evictions", f"{len(view.evictions) - len(past_budget)} in {pluralize(view.plan.rounds, 'round')}"),
        (
            "past budget",
            past_budget
            and f"{list_names(past_budget, _MAX_PAST_BUDGET, appearance)} "
            f"{'is' if len(past_budget) == 1 else 'are'} deleted",
        ),
        # The cordon text comes before names that may be cut.
        ("skipped", skipped and f"{len(view.undrained)}, {cordon_text}: {skipped}"),
        ("", _LOAD_BALANCER_NOTE if view.plan.cordoned_only else re_eviction_note),
        ("time", time),
        ("budgets", _budgets_text(view, appearance)),
        ("guards", "; ".join(guards)),
        ("rollback", f"{rollback}; evicted pods do not move back"),
    ]
    title = f"DRAIN {view.cluster.identity.cluster or view.cluster.identity.context or 'this cluster'}"
    lines = [appearance.paint(printable(title, appearance), Tone.TITLE)]
    for name, text in rows:
        if text:
            lines += _row_lines(name, text, appearance)
    return "\n".join(lines) + "\n"


def _row_lines(name: str, text: str, appearance: Appearance) -> list[str]:
    prefix = f"  {name.ljust(11)} "
    lines = wrap_printable(text, appearance, prefix)
    max_lines = 2 if name in _TWO_LINE_ROWS else 1
    kept = lines[:max_lines]
    if len(lines) > max_lines:
        kept[-1] = truncate(f"{kept[-1]} {lines[max_lines].lstrip()}", appearance.columns, appearance)
    return kept


def _budgets_text(view: DrainView, appearance: Appearance) -> str:
    """The budgets that limit how many pods are evicted at a time: they are at their limit throughout the run."""
    limited = [
        each for each in view.budgets if each.to_evict > each.per_round and each.verdict is not BudgetVerdict.FITS
    ]
    limited.sort(key=lambda each: -each.rounds)
    if not limited:
        return "none is at its limit"
    names = [f"{each.budget.key} ({each.per_round} of {each.to_evict} at a time)" for each in limited]
    return f"{len(names)} at their limit: {list_names(names, 3, appearance)}"
