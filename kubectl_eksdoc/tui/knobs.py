"""Settings of a plan that keys change step by step ("knobs"): each has an equivalent flag."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from kubectl_eksdoc.drain.policy import DrainPolicy
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.budgets import IntOrPercent
from kubectl_eksdoc.model.options import ALL, NODEGROUP, ZONE, DeclaredOption, Steps, declared_options
from kubectl_eksdoc.model.quantities import format_duration

GRACE_SECONDS: tuple[int | None, ...] = (None, 30, 60, 120, 300)
"""Grace periods in seconds, None for that of the pod."""


def parallel_limit(policy: DrainPolicy) -> int | None:
    """The maximum number of nodes at once; None without a limit, or if it is a percentage."""
    amount = dict(policy.max_unavailable).get(ALL)
    return None if amount is None or amount.percent else amount.value


def with_parallel(policy: DrainPolicy, by: int, target_count: int) -> DrainPolicy:
    """One node more or less at once. At `target_count` and above there is no limit; one step below "no limit" is all
    targets but one."""
    current = parallel_limit(policy)
    desired = (target_count if current is None else current) + by
    other_limits = tuple(each for each in policy.max_unavailable if each[0] != ALL)
    if desired >= target_count or target_count < 2:
        return replace(policy, max_unavailable=other_limits)
    return replace(policy, max_unavailable=((ALL, IntOrPercent(max(desired, 1))), *other_limits))


def with_grace(policy: DrainPolicy, by: int) -> DrainPolicy:
    """The next longer or shorter of `GRACE_SECONDS`; a custom value lies between two of them."""
    index = GRACE_SECONDS.index(policy.grace_seconds) if policy.grace_seconds in GRACE_SECONDS else None
    if index is None:
        current = policy.grace_seconds or 0
        indexes = (
            [index_of_step for index_of_step, grace in enumerate(GRACE_SECONDS) if (grace or 0) > current]
            if by > 0
            else []
        )
        indexes = (
            indexes[:1]
            or [index_of_step for index_of_step, grace in enumerate(GRACE_SECONDS) if (grace or 0) < current][-1:]
        )
        return replace(policy, grace_seconds=GRACE_SECONDS[indexes[0]] if indexes else GRACE_SECONDS[-1])
    return replace(policy, grace_seconds=GRACE_SECONDS[min(max(index + by, 0), len(GRACE_SECONDS) - 1)])


def move_node(policy: DrainPolicy, node: str, by: int, wave_of: Mapping[str, int]) -> DrainPolicy:
    """Pin `node` one wave later or earlier, never before the first wave and at most one after the last."""
    last = max(wave_of.values(), default=1)
    wave = min(max(wave_of.get(node, 1) + by, 1), last + 1)
    return set_pin(policy, node, wave)


def set_pin(policy: DrainPolicy, node: str, wave: int | None) -> DrainPolicy:
    """None removes the pin."""
    pins = {name: pinned_wave for name, pinned_wave in policy.pins if name != node}
    if wave is not None:
        pins[node] = wave
    return replace(policy, pins=tuple(sorted(pins.items())))


# All knobs in one list, each with its flag: also for keyboards without easy braces.


KnobValue = int | float | str | bool | None

_LIMIT_ORDER = ("all", ZONE, NODEGROUP)


@frozen
class Knob:
    """`value_text` returns the displayed value; `turn` moves it one step (1 or -1), given the number of marked
    nodes."""

    id: str
    name: str
    flag: str
    effect: str
    value_text: Callable[[DrainPolicy], str]
    turn: Callable[[DrainPolicy, int, int], DrainPolicy]


def next_step(steps: Sequence[KnobValue], current: KnobValue, by: int) -> KnobValue:
    """The next or previous step, clamped at the ends; for a value that is no step, the first."""
    return steps[min(max(steps.index(current) + by, 0), len(steps) - 1)] if current in steps else steps[0]


def _option_knob(declared: DeclaredOption, steps: Steps[KnobValue]) -> Knob:
    """The knob of an option with steps."""
    is_switch = declared.option.kind.switch
    flag = declared.option.flag if is_switch else f"{declared.option.flag} {declared.option.metavar}"

    def value_text(policy: DrainPolicy) -> str:
        return _value_text(getattr(policy, declared.name), declared.default, steps)

    def turn(policy: DrainPolicy, by: int, targets: int) -> DrainPolicy:
        return replace(policy, **{declared.name: next_step(steps.values, getattr(policy, declared.name), by)})  # type: ignore[arg-type]

    return Knob(declared.name, steps.name, flag, steps.does, value_text, turn)


def _value_text(value: KnobValue, default: KnobValue, steps: Steps[KnobValue]) -> str:
    if steps.usual and value == default:
        return steps.usual
    if isinstance(value, bool):
        return "yes" if value else "no"
    if steps.unit == "s" and isinstance(value, int):
        return format_duration(value)
    return f"{value:g}{steps.unit}" if isinstance(value, (int, float)) else str(value)


def _limit_knob(by: str, name: str, effect: str) -> Knob:
    """Nodes at once in each zone, or in each node group."""
    steps: Sequence[KnobValue] = (1, 2, 3, 5, 10, None)

    def current(policy: DrainPolicy) -> IntOrPercent | None:
        return dict(policy.max_unavailable).get(by)

    def turn(policy: DrainPolicy, step: int, targets: int) -> DrainPolicy:
        amount = current(policy)
        value = next_step(steps, None if amount is None else amount.value, step)
        other_limits = {key: each for key, each in policy.max_unavailable if key != by}
        if isinstance(value, int):
            other_limits[by] = IntOrPercent(value)
        return replace(
            policy, max_unavailable=tuple(sorted(other_limits.items(), key=lambda pair: _LIMIT_ORDER.index(pair[0])))
        )

    return Knob(by, name, f"--max-unavailable {by}=N", effect, lambda policy: str(current(policy) or "any"), turn)


KNOBS: tuple[Knob, ...] = (
    Knob(
        "parallel",
        "nodes at once",
        "--max-unavailable N",
        "how many marked nodes may be under way",
        lambda policy: next((str(amount) for by, amount in policy.max_unavailable if by == "all"), "any"),
        with_parallel,
    ),
    _limit_knob(ZONE, "at once, each zone", "so that a zone keeps its other nodes"),
    _limit_knob(NODEGROUP, "at once, each group", "so that a group keeps its other nodes"),
    Knob(
        "grace",
        "grace period",
        "--grace-period SECONDS",
        "how long pods get to stop",
        lambda policy: "of the pod" if policy.grace_seconds is None else format_duration(policy.grace_seconds),
        lambda policy, by, targets: with_grace(policy, by),
    ),
    *(_option_knob(each, each.option.steps) for each in declared_options(DrainPolicy) if each.option.steps is not None),
)
"""No knob deletes data, forces evictions or bypasses a budget: those need a typed flag."""

BY_ID = {knob.id: knob for knob in KNOBS}
