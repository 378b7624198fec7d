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
from kubectl_eksdoc.model.knowledge import KnowledgeSource, knowledge_file, records, rule_basis
from kubectl_eksdoc.model.quantities import Version, parse_version

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
    reason: str
    source: KnowledgeSource | None = None


def minor_of(version: Version) -> Version:
    """The version without its patch."""
    return Version(version.major, version.minor)


def format_version(version: Version) -> str:
    """The version as EKS writes it, without the v: ``1.33``, ``1.33.1``."""
    return str(version)[1:]


def beyond_table(version: Version, last_version: Version, table: str) -> Unknown | None:
    """Unknown if `table` ends before that Kubernetes version; None if the table covers it."""
    if minor_of(version) > last_version:
        return Unknown(f"{table} ends with Kubernetes {format_version(last_version)}")
    return None


def allowed_skew(version: Version) -> int:
    """Minors that a kubelet or kube-proxy of that version may be older than the API server: two, or three from 1.25
    on; API servers of 1.28 are the first that it applies to."""
    known = rule_basis("version-skew")
    return (rule_basis("version-skew/older") if minor_of(version) < known.since else known).number


def kubelet_skew(control_plane: Version, kubelet: Version | None) -> SourcedVerdict:
    """Whether the API server serves this kubelet; None: its version is not known."""
    return _control_plane_skew("the kubelet", control_plane, kubelet)


def kube_proxy_skew(control_plane: Version, kube_proxy: Version | None) -> SourcedVerdict:
    """Whether the API server serves this kube-proxy; None: its version is not known."""
    return _control_plane_skew("kube-proxy", control_plane, kube_proxy)


def kube_proxy_kubelet_skew(kube_proxy: Version | None, kubelet: Version | None) -> SourcedVerdict:
    """Whether a kube-proxy may run on a node with that kubelet: as many minors older or newer as the skew allows."""
    if kube_proxy is None or kubelet is None:
        return SourcedVerdict(
            Fit.UNKNOWN, f"the version of {'kube-proxy' if kube_proxy is None else 'the kubelet'} is unknown"
        )
    if kube_proxy.major != kubelet.major:
        return SourcedVerdict(Fit.UNKNOWN, "they are of different major versions")
    difference, allowed = kubelet.minor - kube_proxy.minor, allowed_skew(kube_proxy)
    if abs(difference) <= allowed:
        return SourcedVerdict(Fit.FITS, f"{_minors_text(abs(difference))} apart, {allowed} are allowed", _policy())
    fit, word = (Fit.TOO_OLD, "older") if difference > 0 else (Fit.TOO_NEW, "newer")
    return SourcedVerdict(
        fit, f"kube-proxy is {_minors_text(abs(difference))} {word} than the kubelet, {allowed} are allowed", _policy()
    )


@frozen
class AfterStep:
    """`verdict` once the control plane has `version` and all other components are unchanged."""

    version: Version
    verdict: SourcedVerdict


SkewRule = Callable[[Version, Version | None], SourcedVerdict]
"""`kubelet_skew` or `kube_proxy_skew`."""


def skew_after_steps(
    current: Version, steps: Sequence[Version], component: Version | None, rule: SkewRule
) -> tuple[AfterStep, ...]:
    """The skew now, and after each of the steps of a path."""
    return tuple(AfterStep(minor_of(each), rule(each, component)) for each in (current, *steps))


def _control_plane_skew(component: str, control_plane: Version, component_version: Version | None) -> SourcedVerdict:
    if component_version is None:
        return SourcedVerdict(Fit.UNKNOWN, f"the version of {component} is unknown")
    if component_version.major != control_plane.major:
        return SourcedVerdict(Fit.UNKNOWN, f"{component} and the control plane are of different major versions")
    behind, allowed = control_plane.minor - component_version.minor, allowed_skew(component_version)
    if behind < 0:
        reason = f"{component} ({format_version(minor_of(component_version))}) is newer than the control plane"
        return SourcedVerdict(
            Fit.TOO_NEW, f"{reason} ({format_version(minor_of(control_plane))}), which is never allowed", _policy()
        )
    message = (
        f"{component} ({format_version(minor_of(component_version))}) is {_minors_text(behind)} behind, "
        f"{allowed} are allowed"
    )
    return SourcedVerdict(Fit.FITS if behind <= allowed else Fit.TOO_OLD, message, _policy())


def _policy() -> KnowledgeSource:
    return rule_basis("version-skew").source


def _minors_text(number: int) -> str:
    return f"{number} minor{'' if number == 1 else 's'}"


@frozen
class NoPath:
    """`reason`: a clause."""

    reason: str

    @property
    def source(self) -> KnowledgeSource:
        return rule_basis("one-minor-at-a-time").source


def minor_steps(current: Version, target: Version) -> tuple[Version, ...] | NoPath:
    """Every version that the control plane goes through, `target` the last; none where it is at the target. Patches do
    not count: EKS chooses them."""
    current_minor, target_minor = minor_of(current), minor_of(target)
    if current_minor.major != target_minor.major:
        return NoPath(f"{format_version(target_minor)} is another major version than {format_version(current_minor)}")
    if target_minor < current_minor:
        rollback_note = (
            "; only a rollback of a fresh upgrade goes back, by one minor"
            if current_minor.minor - target_minor.minor == 1
            else ""
        )
        return NoPath(
            f"{format_version(target_minor)} is older than {format_version(current_minor)}, and EKS upgrades "
            f"only{rollback_note}"
        )
    return tuple(
        Version(current_minor.major, minor) for minor in range(current_minor.minor + 1, target_minor.minor + 1)
    )


@frozen
class RollbackCondition:
    """`clause` must hold; with `doubt`, it contradicts another source."""

    clause: str
    source: KnowledgeSource
    doubt: bool = False


ROLLBACK_CONDITIONS = records(RollbackCondition, "rollback")


def rollback_window() -> timedelta:
    """How long after its end an upgrade can be rolled back."""
    return timedelta(days=rule_basis("rollback").number)


def unchanged_by_rollback() -> str:
    """What a rollback does not change, as a list in words."""
    return ", ".join(knowledge_file("rollback")["leaves"])


def rollback_time_left(now: datetime, upgraded_at: datetime | Unknown | None) -> timedelta | Unknown:
    """How long the upgrade that ended at `upgraded_at` can still be rolled back, if all other conditions hold; 0 from
    7 days on. None: EKS lists no upgrade."""
    if upgraded_at is None:
        return timedelta(0)
    if isinstance(upgraded_at, Unknown):
        return upgraded_at
    if now < upgraded_at:
        return Unknown("the upgrade ended later than now, by these clocks")
    return max(timedelta(0), upgraded_at + rollback_window() - now)


# Versions of add-ons: the target of an update, and the versions between.


LATEST = "latest"
_MINOR_BY_MINOR_ADDONS = frozenset(("vpc-cni",))


def target_version(offered: AddonVersions, kubernetes: str, requested: str) -> str:
    """The target version: `requested`, the newest for that Kubernetes version (``latest``), or without a request the
    default of EKS; "" where there is none."""
    if requested and requested != LATEST:
        return requested
    compatible = [each for each in offered.versions if any(fit.kubernetes == kubernetes for fit in each.fits)]
    if requested == LATEST:
        return compatible[0].version if compatible else ""
    return next((each.version for each in compatible if each.is_default_for(kubernetes)), "")


def is_offered(offered: AddonVersions, kubernetes: str, version: str) -> bool:
    """Whether EKS offers the version for that Kubernetes version."""
    return any(
        each.version == version and any(fit.kubernetes == kubernetes for fit in each.fits) for each in offered.versions
    )


def offered_for_all(offered: AddonVersions, *kubernetes: str) -> tuple[str, ...]:
    """The versions for all of these Kubernetes versions, the newest first."""
    return tuple(
        each.version for each in offered.versions if {fit.kubernetes for fit in each.fits}.issuperset(kubernetes)
    )


def update_steps(addon: str, offered: AddonVersions, kubernetes: str, current: str, target: str) -> tuple[str, ...]:
    """The versions to install in turn, `target` the last: of each minor between, the newest that is offered.
    Only `target` where the add-on may skip minors, or where a version cannot be parsed."""
    old, new = parse_version(current), parse_version(target)
    if addon not in _MINOR_BY_MINOR_ADDONS or old is None or new is None:
        return (target,)
    newest_by_minor: dict[tuple[int, int], str] = {}
    for offered_version in offered.versions:
        version = parse_version(offered_version.version)
        if version is None or not is_offered(offered, kubernetes, offered_version.version):
            continue
        if (old.major, old.minor) < (version.major, version.minor) < (new.major, new.minor):
            newest_by_minor.setdefault((version.major, version.minor), offered_version.version)
    return (*(newest_by_minor[minor] for minor in sorted(newest_by_minor)), target)


def versions_between(offered: AddonVersions, kubernetes: str, current: str, target: str) -> tuple[str, ...]:
    """Every version that EKS offers for that Kubernetes version, newer than `current` and up to `target`, the
    oldest first; none where one of the two cannot be parsed."""
    old, new = parse_version(current), parse_version(target)
    if old is None or new is None:
        return ()
    parsed = ((parse_version(each.version), each.version) for each in offered.versions)
    matching = [
        (version, name)
        for version, name in parsed
        if version is not None and old < version and not new < version and is_offered(offered, kubernetes, name)
    ]
    return tuple(name for _, name in sorted(matching))


def skips_minors(addon: str, current: str, target: str) -> bool:
    """Whether `target` is further away from `current`, up or down, than AWS recommends at once."""
    old, new = parse_version(current), parse_version(target)
    if addon not in _MINOR_BY_MINOR_ADDONS or old is None or new is None:
        return False
    return old.major != new.major or abs(old.minor - new.minor) > 1


# EKS support of a Kubernetes version: its end, what EKS does then, and the price of extended support.


HOURS_PER_MONTH = 730


def prices() -> tuple[Decimal, Decimal]:
    """US dollars per hour of a cluster, in standard and in extended support: each is the full price, not a surcharge
    (from 2024-04-01)."""
    standard, extended = (rule_basis(rule).number for rule in ("support-price", "support-price/extended"))
    return Decimal(standard).scaleb(-2), Decimal(extended).scaleb(-2)


def extended_cost_per_month() -> Decimal:
    """US dollars that extended support adds to a month of 730 hours."""
    standard, extended = prices()
    return (extended - standard) * HOURS_PER_MONTH


STANDARD_POLICY, EXTENDED_POLICY = "STANDARD", "EXTENDED"
"""``upgradePolicy.supportType``: what happens at the end of standard support, not the present billing."""

EKS_SOURCE = KnowledgeSource("EKS, DescribeClusterVersions")


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


CALENDAR = records(CalendarRow, "calendar")
CALENDAR_DATE = date.fromisoformat(knowledge_file("calendar")["source"]["read"])
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
    table_reason: str = ""

    @property
    def standard_days(self) -> int | None:
        """Days left to the end of standard support, 0 on that day, negative after it."""
        return None if self.standard_ends is None else (self.standard_ends - self.today).days

    @property
    def extended_days(self) -> int | None:
        """Days left to the end of extended support, 0 on that day, negative after it."""
        return None if self.extended_ends is None else (self.extended_ends - self.today).days

    @property
    def extra_cost_per_month(self) -> Decimal:
        """US dollars that the old version costs in addition, in a month of 730 hours."""
        return extended_cost_per_month() if self.phase is SupportPhase.EXTENDED else Decimal(0)


def support_status(
    version: Version, today: date, listed_versions: Sequence[ClusterVersion] | Unknown
) -> Support | Unknown:
    """The support as EKS lists it; from the table where EKS was not asked or does not list the version."""
    day = _utc_day(today)
    if not isinstance(listed_versions, Unknown):
        listed_version = next((each for each in listed_versions if _is_version(each, version)), None)
        if listed_version is not None and (status := _support_from_eks(version, day, listed_version)) is not None:
            return status
    table_reason = (
        listed_versions.why if isinstance(listed_versions, Unknown) else "DescribeClusterVersions does not list it"
    )
    row = next((each for each in CALENDAR if each.version == minor_of(version)), None)
    if row is None:
        return Unknown(
            _not_listed_reason(version, table_reason),
            listed_versions.missing if isinstance(listed_versions, Unknown) else "",
        )
    if day < row.released:
        return Unknown(f"EKS has {format_version(row.version)} only from {row.released.isoformat()} on")
    phase = _support_phase(day, row.standard_ends, row.extended_ends)
    source = replace(row.source, document=f"EKS calendar of {CALENDAR_DATE.isoformat()}: {row.source.document}")
    return Support(row.version, phase, day, row.standard_ends, row.extended_ends, source, CALENDAR_DATE, table_reason)


class SupportEnd(str, Enum):
    """What EKS does at the end of support."""

    AUTO_UPGRADE = "EKS upgrades the control plane by itself; nodes stay as they are"
    EXTENDED_BILLING = "extended support begins and is billed"


@frozen
class SupportEnding:
    """`from_day`: None where the day is not known."""

    effect: SupportEnd
    from_day: date | None
    reason: str
    source: KnowledgeSource


def next_support_end(support_status: Support, policy: str) -> SupportEnding | Unknown:
    """What EKS does next without an upgrade. `policy`: the cluster's `upgradePolicy.supportType`, "" if not known."""
    overdue_source, policy_source = rule_basis("support-end/overdue").source, rule_basis("support-end/policy").source
    if support_status.phase is SupportPhase.ENDED:
        last_day = support_status.extended_ends or support_status.standard_ends
        return SupportEnding(
            SupportEnd.AUTO_UPGRADE, last_day, "its last support has ended: at any time from now on", overdue_source
        )
    if policy not in (STANDARD_POLICY, EXTENDED_POLICY):
        return Unknown("the cluster's upgrade policy (STANDARD or EXTENDED) was not told", "eks:DescribeCluster")
    if policy == STANDARD_POLICY:
        reason = "its upgrade policy is STANDARD: at the end of standard support"
        return SupportEnding(
            SupportEnd.AUTO_UPGRADE,
            support_status.standard_ends,
            reason,
            policy_source if support_status.phase is SupportPhase.STANDARD else overdue_source,
        )
    if support_status.phase is SupportPhase.STANDARD and support_status.extended_ends is None:
        return Unknown("whether this version gets extended support was not told", "eks:DescribeClusterVersions")
    if support_status.phase is SupportPhase.STANDARD:
        price = "${1} instead of ${0} for each hour, from the beginning of that day (UTC)".format(*prices())
        return SupportEnding(SupportEnd.EXTENDED_BILLING, support_status.standard_ends, price, policy_source)
    return SupportEnding(
        SupportEnd.AUTO_UPGRADE,
        support_status.extended_ends,
        "extended support ends: at any time after that day",
        rule_basis("support-end").source,
    )


def _support_from_eks(version: Version, day: date, listed_version: ClusterVersion) -> Support | None:
    ends = _utc_day_or_none(listed_version.standard_ends), _utc_day_or_none(listed_version.extended_ends)
    phase = _PHASES.get(listed_version.status) or (None if ends == (None, None) else _support_phase(day, *ends))
    return None if phase is None else Support(version, phase, day, *ends, EKS_SOURCE)


_PHASES = {
    "STANDARD_SUPPORT": SupportPhase.STANDARD,
    "EXTENDED_SUPPORT": SupportPhase.EXTENDED,
    "UNSUPPORTED": SupportPhase.ENDED,
}


def _support_phase(day: date, standard_ends: date | None, extended_ends: date | None) -> SupportPhase:
    if standard_ends is not None and day < standard_ends:
        return SupportPhase.STANDARD
    if extended_ends is not None and day < extended_ends:
        return SupportPhase.EXTENDED
    return SupportPhase.ENDED


def _not_listed_reason(version: Version, table_reason: str) -> str:
    first, last = format_version(CALENDAR[0].version), format_version(CALENDAR[-1].version)
    table = f"the calendar of {CALENDAR_DATE.isoformat()} has {first} to {last} only"
    return f"nothing is known of EKS {format_version(minor_of(version))}: {table_reason}, and {table}"


def _is_version(listed_version: ClusterVersion, version: Version) -> bool:
    parsed = parse_version(listed_version.version)
    return parsed is not None and minor_of(parsed) == minor_of(version)


def _utc_day_or_none(moment: datetime | None) -> date | None:
    return None if moment is None else _utc_day(moment)


def _utc_day(moment: date) -> date:
    """The day in UTC; a time without a zone is taken as UTC."""
    if not isinstance(moment, datetime):
        return moment
    return (moment if moment.tzinfo is None else moment.astimezone(timezone.utc)).date()
