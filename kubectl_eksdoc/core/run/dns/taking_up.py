"""Whether a pod of CoreDNS runs the Corefile that was set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.run.dns.telling import Metrics, logged, metrics_of


class Taken(str, Enum):
    VERIFIED = "verified"
    NOT_YET = "not yet"
    REFUSED = "refused"  # CoreDNS goes on with the old one
    UNKNOWN = "unknown"

    @property
    def over(self) -> bool:
        """Nothing more comes of it until somebody does something."""
        return self in (Taken.VERIFIED, Taken.REFUSED)


@dataclass(frozen=True, slots=True)
class Wanted:
    """`sums` by which CoreDNS calls the Corefile, () where its text does not tell them. `failed`: reloads that had
    failed in each pod (``namespace/name``) before, None where that is not known; a pod that is not in there has come
    since."""

    sums: tuple[str, ...]
    failed: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Told:
    """Of one pod: its metrics, and what its log says since the change."""

    metrics: str | Absent | Unknown
    log: str | Absent | Unknown


@dataclass(frozen=True, slots=True)
class Stand:
    """`by`: who says so, "" for nobody; `why` is a clause, "" where nothing is to be explained. `missing`: the rights
    without which it is not known."""

    pod: str
    node: str
    taken: Taken
    by: str = ""
    why: str = ""
    missing: tuple[str, ...] = ()


METRIC, LOG = "metric coredns_reload_version_info", "log"


def stand(pod: Pod, told: Told, wanted: Wanted) -> Stand:
    def found(taken: Taken, by: str = "", why: str = "", missing: Iterable[str] = ()) -> Stand:
        return Stand(pod.key, pod.node, taken, by, why, tuple(missing))

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


def _by_metric(pod: Pod, metrics: Metrics, wanted: Wanted) -> Stand:
    """Its metric names the new one, which it does for one that was refused as well."""
    before = wanted.failed.get(pod.key, 0.0)
    if before is None:
        why = "its metric names the new Corefile, and does so for one that was refused; how many it had refused before "
        return Stand(pod.key, pod.node, Taken.UNKNOWN, METRIC, f"{why}is not known", ("get pods/log",))
    if metrics.failed > before:
        why = "its count of failed reloads went up, and it goes on with the old one"
        return Stand(pod.key, pod.node, Taken.REFUSED, METRIC, why)
    return Stand(pod.key, pod.node, Taken.VERIFIED, METRIC)


def _doubts(pod: Pod, told: Told, metrics: Metrics | None, wanted: Wanted) -> list[tuple[str, str]]:
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


@dataclass(frozen=True, slots=True)
class Verified:
    """Of every pod, by name. `unread`: why the pods themselves are not known, a clause; `left`: why it was not looked
    at any longer though something may still come."""

    stands: tuple[Stand, ...]
    seconds: float
    left: str = ""
    unread: str = ""

    def of(self, taken: Taken) -> tuple[Stand, ...]:
        return tuple(each for each in self.stands if each.taken is taken)

    @property
    def all(self) -> bool:
        return bool(self.stands) and not self.unread and all(each.taken is Taken.VERIFIED for each in self.stands)
