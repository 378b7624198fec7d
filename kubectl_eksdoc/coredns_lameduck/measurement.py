"""DNS measurement from short-lived pods: create them, change CoreDNS, read their reports, clean up.

Belongs here: the order of these steps, through ports, and parsing of the load generator's output. Never here: the
meaning of the numbers (`coredns_lameduck`), sockets, layout.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timezone
from functools import partial
from typing import Any, Protocol

from kubectl_eksdoc.errors import ClusterError, Forbidden
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.coredns import (
    KEPT,
    TRANSPORTS,
    Counts,
    DnsPod,
    DnsService,
    DnsStand,
    DnsWorkload,
    LoadReport,
    MeasuredSecond,
    MeasuredStream,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placing import NotMade, PodStand, ProbeOwner
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.pods import (
    INTERRUPTED,
    LOOK_S,
    ImdsProbeClock,
    ProbeStage,
    awaited,
    owning,
    stand_of,
)

from .measurement_findings import (
    CorednsAct,
    DnsMeasurement,
    MeasuredZone,
    moments,
    settled,
    until,
)
from .measurement_plan import (
    AFTER_S,
    BEFORE_S,
    LATE_S,
    QUESTION,
    Happening,
    MeasurementFacts,
    MeasurementSettings,
    MeasurePlan,
    owner_manifest,
    plan_measure,
    pod_manifest,
)

# CoreDNS of a cluster, as it is observed and changed during a measurement.


class Dns(Protocol):
    """Every method may raise Unauthorized or ConfigError: no further request is possible. `missing`: the right without
    which a request fails."""

    def service(self) -> DnsService | Absent | Unknown: ...

    def workload(self) -> DnsWorkload | Absent | Unknown: ...

    def stand(self) -> DnsStand | Unknown:
        """The current state; each call sends requests."""
        ...

    def restart(self, of: DnsWorkload, dry: bool = False) -> NotMade | None:
        """Restart the rollout of exactly this Deployment, as ``kubectl rollout restart`` does. None: accepted."""
        ...

    def evict(self, pod: DnsPod, dry: bool = False) -> NotMade | None:
        """Evict exactly this pod, as its budget allows (`ProbeFailure.may_retry`)."""
        ...


# Observation of CoreDNS once a second while waiting.


class _Looking:
    """Mutable: it keeps the observed states of CoreDNS. `unseen`: why the last observation is missing or incomplete.
    `interrupts`: returns how often the process was told to end; `observed_s`: time of the last observation, by the
    clock."""

    def __init__(self, dns: Dns, clock: ImdsProbeClock, told: Callable[[], int]) -> None:
        self._dns = dns
        self.clock = clock
        self._told = told
        self.stands: list[DnsStand] = []
        self.unseen = ""
        self.seen_s = 0.0

    @property
    def told(self) -> bool:
        return self._told() > 0

    @property
    def last(self) -> DnsStand | None:
        return self.stands[-1] if self.stands else None

    def look(self) -> None:
        found = self._dns.stand()
        if isinstance(found, Unknown):
            self.unseen = found.why
        else:
            self.unseen = found.serving.why if isinstance(found.serving, Unknown) else ""
            self.stands.append(found)
            self.seen_s = self.clock.monotonic()

    def until(self, holds: Callable[[], bool], longest_s: float) -> bool:
        """Wait, and return whether `condition` became true; False after an interrupt, too."""
        begun_s = self.clock.monotonic()
        while not self.told:
            self.look()
            if holds():
                return True
            left_s = longest_s - (self.clock.monotonic() - begun_s)
            if left_s <= 0:
                return False
            self.clock.sleep(min(LOOK_S, left_s))
        return False

    def for_s(self, seconds: float) -> None:
        self.until(lambda: False, seconds)


# The change of CoreDNS during the measurement, and the wait for its end.


_AGAIN_S = 5.0
"""Interval of retries after a refusal by a budget, as in kubectl drain."""


def happened(plan: MeasurePlan, dns: Dns, looking: _Looking, tell: Callable[[str], object]) -> CorednsAct:
    """Wait before the change, make it, and wait after it."""
    manner = plan.manner
    if not manner.happening.changes:
        tell(f"asking for {manner.for_s:g} s: do elsewhere what is to be measured")
        looking.for_s(BEFORE_S + manner.for_s)
        return CorednsAct(finished=True)
    looking.for_s(BEFORE_S)
    if looking.told:
        return CorednsAct()
    begun_s = looking.clock.monotonic()

    def left_s() -> float:
        return max(0.0, manner.for_s - AFTER_S - (looking.clock.monotonic() - begun_s))

    refused = _done(plan, dns, looking, left_s)
    if refused is not None:
        return CorednsAct(None, refused.why, refused.missing)
    at = looking.last.at if looking.last is not None else None
    tell(f"{_said(plan)}: until its pods have gone, and {AFTER_S:g} s more")
    # Number of pods to be Ready at the end: as many as before, but not more than the desired replicas.
    first = looking.stands[0].pods if looking.stands else ()
    there = sum((pod.ready and pod.told_at is None and not pod.ended) for pod in first)
    wanted = there if plan.workload is None else min(there, plan.workload.replicas)
    finished = looking.until(
        lambda: looking.last is not None and settled(plan.affected, looking.last, wanted), left_s()
    )
    looking.for_s(AFTER_S)
    return CorednsAct(at, finished=finished)


def _said(plan: MeasurePlan) -> str:
    if plan.manner.happening is Happening.ROLLOUT:
        return "the rollout was restarted"
    return f"{plan.affected[0].name} was evicted"


def _done(plan: MeasurePlan, dns: Dns, looking: _Looking, left_s: Callable[[], float]) -> NotMade | None:
    """Make the change; while time remains, retry after a refusal by a budget. If it is unknown whether the request was
    accepted, the pods show it soon."""
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


# Input and output of the load generator: its plan, and its log of one JSON object a line (`dns_load.exchanges`).


PROGRAM, VERSION = "eksdoc-dns-load", 1
_COUNTS = ("sent", "answered", "late", "lost", "refused", "failed", "unsure", "unsent")
_LONGEST = 300


def asked(plan: MeasurePlan) -> str:
    """The plan as JSON for the pods."""
    manner = plan.manner
    targets = [
        {"name": each.name, "address": each.address, "port": each.port, "kept": KEPT in each.transports}
        for each in plan.targets
    ]
    given = {
        "targets": targets,
        "transports": list(TRANSPORTS),
        "rate": manner.rate,
        "seconds": manner.asking_s,
        "timeout": manner.timeout_s,
        "late": LATE_S,
        "question": QUESTION,
    }
    return json.dumps(given, separators=(",", ":"))


def report_in(log: str) -> LoadReport | Unknown:
    """The report in a log, as far as it goes. Lines of other programs, such as a sidecar or a shell, are skipped; a
    last line without a line break is still being written."""
    whole, _, _ = log.rpartition("\n")
    lines = [found for line in whole.splitlines() if (found := _object(line)) is not None]
    head = next((line for line in lines if line.get("program") == PROGRAM), None)
    refused = next((str(line["error"]) for line in lines if "error" in line), "")
    if refused:
        return Unknown(f"the load generator refused its plan: {refused}")
    if head is None:
        said = " ".join(log.split())[-_LONGEST:]
        return Unknown(f"its log is none of the load generator's: {said}" if said else "its log is empty")
    if head.get("version") != VERSION:
        return Unknown(f"its log is of another version of the load generator: {head.get('version')}")
    try:
        began = datetime.fromtimestamp(float(head["began"]), timezone.utc)
        return LoadReport(began, _seconds(line for line in lines if "t" in line))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, OSError) as error:
        return Unknown(f"its log cannot be read: {type(error).__name__}: {error}")


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _seconds(lines: Iterable[dict[str, Any]]) -> dict[MeasuredStream, dict[int, MeasuredSecond]]:
    found: dict[MeasuredStream, dict[int, MeasuredSecond]] = defaultdict(dict)
    for line in lines:
        stream = MeasuredStream(str(line["to"]), str(line["by"]))
        counts = Counts(*(int(line[name]) for name in _COUNTS))
        ms = line["ms"]
        times = None if ms is None else (float(ms[0]), float(ms[1]), float(ms[2]))
        found[stream][int(line["t"])] = MeasuredSecond(counts, times, tuple(map(str, line["why"])))
    return dict(found)


# A measurement from its plan to its result.
#
# One object owns the pods (`probes.pods`), contains the load generator, and describes the intended change. Logs are
# read while the pods still send queries: they report seconds that are over, and never change.


_LOG_TRIES = 3


@frozen
class MeasurementEdges:
    """What a measurement needs from outside. `interrupts`: returns how often the process was told to end; `report`:
    called with each line of progress."""

    ground: ProbeNamespace
    dns: Dns
    clock: ImdsProbeClock
    told: Callable[[], int]
    tell: Callable[[str], object]


def prepared(
    nodes: Iterable[Node], ground: ProbeNamespace, dns: Dns, ident: str, manner: MeasurementSettings
) -> MeasurePlan:
    """Read the facts and make the plan; nothing is created.

    Raises:
        UsageError: there is nothing to measure, or the requested change is not possible.
        Forbidden, ClusterError: necessary facts cannot be read, or the cluster cannot be reached.
    """
    service, stand = dns.service(), dns.stand()
    workload = dns.workload() if manner.happening is Happening.ROLLOUT else None
    if isinstance(service, Unknown):
        raise _not_known(service)
    if isinstance(stand, Unknown):
        raise _not_known(stand)
    if isinstance(workload, Unknown):
        raise _not_known(workload)
    return plan_measure(nodes, MeasurementFacts(service, stand, workload, ground.owners()), ident, manner)


def _not_known(found: Unknown) -> ClusterError:
    if found.missing:
        return Forbidden(found.why, "Nothing was done.", found.missing)
    return ClusterError(found.why, "Nothing was done.")


def tried(plan: MeasurePlan, program: bytes, ground: ProbeNamespace, dns: Dns) -> dict[str, NotMade]:
    """What the server would refuse to create or to do, by name; nothing is created.

    Raises:
        Unauthorized, ConfigError: no request is possible.
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


def measured(plan: MeasurePlan, program: bytes, edges: MeasurementEdges) -> DnsMeasurement:
    """Run the measurement, and clean up.

    Raises:
        Forbidden, ClusterError: the first object cannot be created; nothing remains.
    """
    manifest, ground, text = owner_manifest(plan, program), edges.ground, asked(plan)
    looking = _Looking(edges.dns, edges.clock, edges.told)

    ended: list[tuple[datetime, float]] = []

    def body(owner: ProbeOwner) -> tuple[CorednsAct, dict[str, LoadReport | Unknown], float]:
        pods = {pod.name: pod_manifest(pod, plan, text, owner.uid) for pod in plan.pods}
        now = partial(_now, ground)
        found = awaited(pods, plan.ident, plan.manner.wait_s, ground, edges.clock, edges.told, now)
        heard = {name: said for name, said in found.items() if isinstance(said, Unknown)}
        running = [name for name in found if name not in heard]
        deed = CorednsAct()
        if running and not edges.told():
            edges.tell(f"{len(running)} of {len(plan.pods)} pods ask DNS")
            deed = happened(plan, edges.dns, looking, edges.tell)
            ended.extend((stand.at, looking.seen_s) for stand in looking.stands[-1:])
            looking.for_s(plan.manner.settle_s)
        return deed, heard | {name: _log(ground, name) for name in running}, edges.clock.monotonic()

    (deed, heard, read_s), cleared = owning(ground, plan.ident, manifest, plan.stale, edges.clock, edges.tell, body)
    end, end_s = ended[0] if ended else (None, read_s)
    by_zone = {pod.zone: until(heard.get(pod.name, INTERRUPTED), end, read_s - end_s) for pod in plan.pods}
    return DnsMeasurement(
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


def _now(ground: ProbeNamespace, name: str, stand: PodStand | None) -> bool | Unknown | None:
    """True: the pod sends queries."""
    if stand is not None and stand.running:
        return True
    now = stand_of(stand)
    if now is not ProbeStage.READ:
        return now if isinstance(now, Unknown) else None
    found = _log(ground, name)  # it has ended too early
    return found if isinstance(found, Unknown) else Unknown("the load generator ended before anything had happened")


def _log(ground: ProbeNamespace, name: str) -> LoadReport | Unknown:
    found: str | Unknown = Unknown("its log was not read")
    for _ in range(_LOG_TRIES):
        found = ground.log(name)
        if not isinstance(found, Unknown):
            return report_in(found)
        if found.missing:
            break
    return found if isinstance(found, Unknown) else report_in(found)
