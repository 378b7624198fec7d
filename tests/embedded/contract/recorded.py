"""The recorded exchanges in order: the objects that the server had stored before each, and the time of each.

Each object in an answer or a watch event is one version of that object; together they are the history of the server's
store. Versions keep their numbers, because the comparison uses the server's own numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

from tests import raw_facts

Doc = dict[str, Any]

CLUSTERS = {"small": range(78), "third": range(78, 79), "second": range(79, 157)}
"""Which exchanges were with the same cluster."""

_BEGIN = {0: 1328, 78: 20, 79: 1240, 141: 1184, 149: 1374}
"""The store's version where an exchange does not go on where the one before it ended."""

_KNOWN = {55: 1341, 56: 1359, 60: 1370, 61: 1372, 66: 1380, 67: 1384} | {
    142: 1234,
    144: 1234,
    146: 1234,
    147: 1234,
    150: 1429,
    152: 1429,
    154: 1429,
    155: 1429,
}
"""The store's version before exchanges whose answers do not tell: what happened meanwhile is seen in later ones."""

_EARLIER = 20
"""The version of what is known to have been there, but not since when."""

_MARKED = {56: "2026-11-20T07:46:14Z", 60: "2026-11-20T07:46:15Z", 66: "2026-11-20T07:46:15Z"}
"""When pods were evicted, as they tell themselves later."""

_WHEN = {"small": "2026-11-20T07:46:12Z", "third": "2026-11-20T08:30:00Z", "second": "2026-11-20T08:57:30Z"}
"""When the exchanges were that do not tell."""


class Version(NamedTuple):
    """One version of one object; `gone`: the object was deleted at this version."""

    number: int
    doc: Doc
    gone: bool = False


@cache
def exchanges() -> tuple[Doc, ...]:
    return tuple(raw_facts.lines("recordings/exchanges.jsonl.gz"))


def cluster_of(index: int) -> str:
    return next(name for name, indices in CLUSTERS.items() if index in indices)


@cache
def history(cluster: str) -> tuple[Version, ...]:
    """Every version of every object that is in an answer, oldest first."""
    found: dict[int, Version] = {}
    changed: list[Version] = []
    for index in CLUSTERS[cluster]:
        if "dryRun" in exchanges()[index]["request"]["path"]:
            continue
        for version, added in _versions(exchanges()[index]["response"]["body"]):
            if version.number not in found or version.gone:
                found[version.number] = version
            if not added:
                changed.append(version)
    first: dict[str, int] = {}
    for number in sorted(found):
        first.setdefault(found[number].doc["metadata"]["uid"], number)
    for place, version in enumerate(v for v in changed if first[v.doc["metadata"]["uid"]] == v.number):
        found[_EARLIER + place] = Version(_EARLIER + place, version.doc)  # it was there before it was changed
    return tuple(sorted(found.values(), key=_number))


def before(index: int) -> int:
    """The store's version when the request arrived."""
    version = after = 0
    for each in range(max(begin for begin in _BEGIN if begin <= index), index + 1):
        version = _KNOWN.get(each) or _BEGIN.get(each, after)
        told, wrote = _told(each)
        version = max(version, told - 1 if wrote and told > version else told if not wrote else 0)
        after = max(version, told)
    return version


def moment(index: int) -> datetime:
    """The time at which the request was served, as far as times in the answer show it."""
    body = exchanges()[index]["response"]["body"]
    told = [_MARKED.get(index, _WHEN[cluster_of(index)])]
    if exchanges()[index]["request"]["method"] != "GET" and isinstance(body, dict):
        meta = body["metadata"]
        told += [entry["time"] for entry in meta.get("managedFields", ())]
        if "deletionTimestamp" in meta:
            grace = timedelta(seconds=meta.get("deletionGracePeriodSeconds", 0))
            return when(meta["deletionTimestamp"]) - grace
    return when(max(told))


def when(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _number(version: Version) -> int:
    return version.number


def _told(index: int) -> tuple[int, bool]:
    """The version in an answer (0: none), and whether it is of the object that the request wrote."""
    request, body = exchanges()[index]["request"], exchanges()[index]["response"]["body"]
    if not isinstance(body, dict):
        return max((version.number for version, _ in _versions(body)), default=0), False
    number = int((body.get("metadata") or {}).get("resourceVersion") or 0)
    return number, request["method"] in ("POST", "PATCH", "PUT", "DELETE")


def _versions(body: Any) -> Iterator[tuple[Version, bool]]:
    """Versions, each with a flag whether it may be the first of its object."""
    if isinstance(body, str):
        for line in body.splitlines():
            if line.startswith('{"type"'):
                event = json.loads(line)
                if "uid" in event["object"].get("metadata", {}):
                    yield _version(event["object"], event["type"] == "DELETED"), event["type"] == "ADDED"
    elif isinstance(body, dict) and not str(body.get("kind")).startswith(("Table", "PartialObject", "Scale")):
        kind = {"kind": str(body.get("kind", "")).removesuffix("List"), "apiVersion": body.get("apiVersion")}
        for doc in body.get("items", [body]):
            if "uid" in doc.get("metadata", {}):
                yield _version({**kind, **doc}), True


def _version(doc: Doc, gone: bool = False) -> Version:
    return Version(int(doc["metadata"]["resourceVersion"]), doc, gone)
