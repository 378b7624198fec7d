"""Verification of a CoreDNS change: whether each pod has loaded the new Corefile.

Belongs here: what a pod's metrics and log show about its Corefile, and the findings. Never here: requests to pods and
waiting (`read`), the content of the change (`change`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse_corefile
from kubectl_eksdoc.model.coredns import CorefileError
from kubectl_eksdoc.model.findings import Finding, Subject, sort_findings
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import allow_right
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.permissions import opt_in_for

# What CoreDNS reports about its Corefile, in its metrics and its log.
#
# The metric exists only after a reload (a new pod does not have it), and it names the sum of the new Corefile even if
# CoreDNS refused that one and keeps the old one: it is only conclusive together with the count of failures. The log
# line is printed when a configuration really runs, also at the start. Sources: coredns,
# plugin/reload/{reload,metrics}.go; coremain/run.go.


_VERSION_METRIC = re.compile(
    r'^coredns_reload_version_info\{[^}]*\bvalue="([0-9a-f]+)"[^}]*\}\s+1(?:\.0+)?\s*$', re.MULTILINE
)
_FAILED_METRIC = re.compile(
    r"^coredns_reload_failed_(?:total|count)(?:_total)?(?:\{[^}]*\})?\s+([0-9.eE+]+)\s*$", re.MULTILINE
)
_RUNNING_LINE = re.compile(r"plugin/reload: Running configuration (?:SHA512|MD5) = ([0-9a-f]+)")
_FAILURE_LINES = (
    "plugin/reload: Corefile changed but reload failed",
    "plugin/reload: Corefile parse failed",
    "plugin/reload: Corefile load failed",
)
_MAX_TEXT = 240
_OWN_HOST = ("", "0.0.0.0", "::", "[::]")


@frozen
class ReloadMetrics:
    """`digest`: of the Corefile that it read last, "" before any reload. `failed`: failed reloads since it started."""

    digest: str
    failed: float


@frozen
class ReloadLog:
    """From the last relevant line: `digest` of the running Corefile, or why the new one is not used (`refused`)."""

    digest: str = ""
    refused: str = ""


def parse_metrics(text: str) -> ReloadMetrics | None:
    """None: not the metrics of the reload plugin."""
    failed = _FAILED_METRIC.search(text)
    if failed is None:
        return None
    versions = _VERSION_METRIC.findall(text)
    return ReloadMetrics(versions[-1] if versions else "", float(failed.group(1)))


def metrics_port(text: str) -> int | None:
    """The port on which CoreDNS with that Corefile exposes its metrics to other pods; None: by default only to its own
    pod (plugin/metrics: localhost:9153)."""
    corefile = parse_corefile(text)
    if isinstance(corefile, CorefileError):
        return None
    for each in corefile.directives:
        if each.name == "prometheus" and len(each.tokens) > 1:
            host, _, port = each.tokens[1].text.rpartition(":")
            if host in _OWN_HOST and port.isdigit():
                return int(port)
    return None


def parse_log(text: str) -> ReloadLog:
    log = ReloadLog()
    for line in text.splitlines():
        running = _RUNNING_LINE.search(line)
        if running is not None:
            log = ReloadLog(running.group(1))
        for each in _FAILURE_LINES:
            if each in line:
                log = ReloadLog("", line.partition(each)[2].lstrip(": ").strip()[:_MAX_TEXT] or each)
    return log


# Whether a CoreDNS pod runs the new Corefile.


class ReloadState(str, Enum):
    VERIFIED = "verified"
    NOT_YET = "not yet"
    REFUSED = "refused"  # CoreDNS keeps the old one
    UNKNOWN = "unknown"

    @property
    def is_final(self) -> bool:
        """Whether the state stays until a user acts."""
        return self in (ReloadState.VERIFIED, ReloadState.REFUSED)


@frozen
class ExpectedReload:
    """`sums`: the sums by which CoreDNS identifies the Corefile, () where its text does not determine them. `failed`:
    failed reloads of each pod (``namespace/name``) before the change, None where unknown; other pods are newer."""

    sums: tuple[str, ...]
    failed: Mapping[str, float | None]


@frozen
class ReloadObservation:
    """Observed on one pod: its metrics, and its log since the change."""

    metrics: str | Absent | Unknown
    log: str | Absent | Unknown


@frozen
class PodVerification:
    """`by`: the source, or ""; `why`: a clause, or "". `missing`: the rights without which the state is unknown."""

    pod: str
    node: str
    taken: ReloadState
    by: str = ""
    why: str = ""
    missing: tuple[str, ...] = ()


METRIC, LOG = "metric coredns_reload_version_info", "log"


def verify_pod(pod: Pod, observed: ReloadObservation, expected: ExpectedReload) -> PodVerification:
    def found(taken: ReloadState, by: str = "", why: str = "", missing: Iterable[str] = ()) -> PodVerification:
        return PodVerification(pod.key, pod.node, taken, by, why, tuple(missing))

    if not expected.sums:
        why = "the Corefile imports files or asks the environment, so its sum, by which CoreDNS tells it, is not known"
        return found(ReloadState.UNKNOWN, "", why, ("the whole text of the Corefile",))
    log = parse_log(observed.log) if isinstance(observed.log, str) else None
    if log is not None and log.digest in expected.sums:
        return found(ReloadState.VERIFIED, LOG)
    if log is not None and log.refused:
        return found(ReloadState.REFUSED, LOG, log.refused)
    metrics = parse_metrics(observed.metrics) if isinstance(observed.metrics, str) else None
    if metrics is not None and metrics.digest in expected.sums:
        return _by_metric(pod, metrics, expected)
    doubts = _doubts(pod, observed, metrics, expected)
    if doubts:
        return found(
            ReloadState.UNKNOWN, "", "; ".join(why for why, _ in doubts), dict.fromkeys(m for _, m in doubts if m)
        )
    if not pod.node or not pod.ready:
        return found(ReloadState.NOT_YET, "", pod.not_ready_because or "it is not Ready")
    if log is not None and log.digest:
        return found(ReloadState.NOT_YET, LOG, f"it runs another one ({log.digest[:12]}…)")
    return found(ReloadState.NOT_YET, "", "nothing of a new one so far")


def _by_metric(pod: Pod, metrics: ReloadMetrics, expected: ExpectedReload) -> PodVerification:
    """The metric names the new Corefile, which is also the case for a refused one."""
    failed_before = expected.failed.get(pod.key, 0.0)
    if failed_before is None:
        reason = (
            "its metric names the new Corefile, and does so for one that was refused; how many it had refused before "
        )
        return PodVerification(
            pod.key, pod.node, ReloadState.UNKNOWN, METRIC, f"{reason}is not known", ("get pods/log",)
        )
    if metrics.failed > failed_before:
        reason = "its count of failed reloads increased, and it keeps the old one"
        return PodVerification(pod.key, pod.node, ReloadState.REFUSED, METRIC, reason)
    return PodVerification(pod.key, pod.node, ReloadState.VERIFIED, METRIC)


def _doubts(
    pod: Pod, observed: ReloadObservation, metrics: ReloadMetrics | None, expected: ExpectedReload
) -> list[tuple[str, str]]:
    """Why no sign of a reload proves nothing: the log is missing, and the metrics are missing or not conclusive."""
    if isinstance(observed.log, str):
        return []
    doubts = [_doubt("its log", observed.log)]
    if not isinstance(observed.metrics, str):
        return [*doubts, _doubt("its metrics", observed.metrics)]
    if metrics is None:
        return [*doubts, ("its metrics do not tell of the plugin reload", "")]
    if pod.key not in expected.failed and not metrics.digest:
        return [*doubts, ("its metric tells of a reload, and it has started since", "")]
    return []


def _doubt(source: str, value: Absent | Unknown) -> tuple[str, str]:
    if isinstance(value, Absent):
        return f"{source}: {value.said}", ""
    return f"{source}: {value.why}", value.missing


@frozen
class VerificationResult:
    """The state of every pod, by name. `unread`: why the list of pods is unknown, a clause; `left`: why the check ended
    although the state may still change."""

    stands: tuple[PodVerification, ...]
    seconds: float
    left: str = ""
    unread: str = ""

    def in_state(self, state: ReloadState) -> tuple[PodVerification, ...]:
        return tuple(each for each in self.stands if each.taken is state)

    @property
    def all(self) -> bool:
        return bool(self.stands) and not self.unread and all(each.taken is ReloadState.VERIFIED for each in self.stands)


# Findings about pods that have loaded the new Corefile or not.


_DEPLOYMENT = Subject("Deployment", "coredns", "kube-system")


def verification_findings(
    verified: VerificationResult | None, reloads: bool, recreates_pods: bool = False
) -> tuple[Finding, ...]:
    """`reloads`: CoreDNS reloads by itself; otherwise no pod was asked. `recreates_pods`: the same change recreated its
    pods."""
    if not reloads:
        return (
            Finding.of(
                "dns-change-not-taken-up/made-anew",
                _DEPLOYMENT,
                ("a pod that starts reads the Corefile that its node knows then",),
            )
            if recreates_pods
            else Finding.of(
                "dns-change-not-taken-up/restart",
                _DEPLOYMENT,
                ("pods that leave in that rollout still wait as long as the old Corefile says",),
            ),
        )
    if verified is None:
        return ()
    pod_findings = [_pod_finding(each) for each in verified.stands if each.taken is not ReloadState.VERIFIED]
    return sort_findings((*pod_findings, *_unread_findings(verified)))


def _pod_finding(verification: PodVerification) -> Finding:
    namespace, _, name = verification.pod.partition("/")
    subject = Subject("Pod", name, namespace)
    evidence = (f"on {verification.node}",) if verification.node else ()
    if verification.taken is ReloadState.REFUSED:
        return Finding.of(
            "dns-change-not-taken-up/refused", subject, evidence, why=verification.why, namespace=namespace, name=name
        )
    if verification.taken is ReloadState.NOT_YET:
        return Finding.of(
            "dns-change-not-taken-up/not-yet", subject, evidence, why=verification.why, namespace=namespace, name=name
        )
    return Finding.of(
        "dns-change-not-taken-up/pod-unknown",
        subject,
        evidence,
        remedy=tuple(allow_right(each) for each in verification.missing if opt_in_for(each)),
        why=verification.why,
        namespace=namespace,
        name=name,
        lacking=", ".join(verification.missing),
    )


def _unread_findings(verified: VerificationResult) -> Iterator[Finding]:
    if verified.unread:
        yield Finding.of("dns-change-not-taken-up/of-all", _DEPLOYMENT, unread=verified.unread)
