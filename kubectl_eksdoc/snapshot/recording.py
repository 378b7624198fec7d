"""Recording of a snapshot: makes all requests of the reading commands beyond the lists, and records the answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from kubectl_eksdoc.addon_diff import read as addons
from kubectl_eksdoc.addon_diff.prediction import AddonUpdateRequest
from kubectl_eksdoc.check import read as check
from kubectl_eksdoc.check.registry import ALL_CHECKS, choose_checks
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
from kubectl_eksdoc.model.interruption import InterruptionEvent, ReportedChanges
from kubectl_eksdoc.model.kinds import MAX_UPGRADE_STEPS, NOT_REQUESTED, Absent, CheckNeed, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey
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

    def __init__(self, session: ClusterSession, cleaner: AnswerCleaner) -> None:
        self._session = session
        self._cleaner = cleaner
        self._responses: dict[object, Any] = {}
        self._objects: dict[ObjectName, Doc | Absent | Unknown] = {}
        self._lists: dict[tuple[str, str], tuple[Doc, ...] | Unknown] = {}
        self._logs: dict[LogKey, str | Absent | Unknown] = {}
        self._metrics: dict[tuple[str, int], str | Absent | Unknown] = {}
        self._usage: dict[Resource, KindUsage] = {}
        self._events: tuple[InterruptionEvent, ...] | Unknown = NOT_REQUESTED
        self._requested_kinds: tuple[str, ...] | Unknown = NOT_REQUESTED
        self._releases: tuple[HelmRelease, ...] | Unknown = NOT_REQUESTED
        self._changes = ReportedChanges()
        self._applied: dict[tuple[str, bool], AppliedObjects | Unknown] = {}

    def answers(self) -> ClusterAnswers:
        """All answers so far."""
        usage = tuple(self._usage[each] for each in sorted(self._usage, key=lambda each: each.full_name))
        return ClusterAnswers(
            self._objects,
            self._lists,
            self._logs,
            self._metrics,
            self._events,
            self._requested_kinds,
            usage,
            self._releases,
            self._changes,
            self._applied,
        )

    def refused(self) -> dict[str, str]:
        """By missing right: why the answers that need it are unknown."""
        recorded = self.answers()
        single_answers = (recorded.events, recorded.requested, recorded.releases, recorded.past.events)
        kind_answers = (each for all_answers in recorded.written for each in (all_answers.objects, all_answers.lacking))
        releases = () if isinstance(recorded.releases, Unknown) else recorded.releases
        by_name = (recorded.objects, recorded.histories, recorded.logs, recorded.metrics)
        keyed_answers = (each for answers in by_name for each in answers.values())
        manifests = (each.manifest for each in releases)
        kinds = [
            why
            for each in recorded.applied.values()
            for why in ((each,) if isinstance(each, Unknown) else each.unlisted.values())
        ]
        all_answers = (
            *single_answers,
            *kinds,
            *kind_answers,
            *manifests,
            *recorded.past.revisions.values(),
            *keyed_answers,
        )
        return {each.missing: each.why for each in all_answers if isinstance(each, Unknown) and each.missing}

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        response: Doc | Absent | Unknown = self._ask_once(of, lambda: self._session.objects.read_object(of))
        self._objects[of] = self._cleaner.document(of, response) if isinstance(response, dict) else response
        return response

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        self._applied[manager, others] = self._session.applied.applied_by(manager, others)
        return self._applied[manager, others]

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        response = self._session.histories.list_history(resource, namespace)
        cleaned = (
            (response,)
            if isinstance(response, Unknown)
            else tuple(self._cleaner.history(resource, doc) for doc in response)
        )
        # Unknown if one of them cannot be saved: the list would be incomplete.
        unknown = next((each for each in cleaned if isinstance(each, Unknown)), None)
        self._lists[resource.full_name, namespace] = unknown or tuple(
            each for each in cleaned if isinstance(each, dict)
        )
        return response

    @property
    def has_logs(self) -> bool:
        return self._session.pod_reader.has_logs

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        """The lists contain them."""
        return self._session.pod_reader.containers(pods)

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        responses = self._session.pod_reader.logs([log for log in asked if log not in self._responses])
        for log, text in responses.items():
            self._responses[log] = self._logs[log] = text
            if isinstance(text, str):
                # Lines that no check reads are replaced by empty lines, because programs may print anything. The number
                # of lines is kept, because it shows how much was printed since. A private key spans several lines.
                lines = self._cleaner.text(text).splitlines()
                kept_lines = (
                    f"{line}\n" if any(read_in(line) for read_in in _LOG_LINE_FILTERS) else "\n" for line in lines
                )
                self._logs[log] = "".join(kept_lines)
        return {log: self._responses[log] for log in asked}

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        """Only the metrics about interruptions are saved; no check reads others."""
        response: str | Absent | Unknown = self._ask_once(
            (pod, port), lambda: self._session.interruption_reader.metrics(pod, port)
        )
        lines = response.splitlines(keepends=True) if isinstance(response, str) else ()
        kept_lines = "".join(line for line in lines if _METRICS_PREFIX in line)
        self._metrics[pod, port] = kept_lines if isinstance(response, str) else response
        return response

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        self._events = self._ask_once("events", self._session.interruption_reader.events)
        return self._events

    def requested(self) -> tuple[str, ...] | Unknown:
        self._requested_kinds = self._session.api_usage.requested()
        return self._requested_kinds

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        usage = self._session.api_usage.written(resources)
        self._usage |= {told.resource: told for told in usage}
        return usage

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        self._releases = self._session.api_usage.releases()
        return self._releases

    def reported_changes(self) -> ReportedChanges:
        changes = self._session.change_reader.reported_changes()
        events = changes.events
        if not isinstance(events, Unknown):
            events = tuple(replace(each, message=self._cleaner.text(each.message)) for each in events)
        self._changes = replace(changes, events=events)
        return changes

    def _ask_once(self, key: object, request: Callable[[], Any]) -> Any:
        if key not in self._responses:
            self._responses[key] = request()
        return self._responses[key]


_LOG_LINE_FILTERS = (programs.is_known_line, shutdown.is_relevant_line, spot.is_relevant_line)
_METRICS_PREFIX = "karpenter_interruption_"


_API_NEEDS = frozenset((CheckNeed.API_WRITTEN,))
_RECORDED_NEEDS = frozenset((CheckNeed.API_REQUESTS, CheckNeed.HELM, CheckNeed.MANIFESTS, *_API_NEEDS))
_TARGET_VERSIONS = (None, "", "latest")


def all_kinds() -> tuple[Resource, ...]:
    """The lists that any reading command needs."""
    kinds_by_command = (
        kinds.ALL,
        addons.KINDS,
        metadata.KINDS,
        dns.KINDS,
        interruption.KINDS,
        check.kinds_for(ALL_CHECKS),
    )
    return tuple(dict.fromkeys(resource for read in kinds_by_command for resource in read))


def ask_check(session: ClusterSession, without: Collection[str] = (), proxied: bool = True) -> None:
    """Make the requests of ``check`` for the next version and the versions after it, and for each need alone, because a
    narrowed check requests less. `without`: opt-ins that are left out.

    Raises:
        UsageError: the version of the control plane is unknown.
        ClusterError, AwsError: no request can be made at all.
    """
    first_path, check_input = check.find_upgrade_path(session, None), check.CheckInput(read_metrics=proxied)
    check.check_facts(
        session, first_path, choose_checks(excluded=without), CommandTarget(), check.CHANGE_NEEDS, check_input
    )
    check.read_recent_changes(session)
    for need in CheckNeed:
        if need not in _RECORDED_NEEDS:
            check.read_aws_facts(session, check.build_wanted_versions(session, first_path, frozenset((need,))))
    paths = [first_path]
    for offset in range(1, MAX_UPGRADE_STEPS):
        with suppress(UsageError):  # no upgrade path leads to that version
            paths.append(
                check.find_upgrade_path(session, Version(first_path.target.major, first_path.target.minor + offset))
            )
    for path in paths:
        check.read_aws_facts(session, check.build_wanted_versions(session, path, frozenset((CheckNeed.INSIGHTS,))))
        check.read_api_usage(session, (), check.build_wanted_versions(session, path, _API_NEEDS))


def ask_addons(session: ClusterSession, left_out: Callable[[str, str], None]) -> None:
    """Make the requests of ``addon-diff`` for each add-on that EKS manages; `left_out` is called for add-ons that fail.

    Raises:
        ClusterError, AwsError: no request can be made at all.
    """
    for name in addons.addon_names(session):
        for version in _TARGET_VERSIONS:
            try:
                side = addons.read_addon(session, name, version)
            except (AwsDenied, AwsMissing, UsageError) as error:
                left_out(name, error.message)
                continue
            addons.read_versions(session, name, (*side.steps, *side.between))
            addons.plan_addon_update(session, side, AddonUpdateRequest())
        try:
            past = addons.read_past_update(session, name, "")
        except (AwsDenied, AwsMissing) as error:
            left_out(name, error.message)
        else:
            addons.review_update(session, past)
