"""The lines at the head of every screen: whose cluster it is, and the plan in a line."""

from __future__ import annotations

from datetime import datetime

from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.render.identity import data_age
from kubectl_eksdoc.render.text import counted
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui.model import Model


def identity(model: Model, now: datetime) -> str:
    """``eksdoc  prod-eu1  v1.33.4  live, read 2s ago  18 nodes``."""
    if model.facts is None:
        return f"eksdoc  {model.reading or 'reading the cluster…'}"
    who = model.facts.cluster.identity
    name = who.cluster or who.context or "cluster without a name"
    parts = [name, who.server_version, who.region, counted(len(model.facts.cluster.nodes), "node")]
    return "  ".join(["eksdoc", *filter(None, parts), data_age(model.facts.cluster, now)])


def plan_line(model: Model) -> str:
    """``Plan 8 of 12 marked · 4 waves · about 4m47s (p95 9m10s) · parallel 2 · grace pod · ✗ 4 blocked``."""
    marked = len(model.choice.ask.marked)
    if model.trouble:
        return f"✗ {model.trouble}"
    if not marked:
        return "Nothing is marked: space marks the node under the cursor, m more. Marks only build a plan."
    knobs = [f"parallel {at_once(model.choice.ask.policy)}", f"grace {grace(model.choice.ask.policy)}"]
    if model.preview is not None:
        told = [
            f"{len(model.preview.drained)} of {marked} marked",
            counted(len(model.preview.waves), "wave"),
            counted(model.preview.rounds, "round"),
            *knobs,
            f"✗ {len(model.preview.blockers)} blockers" if model.preview.blockers else "✓ no blockers",
            "time is being reckoned…",
        ]
        return f"Plan {' · '.join(told)}"
    view = model.view
    if view is None or (model.stale and model.preview is None):
        return f"Planning {counted(marked, 'node')}… · {' · '.join(knobs)}"
    drained = sum(target.order > 0 for target in view.targets)
    waves = len(set(view.wave_of.values()))
    estimate = view.plan.estimate
    time = "" if estimate is None else f"about {duration(estimate.p50_s)} (p95 {duration(estimate.p95_s)})"
    left = len(view.targets) - drained
    told = [
        f"{drained} of {marked} marked",
        counted(waves, "generation" if view.plan.in_generations else "wave"),
        time or "time not known",
        *knobs,
        f"✗ {left} not drained" if left else "✓ all drained",
    ]
    return f"Plan {' · '.join(told)}"


def at_once(policy: DrainPolicy) -> str:
    return policy.nodes_at_once or "any"


def grace(policy: DrainPolicy) -> str:
    return "of the pod" if policy.grace_seconds is None else f"{policy.grace_seconds}s"
