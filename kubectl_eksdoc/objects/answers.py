"""What a cluster answered besides its lists, as the JSON of a snapshot, and back.

Shape: every answer is ``{"known": …}``, ``{"absent": "…"}`` or ``{"unknown": "…", "missing": "…"}``; what has a key of
several parts is a list of ``{"of": …, "said": …}``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.api_usage import HelmRelease, KindUsage, ManifestText, WrittenObject
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.changes import ReportedChanges, ReportedEvent, Revision
from kubectl_eksdoc.model.cluster import ClusterAnswers
from kubectl_eksdoc.model.interruption import SpotEvent
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.model.pods import LogOf

KIND, VERSION = "ClusterAnswers", 1


class BadAnswers(ValueError):
    """The text holds no answers of a cluster, or those of another version; the message says which."""


def written(answers: ClusterAnswers) -> bytes:
    """Sorted: the same answers give the same bytes."""
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
    }
    return msgspec.json.encode(body)


def read(text: bytes) -> ClusterAnswers:
    """
    Raises:
        BadAnswers: it is something else.
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
