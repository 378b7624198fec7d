"""Shutdown budget of CoreDNS: how long it may and should answer after SIGTERM.

The sequence is: SIGTERM, `lameduck` (it still answers), then up to five seconds until its servers are closed, and
SIGKILL at the end of the grace period, which includes the preStop hook. Sources: coredns, plugin/health/health.go
(OnFinalShutdown) and core/dnsserver/server.go (graceTimeout); EKS best practices, scalability/cluster-services
("propagating new endpoints … between 1 to 10 seconds depending on the size of the cluster").

Queries in flight at the end of lameduck are answered while the servers close, so they do not add to the lower bound.
Tested with CoreDNS 1.13.1: of queries whose answer took 3 s, those sent 0.1 s before the end of lameduck were answered.

Readiness is not part of the sum: from its deletion on, a pod is terminating in its EndpointSlices, whatever its probe
reports, and receives nothing while another endpoint is ready.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.kubernetes.corefile_plugins import (
    CorefileVerdict,
    check_corefile,
    lameduck_s,
    listen_addresses,
)
from kubectl_eksdoc.model.coredns import Corefile, CorefileError, EndpointPropagation
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version

DEFAULT_GRACE_S = 30
"""Kubernetes' default, and that of EKS' CoreDNS."""
CLOSING_S = 5
"""Longest time to close the servers after `lameduck` (graceTimeout)."""
MARGIN_S = 5
"""Kept free at both ends: the propagation time is an estimate, and a SIGKILL a second too early loses an answer (this
tool's choice)."""
CLIENT_TIMEOUT_S = 5
"""How long a client waits for an answer before it asks another server (resolv.conf(5), timeout)."""
MIN_PROPAGATION_S, MAX_PROPAGATION_S, MAX_PROPAGATION_NODES = 1, 10, 1000
"""Until every kube-proxy has removed an endpoint: the range is that of EKS' best practices; that it grows with the
number of nodes up to a thousand is an inference (confidence: low)."""


@frozen
class Shutdown:
    """Shutdown settings of CoreDNS pods, in seconds. `lameduck_s`: of all health plugins together
    (`kubernetes.corefile_plugins.lameduck_s`)."""

    grace_s: int
    pre_stop_s: int = 0
    lameduck_s: float = 0.0


@frozen
class ShutdownBudget:
    """`least_s`: propagation and the margin. `most_s`: with a longer lameduck it may be killed before its servers are
    closed; may be negative. `advised_s`: `most_s` without the margin, at least 0."""

    shutdown: Shutdown
    propagation: EndpointPropagation
    least_s: int
    most_s: int
    advised_s: int

    @property
    def has_safe_value(self) -> bool:
        """Whether a value is long enough and leaves the margin."""
        return self.least_s <= self.advised_s

    @property
    def is_too_short(self) -> bool:
        """Certainly too short: no node is updated so soon, or answers were lost after so long in a measurement."""
        shortest_s = self.propagation.seconds if self.propagation.lost else MIN_PROPAGATION_S
        return self.shutdown.lameduck_s < shortest_s

    @property
    def may_be_too_short(self) -> bool:
        return self.shutdown.lameduck_s < self.least_s

    @property
    def is_too_long(self) -> bool:
        """Whether it may be killed while its servers still close."""
        return self.shutdown.lameduck_s > self.most_s

    @property
    def is_tight(self) -> bool:
        """Whether it ends in time, with less than the margin."""
        return self.advised_s < self.shutdown.lameduck_s <= self.most_s


def propagation_s(nodes: int) -> int:
    """Longest propagation time of a cluster with this number of nodes."""
    share = min(max(nodes, 0), MAX_PROPAGATION_NODES) / MAX_PROPAGATION_NODES
    return MIN_PROPAGATION_S + math.ceil((MAX_PROPAGATION_S - MIN_PROPAGATION_S) * share)


def shutdown_budget(shutdown: Shutdown, nodes: int, measured: EndpointPropagation | None = None) -> ShutdownBudget:
    """From the measurement, if it applies to this number of nodes; otherwise from the estimate."""
    available_s = shutdown.grace_s - shutdown.pre_stop_s - CLOSING_S
    known_propagation = (
        measured if measured and measured.holds_for(nodes) else EndpointPropagation(propagation_s(nodes), nodes)
    )
    margin_s = (
        MARGIN_S if known_propagation.lost or not known_propagation.measured_at else 0
    )  # none if measured without a loss
    return ShutdownBudget(
        shutdown, known_propagation, known_propagation.seconds + margin_s, available_s, max(0, available_s - MARGIN_S)
    )


def needed_grace_s(lameduck_s: float, pre_stop_s: int = 0) -> int:
    """The grace period that `lameduck_s` needs, margin included."""
    return math.ceil(lameduck_s) + pre_stop_s + CLOSING_S + MARGIN_S


def budget_sum_text(lameduck_s: float, shutdown: Shutdown) -> str:
    """Why it fits or not: ``lameduck 30 s + closing 5 s + margin 5 s = 40 s of a grace period of 30 s``."""
    parts = [f"preStop {shutdown.pre_stop_s} s"] if shutdown.pre_stop_s else []
    parts += [f"lameduck {lameduck_s:g} s", f"closing {CLOSING_S} s", f"margin {MARGIN_S} s"]
    needed_s = needed_grace_s(lameduck_s, shutdown.pre_stop_s)
    return f"{' + '.join(parts)} = {needed_s} s of a grace period of {shutdown.grace_s} s"


# Log lines of CoreDNS about problems (knowledge/coredns_log_lines.json).


@frozen
class DnsLogSymptom:
    """`parts`: all are in such a line; `means`: a clause; `source`: the part of CoreDNS that logs it. `fatal`: CoreDNS
    exits."""

    parts: tuple[str, ...]
    means: str
    source: KnowledgeSource
    fatal: bool = False


SYMPTOMS = records(DnsLogSymptom, "coredns_log_lines")
"""The first symptom that matches a line counts."""

MAX_LOG_LINE = 240


@frozen
class LogSymptom:
    """`times`: number of matching lines of a log; `line`: the last of them."""

    symptom: DnsLogSymptom
    times: int
    line: str


def is_relevant_line(line: str) -> bool:
    """Whether the line is a symptom."""
    return bool(log_symptoms(line))


def log_symptoms(log: str) -> tuple[LogSymptom, ...]:
    """The symptoms in a log, in the order of `SYMPTOMS`."""
    lines: dict[DnsLogSymptom, list[str]] = {}
    for line in log.splitlines():
        symptom = next((each for each in SYMPTOMS if all(part in line for part in each.parts)), None)
        if symptom is not None:
            lines.setdefault(symptom, []).append(line.strip()[:MAX_LOG_LINE])
    return tuple(LogSymptom(each, len(lines[each]), lines[each][-1]) for each in SYMPTOMS if each in lines)


def merge_symptoms(symptoms_found: Iterable[LogSymptom]) -> tuple[LogSymptom, ...]:
    """The symptoms of several logs."""
    merged: dict[DnsLogSymptom, LogSymptom] = {}
    for each in symptoms_found:
        earlier = merged.get(each.symptom)
        merged[each.symptom] = (
            each if earlier is None else LogSymptom(each.symptom, earlier.times + each.times, each.line)
        )
    return tuple(merged[each] for each in SYMPTOMS if each in merged)


# A single Corefile, without a cluster: whether a version of CoreDNS accepts it, and its shutdown time.


FILE = "File"


@frozen
class CheckedCorefile:
    """`health` and `ready`: addresses, one for each block with the plugin. `lameduck_s`: None where the text does not
    determine it."""

    path: str
    version: Version
    judged: CorefileVerdict
    lameduck_s: float | None
    health: tuple[str, ...]
    ready: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def shutdown_s(self) -> float | None:
        """Longest time from SIGTERM to the end."""
        return None if self.lameduck_s is None else self.lameduck_s + CLOSING_S


def check_corefile_text(text: str, path: str, version: Version) -> CheckedCorefile:
    corefile = parse_corefile(text)
    verdict = check_corefile(corefile, version)
    if isinstance(corefile, CorefileError):
        return CheckedCorefile(path, version, verdict, None, (), (), tuple(_refusal_findings(path, version, verdict)))
    lameduck = None if corefile.imported_files else lameduck_s(corefile)
    return CheckedCorefile(
        path,
        version,
        verdict,
        lameduck,
        listen_addresses(corefile, "health", ":8080"),
        listen_addresses(corefile, "ready", ":8181"),
        (*_refusal_findings(path, version, verdict), *_shutdown_findings(path, corefile, lameduck, verdict)),
    )


def _refusal_findings(path: str, version: Version, verdict: CorefileVerdict) -> Iterator[Finding]:
    """A finding for each refusal, so that each has its line; CoreDNS stops at the first."""
    for each in verdict.refusals:
        yield Finding.of(
            "dns-corefile-refused/by-version",
            Subject(FILE, path),
            (f"{path}:{max(each.line, 1)} {each.said}",),
            version=version,
            each=each,
        )
    if verdict.doubts and not verdict.refusals:
        yield Finding.of(
            "dns-corefile-unknown/file",
            Subject(FILE, path),
            verdict.doubts[1:],
            version=version,
            doubts=verdict.doubts[0],
        )


def _shutdown_findings(
    path: str, corefile: Corefile, lameduck: float | None, verdict: CorefileVerdict
) -> Iterator[Finding]:
    if verdict.refusals:
        return
    health = next((each for block in corefile.server_blocks for each in block.directives_named("health")), None)
    location = (f"{path}:{health.line if health is not None else 1} lameduck",)
    if lameduck is None:
        yield Finding.of("dns-lameduck-unknown/ending", Subject(FILE, path), location)
        return
    allowed = shutdown_budget(Shutdown(DEFAULT_GRACE_S, lameduck_s=lameduck), 0)
    subject, advised_s = Subject(FILE, path), allowed.advised_s
    if allowed.is_too_short:
        yield Finding.of("dns-lameduck-short/file", subject, location, fastest_s=MIN_PROPAGATION_S, advised_s=advised_s)
    elif allowed.is_too_long or allowed.is_tight:
        yield Finding.of(
            "dns-lameduck-long/file-killed" if allowed.is_too_long else "dns-lameduck-long/file-margin",
            subject,
            location,
            sums=budget_sum_text(lameduck, allowed.shutdown),
            advised_s=advised_s,
        )
