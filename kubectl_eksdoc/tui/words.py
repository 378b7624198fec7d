"""The lines at the head of every screen: whose cluster it is, and the plan in a line."""

from __future__ import annotations

from datetime import datetime, timedelta

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.render.identity import data_age, named
from kubectl_eksdoc.render.text import age, between, counted, duration
from kubectl_eksdoc.tui.model import Model
from kubectl_eksdoc.tui.reading import Reads, brief


def identity(model: Model, now: datetime, notice: str = "") -> str:
    """``eksdoc  prod-eu1  v1.33.4  eu-west-1  18 nodes  live, read 2s ago``; `notice` stands before the rest."""
    chosen = f"context {model.context}" if model.context else ""
    if model.facts is None:
        return "  ".join(filter(None, ("eksdoc", chosen, _progress(model.reads, now))))
    who = model.facts.cluster.identity
    name = dict(named(who))["cluster"] or who.context or "cluster without a name"
    name = f"{name} ({chosen})" if chosen and model.context != name else name
    parts = [name, who.server_version, who.region, counted(len(model.facts.cluster.nodes), "node")]
    hidden = () if model.old else model.facts.cluster.unread(*kinds.ALL)
    if hidden:
        parts = [name, who.server_version, f"! {counted(len(hidden), 'kind')} hidden"]
    if model.old or model.reads.stale_since() is not None:
        parts = [name]  # what is wrong matters more, and must fit
    return "  ".join(["eksdoc", *filter(None, (notice, *parts)), how_old(model, now)])


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
    if not reads.live or reads.done is None:
        return data_age(cluster, now)
    return reads.said_of(now)


def _progress(reads: Reads, now: datetime) -> str:
    if reads.begun is None and reads.failing:
        return "nothing could be read"
    passed = between(reads.begun, now) if reads.begun is not None else timedelta()
    slow = f" for {age(passed)} now" if passed >= _SLOW else ""
    return f"reading: {reads.count} {reads.kind}" if reads.kind else f"reading the cluster{slow or '…'}"


_A_DAY = timedelta(days=1)
_SLOW = timedelta(seconds=3)


def plan_line(model: Model) -> str:
    """``Plan 8 of 12 marked · ✗ 4 not drained · 4 waves · parallel 2 · about 4m47s (p95 9m10s) · grace of the pod``:
    what matters most first, for a narrow terminal cuts the rest."""
    marked = len(model.choice.ask.marked)
    if model.trouble:
        return f"✗ {model.trouble}"
    if model.old:
        return f"An old view: nothing is planned from it, {counted(marked, 'node')} marked for later."
    if model.facts is None:
        return "Nothing is read yet: marks and plans come then. Marks only build a plan."
    if not marked:
        return "Nothing is marked: space marks the node under the cursor, m more. Marks only build a plan."
    at, stop = f"parallel {at_once(model.choice.ask.policy)}", f"grace {grace(model.choice.ask.policy)}"
    if model.preview is not None:
        told = [
            f"{len(model.preview.drained)} of {marked} marked",
            f"✗ {len(model.preview.blockers)} blockers" if model.preview.blockers else "✓ no blockers",
            counted(len(model.preview.waves), "wave"),
            counted(model.preview.rounds, "round"),
            at,
            "time is being reckoned…",
            stop,
        ]
        return f"Plan {' · '.join(told)}"
    view = model.view
    if view is None or (model.stale and model.preview is None):
        return f"Planning {counted(marked, 'node')}… · {at} · {stop}"
    drained = sum(target.order > 0 for target in view.targets)
    waves = len(set(view.wave_of.values()))
    estimate = view.plan.estimate
    time = "" if estimate is None else f"about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})"
    left = len(view.targets) - drained
    told = [
        f"{drained} of {marked} marked",
        f"✗ {left} not drained" if left else "✓ all drained",
        counted(waves, "generation" if view.plan.in_generations else "wave"),
        at,
        time or "time not known",
        stop,
    ]
    return f"Plan {' · '.join(told)}"


def at_once(policy: DrainPolicy) -> str:
    return policy.nodes_at_once or "any"


def grace(policy: DrainPolicy) -> str:
    return "of the pod" if policy.grace_seconds is None else f"{policy.grace_seconds}s"
