"""What a server answered, and the errors that mean "this request was refused" rather than "no cluster"."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

from kubectl_eksdoc.core.rules.addresses import addresses_in
from kubectl_eksdoc.errors import ClusterError, Unreachable
from kubectl_eksdoc.held_secrets import without_held

MOST_SAID = 4000
"""Characters of a message that are shown and kept: a body may have as many as fit into the largest answer."""

NO_API = "Is this the address of a Kubernetes API, and is no proxy in between?"

_MOST_READ = 1 << 16
"""Characters of it that are looked through: what is cut off there is not shown."""


class NotServed(ClusterError):
    """404: the server does not know the resource."""


class Absent(NotServed):
    """404 of one object by its name: the server knows the resource, and has no such object."""


class Expired(ClusterError):
    """410: the continue token of a list is too old."""


class Refused(ClusterError):
    """Any other refusal that trying again did not change."""


class Incomplete(Unreachable):
    """The server was reached, but its answer did not come, or not whole."""


class ReadTimeout(Unreachable):
    """All that was read took longer than --read-timeout together: nothing more can be asked."""


@dataclass(frozen=True)
class Answer:
    """Header names are lower-case. Without slots, because its document is decoded once, when first asked for."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def date(self) -> datetime | None:
        return http_date(self.headers.get("date", ""))

    @property
    def is_json(self) -> bool:
        return self._media_type == "application/json"

    @property
    def is_text(self) -> bool:
        """Plain text, or nothing at all: 204 has no type."""
        return self._media_type == "text/plain" or (self.status == 204 and not self.body)

    @property
    def _media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The JSON object in it; nothing where it is none."""
        return _json_object(self.body) if self.is_json else {}

    @property
    def names_an_object(self) -> bool:
        """Whether it is a Status that says of which object it speaks."""
        details = self.document.get("details")
        return self.document.get("kind") == "Status" and isinstance(details, dict) and bool(details.get("name"))

    @property
    def said(self) -> str:
        """The message of a Status, also of one that comes as another type than JSON, or its reason where it has none;
        else the beginning of what was sent."""
        document = self.document or _json_object(self.body[:_MOST_READ])
        for told in (document.get("message"), document.get("reason")):
            if isinstance(told, str) and told:
                return shown(told)
        return shown(" ".join(self.body[:_MOST_READ].decode("utf-8", "replace").split()))[:200]

    def retry_after(self, now: datetime) -> float | None:
        """Seconds the server asks to wait (Retry-After: seconds or a date), None if it does not say."""
        value = self.headers.get("retry-after", "").strip()
        if value.isdecimal():
            return float(value)
        date = http_date(value)
        # Measured by the server's own clock if it shows it.
        return max(0.0, (date - (self.date or now)).total_seconds()) if date else None


def _json_object(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def shown(message: str) -> str:
    """What another program says, as it is shown and kept: without the secrets that it was sent, and those of URLs."""
    return addresses_in(without_held(message[:_MOST_READ]))[:MOST_SAID]


def http_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return date.astimezone(timezone.utc) if date.tzinfo else date.replace(tzinfo=timezone.utc)
