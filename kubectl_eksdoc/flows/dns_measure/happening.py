"""What is done to CoreDNS while DNS is asked, and waited for until it is over."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.core.model.dns_measure import DnsPod
from kubectl_eksdoc.core.model.probe_pods import NotMade
from kubectl_eksdoc.core.plan.dns.measuring.manner import AFTER_S, BEFORE_S, Happening
from kubectl_eksdoc.core.plan.dns.measuring.moments import settled
from kubectl_eksdoc.core.plan.dns.measuring.plan import MeasurePlan
from kubectl_eksdoc.core.plan.dns.measuring.result import Deed
from kubectl_eksdoc.flows.dns_measure.looking import Looking
from kubectl_eksdoc.flows.dns_measure.ports import Dns

_AGAIN_S = 5.0
"""A budget is asked again so often, as kubectl drain does."""


def happened(plan: MeasurePlan, dns: Dns, looking: Looking, tell: Callable[[str], object]) -> Deed:
    """All of it: something before, what is done, and something after."""
    manner = plan.manner
    if not manner.happening.changes:
        tell(f"asking for {manner.for_s:g} s: do elsewhere what is to be measured")
        looking.for_s(BEFORE_S + manner.for_s)
        return Deed(finished=True)
    looking.for_s(BEFORE_S)
    if looking.told:
        return Deed()
    begun_s = looking.clock.monotonic()

    def left_s() -> float:
        return max(0.0, manner.for_s - AFTER_S - (looking.clock.monotonic() - begun_s))

    refused = _done(plan, dns, looking, left_s)
    if refused is not None:
        return Deed(None, refused.why, refused.missing)
    at = looking.last.at if looking.last is not None else None
    tell(f"{_said(plan)}: until its pods have gone, and {AFTER_S:g} s more")
    wanted = _ready(plan, looking)
    finished = looking.until(
        lambda: looking.last is not None and settled(plan.affected, looking.last, wanted), left_s()
    )
    looking.for_s(AFTER_S)
    return Deed(at, finished=finished)


def _said(plan: MeasurePlan) -> str:
    if plan.manner.happening is Happening.ROLLOUT:
        return "the rollout was restarted"
    return f"{plan.affected[0].name} was evicted"


def _done(plan: MeasurePlan, dns: Dns, looking: Looking, left_s: Callable[[], float]) -> NotMade | None:
    """What a budget refuses is asked again while there is time. Of what nobody knows whether it was taken in, it is
    seen soon enough whether its pods go."""
    while True:
        refused = _asked(plan, dns)
        if refused is None or refused.maybe:
            return None
        if not refused.later or left_s() <= _AGAIN_S or looking.told:
            return refused
        looking.for_s(_AGAIN_S)


def _asked(plan: MeasurePlan, dns: Dns) -> NotMade | None:
    if plan.manner.happening is Happening.ROLLOUT:
        assert plan.workload is not None  # a plan without it cannot be made
        return dns.restart(plan.workload)
    return dns.evict(plan.affected[0])


def _ready(plan: MeasurePlan, looking: Looking) -> int:
    """How many are to be ready in the end: as many as in the beginning, and as are wanted."""
    first = looking.stands[0].pods if looking.stands else ()
    there = sum(_serves(pod) for pod in first)
    return there if plan.workload is None else min(there, plan.workload.replicas)


def _serves(pod: DnsPod) -> bool:
    return pod.ready and pod.told_at is None and not pod.ended
