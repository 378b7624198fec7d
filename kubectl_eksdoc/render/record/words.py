"""What of a drain is said in the same words, whether it was run or rehearsed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from kubectl_eksdoc.core.model.journal import Cause
from kubectl_eksdoc.core.run.moments import ASKED, Happened
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.text import counted, joined, listing
from kubectl_eksdoc.render.times import duration

_MOST_NAMES = 6


def asked(view: RecordView) -> str:
    """``36 evictions and 1 restart``, "" where nothing was asked to go."""
    nouns = zip(ASKED, ("eviction", "restart", "deletion"), strict=True)
    return joined([counted(view.asked[what], noun) for what, noun in nouns if view.asked[what]])


def placed(view: RecordView) -> str:
    """``0 of 36 replacements were scheduled onto targets; the others onto green-1 (12), green-2 (24).``; "" where that
    was not seen, or nothing was replaced."""
    record = view.record
    if not record.placed:
        return ""
    total, on_targets = sum(record.placed.values()), record.on_targets
    others = [f"{each.node} ({each.placed})" for each in record.placements if each.placed and not each.target]
    onto = listing(others, _MOST_NAMES, Look())
    where = f"; {'the others' if on_targets else 'all'} onto {onto}" if others else ""
    text = f"{on_targets} of {counted(total, 'replacement')} {'was' if total == 1 else 'were'} scheduled onto targets"
    names = [f"{each.node} ({each.placed})" for each in record.placements if each.placed and each.target]
    again = f" ({listing(names, _MOST_NAMES, Look())}), and have to be evicted again" if names else ""
    return f"{text}{again}{where}."


def cordoned_only(view: RecordView) -> str:
    """``3 skipped targets were cordoned, too, and stay so until a rollback: blue-6, blue-7, blue-8.``, or ""."""
    names = view.record.cordoned_only
    if not names:
        return ""
    are, stay = ("was", "stays") if len(names) == 1 else ("were", "stay")
    listed = listing(names, _MOST_NAMES, Look())
    return f"{counted(len(names), 'skipped target')} {are} cordoned and {stay} so until a rollback: {listed}."


def against_times(p50_s: float, p95_s: float, took_s: float, causes: Mapping[Cause, float]) -> str:
    """``57s less than p50 (2m54s, -33%), within p95 (4m59s): stopping -40s, budgets -17s``."""
    late_s = took_s - p50_s
    share = f", {late_s / p50_s:+.0%}" if p50_s else ""
    than = f"{duration(abs(late_s))} {'longer' if late_s > 0 else 'less'} than p50 ({duration(p50_s)}{share})"
    beyond = f"{'more than' if took_s > p95_s else 'within'} p95 ({duration(p95_s)})"
    return f"{than}, {beyond}{f': {because(causes)}' if because(causes) else ''}"


def because(causes: Mapping[Cause, float]) -> str:
    """``stopping -40s, budgets +17s``, those that matter, the largest first."""
    most_s = max(map(abs, causes.values()), default=0.0)
    worth = [each for each in causes.items() if abs(each[1]) >= max(1.0, most_s / 10)]
    worth.sort(key=lambda each: -abs(each[1]))
    return ", ".join(f"{cause.value} {'+' if late_s > 0 else '-'}{duration(abs(late_s))}" for cause, late_s in worth)


def held_by_name(view: RecordView) -> str:
    """``Budgets counted pods as evicted that came back under their names …: data/kafka.``, or ""."""
    held = Counter(moment.subject for moment in view.moments if moment.what is Happened.HELD_BY_NAME)
    if not held:
        return ""
    names = listing((f"{budget} ({times} times)" if times > 1 else budget for budget, times in held.items()), 4, Look())
    return f"Budgets counted pods as evicted that came back under their names, for up to 2 min each: {names}."
