"""What stands directly above the prompt: all of the plan that whoever types has to know, on less than half a screen."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.drain.outcome import BudgetVerdict
from kubectl_eksdoc.render.drain import fence
from kubectl_eksdoc.render.drain.verdict import NO_TIMES, soaked, unmeasured
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.look import Look, Tone
from kubectl_eksdoc.render.text import counted, cut, duration, listing, shown, wrap

MOST_LINES = 12
"""So that it and the prompt are seen together wherever the terminal is no window of a few lines."""

_MOST_NAMES = 6
_MOST_PAST = 3
_LONG = ("skipped", "guards")
"""They may take two lines."""

_BALANCERS = "pods that stay there are still targets of load balancers: a cordon changes nothing"


def confirmation(view: DrainView, look: Look, guards: Sequence[str], rollback: str) -> str:
    """`guards`: when the run holds or stops by itself, each in words; `rollback`: the command that takes it back."""
    drained = [target.node.name for target in view.targets if target.order]
    past = [eviction.pod.key for eviction in view.plan.past_budgets]
    rows = [
        ("nodes", f"{len(drained)} of {len(view.targets)}: {listing(drained, _MOST_NAMES, look)}"),
        ("evictions", f"{len(view.evictions) - len(past)} in {counted(view.plan.rounds, 'round')}"),
        (
            "past budget",
            f"{listing(past, _MOST_PAST, look)} {'is' if len(past) == 1 else 'are'} deleted" if past else "",
        ),
        ("skipped", _skipped(view)),
        ("", _BALANCERS if view.plan.cordoned_only else _open(view, look)),
        ("time", _time(view)),
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
    lines = wrap(shown(text, look), look.columns, first)
    most = 2 if name in _LONG else 1
    kept = lines[:most]
    if len(lines) > most:
        kept[-1] = cut(f"{kept[-1]} {lines[most].lstrip()}", look.columns, look)
    return kept


def _skipped(view: DrainView) -> str:
    """``3, cordoned: blue-6 (pod-emptydir +2), …``: what is done with them stands before what may be cut."""
    names, _, how = fence.skipped_briefly(view).rpartition(": ")
    count = sum(not target.order for target in view.targets)
    return f"{count}, {how}: {names}" if count else ""


def _open(view: DrainView, look: Look) -> str:
    names = [target.node.name for target in view.plan.open_targets]
    return f"evicted pods can be scheduled onto {listing(names, 3, look)}: evicted twice" if names else ""


def _time(view: DrainView) -> str:
    estimate = view.plan.estimate
    if estimate is None:
        return NO_TIMES if view.evictions else ""
    return f"p50 {duration(estimate.p50_s)}, p95 {duration(estimate.p95_s)}{unmeasured(estimate)}{soaked(view.soak)}"


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
