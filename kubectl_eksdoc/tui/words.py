"""Texts at the head of every screen: the cluster, and a summary of the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.drain.report.findings import given_flags
from kubectl_eksdoc.drain.report.plan import DrainView, current_status, short_code
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.cluster import Source
from kubectl_eksdoc.model.quantities import format_duration
from kubectl_eksdoc.report.identity import data_age, identity_parts
from kubectl_eksdoc.report.text import (
    Appearance,
    Tone,
    format_age,
    pluralize,
    printable,
    rfc3339,
    time_between,
    truncate,
)

from .model import Model, ScreenReads, without_address
from .tables.budgets import closed_budgets
from .tables.pods import cached_per_view, cell_width

# Parts of a line, and how they are shortened where the width is short: the least important first.


_MIN_NAME_WIDTH = 12
"""Minimum width of a shortened name."""


@frozen
class FittingText:
    """`steps`: replacement texts in order, "" omits the part; steps of a higher rank are applied first. A part without
    steps is never shortened. `badge`: emphasized beyond its colour, with a space on both sides."""

    text: str
    steps: tuple[tuple[int, str], ...] = ()
    tone: Tone | None = None
    badge: bool = False


def droppable(text: str, rank: int, tone: Tone | None = None) -> FittingText:
    """A part that may be omitted."""
    return FittingText(text, ((rank, ""),), tone)


def fit_parts(parts: Sequence[FittingText], width: int, gap: str, appearance: Appearance) -> tuple[FittingText, ...]:
    """The parts shortened to `width`. If no step is left, the longest part is truncated in the middle."""
    shown_parts = [_printable_part(part, appearance) for part in parts if part.text]
    while (excess := _line_width(shown_parts, gap) - width) > 0:
        shortenable = [index for index, part in enumerate(shown_parts) if part.steps]
        if not shortenable:
            index = max(range(len(shown_parts)), key=lambda each: cell_width(shown_parts[each].text))
            text = truncate(
                shown_parts[index].text,
                max(cell_width(shown_parts[index].text) - excess, _MIN_NAME_WIDTH),
                appearance,
                in_middle=True,
            )
            shown_parts[index] = replace(shown_parts[index], text=text)
            break
        index = max(shortenable, key=lambda each: shown_parts[each].steps[0][0])
        (_, text), *later_steps = shown_parts[index].steps
        shown_parts[index : index + 1] = (
            [replace(shown_parts[index], text=text, steps=tuple(later_steps))] if text else []
        )
    return tuple(shown_parts)


def _printable_part(part: FittingText, appearance: Appearance) -> FittingText:
    return replace(
        part,
        text=printable(part.text, appearance),
        steps=tuple((at, printable(text, appearance)) for at, text in part.steps),
    )


def _line_width(parts: Sequence[FittingText], gap: str) -> int:
    return sum(cell_width(part.text) + 2 * part.badge for part in parts) + cell_width(gap) * (len(parts) - 1)


READ_ONLY_BADGE = FittingText("READ-ONLY", tone=Tone.WARN, badge=True)
READ_ONLY_UNTIL_RUN = droppable("read-only until r", 7, Tone.FAINT)
UNFINISHED_BADGE = FittingText(
    "UNFINISHED RUN (5 shows it)", ((6, "UNFINISHED RUN (5)"), (0, "RUN LEFT (5)")), Tone.WARN, badge=True
)
PRODUCTION_BADGE = FittingText("PRODUCTION", tone=Tone.BAD, badge=True)


def identity_texts(model: Model, now: datetime, badges: Sequence[FittingText] = ()) -> tuple[FittingText, ...]:
    """``eksdoc  prod-eu1  v1.33.4  eu-west-1  18 nodes  live, read 2s ago``; `badges` come first."""
    chosen_context = f"context {model.context}" if model.context else ""
    program_name = FittingText("eksdoc", ((9, ""),), Tone.TITLE)
    if model.facts is None:
        return (program_name, FittingText(chosen_context), FittingText(_progress_message(model.reads, now)))
    cluster_identity = model.facts.cluster.identity
    name = dict(identity_parts(cluster_identity))["cluster"] or cluster_identity.context or "cluster without a name"
    name = f"{name} ({chosen_context})" if chosen_context and model.context != name else name
    hidden_kinds = () if model.is_old else model.facts.cluster.not_read(*kinds.ALL)
    nodes = droppable(pluralize(len(model.facts.cluster.nodes), "node"), 2)
    if hidden_kinds:
        hidden_text = f"! {pluralize(len(hidden_kinds), 'kind')} hidden"
        nodes = FittingText(f"{hidden_text} (! lists them)", ((10, hidden_text),), Tone.WARN)
    parts = [_version_text(cluster_identity.server_version), droppable(cluster_identity.region, 8), nodes]
    if model.is_old or model.reads.stale_since() is not None:
        parts = []  # the error matters more, and must fit
    return (program_name, *badges, FittingText(name, tone=Tone.TITLE), *parts, _age_part(model, now))


def _version_text(text: str) -> FittingText:
    """``v1.33.4-eks-1b3e656``, then ``v1.33.4``, then ``v1.33``."""
    patch = text.partition("+")[0].partition("-")[0]
    return FittingText(text, ((12, patch), (11, ".".join(patch.split(".")[:2])), (3, "")))


def _age_part(model: Model, now: datetime) -> FittingText:
    """The age of the facts. Of a fixed time, the fact that it is fixed matters more than the time."""
    message = age_message(model, now)
    is_doubtful = model.is_old or model.reads.stale_since() is not None
    if message.startswith("demo cluster"):
        return FittingText(message, ((4, message.split(",")[0]),))
    shorter_texts = [message]
    for separator in (": ", ": ") if is_doubtful else (" (", " of "):
        shorter_texts.append(shorter_texts[-1].rpartition(separator)[0] or shorter_texts[-1])
    return FittingText(message, tuple((1, each) for each in shorter_texts[1:]), Tone.WARN if is_doubtful else None)


def rights_text(denied: Sequence[object] | None) -> FittingText:
    """Rights that a run lacks; empty until they were checked."""
    if denied is None:
        return FittingText("")
    if denied:
        return FittingText(f"✗ {pluralize(len(denied), 'right')} missing (!)", ((10, "✗ rights (!)"),), Tone.BAD)
    return droppable("RBAC ✓", 6, Tone.GOOD)


def age_message(model: Model, now: datetime) -> str:
    """``as of 14:02 UTC, 3h old: reading: 812 pods``, ``live, read 40s ago``, ``snapshot of …``."""
    assert model.facts is not None, "something is shown"
    cluster, reads = model.facts.cluster, model.reads
    if model.is_old:
        elapsed = time_between(cluster.observed_at, now)
        read_time = f"{cluster.observed_at:%H:%M}" if elapsed < _A_DAY else f"{cluster.observed_at:%Y-%m-%d %H:%M}"
        if not reads.is_failing:
            return f"as of {read_time} UTC, {format_age(elapsed)} old: {_progress_message(reads, now)}"
        age_and_retry = ", ".join(filter(None, (f"{format_age(elapsed)} old", reads.retry_text(now))))
        return f"as of {read_time} UTC, {age_and_retry}: ✗ {without_address(reads.reason)}"
    if reads.live and cluster.source is Source.DEMO and reads.completed_at is not None and reads.stale_since() is None:
        return f"demo cluster, read at {rfc3339(reads.completed_at)}"  # by its own clock, like its log
    if not reads.live or reads.completed_at is None:
        return data_age(cluster, now)
    return reads.age_text(now)


def _progress_message(reads: ScreenReads, now: datetime) -> str:
    if reads.started_at is None and reads.is_failing:
        return "nothing could be read"
    elapsed = time_between(reads.started_at, now) if reads.started_at is not None else timedelta()
    slow_note = f" for {format_age(elapsed)} now" if elapsed >= _SLOW_READ else ""
    return f"reading: {reads.count} {reads.kind}" if reads.kind else f"reading the cluster{slow_note or '…'}"


_A_DAY = timedelta(days=1)
_SLOW_READ = timedelta(seconds=3)


_CHANGED_RANK = -2
"""The rank after the text of undrained nodes: then only their number is shown."""


def plan_texts(model: Model) -> tuple[FittingText, ...]:
    """``Plan 8 of 12 marked · ✗ 4 not drained · 4 waves · parallel 2 · about 4m47s (p95 9m10s) · grace of the pod``:
    undrained nodes and the time are never omitted; settings that the user changed are omitted late."""
    marked, policy = len(model.choice.plan_input.marked), model.choice.plan_input.policy
    parallel_part = droppable(f"parallel {parallel_value(policy)}", _CHANGED_RANK if policy.nodes_at_once else 2)
    grace_part = droppable(f"grace {grace_value(policy)}", 4 if policy.grace_seconds is None else _CHANGED_RANK)
    if (no_plan := _no_plan_text(model, marked)) is not None:
        return (no_plan, *_closed_budgets_text(model))
    if model.preview is not None:
        blockers = len(model.preview.blockers)
        return (
            _drained_text(len(model.preview.drained_nodes), marked),
            FittingText(f"✗ {blockers} blockers", tone=Tone.BAD)
            if blockers
            else FittingText("✓ no blockers", tone=Tone.GOOD),
            droppable(pluralize(len(model.preview.waves), "wave"), 3),
            droppable(pluralize(model.preview.rounds, "round"), 5),
            parallel_part,
            FittingText("time is being reckoned…", ((1, "time…"),)),
            grace_part,
        )
    view = model.view
    if view is None or (model.is_stale and model.preview is None):
        return (FittingText(f"Planning {pluralize(marked, 'node')}…"), parallel_part, grace_part)
    drained, waves = _drained_counts(view)
    estimate = view.plan.estimate
    time_text = (
        "" if estimate is None else f"about {format_duration(estimate.p50_s)} (p95 {format_duration(estimate.p95_s)})"
    )
    not_drained = len(view.targets) - drained
    return (
        *_assumption_badges(view),
        _drained_text(drained, marked),
        FittingText(f"✗ {not_drained} not drained", ((-1, f"✗ {not_drained}"),), Tone.BAD)
        if not_drained
        else FittingText("✓ all drained", tone=Tone.GOOD),
        *(
            [
                droppable(pluralize(waves, "generation" if view.plan.uses_generations else "wave"), 3),
                parallel_part,
                FittingText(time_text or "time not known", tone=Tone.TITLE if time_text else Tone.UNKNOWN),
                grace_part,
            ]
            if drained
            else [FittingText("4 says why, and what helps")]
        ),
    )


@cached_per_view
def _drained_counts(view: DrainView) -> tuple[int, int]:
    """The number of drained nodes, and of waves."""
    return sum(target.order > 0 for target in view.targets), len(set(view.wave_of.values()))


def _drained_text(drained: int, marked: int) -> FittingText:
    return FittingText(f"Plan {drained} of {marked} marked", ((1, f"{drained} of {marked}"),), Tone.TITLE)


def _assumption_badges(view: DrainView) -> tuple[FittingText, ...]:
    """Badges of a hypothetical plan: assumed fixes first, then flags that allow evictions which kubectl drain refuses
    by default."""
    assumed_count = len(view.plan.policy.assume_fixed) + len(view.plan.policy.assume_budgets)
    allowed_text = ", ".join(short_code(code) for code, _, _ in given_flags(view.plan.policy))
    return (
        *(
            (FittingText(f"WHAT IF {assumed_count} fixed", ((0, "WHAT IF"),), Tone.UNKNOWN, badge=True),)
            if assumed_count
            else ()
        ),
        *((FittingText(f"ALLOWS {allowed_text}", ((0, "ALLOWS"),), Tone.WARN, badge=True),) if allowed_text else ()),
    )


def _no_plan_text(model: Model, marked: int) -> FittingText | None:
    """Why there is no plan."""
    if model.error:
        return FittingText(f"✗ {model.error}", tone=Tone.BAD)
    if model.is_old:
        later = f", {pluralize(marked, 'node')} marked for later" if marked else ""
        return FittingText(
            f"An old view: nothing is planned from it{later}.", ((1, f"An old view: not planned{later}."),)
        )
    if model.facts is None:
        nothing_read = "Nothing is read yet: marks and plans come then."
        return FittingText(f"{nothing_read} Marks only build a plan.", ((1, nothing_read),))
    if not model.facts.cluster.nodes:
        return FittingText("There is no node to drain.")
    if not marked:
        short_text = "Nothing is marked: space marks a node, m more."
        return FittingText(
            "Nothing is marked: space marks the node under the cursor, m more. Marks only build a plan.",
            ((1, short_text), (0, "Nothing is marked: space, m")),
        )
    return None


def _closed_budgets_text(model: Model) -> tuple[FittingText, ...]:
    """The number of budgets that allow no eviction now: their table is not visible on a small terminal."""
    if model.facts is None or model.is_old or model.error:
        return ()
    if not (count := sum(current_status(each) is not None for each in closed_budgets(model.facts.cluster))):
        return ()
    pdbs = pluralize(count, "PDB")
    return (FittingText(f"✗ no eviction allowed by {pdbs}", ((1, f"✗ no eviction: {pdbs}"),), Tone.BAD),)


def parallel_value(policy: DrainPolicy) -> str:
    return policy.nodes_at_once or "any"


def grace_value(policy: DrainPolicy) -> str:
    return "of the pod" if policy.grace_seconds is None else f"{policy.grace_seconds}s"
