"""An answer over HTTP as a Status: the server's own document where there is one, else what can be told of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubectl_eksdoc.core.rules.addresses import address
from kubectl_eksdoc.core.rules.api.statuses import Cause, Details, Lost, Status
from kubectl_eksdoc.kube.answers import Answer, shown
from kubectl_eksdoc.kube.surroundings import utc_now


def status_of(answer: Answer) -> Status | Lost:
    """`Lost` where it is no answer of an API: a redirect, or a success that is no object in JSON. Nobody knows what was
    done.

    What is not a Status is a success without words, as the object that was patched.
    """
    if 300 <= answer.status < 400:
        return Lost(f"it was answered with a redirect to {address(shown(answer.headers.get('location', 'somewhere')))}")
    document = answer.document
    if answer.status < 300 and not document:
        return Lost(f"it was answered with something that is no object in JSON: {answer.said}")
    if document.get("kind") != "Status":
        found = Status(answer.status, message="" if answer.status < 300 else answer.said)
    else:
        found = _told(answer.status, document)
    return _patient(found, answer)


def _told(code: int, document: Mapping[str, Any]) -> Status:
    """The code is that of HTTP; some failures come as a 200 that says so inside."""
    if code < 300 and document.get("status") == "Failure":
        inner = document.get("code")
        code = inner if isinstance(inner, int) and inner >= 400 else 500
    details = document.get("details")
    return Status(
        code,
        _text(document, "reason"),
        shown(_text(document, "message")),
        _details(details) if isinstance(details, dict) else None,
    )


def _details(given: Mapping[str, Any]) -> Details:
    causes, retry = given.get("causes"), given.get("retryAfterSeconds")
    return Details(
        name=_text(given, "name"),
        group=_text(given, "group"),
        kind=_text(given, "kind"),
        uid=_text(given, "uid"),
        causes=tuple(
            Cause(_text(each, "reason"), shown(_text(each, "message")), _text(each, "field"))
            for each in (causes if isinstance(causes, list) else ())
            if isinstance(each, dict)
        ),
        retry_after_s=retry if isinstance(retry, int) and retry > 0 else 0,
    )


def _patient(status: Status, answer: Answer) -> Status:
    """With the header's Retry-After where the document says nothing of it."""
    asked = None if status.ok else answer.retry_after(utc_now())
    details = status.details or Details()
    if not asked or details.retry_after_s:
        return status
    return replace(status, details=replace(details, retry_after_s=math.ceil(asked)))


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""
