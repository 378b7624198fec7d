"""Answers of a cluster in a snapshot besides its lists, behind the same ports as the live cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kubectl_eksdoc.amazon.removed_apis import METRIC, REMOVED_APIS
from kubectl_eksdoc.model.api_objects import (
    AppliedObjects,
    Doc,
    HelmRelease,
    KindUsage,
    ManifestText,
    ObjectName,
    WrittenObject,
)
from kubectl_eksdoc.model.cluster import ClusterAnswers
from kubectl_eksdoc.model.interruption import InterruptionEvent, KubernetesEvent, ReportedChanges, Revision
from kubectl_eksdoc.model.kinds import NOT_REQUESTED, Absent, NotInSnapshot, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogKey

from . import manifests
from .manifests import HelmRevision, has_managed_fields, written_object
from .single import SelectiveCollector, decode_object

T = TypeVar("T")

ContainerReader = Callable[[Collection[str]], Mapping[str, "tuple[Container, ...] | Absent | Unknown"]]


class SnapshotAnswerReader:
    """A `ports.ExtraReader`. `source`: ``the snapshot x``; `containers` reads the containers of pods, which are in the
    lists."""

    def __init__(self, answers: ClusterAnswers, source: str, containers: ContainerReader) -> None:
        self._answers = answers
        self._source = source
        self._containers = containers

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        return self._answers.objects.get(of) or NotInSnapshot(f"{self._source} does not hold {of} of {of.namespace}")

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        return self._answers.applied.get((manager, others), self._not_held(f"objects that {manager} has applied"))

    def list_history(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        documents = self._answers.histories.get((resource.full_name, namespace))
        not_held = NotInSnapshot(f"{self._source} does not hold {resource.plural} of namespace {namespace}")
        return not_held if documents is None else documents

    @property
    def has_logs(self) -> bool:
        return bool(self._answers.logs)

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        return self._containers(pods)

    def logs(self, asked: Collection[LogKey]) -> Mapping[LogKey, str | Absent | Unknown]:
        logs_held = self._answers.logs
        return {log: logs_held.get(log, NotInSnapshot(f"{self._source} holds no log of {log.pod}")) for log in asked}

    def events(self) -> tuple[InterruptionEvent, ...] | Unknown:
        return self._known_or_not_held(self._answers.events, "Events of nodes")

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        not_held = NotInSnapshot(f"{self._source} holds nothing of what {pod} counts (port {port})")
        return self._answers.metrics.get((pod, port), not_held)

    def requested(self) -> tuple[str, ...] | Unknown:
        return self._known_or_not_held(self._answers.requested, "counters of the API server")

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        usage_by_resource = {each.resource.full_name: each for each in self._answers.written}
        return tuple(
            usage_by_resource.get(each.full_name) or KindUsage(each, self._not_held(each.plural)) for each in resources
        )

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        return self._known_or_not_held(self._answers.releases, "releases of Helm")

    def reported_changes(self) -> ReportedChanges:
        return self._answers.past

    def _known_or_not_held(self, answer: T, description: str) -> T | Unknown:
        return self._not_held(description) if answer == NOT_REQUESTED else answer

    def _not_held(self, description: str) -> Unknown:
        return NotInSnapshot(f"{self._source} does not hold {description}")


# API usage in a dump: which clients use which API versions, kept while a reader reads it once.


_SECRET = "Secret"
_WRITE_MARKERS = (b"last-applied-configuration", b"managedFields")

_NO_MANAGED_FIELDS = "its objects have no managedFields, as kubectl get shows them with --show-managed-fields only"


class DumpApiUsage(SelectiveCollector):
    """Mutable. `source`: ``the snapshot x``; `complete`: an object that is not in it does not exist."""

    kinds = {*REMOVED_APIS.by("kind"), _SECRET}

    def __init__(self, source: str, complete: bool = False) -> None:
        super().__init__()
        self._source = source
        self._complete = complete
        self._written_objects: dict[tuple[str, str], list[WrittenObject]] = {}
        self._kinds_seen: set[tuple[str, str]] = set()
        self._kinds_with_objects: set[tuple[str, str]] = set()
        self._kinds_with_managed_fields: set[tuple[str, str]] = set()  # kinds of which one object has managedFields
        self._secrets = False
        self._metrics: tuple[str, ...] | None = None
        self._release_loaders: dict[HelmRevision, Callable[[], HelmRelease]] = {}

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind == _SECRET:
            self._secrets = True
        if resource.kind in self.kinds:
            self._kinds_seen.add((resource.group, resource.kind))
            super().add_page(resource, body)

    def forget(self, resource: Resource) -> None:
        key = resource.group, resource.kind
        self._written_objects.pop(key, None)
        for each in (self._kinds_seen, self._kinds_with_objects, self._kinds_with_managed_fields):
            each.discard(key)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        group = api_version.rpartition("/")[0]
        if kind == _SECRET and not group:
            self._add_secret(bytes(raw))
        elif kind in REMOVED_APIS.by("kind"):
            self._add_object((group, kind), api_version, bytes(raw))

    def _add_object(self, key: tuple[str, str], api_version: str, raw: bytes) -> None:
        self._kinds_seen.add(key)
        self._kinds_with_objects.add(key)
        doc = decode_object(raw) if any(marker in raw for marker in _WRITE_MARKERS) else None
        if doc is None:
            return
        if has_managed_fields(doc):
            self._kinds_with_managed_fields.add(key)
        written = written_object(doc, key[1], api_version)
        if written is not None:
            self._written_objects.setdefault(key, []).append(written)

    def _add_secret(self, raw: bytes) -> None:
        """Only Helm's Secrets are decoded, and only the data that their releases need is kept."""
        self._secrets = True
        doc = decode_object(raw) if b"helm" in raw else None
        helm_revision = None if doc is None else manifests.helm_revision(doc)
        if doc is not None and helm_revision is not None and doc.get("type") == manifests.HELM_SECRET_TYPE:
            secret_document = doc  # decoded once the current revisions are known
            self._release_loaders[helm_revision] = lambda: manifests.helm_release(helm_revision, secret_document)

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        """For each resource; one without any object in the dump is unknown, unless the dump is `complete`."""
        return tuple(map(self._kind_usage, resources))

    def _kind_usage(self, resource: Resource) -> KindUsage:
        key = resource.group, resource.kind
        if key not in self._kinds_seen:
            not_held = NotInSnapshot(f"{self._source} holds no {resource.plural}")
            return KindUsage(resource, () if self._complete else not_held)
        objects = tuple(self._written_objects.get(key, ()))
        lacks_managed_fields = (
            key in self._kinds_with_objects and key not in self._kinds_with_managed_fields and not self._complete
        )
        return KindUsage(
            resource, objects, Unknown(f"in {self._source} {_NO_MANAGED_FIELDS}") if lacks_managed_fields else None
        )

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        """The Helm releases, each in its current revision."""
        if not self._secrets and not self._complete:
            return NotInSnapshot(f"{self._source} holds no Secrets, in which Helm keeps its releases")
        return tuple(self._release_loaders[each]() for each in manifests.current_revisions(self._release_loaders))

    def add_metrics(self, metrics: str) -> None:
        """Keep an API server's answer to ``/metrics``."""
        self._metrics = tuple(line for line in metrics.splitlines() if METRIC in line and not line.startswith("#"))

    def requested(self) -> tuple[str, ...] | Unknown:
        """As `ApiUsage.requested`; a dump of objects never has it."""
        if self._metrics is None:
            return NotInSnapshot(f"{self._source} holds nothing of what the API server has counted")
        return self._metrics


# Answers of a cluster besides its lists, as the JSON of a snapshot.
#
# Shape: every answer is ``{"known": …}``, ``{"absent": "…"}`` or ``{"unknown": "…", "missing": "…"}``; an answer whose
# key has several parts is in a list of ``{"of": …, "said": …}``.


KIND, VERSION = "ClusterAnswers", 1


class InvalidAnswers(ValueError):
    """The text contains no answers of a cluster, or those of another version; the message says which."""


def write_answers(answers: ClusterAnswers) -> bytes:
    """Sorted: equal answers give equal bytes."""
    body = {
        "kind": KIND,
        "version": VERSION,
        "objects": _mapping_to_json(answers.objects, _answer_to_json),
        "histories": _mapping_to_json(answers.histories, _answer_to_json),
        "logs": _mapping_to_json(answers.logs, _answer_to_json),
        "metrics": _mapping_to_json(answers.metrics, _answer_to_json),
        "events": _answer_to_json(answers.events),
        "requested": _answer_to_json(answers.requested),
        "written": [_kind_usage_to_json(each) for each in answers.written],
        "releases": _releases_to_json(answers.releases),
        "revisions": {kind: _answer_to_json(each) for kind, each in sorted(answers.past.revisions.items())},
        "happened": _answer_to_json(answers.past.events),
        "applied": _mapping_to_json(answers.applied, _applied_to_json),
    }
    return msgspec.json.encode(body)


def read_answers(text: bytes) -> ClusterAnswers:
    """Parse the answers.

    Raises:
        InvalidAnswers: they are not valid.
    """
    try:
        body = msgspec.json.decode(text)
        if body["kind"] != KIND or body["version"] != VERSION:
            raise InvalidAnswers(f"it is {str(body['kind'])[:80]!r} of version {str(body['version'])[:20]!r}")
        return _parse_answers(body)
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise (
            error if isinstance(error, InvalidAnswers) else InvalidAnswers(f"{type(error).__name__}: {error}")
        ) from error


def _parse_answers(body: Any) -> ClusterAnswers:
    return ClusterAnswers(
        _mapping_from_json(body["objects"], ObjectName, _as_document),
        _mapping_from_json(body["histories"], tuple[str, str], _converter_to_tuple(dict[str, Any])),
        _mapping_from_json(body["logs"], LogKey, _converter_to(str)),
        _mapping_from_json(body["metrics"], tuple[str, int], _converter_to(str)),
        _answer_from_json(body["events"], _converter_to_tuple(InterruptionEvent)),
        _answer_from_json(body["requested"], _converter_to_tuple(str)),
        tuple(map(_kind_usage_from_json, body["written"])),
        _answer_from_json(body["releases"], lambda given: tuple(map(_release_from_json, given))),
        ReportedChanges(
            {kind: _answer_from_json(each, _converter_to_tuple(Revision)) for kind, each in body["revisions"].items()},
            _answer_from_json(body["happened"], _converter_to_tuple(KubernetesEvent)),
        ),
        _mapping_from_json(body.get("applied", ()), tuple[str, bool], _applied_from_json),
    )


def _answer_to_json(answer: Any) -> dict[str, Any]:
    if isinstance(answer, Unknown):
        return {"unknown": answer.why, "missing": answer.missing}
    return {"absent": answer.said} if isinstance(answer, Absent) else {"known": msgspec.to_builtins(answer)}


def _answer_from_json(document: Any, convert: Callable[[Any], Any]) -> Any:
    if "unknown" in document:
        return Unknown(msgspec.convert(document["unknown"], str), msgspec.convert(document["missing"], str))
    return Absent(msgspec.convert(document["absent"], str)) if "absent" in document else convert(document["known"])


def _mapping_to_json(mapping: Mapping[Any, Any], to_json: Callable[[Any], Any]) -> list[dict[str, Any]]:
    return [{"of": msgspec.to_builtins(key), "said": to_json(mapping[key])} for key in sorted(mapping)]


def _mapping_from_json(pairs: Iterable[Any], key_type: Any, convert: Callable[[Any], Any]) -> dict[Any, Any]:
    return {msgspec.convert(each["of"], key_type): _answer_from_json(each["said"], convert) for each in pairs}


def _as_document(value: Any) -> Any:
    return msgspec.convert(value, dict[str, Any])


def _converter_to(value_type: Any) -> Callable[[Any], Any]:
    return lambda given: msgspec.convert(given, value_type)


def _converter_to_tuple(item_type: Any) -> Callable[[Any], Any]:
    return lambda given: msgspec.convert(given, tuple[item_type, ...])


def _applied_to_json(applied: AppliedObjects | Unknown) -> dict[str, Any]:
    if isinstance(applied, Unknown):
        return _answer_to_json(applied)
    labels = _mapping_to_json(applied.labels, lambda each: dict(sorted(each.items())))
    unlisted = {kind: _answer_to_json(unknown) for kind, unknown in sorted(applied.unlisted.items())}
    return {
        "known": {"labels": labels, "stripped": msgspec.to_builtins(sorted(applied.stripped)), "unlisted": unlisted}
    }


def _applied_from_json(document: Any) -> AppliedObjects:
    labels = {msgspec.convert(each["of"], ObjectName): dict(each["said"]) for each in document["labels"]}
    unlisted = {kind: _answer_from_json(unknown, _as_document) for kind, unknown in document["unlisted"].items()}
    return AppliedObjects(labels, msgspec.convert(document["stripped"], frozenset[ObjectName]), unlisted)


def _kind_usage_to_json(usage: KindUsage) -> dict[str, Any]:
    lacking = None if usage.lacking is None else _answer_to_json(usage.lacking)
    return {"of": msgspec.to_builtins(usage.resource), "said": _answer_to_json(usage.objects), "lacking": lacking}


def _kind_usage_from_json(document: Any) -> KindUsage:
    lacking = None if document["lacking"] is None else _answer_from_json(document["lacking"], _as_document)
    resource = msgspec.convert(document["of"], Resource)
    return KindUsage(resource, _answer_from_json(document["said"], _converter_to_tuple(WrittenObject)), lacking)


def _releases_to_json(releases: tuple[HelmRelease, ...] | Unknown) -> dict[str, Any]:
    return (
        _answer_to_json(releases)
        if isinstance(releases, Unknown)
        else {"known": [_release_to_json(each) for each in releases]}
    )


def _release_to_json(release: HelmRelease) -> dict[str, Any]:
    return {
        "of": [release.namespace, release.name, release.revision, release.status],
        "said": _answer_to_json(release.manifest),
        "hooks": msgspec.to_builtins(release.hooks),
    }


def _release_from_json(document: Any) -> HelmRelease:
    namespace, name, revision, status = msgspec.convert(document["of"], tuple[str, str, int, str])
    hooks = msgspec.convert(document["hooks"], ManifestText)
    return HelmRelease(
        namespace, name, revision, status, _answer_from_json(document["said"], _converter_to(ManifestText)), hooks
    )
