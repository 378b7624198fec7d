"""Texts at the head of every screen: the cluster, and a summary of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.findings import allowed_by
from kubectl_eksdoc.drain.report.plan import DrainView, in_brief, status_of
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.quantities import duration
from kubectl_eksdoc.report.identity import data_age, named
from kubectl_eksdoc.report.text import Look, Tone, age, between, counted, cut, rfc3339, shown

from .model import Model, ScreenReads, brief
from .tables.budgets import closed
from .tables.pods import cells, once_a_view

# Parts of a line, and how they are shortened where the width is short: the least important first.


_LEAST = 12
"""Minimum width of a shortened name."""


@frozen
class FittingText:
    """`steps`: replacement texts in order, "" omits the part; steps of a higher rank are applied first. A part without
    steps is never shortened. `badge`: emphasized beyond its colour, with a space on both sides."""

    text: str
    steps: tuple[tuple[int, str], ...] = ()
    tone: Tone | None = None
    badge: bool = False


def dropped(text: str, rank: int, tone: Tone | None = None) -> FittingText:
    """A part that may be omitted."""
    return FittingText(text, ((rank, ""),), tone)


def fitted(parts: Sequence[FittingText], room: int, gap: str, look: Look) -> tuple[FittingText, ...]:
    """The parts shortened to `width`. If no step is left, the longest part is truncated in the middle."""
    kept = [_shown(part, look) for part in parts if part.text]
    while (excess := _length(kept, gap) - room) > 0:
        able = [at for at, part in enumerate(kept) if part.steps]
        if not able:
            at = max(range(len(kept)), key=lambda each: cells(kept[each].text))
            text = cut(kept[at].text, max(cells(kept[at].text) - excess, _LEAST), look, middle=True)
            kept[at] = replace(kept[at], text=text)
            break
        at = max(able, key=lambda each: kept[each].steps[0][0])
        (_, text), *later = kept[at].steps
        kept[at : at + 1] = [replace(kept[at], text=text, steps=tuple(later))] if text else []
    return tuple(kept)


def _shown(part: FittingText, look: Look) -> FittingText:
    return replace(part, text=shown(part.text, look), steps=tuple((at, shown(text, look)) for at, text in part.steps))


def _length(parts: Sequence[FittingText], gap: str) -> int:
    return sum(cells(part.text) + 2 * part.badge for part in parts) + cells(gap) * (len(parts) - 1)


READ_ONLY = FittingText("READ-ONLY", tone=Tone.WARN, badge=True)
UNTIL_R = dropped("read-only until r", 7, Tone.FAINT)
UNFINISHED = FittingText(
    "UNFINISHED RUN (5 shows it)", ((6, "UNFINISHED RUN (5)"), (0, "RUN LEFT (5)")), Tone.WARN, badge=True
)
PRODUCTION = FittingText("PRODUCTION", tone=Tone.BAD, badge=True)


def identity(model: Model, now: datetime, badges: Sequence[FittingText] = ()) -> tuple[FittingText, ...]:
    """``eksdoc  prod-eu1  v1.33.4  eu-west-1  18 nodes  live, read 2s ago``; `badges` come first."""
    chosen = f"context {model.context}" if model.context else ""
    begin = FittingText("eksdoc", ((9, ""),), Tone.TITLE)
    if model.facts is None:
        return (begin, FittingText(chosen), FittingText(_progress(model.reads, now)))
    who = model.facts.cluster.identity
    name = dict(named(who))["cluster"] or who.context or "cluster without a name"
    name = f"{name} ({chosen})" if chosen and model.context != name else name
    hidden = () if model.old else model.facts.cluster.unread(*kinds.ALL)
    nodes = dropped(counted(len(model.facts.cluster.nodes), "node"), 2)
    if hidden:
        said = f"! {counted(len(hidden), 'kind')} hidden"
        nodes = FittingText(f"{said} (! lists them)", ((10, said),), Tone.WARN)
    parts = [_version(who.server_version), dropped(who.region, 8), nodes]
    if model.old or model.reads.stale_since() is not None:
        parts = []  # the error matters more, and must fit
    return (begin, *badges, FittingText(name, tone=Tone.TITLE), *parts, _age(model, now))


def _version(text: str) -> FittingText:
    """``v1.33.4-eks-1b3e656``, then ``v1.33.4``, then ``v1.33``."""
    patch = text.partition("+")[0].partition("-")[0]
    return FittingText(text, ((12, patch), (11, ".".join(patch.split(".")[:2])), (3, "")))


def _age(model: Model, now: datetime) -> FittingText:
    """The age of the facts. Of a fixed time, the fact that it is fixed matters more than the time."""
    said = how_old(model, now)
    doubtful = model.old or model.reads.stale_since() is not None
    if said.startswith("demo cluster"):
        return FittingText(said, ((4, said.split(",")[0]),))
    shorter = [said]
    for mark in (": ", ": ") if doubtful else (" (", " of "):
        shorter.append(shorter[-1].rpartition(mark)[0] or shorter[-1])
    return FittingText(said, tuple((1, each) for each in shorter[1:]), Tone.WARN if doubtful else None)


def rights(denied: Sequence[object] | None) -> FittingText:
    """Rights that a run lacks; empty until they were checked."""
    if denied is None:
        return FittingText("")
    if denied:
        return FittingText(f"✗ {counted(len(denied), 'right')} missing (!)", ((10, "✗ rights (!)"),), Tone.BAD)
    return dropped("RBAC ✓", 6, Tone.GOOD)


def how_old(model: Model, now: datetime) -> str:
    """``as of 14:02 UTC, 3h old: reading: 812 pods``, ``live, read 40s ago``, ``snapshot of …``."""
    assert model.facts is not None, "something is shown"
    cluster, reads = model.facts.cluster, model.reads
    if model.old:
        passed = between(cluster.observed_at, now)
        moment = f"{cluster.observed_at:%H:%M}" if passed < _A_DAY else f"{cluster.observed_at:%Y-%m-%d %H:%M}"
        if not reads.failing:
            return f"as of {moment} UTC, {age(passed)} old: {_progress(reads, now)}"
        told = ", ".join(filter(None, (f"{age(passed)} old", reads.retry_in(now))))
        return f"as of {moment} UTC, {told}: ✗ {brief(reads.why)}"
    if reads.live and cluster.source is Source.DEMO and reads.done is not None and reads.stale_since() is None:
        return f"demo cluster, read at {rfc3339(reads.done)}"  # by its own clock, like its log
    if not reads.live or reads.done is None:
        return data_age(cluster, now)
    return reads.said_of(now)


def _progress(reads: ScreenReads, now: datetime) -> str:
    if reads.begun is None and reads.failing:
        return "nothing could be read"
    passed = between(reads.begun, now) if reads.begun is not None else timedelta()
    slow = f" for {age(passed)} now" if passed >= _SLOW else ""
    return f"reading: {reads.count} {reads.kind}" if reads.kind else f"reading the cluster{slow or '…'}"


_A_DAY = timedelta(days=1)
_SLOW = timedelta(seconds=3)


_TURNED = -2
"""The rank after the text of undrained nodes: then only their number is shown."""


def plan_line(model: Model) -> tuple[FittingText, ...]:
    """``Plan 8 of 12 marked · ✗ 4 not drained · 4 waves · parallel 2 · about 4m47s (p95 9m10s) · grace of the pod``:
    undrained nodes and the time are never omitted; settings that the user changed are omitted late."""
    marked, policy = len(model.choice.ask.marked), model.choice.ask.policy
    at = dropped(f"parallel {at_once(policy)}", _TURNED if policy.nodes_at_once else 2)
    stop = dropped(f"grace {grace(policy)}", 4 if policy.grace_seconds is None else _TURNED)
    if (said := _without_plan(model, marked)) is not None:
        return (said, *_closed(model))
    if model.preview is not None:
        blockers = len(model.preview.blockers)
        return (
            _of_marked(len(model.preview.drained), marked),
            FittingText(f"✗ {blockers} blockers", tone=Tone.BAD)
            if blockers
            else FittingText("✓ no blockers", tone=Tone.GOOD),
            dropped(counted(len(model.preview.waves), "wave"), 3),
            dropped(counted(model.preview.rounds, "round"), 5),
            at,
            FittingText("time is being reckoned…", ((1, "time…"),)),
            stop,
        )
    view = model.view
    if view is None or (model.stale and model.preview is None):
        return (FittingText(f"Planning {counted(marked, 'node')}…"), at, stop)
    drained, waves = _drained(view)
    estimate = view.plan.estimate
    time = "" if estimate is None else f"about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})"
    left = len(view.targets) - drained
    return (
        *_supposed(view),
        _of_marked(drained, marked),
        FittingText(f"✗ {left} not drained", ((-1, f"✗ {left}"),), Tone.BAD)
        if left
        else FittingText("✓ all drained", tone=Tone.GOOD),
        *(
            [
                dropped(counted(waves, "generation" if view.plan.in_generations else "wave"), 3),
                at,
                FittingText(time or "time not known", tone=Tone.TITLE if time else Tone.UNKNOWN),
                stop,
            ]
            if drained
            else [FittingText("4 says why, and what helps")]
        ),
    )


@once_a_view
def _drained(view: DrainView) -> tuple[int, int]:
    """The number of drained nodes, and of waves."""
    return sum(target.order > 0 for target in view.targets), len(set(view.wave_of.values()))


def _of_marked(drained: int, marked: int) -> FittingText:
    return FittingText(f"Plan {drained} of {marked} marked", ((1, f"{drained} of {marked}"),), Tone.TITLE)


def _supposed(view: DrainView) -> tuple[FittingText, ...]:
    """Badges of a hypothetical plan: assumed fixes first, then flags that allow evictions which kubectl drain refuses
    by default."""
    fixed = len(view.plan.policy.assume_fixed) + len(view.plan.policy.assume_budgets)
    allows = ", ".join(in_brief(code) for code, _, _ in allowed_by(view.plan.policy))
    return (
        *((FittingText(f"WHAT IF {fixed} fixed", ((0, "WHAT IF"),), Tone.UNKNOWN, badge=True),) if fixed else ()),
        *((FittingText(f"ALLOWS {allows}", ((0, "ALLOWS"),), Tone.WARN, badge=True),) if allows else ()),
    )


def _without_plan(model: Model, marked: int) -> FittingText | None:
    """Why there is no plan."""
    if model.trouble:
        return FittingText(f"✗ {model.trouble}", tone=Tone.BAD)
    if model.old:
        later = f", {counted(marked, 'node')} marked for later" if marked else ""
        return FittingText(
            f"An old view: nothing is planned from it{later}.", ((1, f"An old view: not planned{later}."),)
        )
    if model.facts is None:
        said = "Nothing is read yet: marks and plans come then."
        return FittingText(f"{said} Marks only build a plan.", ((1, said),))
    if not model.facts.cluster.nodes:
        return FittingText("There is no node to drain.")
    if not marked:
        short = "Nothing is marked: space marks a node, m more."
        return FittingText(
            "Nothing is marked: space marks the node under the cursor, m more. Marks only build a plan.",
            ((1, short), (0, "Nothing is marked: space, m")),
        )
    return None


def _closed(model: Model) -> tuple[FittingText, ...]:
    """The number of budgets that allow no eviction now: their table is not visible on a small terminal."""
    if model.facts is None or model.old or model.trouble:
        return ()
    if not (count := sum(status_of(each) is not None for each in closed(model.facts.cluster))):
        return ()
    pdbs = counted(count, "PDB")
    return (FittingText(f"✗ no eviction allowed by {pdbs}", ((1, f"✗ no eviction: {pdbs}"),), Tone.BAD),)


def at_once(policy: DrainPolicy) -> str:
    return policy.nodes_at_once or "any"


def grace(policy: DrainPolicy) -> str:
    return "of the pod" if policy.grace_seconds is None else f"{policy.grace_seconds}s"
