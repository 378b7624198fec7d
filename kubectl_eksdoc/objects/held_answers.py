"""Answers of a cluster in a snapshot besides its lists, behind the same ports as the live cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from kubectl_eksdoc.amazon.removed_apis import METRIC, ROWS
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
from kubectl_eksdoc.model.interruption import ReportedChanges, ReportedEvent, Revision, SpotEvent
from kubectl_eksdoc.model.kinds import NOT_ASKED, Absent, NotHeld, Resource, Unknown
from kubectl_eksdoc.model.nodes import Container, LogOf

from . import manifests
from .manifests import HelmRevision, has_managed_fields, written_object
from .single import Keeper, document

T = TypeVar("T")

Containers = Callable[[Collection[str]], Mapping[str, "tuple[Container, ...] | Absent | Unknown"]]


class HeldAnswers:
    """A `ports.ExtraReader`. `source`: ``the snapshot x``; `containers` reads the containers of pods, which are in the
    lists."""

    def __init__(self, answers: ClusterAnswers, where: str, containers: Containers) -> None:
        self._answers = answers
        self._where = where
        self._containers = containers

    def one(self, of: ObjectName) -> Doc | Absent | Unknown:
        return self._answers.objects.get(of) or NotHeld(f"{self._where} does not hold {of} of {of.namespace}")

    def applied_by(self, manager: str, others: bool = False) -> AppliedObjects | Unknown:
        return self._answers.applied.get((manager, others), self._nothing(f"objects that {manager} has applied"))

    def listed(self, resource: Resource, namespace: str) -> tuple[Doc, ...] | Unknown:
        found = self._answers.histories.get((resource.full_name, namespace))
        none = NotHeld(f"{self._where} does not hold {resource.plural} of namespace {namespace}")
        return none if found is None else found

    @property
    def has_logs(self) -> bool:
        return bool(self._answers.logs)

    def containers(self, pods: Collection[str]) -> Mapping[str, tuple[Container, ...] | Absent | Unknown]:
        return self._containers(pods)

    def logs(self, asked: Collection[LogOf]) -> Mapping[LogOf, str | Absent | Unknown]:
        held = self._answers.logs
        return {log: held.get(log, NotHeld(f"{self._where} holds no log of {log.pod}")) for log in asked}

    def events(self) -> tuple[SpotEvent, ...] | Unknown:
        return self._known(self._answers.events, "Events of nodes")

    def metrics(self, pod: str, port: int) -> str | Absent | Unknown:
        none = NotHeld(f"{self._where} holds nothing of what {pod} counts (port {port})")
        return self._answers.metrics.get((pod, port), none)

    def requested(self) -> tuple[str, ...] | Unknown:
        return self._known(self._answers.requested, "counters of the API server")

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        held = {each.resource.full_name: each for each in self._answers.written}
        return tuple(held.get(each.full_name) or KindUsage(each, self._nothing(each.plural)) for each in resources)

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        return self._known(self._answers.releases, "releases of Helm")

    def told(self) -> ReportedChanges:
        return self._answers.past

    def _known(self, held: T, what: str) -> T | Unknown:
        return self._nothing(what) if held == NOT_ASKED else held

    def _nothing(self, what: str) -> Unknown:
        return NotHeld(f"{self._where} does not hold {what}")


# API usage in a dump: which clients use which API versions, kept while a reader reads it once.


_SECRET = "Secret"
_SIGNS = (b"last-applied-configuration", b"managedFields")

_NO_MANAGED_FIELDS = "its objects have no managedFields, as kubectl get shows them with --show-managed-fields only"


class HeldApis(Keeper):
    """Mutable. `source`: ``the snapshot x``; `complete`: an object that is not in it does not exist."""

    kinds = {*ROWS.by("kind"), _SECRET}

    def __init__(self, where: str, complete: bool = False) -> None:
        super().__init__()
        self._where = where
        self._complete = complete
        self._found: dict[tuple[str, str], list[WrittenObject]] = {}
        self._seen: set[tuple[str, str]] = set()
        self._objects: set[tuple[str, str]] = set()
        self._shown: set[tuple[str, str]] = set()  # kinds of which one object has managedFields
        self._secrets = False
        self._metrics: tuple[str, ...] | None = None
        self._kept: dict[HelmRevision, Callable[[], HelmRelease]] = {}

    def add_page(self, resource: Resource, body: bytes) -> None:
        if resource.kind == _SECRET:
            self._secrets = True
        if resource.kind in self.kinds:
            self._seen.add((resource.group, resource.kind))
            super().add_page(resource, body)

    def forget(self, resource: Resource) -> None:
        key = resource.group, resource.kind
        self._found.pop(key, None)
        for each in (self._seen, self._objects, self._shown):
            each.discard(key)

    def add_other(self, kind: str, api_version: str, raw: bytes | memoryview) -> None:
        group = api_version.rpartition("/")[0]
        if kind == _SECRET and not group:
            self._secret(bytes(raw))
        elif kind in ROWS.by("kind"):
            self._object((group, kind), api_version, bytes(raw))

    def _object(self, key: tuple[str, str], api_version: str, raw: bytes) -> None:
        self._seen.add(key)
        self._objects.add(key)
        doc = document(raw) if any(sign in raw for sign in _SIGNS) else None
        if doc is None:
            return
        if has_managed_fields(doc):
            self._shown.add(key)
        found = written_object(doc, key[1], api_version)
        if found is not None:
            self._found.setdefault(key, []).append(found)

    def _secret(self, raw: bytes) -> None:
        """Only Helm's Secrets are decoded, and only the data that their releases need is kept."""
        self._secrets = True
        doc = document(raw) if b"helm" in raw else None
        of = None if doc is None else manifests.kept(doc)
        if doc is not None and of is not None and doc.get("type") == manifests.TYPE:
            held = doc  # decoded once the current revisions are known
            self._kept[of] = lambda: manifests.release(of, held)

    def written(self, resources: Sequence[Resource]) -> tuple[KindUsage, ...]:
        """For each resource; one without any object in the dump is unknown, unless the dump is `complete`."""
        return tuple(map(self._told, resources))

    def _told(self, resource: Resource) -> KindUsage:
        key = resource.group, resource.kind
        if key not in self._seen:
            nothing = NotHeld(f"{self._where} holds no {resource.plural}")
            return KindUsage(resource, () if self._complete else nothing)
        found = tuple(self._found.get(key, ()))
        hidden = key in self._objects and key not in self._shown and not self._complete
        return KindUsage(resource, found, Unknown(f"in {self._where} {_NO_MANAGED_FIELDS}") if hidden else None)

    def releases(self) -> tuple[HelmRelease, ...] | Unknown:
        """The Helm releases, each in its current revision."""
        if not self._secrets and not self._complete:
            return NotHeld(f"{self._where} holds no Secrets, in which Helm keeps its releases")
        return tuple(self._kept[each]() for each in manifests.latest(self._kept))

    def count(self, metrics: str) -> None:
        """Keep an API server's answer to ``/metrics``."""
        self._metrics = tuple(line for line in metrics.splitlines() if METRIC in line and not line.startswith("#"))

    def requested(self) -> tuple[str, ...] | Unknown:
        """As `ApiUsage.requested`; a dump of objects never has it."""
        if self._metrics is None:
            return NotHeld(f"{self._where} holds nothing of what the API server has counted")
        return self._metrics


# Answers of a cluster besides its lists, as the JSON of a snapshot.
#
# Shape: every answer is ``{"known": …}``, ``{"absent": "…"}`` or ``{"unknown": "…", "missing": "…"}``; an answer whose
# key has several parts is in a list of ``{"of": …, "said": …}``.


KIND, VERSION = "ClusterAnswers", 1


class BadAnswers(ValueError):
    """The text contains no answers of a cluster, or those of another version; the message says which."""


def written(answers: ClusterAnswers) -> bytes:
    """Sorted: equal answers give equal bytes."""
    body = {
        "kind": KIND,
        "version": VERSION,
        "objects": _pairs(answers.objects, _told),
        "histories": _pairs(answers.histories, _told),
        "logs": _pairs(answers.logs, _told),
        "metrics": _pairs(answers.metrics, _told),
        "events": _told(answers.events),
        "requested": _told(answers.requested),
        "written": [_kind(each) for each in answers.written],
        "releases": _releases(answers.releases),
        "revisions": {kind: _told(each) for kind, each in sorted(answers.past.revisions.items())},
        "happened": _told(answers.past.events),
        "applied": _pairs(answers.applied, _applied),
    }
    return msgspec.json.encode(body)


def read(text: bytes) -> ClusterAnswers:
    """Parse the answers.

    Raises:
        InvalidAnswers: they are not valid.
    """
    try:
        body = msgspec.json.decode(text)
        if body["kind"] != KIND or body["version"] != VERSION:
            raise BadAnswers(f"it is {str(body['kind'])[:80]!r} of version {str(body['version'])[:20]!r}")
        return _answers(body)
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise error if isinstance(error, BadAnswers) else BadAnswers(f"{type(error).__name__}: {error}") from error


def _answers(body: Any) -> ClusterAnswers:
    return ClusterAnswers(
        _mapped(body["objects"], ObjectName, _as_it_is),
        _mapped(body["histories"], tuple[str, str], _several(dict[str, Any])),
        _mapped(body["logs"], LogOf, _made(str)),
        _mapped(body["metrics"], tuple[str, int], _made(str)),
        _said(body["events"], _several(SpotEvent)),
        _said(body["requested"], _several(str)),
        tuple(map(_kind_told, body["written"])),
        _said(body["releases"], lambda given: tuple(map(_release, given))),
        ReportedChanges(
            {kind: _said(each, _several(Revision)) for kind, each in body["revisions"].items()},
            _said(body["happened"], _several(ReportedEvent)),
        ),
        _mapped(body.get("applied", ()), tuple[str, bool], _applied_objects),
    )


def _told(given: Any) -> dict[str, Any]:
    if isinstance(given, Unknown):
        return {"unknown": given.why, "missing": given.missing}
    return {"absent": given.said} if isinstance(given, Absent) else {"known": msgspec.to_builtins(given)}


def _said(told: Any, made: Callable[[Any], Any]) -> Any:
    if "unknown" in told:
        return Unknown(msgspec.convert(told["unknown"], str), msgspec.convert(told["missing"], str))
    return Absent(msgspec.convert(told["absent"], str)) if "absent" in told else made(told["known"])


def _pairs(given: Mapping[Any, Any], told: Callable[[Any], Any]) -> list[dict[str, Any]]:
    return [{"of": msgspec.to_builtins(key), "said": told(given[key])} for key in sorted(given)]


def _mapped(pairs: Iterable[Any], key: Any, made: Callable[[Any], Any]) -> dict[Any, Any]:
    return {msgspec.convert(each["of"], key): _said(each["said"], made) for each in pairs}


def _as_it_is(given: Any) -> Any:
    return msgspec.convert(given, dict[str, Any])


def _made(form: Any) -> Callable[[Any], Any]:
    return lambda given: msgspec.convert(given, form)


def _several(form: Any) -> Callable[[Any], Any]:
    return lambda given: msgspec.convert(given, tuple[form, ...])


def _applied(found: AppliedObjects | Unknown) -> dict[str, Any]:
    if isinstance(found, Unknown):
        return _told(found)
    labels = _pairs(found.labels, lambda each: dict(sorted(each.items())))
    unlisted = {kind: _told(why) for kind, why in sorted(found.unlisted.items())}
    return {"known": {"labels": labels, "stripped": msgspec.to_builtins(sorted(found.stripped)), "unlisted": unlisted}}


def _applied_objects(given: Any) -> AppliedObjects:
    labels = {msgspec.convert(each["of"], ObjectName): dict(each["said"]) for each in given["labels"]}
    unlisted = {kind: _said(why, _as_it_is) for kind, why in given["unlisted"].items()}
    return AppliedObjects(labels, msgspec.convert(given["stripped"], frozenset[ObjectName]), unlisted)


def _kind(told: KindUsage) -> dict[str, Any]:
    lacking = None if told.lacking is None else _told(told.lacking)
    return {"of": msgspec.to_builtins(told.resource), "said": _told(told.objects), "lacking": lacking}


def _kind_told(given: Any) -> KindUsage:
    lacking = None if given["lacking"] is None else _said(given["lacking"], _as_it_is)
    resource = msgspec.convert(given["of"], Resource)
    return KindUsage(resource, _said(given["said"], _several(WrittenObject)), lacking)


def _releases(given: tuple[HelmRelease, ...] | Unknown) -> dict[str, Any]:
    return _told(given) if isinstance(given, Unknown) else {"known": [_of_release(each) for each in given]}


def _of_release(each: HelmRelease) -> dict[str, Any]:
    return {
        "of": [each.namespace, each.name, each.revision, each.status],
        "said": _told(each.manifest),
        "hooks": msgspec.to_builtins(each.hooks),
    }


def _release(given: Any) -> HelmRelease:
    namespace, name, revision, status = msgspec.convert(given["of"], tuple[str, str, int, str])
    hooks = msgspec.convert(given["hooks"], ManifestText)
    return HelmRelease(namespace, name, revision, status, _said(given["said"], _made(ManifestText)), hooks)
