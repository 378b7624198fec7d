"""What of a drain is said in the same words, whether it was run or rehearsed."""

from __future__ import annotations

from collections import Counter

from kubectl_eksdoc.core.run.moments import ASKED, Happened
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.record.view import RecordView
from kubectl_eksdoc.render.text import counted, joined, listing

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


def held_by_name(view: RecordView) -> str:
    """``Budgets counted pods as evicted that came back under their names …: data/kafka.``, or ""."""
    held = Counter(moment.subject for moment in view.moments if moment.what is Happened.HELD_BY_NAME)
    if not held:
        return ""
    names = listing((f"{budget} ({times} times)" if times > 1 else budget for budget, times in held.items()), 4, Look())
    return f"Budgets counted pods as evicted that came back under their names, for up to 2 min each: {names}."
