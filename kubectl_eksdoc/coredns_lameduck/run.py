"""A change of CoreDNS that was made: whether each of its pods has taken it up.

Belongs here: what a pod's metrics and log tell of the Corefile that it runs; what of a call is not accepted.
Never here: asking pods, waiting (that is `apply`), what the change should be (that is `coredns_lameduck`).
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

# What CoreDNS tells of the Corefile that it runs, in its metrics and in its log.
#
# The metric is there only after a reload (a pod that has started since has none), and it names the sum of the new
# Corefile even where CoreDNS has refused that and goes on with the old one: only together with the count of failures
# does it say anything. The log line comes when a configuration really runs, at the start as well. Sources: coredns,
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
    """`digest`: of the Corefile that it read last, "" before any reload. `failed`: reloads that failed since it
    started."""

    digest: str
    failed: float


@frozen
class Logged:
    """By the last line that says anything: `digest` of what runs, or why the new one does not (`refused`)."""

    digest: str = ""
    refused: str = ""


def metrics_of(text: str) -> Metrics | None:
    """None: it is not what the plugin reload tells."""
    failed = _FAILED.search(text)
    if failed is None:
        return None
    versions = _VERSION.findall(text)
    return Metrics(versions[-1] if versions else "", float(failed.group(1)))


def metrics_port(text: str) -> int | None:
    """On which CoreDNS with that Corefile tells its metrics to others; None for nowhere: by default only its own pod
    hears them (plugin/metrics: localhost:9153)."""
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


# Whether a pod of CoreDNS runs the Corefile that was set.


class Taken(str, Enum):
    VERIFIED = "verified"
    NOT_YET = "not yet"
    REFUSED = "refused"  # CoreDNS goes on with the old one
    UNKNOWN = "unknown"

    @property
    def over(self) -> bool:
        """Nothing more comes of it until somebody does something."""
        return self in (Taken.VERIFIED, Taken.REFUSED)


@frozen
class ExpectedReload:
    """`sums` by which CoreDNS calls the Corefile, () where its text does not tell them. `failed`: reloads that had
    failed in each pod (``namespace/name``) before, None where that is not known; a pod that is not in there has come
    since."""

    sums: tuple[str, ...]
    failed: Mapping[str, float | None]


@frozen
class PodReload:
    """Of one pod: its metrics, and what its log says since the change."""

    metrics: str | Absent | Unknown
    log: str | Absent | Unknown


@frozen
class PodVerification:
    """`by`: who says so, "" for nobody; `why` is a clause, "" where nothing is to be explained. `missing`: the rights
    without which it is not known."""

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
    """Its metric names the new one, which it does for one that was refused as well."""
    before = wanted.failed.get(pod.key, 0.0)
    if before is None:
        why = "its metric names the new Corefile, and does so for one that was refused; how many it had refused before "
        return PodVerification(pod.key, pod.node, Taken.UNKNOWN, METRIC, f"{why}is not known", ("get pods/log",))
    if metrics.failed > before:
        why = "its count of failed reloads increased, and it keeps the old one"
        return PodVerification(pod.key, pod.node, Taken.REFUSED, METRIC, why)
    return PodVerification(pod.key, pod.node, Taken.VERIFIED, METRIC)


def _doubts(pod: Pod, told: PodReload, metrics: Metrics | None, wanted: ExpectedReload) -> list[tuple[str, str]]:
    """Why silence says nothing: its log is not had, and its metrics are not, or would not tell either."""
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
    """Of every pod, by name. `unread`: why the pods themselves are not known, a clause; `left`: why it was not looked
    at any longer though something may still come."""

    stands: tuple[PodVerification, ...]
    seconds: float
    left: str = ""
    unread: str = ""

    def of(self, taken: Taken) -> tuple[PodVerification, ...]:
        return tuple(each for each in self.stands if each.taken is taken)

    @property
    def all(self) -> bool:
        return bool(self.stands) and not self.unread and all(each.taken is Taken.VERIFIED for each in self.stands)


# What it means that pods have taken the new Corefile up, or have not.


_DEPLOYMENT = Subject("Deployment", "coredns", "kube-system")


def judged(verified: Verified | None, reloads: bool, rolled: bool = False) -> tuple[Finding, ...]:
    """`reloads`: CoreDNS looks by itself; where it does not, nobody was asked. `rolled`: its pods were made anew by the
    same change."""
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
