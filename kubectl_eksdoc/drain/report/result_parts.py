"""Parts of the plan's result: options, estimate, comparison with a saved plan, and how nodes join and leave."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from kubectl_eksdoc.model import options
from kubectl_eksdoc.model.nodes import NodeOwner
from kubectl_eksdoc.model.options import OptionKind, declared_options
from kubectl_eksdoc.report.result import (
    Count,
    Lines,
    Meta,
    PositiveCount,
    Printed,
    Seconds,
    SecondsDifference,
    Text,
    Texts,
    define_result_type,
)

from .. import plan_changes as changes
from .. import rollover_offers as offers
from ..duration.bounds import BoundKind
from ..duration.estimate import Estimate
from ..outcome import BudgetVerdict, TargetVerdict
from ..policy import NODES_AT_ONCE_KIND, DrainPolicy
from .plan import DrainView


class SoakResult(Printed):
    """Time that a run adds for soaks (--soak); null where it does not wait between waves."""

    called = {"seconds": "each_s"}

    seconds: Annotated[float, Meta(gt=0, extra={"digits": 3})]
    """After each of the first waves; none comes after the last."""
    times: PositiveCount
    """After how many waves."""


class _StopTimes(Printed):
    """For how many of the workloads earlier runs have measured the stop times of pods; for the others 1 s to the grace
    period is assumed."""

    measured: Count
    workloads: Count


class _Relaxed(Printed):
    called = {"seconds": "makespan_s", "saves": "saved_s"}

    change: Text
    seconds: Seconds
    saves: SecondsDifference


class _ScarceResource(Printed):
    """The scarce resource at the pace of the estimate, and the effect of relaxing it by one step; null: nothing is
    scarce."""

    called = {"binding": "name"}

    binding: BoundKind
    subject: Text | None
    about: Text
    relax: Text
    tried: tuple[_Relaxed, ...]

    @classmethod
    def of(cls, facts: Estimate) -> _ScarceResource:
        return cls.from_facts(facts.bounds[0], tried=facts.relaxations)


class EstimateResult(Printed):
    """Seconds from the first cordon to the last node done: in half of all cases (p50), and in 19 of 20 (p95). All other
    times are of one run that takes the p50. Without samples (sampledRuns 0), every pod takes its own p50 in it, and in
    p95 every pod is slow at once."""

    p50: Seconds
    p95: Seconds
    sampled_runs: Count
    """How many simulated runs p50 and p95 are of; 0: nothing was sampled, see above."""
    sampled_evictions: Count
    """How many evictions each of them has: all, or the slowest ones of a large drain."""
    stop_times: _StopTimes
    peak_away: Count
    """The most pods evicted and not yet replaced at one moment."""
    assumptions: Texts
    soak: SoakResult | None
    decides: _ScarceResource | None


def estimate_of(view: DrainView) -> EstimateResult | None:
    """null when nothing is drained."""
    estimate = view.plan.estimate
    if estimate is None:
        return None
    return EstimateResult.from_facts(
        estimate,
        sampled_runs=estimate.runs,
        sampled_evictions=(estimate.sampled_part or len(view.evictions)) if estimate.runs else 0,
        stop_times=estimate,
        soak=view.soak,
        decides=estimate if estimate.bounds else None,
    )


class _Bound(Printed):
    called = {"binding": "name"}

    binding: BoundKind
    subject: Text | None
    seconds: Seconds


class LowerBoundResult(Printed):
    """No run takes less than seconds, whatever its order: pods stop at once, a replacement starts as fast as the
    fastest observed one of its workload (at once where too few were observed). binding says what is scarce."""

    called = {"binding": "name"}

    seconds: Seconds
    binding: BoundKind
    subject: Text | None
    about: Text
    all: tuple[_Bound, ...]


def lower_bound_of(estimate: Estimate | None) -> LowerBoundResult | None:
    if estimate is None or not estimate.lower_bounds:
        return None
    binds = estimate.lower_bounds[0]
    return LowerBoundResult.from_facts(binds, all=estimate.lower_bounds)


class TriedResult(Printed):
    """An order of nodes that was tried, by name; given is that of --order-file, and light~3 the third variation of
    light. seconds is what the search simulated; the estimate is that of the plan."""

    called = {"order": "name", "seconds": "makespan_s"}

    order: Annotated[str, Meta(pattern="^(given|soonest|chain|light|efficiency|zone|name)(~[0-9]+)?$")]
    seconds: Seconds
    not_drained: Count
    """Nodes without room for their pods."""


# The options of a drain as the plan's result prints them, made from the declarations of the options.


_JSON_TYPES: Mapping[OptionKind, Any] = {
    options.SWITCH: bool,
    options.OFF_SWITCH: bool,
    options.GRACE: Count | None,
    options.WHOLE_SECONDS: Count,
    options.STALL_TIMEOUT: PositiveCount | None,
    options.SELECTOR: Text | None,
    options.NEW_NODES: Count | None,
    options.PERCENTAGE: Annotated[int, Meta(ge=1, le=100)] | None,
    options.RATE: Annotated[float, Meta(gt=0)] | None,
    options.EFFORT: Count,
    options.POD_NAMES: Annotated[Lines, Meta(extra_json_schema={"uniqueItems": True})],
    options.CODES: Texts,
    options.NAMES_IN_A_FILE: Texts,
    NODES_AT_ONCE_KIND: Annotated[str, Meta(pattern="^((zone|nodegroup)=)?[0-9]+%?(, (zone|nodegroup)=[0-9]+%?)*$")]
    | None,
}
"""The JSON type of each kind of option."""


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


_OPTIONS = {_snake(each.json): each for each in declared_options(DrainPolicy)}
"""By the names of the result's fields."""

_PAIRS: Mapping[str, type[Printed]] = {
    name: define_result_type(
        f"{each.json[:1].upper()}{each.json[1:]}Entry",
        zip(each.option.kind.pair, (Text, PositiveCount), strict=True),
        __name__,
    )
    for name, each in _OPTIONS.items()
    if each.option.kind.pair[0]
}


def _json_type(name: str, kind: OptionKind) -> Any:
    pair: Any = _PAIRS.get(name)
    if pair is not None:
        return tuple[pair, ...]
    return Literal[kind.choices] if kind.choices else _JSON_TYPES[kind]


def _options_of(cls: type[Printed], facts: DrainPolicy) -> Printed:
    found = {_snake(name): value for name, value in options.json_values(facts).items()}
    pairs = {name: [pair(**each) for each in found[name]] for name, pair in _PAIRS.items()}
    return cls.from_facts(**{**found, **pairs})


if TYPE_CHECKING:

    class OptionsResult(Printed): ...

else:
    OptionsResult = define_result_type(
        "OptionsResult",
        [(name, _json_type(name, each.option.kind)) for name, each in _OPTIONS.items()],
        __name__,
        __doc__="What the options allow this drain to do; null: no limit, or each pod's own.",
        descriptions={name: each.option.help for name, each in _OPTIONS.items()},
        of=classmethod(_options_of),
    )


# How nodes join and leave after a drain, as the plan's result prints it.


class _Step(Printed):
    """One sentence and its commands: one for each node where they differ by node."""

    text: Text
    commands: Texts


class _Option(Printed):
    """One way to replace the nodes. Pods are namespace/name, of those on targets that this plan does not evict. surge
    null: the zones are unknown; leastSeconds null: not estimated."""

    called = {"evicted_unasked": "unasked"}

    way: offers.ReplacementMethod
    nodes: Count
    surge: Count | None
    """The most nodes that are added at once."""
    surge_why: Text
    order: Text
    waits: Text
    least_seconds: Count | None
    way_back: Text
    stopped_by: Texts
    """Pods that keep their node unless something changes."""
    may_be_stopped_by: Texts
    """Pods that keep it only if they take too long."""
    evicted_unasked: Texts
    """Pods that it evicts although this plan leaves them to a person."""
    not_judged: Texts


class HandoffResult(Printed):
    """The targets of one owner and group. nodes are emptied by the plan, in its order; kept are not, or only in part.
    group is null where the nodes have none. instead is for managed groups only."""

    owner: NodeOwner
    group: Text | None
    nodes: Texts
    kept: Texts
    arrive: tuple[_Step, ...]
    """Where new nodes come from."""
    leave: tuple[_Step, ...]
    """How the emptied nodes leave."""
    beware: Texts
    """Cautions; a sentence ends with its confidence where that is not high."""
    instead: tuple[_Option, ...]
    """Ways to replace the nodes, compared."""


# The comparison with a saved plan as a part of the plan's result; null is what a plan does not have.


_Value = Annotated[str, Meta(min_length=1)] | float | None


class _Figure(Printed):
    """One measure of both plans. change is now less baseline, null for words and where one plan has none."""

    called = {"baseline": "before"}

    what: changes.Measure
    baseline: _Value
    now: _Value
    change: float | None


class _TargetChange(Printed):
    """A node with another verdict; null where it is not a target of that plan."""

    called = {"baseline": "before.verdict", "now": "now.verdict", "why_baseline": "before.why", "why_now": "now.why"}

    name: Text
    baseline: TargetVerdict | None
    now: TargetVerdict | None
    why_baseline: Texts
    why_now: Texts


class _BudgetOutline(Printed):
    """perRound is how many of its pods may go at once."""

    verdict: BudgetVerdict
    per_round: Count


class _BudgetChange(Printed):
    """A budget (namespace/name) with another verdict or allowance; null where no pod of it is known to be on a
    target."""

    called = {"budget": "key", "baseline": "before"}

    budget: Text
    baseline: _BudgetOutline | None
    now: _BudgetOutline | None


class ComparisonResult(Printed):
    """Differences from the plan that since names; null is what a plan does not have."""

    called = {"read_only_for_baseline": "read_before", "read_only_now": "read_now"}

    read_only_for_baseline: Texts
    """Kinds that were known only when the baseline was made."""
    read_only_now: Texts
    """Kinds that are known only now."""
    figures: tuple[_Figure, ...]
    """Every measure, also those that are equal, always in this order."""
    targets: tuple[_TargetChange, ...]
    """Nodes with another verdict."""
    budgets: tuple[_BudgetChange, ...]
    """Budgets with another verdict or allowance."""
