"""What the options allow a drain to do, as the plan's result prints it."""

from __future__ import annotations

from typing import Annotated, Literal

from kubectl_eksdoc.core.plan.drain.policy import DrainPolicy
from kubectl_eksdoc.render.result import Count, Lines, Meta, Positive, Printed, Text, Texts


class _AssumedBudget(Printed):
    budget: Text
    away: Positive


class _Pin(Printed):
    node: Text
    wave: Positive


class OptionsResult(Printed):
    """What the options allow this drain to do."""

    ignore_daemonsets: bool
    delete_emptydir_data: bool
    force: bool
    grace_seconds: Count | None
    """null: each pod's own."""
    pod_selector: Text | None
    """null: all pods."""
    skip_deleting_after_seconds: Count
    partial: bool
    evict_protected: bool
    cordon_skipped: bool
    surge_singles: bool
    wait_jobs_seconds: Positive | None
    """How long pods of Jobs may finish by themselves; null: not at all."""
    delete_past_budget: Annotated[Lines, Meta(extra_json_schema={"uniqueItems": True})]
    """Pods (namespace/name) that are deleted where their budget does not let them go."""
    max_unavailable: Annotated[str, Meta(pattern="^((zone|nodegroup)=)?[0-9]+%?(, (zone|nodegroup)=[0-9]+%?)*$")] | None
    """Targets under way at once: of all, of each zone, of each node group; null: all."""
    max_evictions_per_second: Annotated[float, Meta(gt=0)] | None
    """null: no limit."""
    surge: Count | None
    """New nodes that join before the drain; each drained node is then replaced by a new one. null: no node joins."""
    soft_budget_percent: Annotated[int, Meta(ge=1, le=100)] | None
    """How much of a workload without a budget may be away at once; null: all of it."""
    order: Literal["auto", "soonest", "chain", "light", "efficiency", "zone", "name"]
    """auto: several are tried and the best is kept."""
    order_nodes: Texts
    """Nodes that go first, in this order, from --order-file."""
    pins: tuple[_Pin, ...]
    """Nodes and the wave each is drained in."""
    effort: Count
    """Evictions that may be simulated in search of a better order."""
    accept_unknown: Texts
    assume_budgets: tuple[_AssumedBudget, ...]
    """What-if: budgets (namespace/name) and how many of their pods may be away."""
    assume_fixed: Texts
    """What-if: finding codes that stop nothing."""

    @classmethod
    def of(cls, facts: DrainPolicy) -> OptionsResult:
        return cls.filled(
            facts,
            skip_deleting_after_seconds=facts.skip_deleting_after,
            wait_jobs_seconds=facts.wait_jobs or None,
            delete_past_budget=sorted(facts.delete_past_budget),
            max_unavailable=facts.nodes_at_once,
            max_evictions_per_second=facts.evictions_per_second or None,
            soft_budget_percent=facts.soft_budget,
            pins=(_Pin.filled(node=node, wave=wave) for node, wave in facts.pins),
            accept_unknown=sorted(facts.accept_unknown),
            assume_budgets=(_AssumedBudget.filled(budget=key, away=count) for key, count in facts.assume_budgets),
            assume_fixed=sorted(facts.assume_fixed),
        )
