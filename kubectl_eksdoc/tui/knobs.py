"""Settings of a plan that keys change step by step ("knobs"): each has an equivalent flag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import Amount
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE, DeclaredOption, Steps, options_of
from kubectl_eksdoc.model.quantities import duration

GRACES: tuple[int | None, ...] = (None, 30, 60, 120, 300)
"""Grace periods in seconds, None for that of the pod."""


def parallel_of(policy: DrainPolicy) -> int | None:
    """The maximum number of nodes at once; None without a limit, or if it is a percentage."""
    amount = dict(policy.max_unavailable).get(ALL)
    return None if amount is None or amount.percent else amount.value


def with_parallel(policy: DrainPolicy, by: int, targets: int) -> DrainPolicy:
    """One node more or less at once. At `target_count` and above there is no limit; one step below "no limit" is all
    targets but one."""
    now = parallel_of(policy)
    wanted = (targets if now is None else now) + by
    others = tuple(each for each in policy.max_unavailable if each[0] != ALL)
    if wanted >= targets or targets < 2:
        return replace(policy, max_unavailable=others)
    return replace(policy, max_unavailable=((ALL, Amount(max(wanted, 1))), *others))


def with_grace(policy: DrainPolicy, by: int) -> DrainPolicy:
    """The next longer or shorter of `GRACE_SECONDS`; a custom value lies between two of them."""
    known = GRACES.index(policy.grace_seconds) if policy.grace_seconds in GRACES else None
    if known is None:
        given = policy.grace_seconds or 0
        places = [at for at, grace in enumerate(GRACES) if (grace or 0) > given] if by > 0 else []
        places = places[:1] or [at for at, grace in enumerate(GRACES) if (grace or 0) < given][-1:]
        return replace(policy, grace_seconds=GRACES[places[0]] if places else GRACES[-1])
    return replace(policy, grace_seconds=GRACES[min(max(known + by, 0), len(GRACES) - 1)])


def moved(policy: DrainPolicy, node: str, by: int, wave_of: Mapping[str, int]) -> DrainPolicy:
    """Pin `node` one wave later or earlier, never before the first wave and at most one after the last."""
    last = max(wave_of.values(), default=1)
    wave = min(max(wave_of.get(node, 1) + by, 1), last + 1)
    return pinned(policy, node, wave)


def pinned(policy: DrainPolicy, node: str, wave: int | None) -> DrainPolicy:
    """None removes the pin."""
    pins = {name: at for name, at in policy.pins if name != node}
    if wave is not None:
        pins[node] = wave
    return replace(policy, pins=tuple(sorted(pins.items())))


# All knobs in one list, each with its flag: also for keyboards without easy braces.


Value = int | float | str | bool | None

_BY = ("all", ZONE, NODEGROUP)


@frozen
class Knob:
    """`value_text` returns the displayed value; `turn` moves it one step (1 or -1), given the number of marked
    nodes."""

    id: str
    name: str
    flag: str
    does: str
    said: Callable[[DrainPolicy], str]
    turned: Callable[[DrainPolicy, int, int], DrainPolicy]


def next_of(steps: Sequence[Value], now: Value, by: int) -> Value:
    """The next or previous step, clamped at the ends; for a value that is no step, the first."""
    return steps[min(max(steps.index(now) + by, 0), len(steps) - 1)] if now in steps else steps[0]


def _stepped(each: DeclaredOption, steps: Steps[Value]) -> Knob:
    """The knob of an option with steps."""
    alone = each.option.kind.switch
    flag = each.option.flag if alone else f"{each.option.flag} {each.option.metavar}"

    def said(policy: DrainPolicy) -> str:
        return _said(getattr(policy, each.name), each.default, steps)

    def turned(policy: DrainPolicy, by: int, targets: int) -> DrainPolicy:
        return replace(policy, **{each.name: next_of(steps.values, getattr(policy, each.name), by)})  # type: ignore[arg-type]

    return Knob(each.name, steps.name, flag, steps.does, said, turned)


def _said(value: Value, default: Value, steps: Steps[Value]) -> str:
    if steps.usual and value == default:
        return steps.usual
    if isinstance(value, bool):
        return "yes" if value else "no"
    if steps.unit == "s" and isinstance(value, int):
        return duration(value)
    return f"{value:g}{steps.unit}" if isinstance(value, (int, float)) else str(value)


def _counted(by: str, name: str, does: str) -> Knob:
    """Nodes at once in each zone, or in each node group."""
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


KNOBS: tuple[Knob, ...] = (
    Knob(
        "parallel",
        "nodes at once",
        "--max-unavailable N",
        "how many marked nodes may be under way",
        lambda policy: next((str(amount) for by, amount in policy.max_unavailable if by == "all"), "any"),
        with_parallel,
    ),
    _counted(ZONE, "at once, each zone", "so that a zone keeps its other nodes"),
    _counted(NODEGROUP, "at once, each group", "so that a group keeps its other nodes"),
    Knob(
        "grace",
        "grace period",
        "--grace-period SECONDS",
        "how long pods get to stop",
        lambda policy: "of the pod" if policy.grace_seconds is None else duration(policy.grace_seconds),
        lambda policy, by, targets: with_grace(policy, by),
    ),
    *(_stepped(each, each.option.steps) for each in options_of(DrainPolicy) if each.option.steps is not None),
)
"""No knob deletes data, forces evictions or bypasses a budget: those need a typed flag."""

BY_ID = {knob.id: knob for knob in KNOBS}
