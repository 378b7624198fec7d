"""A measurement of DNS from its plan to what came of it.

What it makes belongs to one object (`flows.probe_pods`), which also carries the program that asks and says what is
intended. Logs are read while the pods still ask: what they print is of seconds that are over, and never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.dns_measure import Report
from kubectl_eksdoc.core.model.nodes import Node
from kubectl_eksdoc.core.model.probe_pods import NotMade, Owner, PodStand
from kubectl_eksdoc.core.plan.dns.measuring.manner import Happening, Manner
from kubectl_eksdoc.core.plan.dns.measuring.moments import moments
from kubectl_eksdoc.core.plan.dns.measuring.plan import DnsFacts, MeasurePlan, plan_measure
from kubectl_eksdoc.core.plan.dns.measuring.pods import owner_manifest, pod_manifest
from kubectl_eksdoc.core.plan.dns.measuring.result import INTERRUPTED, Deed, Measured, MeasuredZone, until
from kubectl_eksdoc.core.plan.probe_stands import Now, stand_of, too_late
from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.flows.dns_measure.happening import happened
from kubectl_eksdoc.flows.dns_measure.looking import Looking
from kubectl_eksdoc.flows.dns_measure.ports import Dns
from kubectl_eksdoc.flows.dns_measure.reports import asked, report_in
from kubectl_eksdoc.flows.ports import ProbeGround
from kubectl_eksdoc.flows.probe_pods import LOOK_S, Clock, owning

_LOG_TRIES = 3


@dataclass(frozen=True, slots=True)
class Edges:
    """What a measurement needs of the world. `told`: how often the process was told to end; `tell` hears how far it is,
    a line each."""

    ground: ProbeGround
    dns: Dns
    clock: Clock
    told: Callable[[], int]
    tell: Callable[[str], object]


def prepared(nodes: Iterable[Node], ground: ProbeGround, dns: Dns, ident: str, manner: Manner) -> MeasurePlan:
    """Nothing is made.

    Raises:
        UsageError: there is nothing to measure, or not what is to happen to it.
        Forbidden, ClusterError: what must be known may not be read, or the cluster cannot be talked to.
    """
    service, stand = dns.service(), dns.stand()
    workload = dns.workload() if manner.happening is Happening.ROLLOUT else None
    if isinstance(service, Unknown):
        raise _not_known(service)
    if isinstance(stand, Unknown):
        raise _not_known(stand)
    if isinstance(workload, Unknown):
        raise _not_known(workload)
    return plan_measure(nodes, DnsFacts(service, stand, workload, ground.owners()), ident, manner)


def _not_known(found: Unknown) -> ClusterError:
    if found.missing:
        return Forbidden(found.why, "Nothing was done.", found.missing)
    return ClusterError(found.why, "Nothing was done.")


def tried(plan: MeasurePlan, program: bytes, ground: ProbeGround, dns: Dns) -> dict[str, NotMade]:
    """What the server would refuse to make or to do, by names; nothing is made.

    Raises:
        Unauthorized, ConfigError: nothing can be asked.
    """
    text = asked(plan)
    manifest = owner_manifest(plan, program)
    made = ground.make_owner(manifest, dry=True)
    answers: dict[str, object] = {str(manifest["metadata"]["name"]): made}
    answers |= {pod.name: ground.make_pod(pod_manifest(pod, plan, text), dry=True) for pod in plan.pods}
    if plan.manner.happening is Happening.ROLLOUT and plan.workload is not None:
        answers["deployment/coredns"] = dns.restart(plan.workload, dry=True)
    if plan.manner.happening is Happening.EVICTION:
        answers |= {f"pod/{pod.name}": dns.evict(pod, dry=True) for pod in plan.affected}
    return {name: answer for name, answer in answers.items() if isinstance(answer, NotMade)}


def measured(plan: MeasurePlan, program: bytes, edges: Edges) -> Measured:
    """
    Raises:
        Forbidden, ClusterError: not even the first object can be made; nothing is left.
    """
    manifest, ground = owner_manifest(plan, program), edges.ground
    looking = Looking(edges.dns, edges.clock, edges.told)

    ended: list[tuple[datetime, float]] = []

    def body(owner: Owner) -> tuple[Deed, dict[str, Report | Unknown], float]:
        running, heard = _running(plan, owner, edges)
        deed = Deed()
        if running and not edges.told():
            edges.tell(f"{len(running)} of {len(plan.pods)} pods ask DNS")
            deed = happened(plan, edges.dns, looking, edges.tell)
            ended.extend((stand.at, looking.seen_s) for stand in looking.stands[-1:])
            looking.for_s(plan.manner.settle_s)
        return deed, heard | {name: _log(ground, name) for name in running}, edges.clock.monotonic()

    (deed, heard, read_s), cleared = owning(ground, plan.ident, manifest, plan.stale, edges.clock, edges.tell, body)
    end, end_s = ended[0] if ended else (None, read_s)
    by_zone = {pod.zone: until(heard.get(pod.name, INTERRUPTED), end, read_s - end_s) for pod in plan.pods}
    return Measured(
        tuple(MeasuredZone(zone, by_zone[zone.name]) for zone in plan.zones if zone.node),
        deed,
        tuple(each for each in moments(looking.stands) if end is None or each.at <= end),
        end,
        looking.unseen,
        cleared.owner,
        cleared.left,
        cleared.not_removed,
        edges.told() > 0,
    )


def _running(plan: MeasurePlan, owner: Owner, edges: Edges) -> tuple[list[str], dict[str, Report | Unknown]]:
    """The pods that run and ask, by name, and of the others why they do not."""
    text, heard = asked(plan), dict[str, Report | Unknown]()
    for pod in plan.pods:
        if edges.told():
            break
        refused = edges.ground.make_pod(pod_manifest(pod, plan, text, owner.uid))
        if isinstance(refused, NotMade) and not refused.maybe:
            heard[pod.name] = Unknown(f"the pod was refused: {refused.why}", refused.missing)
    begun_s, running = edges.clock.monotonic(), list[str]()
    missing = [pod.name for pod in plan.pods if pod.name not in heard]
    stands: Mapping[str, PodStand] = {}
    while missing and not edges.told():
        found = edges.ground.stands(plan.ident)
        if isinstance(found, Unknown) and found.missing:
            return running, heard | dict.fromkeys(missing, found)
        stands = stands if isinstance(found, Unknown) else found
        waited_s = edges.clock.monotonic() - begun_s
        for name in list(missing):
            now = _now(name, stands, edges.ground, waited_s)
            if now is None:
                continue
            missing.remove(name)
            if isinstance(now, Unknown):
                heard[name] = now
            else:
                running.append(name)
        if not missing or waited_s >= plan.manner.wait_s:
            break
        edges.clock.sleep(LOOK_S)
    waited_s = edges.clock.monotonic() - begun_s
    return running, heard | {
        name: INTERRUPTED if edges.told() else too_late(stands.get(name), waited_s) for name in missing
    }


_APPEARS_S = 5.0
"""A pod of which nobody knows whether it was made may still come."""


def _now(name: str, stands: Mapping[str, PodStand], ground: ProbeGround, waited_s: float) -> bool | Unknown | None:
    """True: it asks; None: it is to be waited for."""
    stand = stands.get(name)
    if stand is None and waited_s < _APPEARS_S:
        return None
    if stand is not None and stand.running:
        return True
    now = stand_of(stand)
    if isinstance(now, Unknown):
        return now
    if now is Now.READ:  # it has ended, and should not have
        found = _log(ground, name)
        return found if isinstance(found, Unknown) else Unknown("the asker ended before anything had happened")
    return None


def _log(ground: ProbeGround, name: str) -> Report | Unknown:
    found: str | Unknown = Unknown("its log was not read")
    for _ in range(_LOG_TRIES):
        found = ground.log(name)
        if not isinstance(found, Unknown):
            return report_in(found)
        if found.missing:
            break
    return found if isinstance(found, Unknown) else report_in(found)
