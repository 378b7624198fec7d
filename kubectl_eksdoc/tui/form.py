"""All knobs of a plan in one list, each with the flag that says the same: for keyboards without easy braces, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kubectl_eksdoc.core.model.budgets import Amount
from kubectl_eksdoc.core.plan.drain.policy import AUTO, NODEGROUP, ORDERS, ZONE, DrainPolicy
from kubectl_eksdoc.render.times import duration
from kubectl_eksdoc.tui import knobs

Value = int | float | str | bool | None

_BY = ("all", ZONE, NODEGROUP)


@dataclass(frozen=True, slots=True)
class Knob:
    """`said`: how its value is shown; `turned` one step on (1) or back (-1), where so many nodes are marked."""

    id: str
    name: str
    flag: str
    does: str
    said: Callable[[DrainPolicy], str]
    turned: Callable[[DrainPolicy, int, int], DrainPolicy]


def next_of(steps: Sequence[Value], now: Value, by: int) -> Value:
    """The step behind or before `now`, at the ends the end itself; of what is none of them the first."""
    return steps[min(max(steps.index(now) + by, 0), len(steps) - 1)] if now in steps else steps[0]


def _stepped(id: str, name: str, flag: str, does: str, steps: Sequence[Value], said: Callable[[Value], str]) -> Knob:
    """Of the policy's attribute `id`."""

    def turned(policy: DrainPolicy, by: int, targets: int) -> DrainPolicy:
        return replace(policy, **{id: next_of(steps, getattr(policy, id), by)})  # type: ignore[arg-type]

    return Knob(id, name, flag, does, lambda policy: said(getattr(policy, id)), turned)


def _counted(by: str, name: str, does: str) -> Knob:
    """Nodes at once of each zone, or of each node group."""
    steps: Sequence[Value] = (1, 2, 3, 5, 10, None)

    def now(policy: DrainPolicy) -> Amount | None:
        return dict(policy.max_unavailable).get(by)

    def turned(policy: DrainPolicy, step: int, targets: int) -> DrainPolicy:
        amount = now(policy)
        value = next_of(steps, None if amount is None else amount.value, step)
        others = {key: each for key, each in policy.max_unavailable if key != by}
        if isinstance(value, int):
            others[by] = Amount(value)
        return replace(policy, max_unavailable=tuple(sorted(others.items(), key=lambda pair: _BY.index(pair[0]))))

    return Knob(by, name, f"--max-unavailable {by}=N", does, lambda policy: str(now(policy) or "any"), turned)


def _seconds(value: Value) -> str:
    return duration(value) if isinstance(value, int) and value else "not at all"


def _on(value: Value) -> str:
    return "yes" if value else "no"


KNOBS: tuple[Knob, ...] = (
    Knob(
        "parallel",
        "nodes at once",
        "--max-unavailable N",
        "how many marked nodes may be under way",
        lambda policy: next((str(amount) for by, amount in policy.max_unavailable if by == "all"), "any"),
        knobs.with_parallel,
    ),
    _counted(ZONE, "at once, each zone", "so that a zone keeps its other nodes"),
    _counted(NODEGROUP, "at once, each group", "so that a group keeps its other nodes"),
    Knob(
        "grace",
        "grace period",
        "--grace-period SECONDS",
        "how long pods get to stop",
        lambda policy: "of the pod" if policy.grace_seconds is None else duration(policy.grace_seconds),
        lambda policy, by, targets: knobs.with_grace(policy, by),
    ),
    _stepped(
        "surge",
        "new nodes first",
        "--surge N",
        "join first, and replace drained nodes",
        (None, 0, 1, 2, 3, 5, 10),
        lambda value: "none join" if value is None else str(value),
    ),
    _stepped(
        "soft_budget",
        "without a budget",
        "--soft-budget PCT",
        "so much of a workload may be away",
        (10, 25, 50, None),
        lambda value: "all of it" if value is None else f"{value}%",
    ),
    _stepped(
        "surge_singles",
        "restart singles",
        "--surge-singles",
        "by a rollout, instead of an eviction",
        (False, True),
        _on,
    ),
    _stepped(
        "wait_jobs",
        "let Jobs end",
        "--wait-jobs TIME",
        "so long from the begin of their node on",
        (0, 300, 900, 1800, 3600, 7200),
        _seconds,
    ),
    _stepped(
        "evictions_per_second",
        "evictions a second",
        "--max-evictions-per-second N",
        "how fast they may follow each other",
        (0.5, 1.0, 2.0, 5.0, 10.0, 0.0),
        lambda value: f"{value:g}" if value else "no limit",
    ),
    _stepped(
        "skip_deleting_after",
        "skip stuck pods",
        "--skip-wait-for-delete-timeout SECONDS",
        "no wait for pods stopping for longer",
        (0, 60, 300, 600),
        lambda value: duration(value) if isinstance(value, int) and value else "always wait",
    ),
    _stepped(
        "partial",
        "empty in part",
        "--partial",
        "where a pod cannot go, the others do",
        (False, True),
        _on,
    ),
    _stepped(
        "cordon_skipped",
        "cordon skipped",
        "--no-cordon-skipped",
        "no: pods may be scheduled onto them",
        (False, True),
        _on,
    ),
    _stepped(
        "order",
        "order of nodes",
        "--order ORDER",
        "auto tries several and keeps the best",
        (AUTO, *ORDERS),
        str,
    ),
)
"""None of them deletes data, forces anything or goes past a budget: those are flags that a person types."""

BY_ID = {knob.id: knob for knob in KNOBS}
