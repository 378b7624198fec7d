"""The knobs of a plan, turned by one key each: every turn is a policy that a flag can say, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubectl_eksdoc.core.model.budgets import Amount
from kubectl_eksdoc.core.plan.drain.policy import ALL, DrainPolicy

GRACES: tuple[int | None, ...] = (None, 30, 60, 120, 300)
"""Seconds that pods get to stop, None for each its own."""


def parallel_of(policy: DrainPolicy) -> int | None:
    """How many nodes may be under way at once; None without a limit, or where it is a share of them."""
    amount = dict(policy.max_unavailable).get(ALL)
    return None if amount is None or amount.percent else amount.value


def with_parallel(policy: DrainPolicy, by: int, targets: int) -> DrainPolicy:
    """One node more or less at once; beyond all `targets` there is no limit, and below that of "no limit" are all but
    one of them."""
    now = parallel_of(policy)
    wanted = (targets if now is None else now) + by
    others = tuple(each for each in policy.max_unavailable if each[0] != ALL)
    if wanted >= targets or targets < 2:
        return replace(policy, max_unavailable=others)
    return replace(policy, max_unavailable=((ALL, Amount(max(wanted, 1))), *others))


def with_grace(policy: DrainPolicy, by: int) -> DrainPolicy:
    """The next longer or shorter of `GRACES`; one that was given and is none of them lies between two."""
    known = GRACES.index(policy.grace_seconds) if policy.grace_seconds in GRACES else None
    if known is None:
        given = policy.grace_seconds or 0
        places = [at for at, grace in enumerate(GRACES) if (grace or 0) > given] if by > 0 else []
        places = places[:1] or [at for at, grace in enumerate(GRACES) if (grace or 0) < given][-1:]
        return replace(policy, grace_seconds=GRACES[places[0]] if places else GRACES[-1])
    return replace(policy, grace_seconds=GRACES[min(max(known + by, 0), len(GRACES) - 1)])


def moved(policy: DrainPolicy, node: str, by: int, wave_of: Mapping[str, int]) -> DrainPolicy:
    """`node` is pinned one wave later or earlier than it is now, never before the first and never more than one behind
    the last."""
    last = max(wave_of.values(), default=1)
    wave = min(max(wave_of.get(node, 1) + by, 1), last + 1)
    return pinned(policy, node, wave)


def pinned(policy: DrainPolicy, node: str, wave: int | None) -> DrainPolicy:
    """None takes its pin away."""
    pins = {name: at for name, at in policy.pins if name != node}
    if wave is not None:
        pins[node] = wave
    return replace(policy, pins=tuple(sorted(pins.items())))
