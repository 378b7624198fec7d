"""Recording of a snapshot: makes all requests of the reading commands beyond the lists, and records the answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from kubectl_eksdoc.addon_diff import read as addons
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest
from kubectl_eksdoc.check import read as check
from kubectl_eksdoc.check.registry import ALL, chosen
from kubectl_eksdoc.coredns_lameduck import read as dns
from kubectl_eksdoc.coredns_lameduck import shutdown
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError
from kubectl_eksdoc.imds_probe import programs
from kubectl_eksdoc.imds_probe import read as metadata
from kubectl_eksdoc.interruption import read as interruption
from kubectl_eksdoc.interruption import spot
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.api_objects import AppliedObjects, Doc, HelmRelease, KindUsage, ObjectName
from kubectl_eksdoc.model.cluster import ClusterAnswers
from kubectl_eksdoc.model.connection import CommandTarget
from kubectl_eksdoc.model.interruption import ReportedChanges, SpotEvent
from kubectl_eksdoc.model.kinds import FURTHER, NOT_ASKED, Absent, CheckNeed, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf
from kubectl_eksdoc.model.quantities import Version
from kubectl_eksdoc.session.session import ClusterSession


class AnswerCleaner(Protocol):
    """Decides which parts of an answer may be saved."""

    def document(self, of: ObjectName, doc: Doc) -> Doc | Unknown: ...

    def history(self, resource: Resource, doc: Doc) -> Doc | Unknown: ...

    def text(self, text: str) -> str: ...


class SnapshotRecorder:
    """An `ExtraReader` that passes answers on, and records the parts that may be saved. Repeated requests are sent
    once. Mutable."""

    def __init__(self, session: ClusterSession, keeper: AnswerCleaner) -> None:
        self._session = session
        self._keeper = keeper
        self._told: dict[object, Any] = {}
        self._one: dict[ObjectName, Doc | Absent | Unknown] = {}
        self._lists: dict[tuple[str, str], tuple[Doc, ...] | Unknown] = {}
        self._logs: dict[LogOf, str | Absent | Unknown] = {}
        self._metrics: dict[tuple[str, int], str | Absent | Unknown] = {}
        self._written: dict[Resource, KindUsage] = {}
        self._events: tuple[SpotEvent, ...] | Unknown = NOT_ASKED
        self._requested: tuple[str, ...] | Unknown = NOT_ASKED
        self._releases: tuple[HelmRelease, ...] | Unknown = NOT_ASKED
        self._changes = ReportedChanges()
        self._applied: dict[tuple[str, bool], AppliedObjects | Unknown] = {}

    def answers(self) -> ClusterAnswers:
        """All answers so far."""
        written = tuple(self._written[each] for each in sorted(self._written, key=lambda each: each.full_name))
        return ClusterAnswers(
            self._one,
            self._lists,
            self._logs,
            self._metrics,
            self._events,
            self._requested,
            written,
            self._releases,
            self._changes,
            self._applied,
        )

    def refused(self) -> dict[str, str]:
        """By missing right: why the answers that need it are unknown."""
        answered = self.answers()
        whole = (answered.events, answered.requested, answered.releases, answered.past.events)
        of_kinds = (each for told in answered.written for each in (told.objects, told.lacking))
        releases = () if isinstance(answered.releases, Unknown) else answered.releases
        by_name = (answered.objects, answered.histories, answered.logs, answered.metrics)
        each_one = (each for answers in by_name for each in answers.values())
        manifests = (each.manifest for each in releases)
        kinds = [
            why
            for each in answered.applied.values()
            for why in ((each,) if isinstance(each, Unknown) else each.unlisted.values())
        ]
        told = (*whole, *kinds, *of_kinds, *manifests, *answered.past.revisions.values(), *each_one)
        return {each.missing: each.why for each in told if isinstance(each, Unknown) and each.missing}

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        found: Doc | Absent | Unknown = self._once(of, lambda: self._session.objects.one(of))
        self._one[of] = self._keeper.document(of, found) if isinstance(found, dict) else found
        return found

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        self._applied[manager, others] = self._session.applied.applied_by(manager, others)
        return self._applied[manager, others]

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = self._session.histories.listed(resource, namespace)
        told = (found,) if isinstance(found, Unknown) else tuple(self._keeper.history(resource, doc) for doc in found)
        # Unknown if one of them cannot be saved: the list would be incomplete.
        lost = next((each for each in told if isinstance(each, Unknown)), None)
        self._lists[resource.full_name, namespace] = lost or tuple(each for each in told if isinstance(each, dict))
        return found

    @property
    def has_logs(self) -> bool:
        return self._session.inside.has_logs

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """The lists contain them."""
        return self._session.inside.containers(pods)

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        found = self._session.inside.logs([log for log in asked if log not in self._told])
        for log, text in found.items():
            self._told[log] = self._logs[log] = text
            if isinstance(text, str):
                # Lines that no check reads are replaced by empty lines, because programs may print anything. The number
                # of lines is kept, because it shows how much was printed since. A private key spans several lines.
                lines = self._keeper.text(text).splitlines()
                kept = (f"{line}\n" if any(read_in(line) for read_in in _READ) else "\n" for line in lines)
                self._logs[log] = "".join(kept)
        return {log: self._told[log] for log in asked}

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """Only the metrics about interruptions are saved; no check reads others."""
        found: str | Absent | Unknown = self._once((pod, port), lambda: self._session.signs.metrics(pod, port))
        lines = found.splitlines(keepends=True) if isinstance(found, str) else ()
        kept = "".join(line for line in lines if _JUDGED_METRICS in line)
        self._metrics[pod, port] = kept if isinstance(found, str) else found
        return found

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        self._events = self._once("events", self._session.signs.events)
        return self._events

    def requested(self) -> tuple[str, ...] | Unknown:
        self._requested = self._session.usage.requested()
        return self._requested

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        found = self._session.usage.written(resources)
        self._written |= {told.resource: told for told in found}
        return found

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        self._releases = self._session.usage.releases()
        return self._releases

    def told(self) -> ReportedChanges:
        found = self._session.past.told()
        events = found.events
        if not isinstance(events, Unknown):
            events = tuple(replace(each, message=self._keeper.text(each.message)) for each in events)
        self._changes = replace(found, events=events)
        return found

    def _once(self, what: object, ask: Callable[[], Any]) -> Any:
        if what not in self._told:
            self._told[what] = ask()
        return self._told[what]


_READ = (programs.tells, shutdown.tells, spot.tells)
_JUDGED_METRICS = "karpenter_interruption_"


_OF_API = frozenset((CheckNeed.API_WRITTEN,))
_NOBODYS = frozenset((CheckNeed.API_REQUESTS, CheckNeed.HELM, CheckNeed.MANIFESTS, *_OF_API))
_WISHES = (None, "", "latest")


def every_kind() -> tuple[Resource, ...]:
    """The lists that any reading command needs."""
    of_all = (
        kinds.ALL,
        addons.KINDS,
        metadata.KINDS,
        dns.KINDS,
        interruption.KINDS,
        check.kinds_for(ALL),
    )
    return tuple(dict.fromkeys(resource for read in of_all for resource in read))


def ask_check(session: ClusterSession, without: Collection[str] = (), proxied: bool = True) -> None:
    """Make the requests of ``check`` for the next version and the versions after it, and for each need alone, because a
    narrowed check requests less. `without`: opt-ins that are left out.

    Raises:
        UsageError: the version of the control plane is unknown.
        ClusterError, AwsError: no request can be made at all.
    """
    first, given = check.way_to(session, None), check.CheckInput(proxied=proxied)
    check.check_facts(session, first, chosen(without=without), CommandTarget(), check.OF_CHANGES, given)
    check.changes_told(session)
    for need in CheckNeed:
        if need not in _NOBODYS:
            check.upgrade_side(session, check.wanted_of(session, first, frozenset((need,))))
    ways = [first]
    for more in range(1, FURTHER):
        with suppress(UsageError):  # no upgrade path leads to that version
            ways.append(check.way_to(session, Version(first.target.major, first.target.minor + more)))
    for way in ways:
        check.upgrade_side(session, check.wanted_of(session, way, frozenset((CheckNeed.INSIGHTS,))))
        check.api_told(session, (), check.wanted_of(session, way, _OF_API))


def ask_addons(session: ClusterSession, left_out: Callable[[str, str], None]) -> None:
    """Make the requests of ``addon-diff`` for each add-on that EKS manages; `left_out` is called for add-ons that fail.

    Raises:
        ClusterError, AwsError: no request can be made at all.
    """
    for name in addons.addon_names(session):
        for wish in _WISHES:
            try:
                side = addons.side_of(session, name, wish)
            except (AwsDenied, AwsMissing, UsageError) as error:
                left_out(name, error.message)
                continue
            addons.versions_of(session, name, (*side.steps, *side.between))
            addons.plan_addon(session, side, AddonUpdateRequest())
        try:
            past = addons.past_of(session, name, "")
        except (AwsDenied, AwsMissing) as error:
            left_out(name, error.message)
        else:
            addons.look_back_on(session, past)
