"""Verification of a CoreDNS change: whether each pod has loaded the new Corefile.

Belongs here: what a pod's metrics and log show about its Corefile, and the findings. Never here: requests to pods and
waiting (`read`), the content of the change (`change`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.corefile import parse
from kubectl_eksdoc.model.coredns import CorefileRefusal
from kubectl_eksdoc.model.findings import Finding, Subject, in_order
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.missing_rights import allow
from kubectl_eksdoc.model.nodes import Pod
from kubectl_eksdoc.model.permissions import opt_in_of

# What CoreDNS reports about its Corefile, in its metrics and its log.
#
# The metric exists only after a reload (a new pod does not have it), and it names the sum of the new Corefile even if
# CoreDNS refused that one and keeps the old one: it is only conclusive together with the count of failures. The log
# line is printed when a configuration really runs, also at the start. Sources: coredns,
# plugin/reload/{reload,metrics}.go; coremain/run.go.


_VERSION = re.compile(r'^coredns_reload_version_info\{[^}]*\bvalue="([0-9a-f]+)"[^}]*\}\s+1(?:\.0+)?\s*$', re.MULTILINE)
_FAILED = re.compile(
    r"^coredns_reload_failed_(?:total|count)(?:_total)?(?:\{[^}]*\})?\s+([0-9.eE+]+)\s*$", re.MULTILINE
)
_RUNS = re.compile(r"plugin/reload: Running configuration (?:SHA512|MD5) = ([0-9a-f]+)")
_KEEPS = (
    "plugin/reload: Corefile changed but reload failed",
    "plugin/reload: Corefile parse failed",
    "plugin/reload: Corefile load failed",
)
_LONGEST = 240
_OWN_HOST = ("", "0.0.0.0", "::", "[::]")


@frozen
class Metrics:
    """`digest`: of the Corefile that it read last, "" before any reload. `failed`: failed reloads since it started."""

    digest: str
    failed: float


@frozen
class Logged:
    """From the last relevant line: `digest` of the running Corefile, or why the new one is not used (`refused`)."""

    digest: str = ""
    refused: str = ""


def metrics_of(text: str) -> Metrics | None:
    """None: not the metrics of the reload plugin."""
    failed = _FAILED.search(text)
    if failed is None:
        return None
    versions = _VERSION.findall(text)
    return Metrics(versions[-1] if versions else "", float(failed.group(1)))


def metrics_port(text: str) -> int | None:
    """The port on which CoreDNS with that Corefile exposes its metrics to other pods; None: by default only to its own
    pod (plugin/metrics: localhost:9153)."""
    corefile = parse(text)
    if isinstance(corefile, CorefileRefusal):
        return None
    for each in corefile.directives:
        if each.name == "prometheus" and len(each.tokens) > 1:
            host, _, port = each.tokens[1].text.rpartition(":")
            if host in _OWN_HOST and port.isdigit():
                return int(port)
    return None


def logged(text: str) -> Logged:
    found = Logged()
    for line in text.splitlines():
        runs = _RUNS.search(line)
        if runs is not None:
            found = Logged(runs.group(1))
        for each in _KEEPS:
            if each in line:
                found = Logged("", line.partition(each)[2].lstrip(": ").strip()[:_LONGEST] or each)
    return found


# Whether a CoreDNS pod runs the new Corefile.


class Taken(str, Enum):
    VERIFIED = "verified"
    NOT_YET = "not yet"
    REFUSED = "refused"  # CoreDNS keeps the old one
    UNKNOWN = "unknown"

    @property
    def over(self) -> bool:
        """Whether the state stays until a user acts."""
        return self in (Taken.VERIFIED, Taken.REFUSED)


@frozen
class ExpectedReload:
    """`sums`: the sums by which CoreDNS identifies the Corefile, () where its text does not determine them. `failed`:
    failed reloads of each pod (``namespace/name``) before the change, None where unknown; other pods are newer."""

    sums: tuple[str, ...]
    failed: Mapping[str, float | None]


@frozen
class PodReload:
    """Observed on one pod: its metrics, and its log since the change."""

    metrics: str | Absent | Unknown
    log: str | Absent | Unknown


@frozen
class PodVerification:
    """`by`: the source, or ""; `why`: a clause, or "". `missing`: the rights without which the state is unknown."""

    pod: str
    node: str
    taken: Taken
    by: str = ""
    why: str = ""
    missing: tuple[str, ...] = ()


METRIC, LOG = "metric coredns_reload_version_info", "log"


def stand(pod: Pod, told: PodReload, wanted: ExpectedReload) -> PodVerification:
    def found(taken: Taken, by: str = "", why: str = "", missing: Iterable[str] = ()) -> PodVerification:
        return PodVerification(pod.key, pod.node, taken, by, why, tuple(missing))

    if not wanted.sums:
        why = "the Corefile imports files or asks the environment, so its sum, by which CoreDNS tells it, is not known"
        return found(Taken.UNKNOWN, "", why, ("the whole text of the Corefile",))
    said = logged(told.log) if isinstance(told.log, str) else None
    if said is not None and said.digest in wanted.sums:
        return found(Taken.VERIFIED, LOG)
    if said is not None and said.refused:
        return found(Taken.REFUSED, LOG, said.refused)
    metrics = metrics_of(told.metrics) if isinstance(told.metrics, str) else None
    if metrics is not None and metrics.digest in wanted.sums:
        return _by_metric(pod, metrics, wanted)
    doubts = _doubts(pod, told, metrics, wanted)
    if doubts:
        return found(Taken.UNKNOWN, "", "; ".join(why for why, _ in doubts), dict.fromkeys(m for _, m in doubts if m))
    if not pod.node or not pod.ready:
        return found(Taken.NOT_YET, "", pod.not_ready_because or "it is not Ready")
    if said is not None and said.digest:
        return found(Taken.NOT_YET, LOG, f"it runs another one ({said.digest[:12]}…)")
    return found(Taken.NOT_YET, "", "nothing of a new one so far")


def _by_metric(pod: Pod, metrics: Metrics, wanted: ExpectedReload) -> PodVerification:
    """The metric names the new Corefile, which is also the case for a refused one."""
    before = wanted.failed.get(pod.key, 0.0)
    if before is None:
        why = "its metric names the new Corefile, and does so for one that was refused; how many it had refused before "
        return PodVerification(pod.key, pod.node, Taken.UNKNOWN, METRIC, f"{why}is not known", ("get pods/log",))
    if metrics.failed > before:
        why = "its count of failed reloads increased, and it keeps the old one"
        return PodVerification(pod.key, pod.node, Taken.REFUSED, METRIC, why)
    return PodVerification(pod.key, pod.node, Taken.VERIFIED, METRIC)


def _doubts(pod: Pod, told: PodReload, metrics: Metrics | None, wanted: ExpectedReload) -> list[tuple[str, str]]:
    """Why no sign of a reload proves nothing: the log is missing, and the metrics are missing or not conclusive."""
    if isinstance(told.log, str):
        return []
    doubts = [_doubt("its log", told.log)]
    if not isinstance(told.metrics, str):
        return [*doubts, _doubt("its metrics", told.metrics)]
    if metrics is None:
        return [*doubts, ("its metrics do not tell of the plugin reload", "")]
    if pod.key not in wanted.failed and not metrics.digest:
        return [*doubts, ("its metric tells of a reload, and it has started since", "")]
    return []


def _doubt(what: str, found: Absent | Unknown) -> tuple[str, str]:
    if isinstance(found, Absent):
        return f"{what}: {found.said}", ""
    return f"{what}: {found.why}", found.missing


@frozen
class Verified:
    """The state of every pod, by name. `unread`: why the list of pods is unknown, a clause; `left`: why the check ended
    although the state may still change."""

    stands: tuple[PodVerification, ...]
    seconds: float
    left: str = ""
    unread: str = ""

    def of(self, taken: Taken) -> tuple[PodVerification, ...]:
        return tuple(each for each in self.stands if each.taken is taken)

    @property
    def all(self) -> bool:
        return bool(self.stands) and not self.unread and all(each.taken is Taken.VERIFIED for each in self.stands)


# Findings about pods that have loaded the new Corefile or not.


_DEPLOYMENT = Subject("Deployment", "coredns", "kube-system")


def judged(verified: Verified | None, reloads: bool, rolled: bool = False) -> tuple[Finding, ...]:
    """`reloads`: CoreDNS reloads by itself; otherwise no pod was asked. `recreates_pods`: the same change recreated its
    pods."""
    if not reloads:
        return (
            Finding.of(
                "dns-change-not-taken-up/made-anew",
                _DEPLOYMENT,
                ("a pod that starts reads the Corefile that its node knows then",),
            )
            if rolled
            else Finding.of(
                "dns-change-not-taken-up/restart",
                _DEPLOYMENT,
                ("pods that leave in that rollout still wait as long as the old Corefile says",),
            ),
        )
    if verified is None:
        return ()
    found = [_of_pod(each) for each in verified.stands if each.taken is not Taken.VERIFIED]
    return in_order((*found, *_of_all(verified)))


def _of_pod(stand: PodVerification) -> Finding:
    namespace, _, name = stand.pod.partition("/")
    subject = Subject("Pod", name, namespace)
    where = (f"on {stand.node}",) if stand.node else ()
    if stand.taken is Taken.REFUSED:
        return Finding.of(
            "dns-change-not-taken-up/refused", subject, where, why=stand.why, namespace=namespace, name=name
        )
    if stand.taken is Taken.NOT_YET:
        return Finding.of(
            "dns-change-not-taken-up/not-yet", subject, where, why=stand.why, namespace=namespace, name=name
        )
    return Finding.of(
        "dns-change-not-taken-up/pod-unknown",
        subject,
        where,
        remedy=tuple(allow(each) for each in stand.missing if opt_in_of(each)),
        why=stand.why,
        namespace=namespace,
        name=name,
        lacking=", ".join(stand.missing),
    )


def _of_all(verified: Verified) -> Iterator[Finding]:
    if verified.unread:
        yield Finding.of("dns-change-not-taken-up/of-all", _DEPLOYMENT, unread=verified.unread)
