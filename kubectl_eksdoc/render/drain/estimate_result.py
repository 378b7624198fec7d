"""How long a plan takes, as results print it. All times are seconds."""

from __future__ import annotations

from typing import Annotated

from kubectl_eksdoc.drain.choice import Tried
from kubectl_eksdoc.drain.duration.bounds import Bound, Scarce
from kubectl_eksdoc.drain.duration.estimate import Estimate
from kubectl_eksdoc.drain.duration.slow_nodes import Relaxation
from kubectl_eksdoc.drain.run.patience import Soak
from kubectl_eksdoc.render.drain.view import DrainView
from kubectl_eksdoc.render.result import Count, Meta, Positive, Printed, Text, Texts

Seconds = Annotated[float, Meta(ge=0)]


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


class SoakResult(Printed):
    """What a run adds to it (--soak); null where it does not wait between waves."""

    seconds: Annotated[float, Meta(gt=0)]
    """After each of the first waves; none comes after the last."""
    times: Positive
    """After how many waves."""

    @classmethod
    def of(cls, facts: Soak) -> SoakResult:
        return cls.filled(facts, seconds=rounded(facts.each_s))


class _StopTimes(Printed):
    """Of how many of the workloads earlier runs have measured how long their pods stop; of the others it is taken for
    1 s to the grace period."""

    measured: Count
    workloads: Count


class _Relaxed(Printed):
    change: Text
    seconds: Seconds
    saves: float

    @classmethod
    def of(cls, facts: Relaxation) -> _Relaxed:
        return cls.filled(facts, seconds=rounded(facts.makespan_s), saves=rounded(facts.saved_s))


class _Decides(Printed):
    """What is scarce at the pace of the estimate, and what relaxing it by one step gives; null: nothing is."""

    binding: Scarce
    subject: Text | None
    about: Text
    relax: Text
    tried: tuple[_Relaxed, ...]

    @classmethod
    def of(cls, facts: Estimate) -> _Decides:
        return cls.filled(facts.bounds[0], binding=facts.bounds[0].name, tried=facts.relaxations)


class EstimateResult(Printed):
    """Seconds from the first cordon to the last node done: in half of all cases (p50), and in 19 of 20 (p95). All other
    times are of one run that takes the p50. Where nothing was sampled (sampledRuns 0), every pod takes its own p50 in
    it, and in p95 every pod is slow at once."""

    p50: Seconds
    p95: Seconds
    sampled_runs: Count
    """How many simulated runs p50 and p95 are of; 0: nothing was sampled, see above."""
    sampled_evictions: Count
    """How many evictions each of them has: all, or of a large drain those that take longest."""
    stop_times: _StopTimes
    peak_away: Count
    """The most pods evicted and not yet replaced at one moment."""
    assumptions: Texts
    soak: SoakResult | None
    decides: _Decides | None


def estimate_of(view: DrainView) -> EstimateResult | None:
    """null when nothing is drained."""
    estimate = view.plan.estimate
    if estimate is None:
        return None
    return EstimateResult.filled(
        estimate,
        p50=rounded(estimate.p50_s),
        p95=rounded(estimate.p95_s),
        sampled_runs=estimate.runs,
        sampled_evictions=(estimate.part or len(view.evictions)) if estimate.runs else 0,
        stop_times=estimate,
        soak=view.soak,
        decides=estimate if estimate.bounds else None,
    )


class _Bound(Printed):
    binding: Scarce
    subject: Text | None
    seconds: Seconds

    @classmethod
    def of(cls, facts: Bound) -> _Bound:
        return cls.filled(facts, binding=facts.name, seconds=rounded(facts.seconds))


class LowerBoundResult(Printed):
    """No run takes less than seconds, whatever its order: pods stop at once, a replacement starts as fast as the
    fastest that was seen of its workload (at once where too few were seen). binding says what is scarce."""

    seconds: Seconds
    binding: Scarce
    subject: Text | None
    about: Text
    all: tuple[_Bound, ...]


def lower_bound_of(estimate: Estimate | None) -> LowerBoundResult | None:
    if estimate is None or not estimate.least:
        return None
    binds = estimate.least[0]
    return LowerBoundResult.filled(binds, seconds=rounded(binds.seconds), binding=binds.name, all=estimate.least)


class TriedResult(Printed):
    """An order of nodes that was tried, by name; given is that of --order-file, and light~3 the third variation of
    light. seconds is what the search simulated; the estimate is that of the plan."""

    order: Annotated[str, Meta(pattern="^(given|soonest|chain|light|efficiency|zone|name)(~[0-9]+)?$")]
    seconds: Seconds
    not_drained: Count
    """Nodes for whose pods there was no room."""

    @classmethod
    def of(cls, facts: Tried) -> TriedResult:
        return cls.filled(facts, order=facts.name, seconds=rounded(facts.makespan_s))
