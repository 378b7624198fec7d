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
    TRANSPORTS,
    UDP_KEPT,
    CoreDnsDeployment,
    CoreDnsPod,
    CoreDnsState,
    DnsService,
    LoadReport,
    MeasuredSecond,
    QueryCounts,
    QueryStream,
)
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import Node
from kubectl_eksdoc.model.placement import ProbeFailure, ProbeOwner, ProbePodStatus
from kubectl_eksdoc.ports import ProbeNamespace
from kubectl_eksdoc.probes.pods import (
    INTERRUPTED,
    POLL_INTERVAL_S,
    ProbeClock,
    ProbeStage,
    probe_stage,
    run_with_owner,
    wait_for_pods,
)

from .measurement_findings import (
    CorednsAction,
    DnsMeasurement,
    MeasuredZone,
    has_settled,
    measurement_events,
    truncate_report,
)
from .measurement_plan import (
    AFTER_S,
    BEFORE_S,
    LATE_S,
    QUERY_NAME,
    MeasuredChange,
    MeasurementFacts,
    MeasurementPlan,
    MeasurementSettings,
    owner_manifest,
    plan_measurement,
    pod_manifest,
)

# CoreDNS of a cluster, as it is observed and changed during a measurement.


class CorednsAccess(Protocol):
    """Every method may raise Unauthorized or ConfigError: no further request is possible. `missing`: the right without
    which a request fails."""

    def service(self) -> DnsService | Absent | Unknown: ...

    def workload(self) -> CoreDnsDeployment | Absent | Unknown: ...

    def stand(self) -> CoreDnsState | Unknown:
        """The current state; each call sends requests."""
        ...

    def restart(self, of: CoreDnsDeployment, dry: bool = False) -> ProbeFailure | None:
        """Restart the rollout of exactly this Deployment, as ``kubectl rollout restart`` does. None: accepted."""
        ...

    def evict(self, pod: CoreDnsPod, dry: bool = False) -> ProbeFailure | None:
        """Evict exactly this pod, as its budget allows (`ProbeFailure.may_retry`)."""
        ...


# Observation of CoreDNS once a second while waiting.


class _CorednsWatcher:
    """Mutable: it keeps the observed states of CoreDNS. `unseen`: why the last observation is missing or incomplete.
    `interrupts`: returns how often the process was told to end; `observed_s`: time of the last observation, by the
    clock."""

    def __init__(self, dns: CorednsAccess, clock: ProbeClock, interrupts: Callable[[], int]) -> None:
        self._dns = dns
        self.clock = clock
        self._interrupts = interrupts
        self.states: list[CoreDnsState] = []
        self.unseen = ""
        self.observed_s = 0.0

    @property
    def is_interrupted(self) -> bool:
        return self._interrupts() > 0

    @property
    def last(self) -> CoreDnsState | None:
        return self.states[-1] if self.states else None

    def observe(self) -> None:
        state = self._dns.stand()
        if isinstance(state, Unknown):
            self.unseen = state.why
        else:
            self.unseen = state.serving.why if isinstance(state.serving, Unknown) else ""
            self.states.append(state)
            self.observed_s = self.clock.monotonic()

    def wait_until(self, condition: Callable[[], bool], max_s: float) -> bool:
        """Wait, and return whether `condition` became true; False after an interrupt, too."""
        started_s = self.clock.monotonic()
        while not self.is_interrupted:
            self.observe()
            if condition():
                return True
            remaining_s = max_s - (self.clock.monotonic() - started_s)
            if remaining_s <= 0:
                return False
            self.clock.sleep(min(POLL_INTERVAL_S, remaining_s))
        return False

    def wait_for_s(self, seconds: float) -> None:
        self.wait_until(lambda: False, seconds)


# The change of CoreDNS during the measurement, and the wait for its end.


_RETRY_S = 5.0
"""Interval of retries after a refusal by a budget, as in kubectl drain."""


def make_change(
    plan: MeasurementPlan, dns: CorednsAccess, watcher: _CorednsWatcher, report: Callable[[str], object]
) -> CorednsAction:
    """Wait before the change, make it, and wait after it."""
    settings = plan.settings
    if not settings.happening.changes:
        report(f"asking for {settings.for_s:g} s: do elsewhere what is to be measured")
        watcher.wait_for_s(BEFORE_S + settings.for_s)
        return CorednsAction(finished=True)
    watcher.wait_for_s(BEFORE_S)
    if watcher.is_interrupted:
        return CorednsAction()
    started_s = watcher.clock.monotonic()

    def left_s() -> float:
        return max(0.0, settings.for_s - AFTER_S - (watcher.clock.monotonic() - started_s))

    refusal = _change_with_retries(plan, dns, watcher, left_s)
    if refusal is not None:
        return CorednsAction(None, refusal.why, refusal.missing)
    changed_at = watcher.last.at if watcher.last is not None else None
    report(f"{_change_text(plan)}: until its pods have gone, and {AFTER_S:g} s more")
    # Number of pods to be Ready at the end: as many as before, but not more than the desired replicas.
    first_pods = watcher.states[0].pods if watcher.states else ()
    ready_before = sum((pod.ready and pod.deletion_requested_at is None and not pod.ended) for pod in first_pods)
    desired = ready_before if plan.workload is None else min(ready_before, plan.workload.replicas)
    finished = watcher.wait_until(
        lambda: watcher.last is not None and has_settled(plan.affected, watcher.last, desired), left_s()
    )
    watcher.wait_for_s(AFTER_S)
    return CorednsAction(changed_at, finished=finished)


def _change_text(plan: MeasurementPlan) -> str:
    if plan.settings.happening is MeasuredChange.ROLLOUT:
        return "the rollout was restarted"
    return f"{plan.affected[0].name} was evicted"


def _change_with_retries(
    plan: MeasurementPlan, dns: CorednsAccess, watcher: _CorednsWatcher, remaining_s: Callable[[], float]
) -> ProbeFailure | None:
    """Make the change; while time remains, retry after a refusal by a budget. If it is unknown whether the request was
    accepted, the pods show it soon."""
    while True:
        refusal = _request_change(plan, dns)
        if refusal is None or refusal.is_uncertain:
            return None
        if not refusal.may_retry or remaining_s() <= _RETRY_S or watcher.is_interrupted:
            return refusal
        watcher.wait_for_s(_RETRY_S)


def _request_change(plan: MeasurementPlan, dns: CorednsAccess) -> ProbeFailure | None:
    if plan.settings.happening is MeasuredChange.ROLLOUT:
        assert plan.workload is not None  # a plan without it cannot be made
        return dns.restart(plan.workload)
    return dns.evict(plan.affected[0])


# Input and output of the load generator: its plan, and its log of one JSON object a line (`dns_load.exchanges`).


PROGRAM, VERSION = "eksdoc-dns-load", 1
_COUNT_NAMES = ("sent", "answered", "late", "lost", "refused", "failed", "unsure", "unsent")
_MAX_TEXT = 300


def load_generator_plan(plan: MeasurementPlan) -> str:
    """The plan as JSON for the pods."""
    settings = plan.settings
    targets = [
        {"name": each.name, "address": each.address, "port": each.port, "kept": UDP_KEPT in each.transports}
        for each in plan.targets
    ]
    document = {
        "targets": targets,
        "transports": list(TRANSPORTS),
        "rate": settings.rate,
        "seconds": settings.query_s,
        "timeout": settings.timeout_s,
        "late": LATE_S,
        "question": QUERY_NAME,
    }
    return json.dumps(document, separators=(",", ":"))


def parse_report(log: str) -> LoadReport | Unknown:
    """The report in a log, as far as it goes. Lines of other programs, such as a sidecar or a shell, are skipped; a
    last line without a line break is still being written."""
    complete_lines, _, _ = log.rpartition("\n")
    lines = [document for line in complete_lines.splitlines() if (document := _json_object(line)) is not None]
    header = next((line for line in lines if line.get("program") == PROGRAM), None)
    plan_error = next((str(line["error"]) for line in lines if "error" in line), "")
    if plan_error:
        return Unknown(f"the load generator refused its plan: {plan_error}")
    if header is None:
        tail = " ".join(log.split())[-_MAX_TEXT:]
        return Unknown(f"its log is none of the load generator's: {tail}" if tail else "its log is empty")
    if header.get("version") != VERSION:
        return Unknown(f"its log is of another version of the load generator: {header.get('version')}")
    try:
        began = datetime.fromtimestamp(float(header["began"]), timezone.utc)
        return LoadReport(began, _parse_seconds(line for line in lines if "t" in line))
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, OSError) as error:
        return Unknown(f"its log cannot be read: {type(error).__name__}: {error}")


def _json_object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _parse_seconds(lines: Iterable[dict[str, Any]]) -> dict[QueryStream, dict[int, MeasuredSecond]]:
    seconds_by_stream: dict[QueryStream, dict[int, MeasuredSecond]] = defaultdict(dict)
    for line in lines:
        stream = QueryStream(str(line["to"]), str(line["by"]))
        counts = QueryCounts(*(int(line[name]) for name in _COUNT_NAMES))
        ms = line["ms"]
        times = None if ms is None else (float(ms[0]), float(ms[1]), float(ms[2]))
        seconds_by_stream[stream][int(line["t"])] = MeasuredSecond(counts, times, tuple(map(str, line["why"])))
    return dict(seconds_by_stream)


# A measurement from its plan to its result.
#
# One object owns the pods (`probes.pods`), contains the load generator, and describes the intended change. Logs are
# read while the pods still send queries: they report seconds that are over, and never change.


_LOG_TRIES = 3


@frozen
class MeasurementEdges:
    """What a measurement needs from outside. `interrupts`: returns how often the process was told to end; `report`:
    called with each line of progress."""

    probe_namespace: ProbeNamespace
    dns: CorednsAccess
    clock: ProbeClock
    interrupts: Callable[[], int]
    report: Callable[[str], object]


def prepare_measurement(
    nodes: Iterable[Node],
    probe_namespace: ProbeNamespace,
    dns: CorednsAccess,
    probe_id: str,
    settings: MeasurementSettings,
) -> MeasurementPlan:
    """Read the facts and make the plan; nothing is created.

    Raises:
        UsageError: there is nothing to measure, or the requested change is not possible.
        Forbidden, ClusterError: necessary facts cannot be read, or the cluster cannot be reached.
    """
    service, state = dns.service(), dns.stand()
    workload = dns.workload() if settings.happening is MeasuredChange.ROLLOUT else None
    if isinstance(service, Unknown):
        raise _unknown_error(service)
    if isinstance(state, Unknown):
        raise _unknown_error(state)
    if isinstance(workload, Unknown):
        raise _unknown_error(workload)
    return plan_measurement(
        nodes, MeasurementFacts(service, state, workload, probe_namespace.owners()), probe_id, settings
    )


def _unknown_error(unknown: Unknown) -> ClusterError:
    if unknown.missing:
        return Forbidden(unknown.why, "Nothing was done.", unknown.missing)
    return ClusterError(unknown.why, "Nothing was done.")


def dry_run_refusals(
    plan: MeasurementPlan, program: bytes, probe_namespace: ProbeNamespace, dns: CorednsAccess
) -> dict[str, ProbeFailure]:
    """What the server would refuse to create or to do, by name; nothing is created.

    Raises:
        Unauthorized, ConfigError: no request is possible.
    """
    load_plan = load_generator_plan(plan)
    manifest = owner_manifest(plan, program)
    owner_response = probe_namespace.create_owner(manifest, is_dry_run=True)
    responses: dict[str, object] = {str(manifest["metadata"]["name"]): owner_response}
    responses |= {
        pod.name: probe_namespace.create_pod(pod_manifest(pod, plan, load_plan), is_dry_run=True) for pod in plan.pods
    }
    if plan.settings.happening is MeasuredChange.ROLLOUT and plan.workload is not None:
        responses["deployment/coredns"] = dns.restart(plan.workload, dry=True)
    if plan.settings.happening is MeasuredChange.EVICTION:
        responses |= {f"pod/{pod.name}": dns.evict(pod, dry=True) for pod in plan.affected}
    return {name: answer for name, answer in responses.items() if isinstance(answer, ProbeFailure)}


def run_measurement(plan: MeasurementPlan, program: bytes, edges: MeasurementEdges) -> DnsMeasurement:
    """Run the measurement, and clean up.

    Raises:
        Forbidden, ClusterError: the first object cannot be created; nothing remains.
    """
    manifest, probe_namespace, load_plan = (
        owner_manifest(plan, program),
        edges.probe_namespace,
        load_generator_plan(plan),
    )
    watcher = _CorednsWatcher(edges.dns, edges.clock, edges.interrupts)

    last_states: list[tuple[datetime, float]] = []

    def body(owner: ProbeOwner) -> tuple[CorednsAction, dict[str, LoadReport | Unknown], float]:
        pods = {pod.name: pod_manifest(pod, plan, load_plan, owner.uid) for pod in plan.pods}
        outcome_of = partial(_pod_outcome, probe_namespace)
        outcomes = wait_for_pods(
            pods, plan.ident, plan.settings.wait_s, probe_namespace, edges.clock, edges.interrupts, outcome_of
        )
        failures = {name: said for name, said in outcomes.items() if isinstance(said, Unknown)}
        running = [name for name in outcomes if name not in failures]
        action = CorednsAction()
        if running and not edges.interrupts():
            edges.report(f"{len(running)} of {len(plan.pods)} pods ask DNS")
            action = make_change(plan, edges.dns, watcher, edges.report)
            last_states.extend((stand.at, watcher.observed_s) for stand in watcher.states[-1:])
            watcher.wait_for_s(plan.settings.settle_s)
        return (
            action,
            failures | {name: _read_report(probe_namespace, name) for name in running},
            edges.clock.monotonic(),
        )

    (action, reports, read_s), cleanup = run_with_owner(
        probe_namespace, plan.ident, manifest, plan.stale, edges.clock, edges.report, body
    )
    ended_at, ended_s = last_states[0] if last_states else (None, read_s)
    report_by_zone = {
        pod.zone: truncate_report(reports.get(pod.name, INTERRUPTED), ended_at, read_s - ended_s) for pod in plan.pods
    }
    return DnsMeasurement(
        tuple(MeasuredZone(zone, report_by_zone[zone.name]) for zone in plan.zones if zone.node),
        action,
        tuple(each for each in measurement_events(watcher.states) if ended_at is None or each.at <= ended_at),
        ended_at,
        watcher.unseen,
        cleanup.owner,
        cleanup.left,
        cleanup.not_removed,
        edges.interrupts() > 0,
    )


def _pod_outcome(probe_namespace: ProbeNamespace, name: str, state: ProbePodStatus | None) -> bool | Unknown | None:
    """True: the pod sends queries."""
    if state is not None and state.running:
        return True
    stage = probe_stage(state)
    if stage is not ProbeStage.READ:
        return stage if isinstance(stage, Unknown) else None
    report = _read_report(probe_namespace, name)  # it has ended too early
    return report if isinstance(report, Unknown) else Unknown("the load generator ended before anything had happened")


def _read_report(probe_namespace: ProbeNamespace, name: str) -> LoadReport | Unknown:
    log: str | Unknown = Unknown("its log was not read")
    for _ in range(_LOG_TRIES):
        log = probe_namespace.log(name)
        if not isinstance(log, Unknown):
            return parse_report(log)
        if log.missing:
            break
    return log if isinstance(log, Unknown) else parse_report(log)
