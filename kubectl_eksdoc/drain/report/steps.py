"""What to do next, and before the first eviction; and what stands above the prompt of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubectl_eksdoc.drain.outcome import BudgetVerdict, PodVerdict, TargetVerdict
from kubectl_eksdoc.drain.report.findings import FLAGS, grouped
from kubectl_eksdoc.drain.report.plan import DUMP, DrainView, NextStep, again, run
from kubectl_eksdoc.drain.report.verdict import NO_TIMES, ONE_TARGET, soaked, unmeasured
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.text import Look, Tone, counted, cut, joined, listing, shown, wrapped

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
    """Those that are true of this plan, in the order in which one would take them."""
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
    """Doing it, where that can be done."""
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
    """The flags that take a blocker away, and which nodes nothing else keeps."""
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


# What becomes of the targets that are not drained: they are cordoned too, so that no replacement is scheduled there.


NO_RE_EVICTIONS = "all targets are cordoned before the first eviction"
BUT_OPEN = "only where nothing is scheduled onto the skipped targets, which are not cordoned (--no-cordon-skipped)"

BALANCERS = "a cordon alone takes no node out of load balancers' targets: pods that stay there serve on"
"""Kubernetes 1.19 and later, and the AWS Load Balancer Controller v2: see docs/drain-run.md."""

_MOST_SKIPPED = 6


def skipped_briefly(view: DrainView) -> str:
    """``blue-6 (budget-never-allows +2), blue-7 (pod-unmanaged)``, "" where none is skipped."""
    left_out, named = view.undrained, []
    for target in left_out[:_MOST_SKIPPED]:
        first, *others = view.codes_on(target) or [target.verdict.value]
        named.append(f"{target.node.name} ({first}{f' +{len(others)}' if others else ''})")
    more = len(left_out) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def how_skipped(view: DrainView) -> str:
    """``cordon only``, ``not cordoned``, ``cordon only for 2 of 3``: what a run does with the targets that it does not
    drain, said before it does."""
    cordoned, total = sum(target.cordon_only for target in view.undrained), len(view.undrained)
    some = f" for {cordoned} of {total}" if cordoned < total else ""
    return f"cordon only{some}" if cordoned else "not cordoned"


def not_drained(view: DrainView) -> str:
    """What becomes of the targets that are not drained, behind "Targets that are not drained"."""
    if view.plan.open_targets:
        return ", not cordoned: evicted pods can go there"
    if view.plan.cordoned_only:
        return "; drain run cordons them too"
    return ""


# What stands directly above the prompt: all of the plan that whoever types has to know, on less than half a screen.


MOST_LINES = 12
"""So that it and the prompt are seen together wherever the terminal is no window of a few lines."""

_MOST_IN_A_ROW = 6
_MOST_PAST = 3
_LONG = ("skipped", "guards")
"""They may take two lines."""

_BALANCERS = "pods that stay there are still targets of load balancers: a cordon changes nothing"


def confirmation(view: DrainView, look: Look, guards: Sequence[str], rollback: str) -> str:
    """`guards`: when the run holds or stops by itself, each in words; `rollback`: the command that takes it back."""
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
        # What is done with them stands before what may be cut.
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
    """Those that let pods go a part at a time: at their limit for as long as the run lasts."""
    limited = [
        each for each in view.budgets if each.to_evict > each.per_round and each.verdict is not BudgetVerdict.FITS
    ]
    limited.sort(key=lambda each: -each.rounds)
    if not limited:
        return "none is at its limit"
    names = [f"{each.budget.key} ({each.per_round} of {each.to_evict} at a time)" for each in limited]
    return f"{len(names)} at their limit: {listing(names, 3, look)}"
