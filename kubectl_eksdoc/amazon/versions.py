"""Kubernetes versions on EKS: version skew of nodes, minor upgrade steps, support calendar, and add-on versions.

Sources: kubernetes.io, Version Skew Policy (kubelet, kube-proxy); EKS user guide, update-cluster. Patches do not count.

The control plane is upgraded one minor at a time and never downgraded, except for one week of rollback.

Sources: EKS user guide, update-cluster and rollback-cluster; botocore 1.44.5, eks/2017-11-01 (UpdateClusterVersion,
UpdateType VersionRollback).

`Fit` and `SourcedVerdict` are the result type of all tables of upgrades.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import AddonVersions
from kubectl_eksdoc.model.kinds import Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, basis, file, records
from kubectl_eksdoc.model.quantities import Version, parse

if TYPE_CHECKING:  # a check of manifests alone must not load the AWS types
    from kubectl_eksdoc.model.eks import ClusterVersion


class Fit(str, Enum):
    """Compatibility of one version with another."""

    FITS = "fits"
    TOO_OLD = "too old"
    TOO_NEW = "too new"
    UNTESTED = "untested"  # its vendor tests other versions, and does not say that this one fails
    ABSENT = "absent"  # not installed although required
    UNKNOWN = "unknown"


@frozen
class SourcedVerdict:
    """`reason`: a clause; `source` is None only where nothing is known."""

    fit: Fit
    why: str
    source: KnowledgeSource | None = None


def minor_of(version: Version) -> Version:
    """The version without its patch."""
    return Version(version.major, version.minor)


def in_words(version: Version) -> str:
    """The version as EKS writes it, without the v: ``1.33``, ``1.33.1``."""
    return str(version)[1:]


def beyond(version: Version, read_to: Version, table: str) -> Unknown | None:
    """Unknown if `table` ends before that Kubernetes version; None if the table covers it."""
    if minor_of(version) > read_to:
        return Unknown(f"{table} ends with Kubernetes {in_words(read_to)}")
    return None


def may_be_behind(version: Version) -> int:
    """Minors that a kubelet or kube-proxy of that version may be older than the API server: two, or three from 1.25
    on; API servers of 1.28 are the first that it applies to."""
    known = basis("version-skew")
    return (basis("version-skew/older") if minor_of(version) < known.since else known).number


def kubelet_skew(control_plane: Version, kubelet: Version | None) -> SourcedVerdict:
    """Whether the API server serves this kubelet; None: its version is not known."""
    return _behind("the kubelet", control_plane, kubelet)


def kube_proxy_skew(control_plane: Version, kube_proxy: Version | None) -> SourcedVerdict:
    """Whether the API server serves this kube-proxy; None: its version is not known."""
    return _behind("kube-proxy", control_plane, kube_proxy)


def beside_kubelet(kube_proxy: Version | None, kubelet: Version | None) -> SourcedVerdict:
    """Whether a kube-proxy may run on a node with that kubelet: as many minors older or newer as the skew allows."""
    if kube_proxy is None or kubelet is None:
        return SourcedVerdict(
            Fit.UNKNOWN, f"the version of {'kube-proxy' if kube_proxy is None else 'the kubelet'} is unknown"
        )
    if kube_proxy.major != kubelet.major:
        return SourcedVerdict(Fit.UNKNOWN, "they are of different major versions")
    apart, most = kubelet.minor - kube_proxy.minor, may_be_behind(kube_proxy)
    if abs(apart) <= most:
        return SourcedVerdict(Fit.FITS, f"{_minors(abs(apart))} apart, {most} are allowed", _policy())
    fit, word = (Fit.TOO_OLD, "older") if apart > 0 else (Fit.TOO_NEW, "newer")
    return SourcedVerdict(
        fit, f"kube-proxy is {_minors(abs(apart))} {word} than the kubelet, {most} are allowed", _policy()
    )


@frozen
class AfterStep:
    """`verdict` once the control plane has `version` and all other components are unchanged."""

    version: Version
    verdict: SourcedVerdict


Rule = Callable[[Version, Version | None], SourcedVerdict]
"""`kubelet_skew` or `kube_proxy_skew`."""


def along(now: Version, steps: Sequence[Version], other: Version | None, rule: Rule) -> tuple[AfterStep, ...]:
    """The skew now, and after each of the steps of a path."""
    return tuple(AfterStep(minor_of(each), rule(each, other)) for each in (now, *steps))


def _behind(what: str, control_plane: Version, other: Version | None) -> SourcedVerdict:
    if other is None:
        return SourcedVerdict(Fit.UNKNOWN, f"the version of {what} is unknown")
    if other.major != control_plane.major:
        return SourcedVerdict(Fit.UNKNOWN, f"{what} and the control plane are of different major versions")
    behind, most = control_plane.minor - other.minor, may_be_behind(other)
    if behind < 0:
        why = f"{what} ({in_words(minor_of(other))}) is newer than the control plane"
        return SourcedVerdict(
            Fit.TOO_NEW, f"{why} ({in_words(minor_of(control_plane))}), which is never allowed", _policy()
        )
    said = f"{what} ({in_words(minor_of(other))}) is {_minors(behind)} behind, {most} are allowed"
    return SourcedVerdict(Fit.FITS if behind <= most else Fit.TOO_OLD, said, _policy())


def _policy() -> KnowledgeSource:
    return basis("version-skew").source


def _minors(number: int) -> str:
    return f"{number} minor{'' if number == 1 else 's'}"


@frozen
class NoPath:
    """`reason`: a clause."""

    why: str

    @property
    def source(self) -> KnowledgeSource:
        return basis("one-minor-at-a-time").source


def path(now: Version, target: Version) -> tuple[Version, ...] | NoPath:
    """Every version that the control plane goes through, `target` the last; none where it is at the target. Patches do
    not count: EKS chooses them."""
    here, there = minor_of(now), minor_of(target)
    if here.major != there.major:
        return NoPath(f"{in_words(there)} is another major version than {in_words(here)}")
    if there < here:
        way = "; only a rollback of a fresh upgrade goes back, by one minor" if here.minor - there.minor == 1 else ""
        return NoPath(f"{in_words(there)} is older than {in_words(here)}, and EKS upgrades only{way}")
    return tuple(Version(here.major, minor) for minor in range(here.minor + 1, there.minor + 1))


@frozen
class RollbackCondition:
    """`clause` must hold; with `doubt`, it contradicts another source."""

    clause: str
    source: KnowledgeSource
    doubt: bool = False


ROLLBACK_CONDITIONS = records(RollbackCondition, "rollback")


def rollback_for() -> timedelta:
    """How long after its end an upgrade can be rolled back."""
    return timedelta(days=basis("rollback").number)


def rollback_leaves() -> str:
    """What a rollback does not change, as a list in words."""
    return ", ".join(file("rollback")["leaves"])


def rollback_left(now: datetime, upgraded: datetime | Unknown | None) -> timedelta | Unknown:
    """How long the upgrade that ended at `upgraded_at` can still be rolled back, if all other conditions hold; 0 after
    7 days. None: EKS lists no upgrade."""
    if upgraded is None:
        return timedelta(0)
    if isinstance(upgraded, Unknown):
        return upgraded
    if now < upgraded:
        return Unknown("the upgrade ended later than now, by these clocks")
    return max(timedelta(0), upgraded + rollback_for() - now)


# Versions of add-ons: the target of an update, and the versions between.


LATEST = "latest"
_BY_MINORS = frozenset(("vpc-cni",))


def target(offered: AddonVersions, kubernetes: str, wish: str) -> str:
    """The target version: `requested`, the newest for that Kubernetes version (``latest``), or without a request the
    default of EKS; "" where there is none."""
    if wish and wish != LATEST:
        return wish
    fitting = [each for each in offered.versions if any(fit.kubernetes == kubernetes for fit in each.fits)]
    if wish == LATEST:
        return fitting[0].version if fitting else ""
    return next((each.version for each in fitting if each.is_default_for(kubernetes)), "")


def is_offered(offered: AddonVersions, kubernetes: str, version: str) -> bool:
    """Whether EKS offers the version for that Kubernetes version."""
    return any(
        each.version == version and any(fit.kubernetes == kubernetes for fit in each.fits) for each in offered.versions
    )


def offered_for(offered: AddonVersions, *kubernetes: str) -> tuple[str, ...]:
    """The versions for all of these Kubernetes versions, the newest first."""
    return tuple(
        each.version for each in offered.versions if {fit.kubernetes for fit in each.fits}.issuperset(kubernetes)
    )


def steps(addon: str, offered: AddonVersions, kubernetes: str, now: str, to: str) -> tuple[str, ...]:
    """The versions to install in turn, `target` the last: of each minor between, the newest that is offered. Only
    `target` where the add-on may skip minors, or where a version cannot be parsed."""
    old, new = parse(now), parse(to)
    if addon not in _BY_MINORS or old is None or new is None:
        return (to,)
    newest: dict[tuple[int, int], str] = {}
    for each in offered.versions:
        version = parse(each.version)
        if version is None or not is_offered(offered, kubernetes, each.version):
            continue
        if (old.major, old.minor) < (version.major, version.minor) < (new.major, new.minor):
            newest.setdefault((version.major, version.minor), each.version)
    return (*(newest[minor] for minor in sorted(newest)), to)


def on_the_way(offered: AddonVersions, kubernetes: str, now: str, to: str) -> tuple[str, ...]:
    """Every version that EKS offers for that Kubernetes version, newer than `current` and up to `target`, the oldest
    first; none where one of the two cannot be parsed."""
    old, new = parse(now), parse(to)
    if old is None or new is None:
        return ()
    known = ((parse(each.version), each.version) for each in offered.versions)
    found = [
        (version, name)
        for version, name in known
        if version is not None and old < version and not new < version and is_offered(offered, kubernetes, name)
    ]
    return tuple(name for _, name in sorted(found))


def skips_minors(addon: str, now: str, to: str) -> bool:
    """Whether `target` is further away from `current`, up or down, than AWS recommends at once."""
    old, new = parse(now), parse(to)
    if addon not in _BY_MINORS or old is None or new is None:
        return False
    return old.major != new.major or abs(old.minor - new.minor) > 1


# EKS support of a Kubernetes version: its end, what EKS does then, and the price of extended support.


HOURS_A_MONTH = 730


def prices() -> tuple[Decimal, Decimal]:
    """US dollars per hour of a cluster, in standard and in extended support: each is the full price, not a surcharge
    (from 2024-04-01)."""
    standard, extended = (basis(rule).number for rule in ("support-price", "support-price/extended"))
    return Decimal(standard).scaleb(-2), Decimal(extended).scaleb(-2)


def extra_a_month() -> Decimal:
    """US dollars that extended support adds to a month of 730 hours."""
    standard, extended = prices()
    return (extended - standard) * HOURS_A_MONTH


STANDARD_POLICY, EXTENDED_POLICY = "STANDARD", "EXTENDED"
"""``upgradePolicy.supportType``: what happens at the end of standard support, not the present billing."""

LIVE = KnowledgeSource("EKS, DescribeClusterVersions")


@frozen
class CalendarRow:
    """Days in UTC. `released`: on EKS; `upstream`: by Kubernetes, None where that was not read. `extended_ends` is None
    for versions that never had extended support."""

    version: Version
    upstream: date | None
    released: date
    standard_ends: date
    extended_ends: date | None
    source: KnowledgeSource


ROWS = records(CalendarRow, "calendar")
AS_OF = date.fromisoformat(file("calendar")["source"]["read"])
"""When the rows were read; an answer of DescribeClusterVersions is newer."""


class SupportPhase(str, Enum):
    """`EXTENDED` from the beginning of the day on which standard support ends: it is billed from then on. `ENDED` from
    the day on which the last support ends; EKS upgrades the control plane at some time after it."""

    STANDARD = "standard support"
    EXTENDED = "extended support"
    ENDED = "support has ended"


@frozen
class Support:
    """Support of one version on the day `today`. `extended_ends` is None where extended support was never offered;
    either end is None where it is not known. `as_of`: the day of the table, None for an answer of EKS itself;
    `table_reason`: why the table is used.
    """

    version: Version
    phase: SupportPhase
    today: date
    standard_ends: date | None
    extended_ends: date | None
    source: KnowledgeSource
    as_of: date | None = None
    instead: str = ""

    @property
    def standard_days(self) -> int | None:
        """Days left to the end of standard support, 0 on that day, negative after it."""
        return None if self.standard_ends is None else (self.standard_ends - self.today).days

    @property
    def extended_days(self) -> int | None:
        """Days left to the end of extended support, 0 on that day, negative after it."""
        return None if self.extended_ends is None else (self.extended_ends - self.today).days

    @property
    def extra_a_month(self) -> Decimal:
        """US dollars that the old version costs in addition, in a month of 730 hours."""
        return extra_a_month() if self.phase is SupportPhase.EXTENDED else Decimal(0)


def support(version: Version, today: date, live: Sequence[ClusterVersion] | Unknown) -> Support | Unknown:
    """The support as EKS lists it; from the table where EKS was not asked or does not list the version."""
    day = _day(today)
    if not isinstance(live, Unknown):
        told = next((each for each in live if _is(each, version)), None)
        if told is not None and (found := _as_told(version, day, told)) is not None:
            return found
    instead = live.why if isinstance(live, Unknown) else "DescribeClusterVersions does not list it"
    row = next((each for each in ROWS if each.version == minor_of(version)), None)
    if row is None:
        return Unknown(_not_listed(version, instead), live.missing if isinstance(live, Unknown) else "")
    if day < row.released:
        return Unknown(f"EKS has {in_words(row.version)} only from {row.released.isoformat()} on")
    phase = _phase(day, row.standard_ends, row.extended_ends)
    source = replace(row.source, document=f"EKS calendar of {AS_OF.isoformat()}: {row.source.document}")
    return Support(row.version, phase, day, row.standard_ends, row.extended_ends, source, AS_OF, instead)


class SupportEnd(str, Enum):
    """What EKS does at the end of support."""

    AUTO_UPGRADE = "EKS upgrades the control plane by itself; nodes stay as they are"
    EXTENDED_BILLING = "extended support begins and is billed"


@frozen
class SupportEnding:
    """`from_day`: None where the day is not known."""

    what: SupportEnd
    on: date | None
    why: str
    source: KnowledgeSource


def next_ending(of: Support, policy: str) -> SupportEnding | Unknown:
    """What EKS does next without an upgrade. `policy`: the cluster's `upgradePolicy.supportType`, "" if not known."""
    overdue, by_policy = basis("support-end/overdue").source, basis("support-end/policy").source
    if of.phase is SupportPhase.ENDED:
        last = of.extended_ends or of.standard_ends
        return SupportEnding(
            SupportEnd.AUTO_UPGRADE, last, "its last support has ended: at any time from now on", overdue
        )
    if policy not in (STANDARD_POLICY, EXTENDED_POLICY):
        return Unknown("the cluster's upgrade policy (STANDARD or EXTENDED) was not told", "eks:DescribeCluster")
    if policy == STANDARD_POLICY:
        why = "its upgrade policy is STANDARD: at the end of standard support"
        return SupportEnding(
            SupportEnd.AUTO_UPGRADE, of.standard_ends, why, by_policy if of.phase is SupportPhase.STANDARD else overdue
        )
    if of.phase is SupportPhase.STANDARD and of.extended_ends is None:
        return Unknown("whether this version gets extended support was not told", "eks:DescribeClusterVersions")
    if of.phase is SupportPhase.STANDARD:
        price = "${1} instead of ${0} for each hour, from the beginning of that day (UTC)".format(*prices())
        return SupportEnding(SupportEnd.EXTENDED_BILLING, of.standard_ends, price, by_policy)
    return SupportEnding(
        SupportEnd.AUTO_UPGRADE,
        of.extended_ends,
        "extended support ends: at any time after that day",
        basis("support-end").source,
    )


def _as_told(version: Version, day: date, told: ClusterVersion) -> Support | None:
    ends = _of(told.standard_ends), _of(told.extended_ends)
    phase = _PHASES.get(told.status) or (None if ends == (None, None) else _phase(day, *ends))
    return None if phase is None else Support(version, phase, day, *ends, LIVE)


_PHASES = {
    "STANDARD_SUPPORT": SupportPhase.STANDARD,
    "EXTENDED_SUPPORT": SupportPhase.EXTENDED,
    "UNSUPPORTED": SupportPhase.ENDED,
}


def _phase(day: date, standard: date | None, extended: date | None) -> SupportPhase:
    if standard is not None and day < standard:
        return SupportPhase.STANDARD
    if extended is not None and day < extended:
        return SupportPhase.EXTENDED
    return SupportPhase.ENDED


def _not_listed(version: Version, instead: str) -> str:
    first, last = in_words(ROWS[0].version), in_words(ROWS[-1].version)
    table = f"the calendar of {AS_OF.isoformat()} has {first} to {last} only"
    return f"nothing is known of EKS {in_words(minor_of(version))}: {instead}, and {table}"


def _is(each: ClusterVersion, version: Version) -> bool:
    found = parse(each.version)
    return found is not None and minor_of(found) == minor_of(version)


def _of(moment: datetime | None) -> date | None:
    return None if moment is None else _day(moment)


def _day(moment: date) -> date:
    """The day in UTC; a time without a zone is taken as UTC."""
    if not isinstance(moment, datetime):
        return moment
    return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()
