"""How long CoreDNS may, and should, go on answering after it was told to end: the shutdown budget.

Its end is: SIGTERM, `lameduck` (it answers all the while), then up to five seconds until its servers are closed, and
SIGKILL when the grace period is over, in which the preStop hook is counted. Sources: coredns, plugin/health/health.go
(OnFinalShutdown) and core/dnsserver/server.go (graceTimeout); EKS best practices, scalability/cluster-services
("propagating new endpoints … between 1 to 10 seconds depending on the size of the cluster").

What is in flight when lameduck ends is answered while the servers close: it is no part of the lower bound. Held against
CoreDNS 1.13.1: of questions whose answer took 3 s, those of 0.1 s before the end of lameduck were answered.

Readiness is no part of the sum: from its deletion on a pod is terminating in its EndpointSlices, whatever it says, and
is sent nothing while another endpoint is ready.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.kubernetes.corefile_plugins import (
    JudgedCorefile,
    addresses,
    judged,
    lameduck_s,
)
from kubectl_eksdoc.model.coredns import Corefile, CorefileRefusal, Propagation
from kubectl_eksdoc.model.findings import Finding, Subject
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.quantities import Version

DEFAULT_GRACE_S = 30
"""Of a pod that names none, and of EKS' CoreDNS."""
CLOSING_S = 5
"""So long the servers may take to close after `lameduck` (graceTimeout)."""
MARGIN_S = 5
"""Kept free at both ends: the time until all nodes have heard is an estimate, and a SIGKILL a second too early loses an
answer (this tool's choice)."""
CLIENT_S = 5
"""So long a client waits for an answer before it asks somebody else (resolv.conf(5), timeout)."""
FASTEST_S, SLOWEST_S, SLOWEST_NODES = 1, 10, 1000
"""Until every kube-proxy has heard that an endpoint is gone: the range is that of EKS' best practices; that it grows
with the number of nodes up to a thousand is an inference (confidence: low)."""


@frozen
class Shutdown:
    """Of CoreDNS' pods; seconds. `lameduck_s` is that of all its health plugins together
    (`kubernetes.corefile_plugins.lameduck_s`)."""

    grace_s: int
    pre_stop_s: int = 0
    lameduck_s: float = 0.0


@frozen
class ShutdownBudget:
    """`least_s`: propagation and the margin. `most_s`: with more, it may be killed before it has closed; may be
    negative. `advised_s`: with the margin, 0 at least."""

    shutdown: Shutdown
    propagation: Propagation
    least_s: int
    most_s: int
    advised_s: int

    @property
    def fits(self) -> bool:
        """There is a value that is long enough and leaves the margin."""
        return self.least_s <= self.advised_s

    @property
    def too_short(self) -> bool:
        """For certain: no node hears of it so soon, or answers were seen to be lost after so long."""
        fastest = self.propagation.seconds if self.propagation.lost else FASTEST_S
        return self.shutdown.lameduck_s < fastest

    @property
    def maybe_short(self) -> bool:
        return self.shutdown.lameduck_s < self.least_s

    @property
    def too_long(self) -> bool:
        """It may be killed while it still closes its servers."""
        return self.shutdown.lameduck_s > self.most_s

    @property
    def tight(self) -> bool:
        """It ends in time, with less than the margin."""
        return self.advised_s < self.shutdown.lameduck_s <= self.most_s


def propagation_s(nodes: int) -> int:
    """At the worst, of a cluster of so many nodes."""
    share = min(max(nodes, 0), SLOWEST_NODES) / SLOWEST_NODES
    return FASTEST_S + math.ceil((SLOWEST_S - FASTEST_S) * share)


def budget(shutdown: Shutdown, nodes: int, measured: Propagation | None = None) -> ShutdownBudget:
    """By what was measured, where that says something about so many nodes; else by the estimate."""
    free = shutdown.grace_s - shutdown.pre_stop_s - CLOSING_S
    known = measured if measured and measured.holds_for(nodes) else Propagation(propagation_s(nodes), nodes)
    margin_s = MARGIN_S if known.lost or not known.measured_at else 0  # with a lameduck that was seen to be enough
    return ShutdownBudget(shutdown, known, known.seconds + margin_s, free, max(0, free - MARGIN_S))


def grace_for(lameduck_s: float, pre_stop_s: int = 0) -> int:
    """The grace period that so long a `lameduck` needs, the margin included."""
    return math.ceil(lameduck_s) + pre_stop_s + CLOSING_S + MARGIN_S


def arithmetic(lameduck_s: float, shutdown: Shutdown) -> str:
    """Why it fits or does not: ``lameduck 30 s + closing 5 s + margin 5 s = 40 s of a grace period of 30 s``."""
    parts = [f"preStop {shutdown.pre_stop_s} s"] if shutdown.pre_stop_s else []
    parts += [f"lameduck {lameduck_s:g} s", f"closing {CLOSING_S} s", f"margin {MARGIN_S} s"]
    needed = grace_for(lameduck_s, shutdown.pre_stop_s)
    return f"{' + '.join(parts)} = {needed} s of a grace period of {shutdown.grace_s} s"


# What CoreDNS prints when something is wrong (knowledge/coredns_log_lines.json).


@frozen
class DnsLogSymptom:
    """`parts` are all in such a line; `means` is a clause, `source` the part of CoreDNS that prints it. `fatal`:
    CoreDNS ends with it."""

    parts: tuple[str, ...]
    means: str
    source: KnowledgeSource
    fatal: bool = False


SYMPTOMS = records(DnsLogSymptom, "coredns_log_lines")
"""The first one that fits a line is what it says."""

LONGEST = 240


@frozen
class LogSymptom:
    """`times` lines of a log say so; `line` is the last of them."""

    symptom: DnsLogSymptom
    times: int
    line: str


def tells(line: str) -> bool:
    """Whether anything is read from such a line of a log."""
    return bool(symptoms(line))


def symptoms(log: str) -> tuple[LogSymptom, ...]:
    """What a log tells, in the order of `SYMPTOMS`."""
    lines: dict[DnsLogSymptom, list[str]] = {}
    for line in log.splitlines():
        found = next((each for each in SYMPTOMS if all(part in line for part in each.parts)), None)
        if found is not None:
            lines.setdefault(found, []).append(line.strip()[:LONGEST])
    return tuple(LogSymptom(each, len(lines[each]), lines[each][-1]) for each in SYMPTOMS if each in lines)


def together(seen: Iterable[LogSymptom]) -> tuple[LogSymptom, ...]:
    """Of several logs."""
    sums: dict[DnsLogSymptom, LogSymptom] = {}
    for each in seen:
        before = sums.get(each.symptom)
        sums[each.symptom] = each if before is None else LogSymptom(each.symptom, before.times + each.times, each.line)
    return tuple(sums[each] for each in SYMPTOMS if each in sums)


# A Corefile alone, without a cluster: whether a version of CoreDNS takes it, and how it would end.


FILE = "File"


@frozen
class CorefileRead:
    """`health` and `ready`: addresses, one for each block that has the plugin. `lameduck_s` is None where the text does
    not tell it."""

    path: str
    version: Version
    judged: JudgedCorefile
    lameduck_s: float | None
    health: tuple[str, ...]
    ready: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def shutdown_s(self) -> float | None:
        """From SIGTERM to the end, at most."""
        return None if self.lameduck_s is None else self.lameduck_s + CLOSING_S


def read_corefile(text: str, path: str, version: Version) -> CorefileRead:
    corefile = parse(text)
    found = judged(corefile, version)
    if isinstance(corefile, CorefileRefusal):
        return CorefileRead(path, version, found, None, (), (), tuple(_refused(path, version, found)))
    length = None if corefile.files else lameduck_s(corefile)
    return CorefileRead(
        path,
        version,
        found,
        length,
        addresses(corefile, "health", ":8080"),
        addresses(corefile, "ready", ":8181"),
        (*_refused(path, version, found), *_ending(path, corefile, length, found)),
    )


def _refused(path: str, version: Version, found: JudgedCorefile) -> Iterator[Finding]:
    """Each refusal is a finding, so that each has its line; CoreDNS stops at the first."""
    for each in found.refusals:
        yield Finding.of(
            "dns-corefile-refused/by-version",
            Subject(FILE, path),
            (f"{path}:{max(each.line, 1)} {each.said}",),
            version=version,
            each=each,
        )
    if found.doubts and not found.refusals:
        yield Finding.of(
            "dns-corefile-unknown/file", Subject(FILE, path), found.doubts[1:], version=version, doubts=found.doubts[0]
        )


def _ending(path: str, corefile: Corefile, length: float | None, found: JudgedCorefile) -> Iterator[Finding]:
    if found.refusals:
        return
    health = next((each for block in corefile.servers for each in block.named("health")), None)
    at = (f"{path}:{health.line if health is not None else 1} lameduck",)
    if length is None:
        yield Finding.of("dns-lameduck-unknown/ending", Subject(FILE, path), at)
        return
    allowed = budget(Shutdown(DEFAULT_GRACE_S, lameduck_s=length), 0)
    subject, advised_s = Subject(FILE, path), allowed.advised_s
    if allowed.too_short:
        yield Finding.of("dns-lameduck-short/file", subject, at, fastest_s=FASTEST_S, advised_s=advised_s)
    elif allowed.too_long or allowed.tight:
        yield Finding.of(
            "dns-lameduck-long/file-killed" if allowed.too_long else "dns-lameduck-long/file-margin",
            subject,
            at,
            sums=arithmetic(length, allowed.shutdown),
            advised_s=advised_s,
        )
