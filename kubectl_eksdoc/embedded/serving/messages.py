"""Requests and replies, whatever carries them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from kubectl_eksdoc.core.rules.api.statuses import Status
from kubectl_eksdoc.objects.single import encode

JSON = "application/json"

_NO = ("0", "f", "false")


@dataclass(frozen=True, slots=True)
class Request:
    """`path` is without query and decoded; `query` has of each name its values; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def word(self, name: str) -> str:
        """The first value of a query parameter, "" without one."""
        return (self.query.get(name) or ("",))[0]

    def flag(self, name: str) -> bool:
        """A query parameter that switches something on: given, and not a Go false (strconv.ParseBool)."""
        return name in self.query and self.word(name).lower() not in _NO

    @property
    def dry_run(self) -> bool:
        return "All" in self.query.get("dryRun", ())


@dataclass(frozen=True, slots=True)
class Reply:
    """`stream`, where there is one, are the pieces of a body that has no end yet; `body` is empty then. An empty piece
    says that there is nothing new: time to look whether anybody still wants to know. `sent`: so much of the body is
    sent, and then the connection ends."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    sent: int | None = None


class ConnectionLost(Exception):
    """The client gets no answer: its connection is closed without one."""


class Unanswered(Exception):
    """The client gets no answer, and its connection stays open as long as it waits."""


class Answering(Protocol):
    """Whoever takes requests: the API, or something that stands in front of it."""

    def handle(self, request: Request) -> Reply:
        """
        Raises:
            ConnectionLost
            Unanswered
        """


def status_reply(status: Status) -> Reply:
    """A Status as an answer."""
    headers = {}
    if status.details is not None and status.details.retry_after_s:
        headers["Retry-After"] = str(status.details.retry_after_s)
    return Reply(status.code, encode(status.doc()), headers=headers)
