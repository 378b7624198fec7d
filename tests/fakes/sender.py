"""Send single requests to a served cluster, over HTTP or in this process; and clocks that tests move."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import urlencode, urlsplit

from kubectl_eksdoc.embedded.serving.requests import ConnectionLost, NoAnswer, RequestHandler, ServedRequest
from kubectl_eksdoc.kube.requests import JSON, ApiResponse, Clock
from kubectl_eksdoc.kube.responses import parse_http_date
from kubectl_eksdoc.kubernetes.api.resources import ApiStatus, LostResponse, StatusCause, StatusDetails

START = datetime(2026, 11, 20, 12, 0, tzinfo=timezone.utc)


@dataclass
class Hands:
    """A clock that stands still until a test moves it; sleeping moves it."""

    seconds: float = 1000.0

    def clock(self, wall: float = 0.0) -> Clock:
        """A clock; `wall`: the offset of this machine's wall clock."""
        return Clock(lambda: self.seconds, lambda: START + timedelta(seconds=self.seconds + wall), self.sleep)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


@dataclass
class HttpSender:
    """`dates`: the server's clock instead of its Date header, None for none. `sent`: all sent requests."""

    url: str
    dates: Callable[[], datetime | None] | None = None
    timeout_s: float = 10.0
    sent: list[tuple[str, str, int]] = field(default_factory=list)
    _connection: http.client.HTTPConnection | None = None

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any] | None, content_type: str = JSON
    ) -> ApiResponse:
        url = urlsplit(self.url)
        target = f"{url.path}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        connection = self._connection or http.client.HTTPConnection(url.netloc, timeout=self.timeout_s)
        self._connection = None
        try:
            connection.request(method, target, data, {"Content-Type": content_type} if data else {})
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.sent.append((method, path, 0))
            return ApiResponse(LostResponse(f"{type(error).__name__}: {error}"), {})
        self._connection = connection
        self.sent.append((method, path, response.status))
        date = parse_http_date(response.headers.get("date", "")) if self.dates is None else self.dates()
        return sent_of(response.status, text, response.headers.get("retry-after", ""), date)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


@dataclass
class DirectSender:
    """The same without a port: requests are passed directly to the server."""

    api: RequestHandler
    token: str
    dates: Callable[[], datetime | None]

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: dict[str, Any] | None, content_type: str = JSON
    ) -> ApiResponse:
        headers = {"authorization": f"Bearer {self.token}", "content-type": content_type}
        data = b"" if body is None else json.dumps(body).encode()
        words = {name: (value,) for name, value in query.items()}
        try:
            reply = self.api.handle(ServedRequest(method, path, words, headers, data))
        except (ConnectionLost, NoAnswer) as error:
            return ApiResponse(LostResponse(type(error).__name__), {})
        return sent_of(reply.status, reply.body, reply.headers.get("Retry-After", ""), self.dates())


def sent_of(code: int, text: bytes, retry_after: str, date: datetime | None) -> ApiResponse:
    try:
        doc = json.loads(text)
    except ValueError:
        doc = {"kind": "Status", "message": text.decode(errors="replace").strip()}
    if doc.get("kind") != "Status":
        return ApiResponse(ApiStatus(code), doc, date)
    given = doc.get("details") or {}
    causes = tuple(StatusCause(each.get("reason", ""), each.get("message", "")) for each in given.get("causes") or ())
    retry_s = int(retry_after or given.get("retryAfterSeconds") or 0)
    details = StatusDetails(given.get("name", ""), given.get("group", ""), given.get("kind", ""), "", causes, retry_s)
    return ApiResponse(ApiStatus(code, doc.get("reason", ""), doc.get("message", ""), details), {}, date)
