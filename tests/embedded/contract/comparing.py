"""Prepare two answers for comparison: the status, and the contents of headers and body.

Replaced are the uids of new objects, and the hashes of OpenAPI documents, which differ here. Removed are the
descriptions of columns, which no client shows, and the hashes of versions in which objects are stored. Sorted are the
causes of a conflict: Go's maps have no order, and two recorded answers to the same request differ in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from typing import Any, NamedTuple

from kubectl_eksdoc.embedded.serving.requests import Reply
from tests.embedded.contract.recorded import Doc

HEADERS = ("Content-Type", "Retry-After")


class Said(NamedTuple):
    """One answer. `body`: parsed JSON, for a watch all its lines in order, or text."""

    status: int
    headers: dict[str, str]
    body: Any


def recorded(response: Doc, known: Set[str]) -> Said:
    headers = {name: response["headers"][name] for name in HEADERS if name in response["headers"]}
    body = response["body"]
    if isinstance(body, str):
        body = _parsed(body)
    elif "type" in body and "object" in body:
        body = [body]  # the only event of a watch
    return Said(response["status"], headers, _comparable(body, known))


def answered(reply: Reply, known: Set[str]) -> Said:
    headers = {"Content-Type": reply.content_type, **reply.headers}
    kept = {name: headers[name] for name in HEADERS if headers.get(name)}
    raw = b"".join(reply.stream) if reply.stream is not None else reply.body
    return Said(reply.status, kept, _comparable(_parsed(raw.decode()), known))


def _parsed(text: str) -> Any:
    """The body; a watch without an event gives the same as an empty body."""
    try:
        if text.startswith('{"type"'):
            return [json.loads(line) for line in text.splitlines()]
        return json.loads(text)
    except ValueError:
        return text


def _comparable(body: Any, known: Set[str]) -> Any:
    if not isinstance(body, dict):
        return body
    if body.get("columnDefinitions"):
        return {**body, "columnDefinitions": [{**each, "description": ""} for each in body["columnDefinitions"]]}
    if body.get("kind") == "APIResourceList":
        return without_hashes(body)
    if "paths" in body:
        addresses = {path: each["serverRelativeURL"] for path, each in body["paths"].items()}
        return {path: re.sub("hash=[0-9A-F]{128}$", "hash=", address) for path, address in addresses.items()}
    causes = (body.get("details") or {}).get("causes", ())
    if any(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        return {**body, "details": {"causes": sorted(causes, key=lambda cause: cause["field"])}}
    if (body.get("metadata") or {}).get("uid", "") in ("", *known):
        return body
    return {**body, "metadata": {**body["metadata"], "uid": "new"}}


def without_hashes(listed: Doc) -> Doc:
    """Resources of a discovery list, without fields on which clients must not rely."""
    kept = [
        {name: value for name, value in each.items() if name != "storageVersionHash"} for each in listed["resources"]
    ]
    return {**listed, "resources": kept}
