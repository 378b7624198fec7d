"""One HTTP exchange with the API server: a request that is sent once, and its complete response or the reason why there
is none.

The only retry here is with newer credentials, after a 401, which means that the request had no effect.
"""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Callable, Mapping
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeVar
from urllib.parse import urlencode

from kubectl_eksdoc.bounds import AnswerLimits, TooLarge, within
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.frozen import frozen

from .config import ApiAccess
from .responses import (
    NO_API,
    HttpAnswer,
    Incomplete,
    RequestRefused,
    breakdown,
    never_sent,
    shown,
)
from .target import Credential

if TYPE_CHECKING:
    import urllib3


# Time limits, retries and size limits of requests; time and chance as ports.


@frozen
class RetryPolicy:
    """Times in seconds. `silence_timeout` bounds each wait for bytes when the user sets no --request-timeout.

    A kube-apiserver ends its own requests after 60 s, so a longer silence means that it is gone. `refusal_patience`:
    how long credentials or permissions must be refused before a reader that runs as long as the drain believes it.
    `max_response_bytes` bounds a response, as sent and decompressed: etcd takes objects of 1.5 MiB, and a page of 2,000
    pods has some 20 MiB.
    """

    tries: int = 5
    tries_to_connect: int = 3
    first_pause: float = 0.5
    longest_pause: float = 8.0
    longest_retry_after: float = 30.0
    connect: float = 10.0
    silence: float = 75.0
    refused: float = 30.0
    answer_bytes: int = 256 << 20

    def pause_s(self, count: int, chance: float) -> float:
        """The pause after that many failures in a row; `chance` in [0, 1) shortens it, by half at most."""
        pause = min(self.first_pause * 2.0 ** min(count - 1, 30), self.longest_pause)
        return pause * (0.5 + chance / 2)


@frozen
class Timing:
    """`sleep` takes seconds, `monotonic` returns them, `chance` returns a number in [0, 1)."""

    sleep: Callable[[float], object]
    monotonic: Callable[[], float] = monotonic
    chance: Callable[[], float] = random.random


def real_timing() -> Timing:
    # An Event waits like sleep, but lets Ctrl-C through at once on every platform.
    return Timing(threading.Event().wait)


_CHUNK = 1 << 16
_SHORTEST_S = 0.001  # urllib3 accepts no time limit of 0
_PLAIN = frozenset(("", "identity"))
_ZIPPED = _PLAIN | {"gzip"}


class ExchangeFailed(Exception):
    """No complete response came: `error` is for the user; `retryable`: another try may succeed; `unsent`: the server
    cannot have received the request."""

    def __init__(self, error: ClusterError, again: bool, unsent: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.again = again
        self.unsent = unsent


class _HasStatus(Protocol):
    @property
    def status(self) -> int: ...


Got = TypeVar("Got", bound=_HasStatus)


class Exchanges:
    """The API of one cluster, request by request. Safe to use from several threads."""

    def __init__(self, access: ApiAccess, patience: RetryPolicy, timing: Timing) -> None:
        self.access = access
        self.patience = patience
        self.timing = timing

    def url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        return f"{self.access.target.server.url}{path}{'?' + urlencode(query) if query else ''}"

    def admitted(self, ask: Callable[[Credential], Got]) -> Got:
        """The result of `send` with the credentials in use, or with newer ones where those are refused (401).

        Raises:
            ConfigError, Unauthorized: the credentials cannot be obtained.
            the errors of `send`.
        """
        credential = self.access.credentials.current()
        answer = ask(credential)
        fresh = False
        while answer.status == 401 and not fresh:  # a credential that another thread renewed may have expired, too
            newer, fresh = self.access.credentials.renewed(credential)
            if newer == credential:
                break
            credential, answer = newer, ask(newer)
        return answer

    def once(
        self,
        credential: Credential,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        content_type: str = "",
        accept: str = "",
        left_s: float = inf,
    ) -> HttpAnswer:
        """Send one request. `left_s`: the time limit, whatever --request-timeout allows.

        Raises:
            ExchangeFailed: there is no complete response, or it is too large.
            ConfigError: a certificate cannot be used.
        """
        import urllib3

        limit_s, patience = max(min(self.access.request_timeout or inf, left_s), _SHORTEST_S), self.patience
        bounds = AnswerLimits(self.timing.monotonic, patience.silence, self.timing.monotonic() + limit_s)
        total = limit_s if limit_s < inf else None
        timeout = urllib3.Timeout(connect=patience.connect, read=patience.silence, total=total)
        try:
            headers = {"Content-Type": content_type, "Accept": accept}
            response = self._sent(credential, url, timeout, bounds, method, body, headers)
            answered = self._body(response, bounds, limit_s)
        except TooLarge as error:
            raise ExchangeFailed(_too_large(self.access.target.server.address, error), False) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._broken(error, min(limit_s, patience.silence), min(limit_s, patience.connect)) from error
        return HttpAnswer(response.status, answered, _headers_of(response))

    def opened(self, credential: Credential, url: str, answer_s: float, whole_s: float) -> AnswerStream | HttpAnswer:
        """Open a response that the server ends in its own time, such as a watch. The response must begin within
        `first_byte_s` and may go on for `stream_s`; --request-timeout does not apply. A response other than 200 with
        JSON is returned as `HttpResponse`.

        Raises:
            as `send_once`.
        """
        import urllib3

        bounds = AnswerLimits(self.timing.monotonic, answer_s, self.timing.monotonic() + answer_s)
        timeout = urllib3.Timeout(connect=self.patience.connect, read=answer_s)
        try:
            response = self._sent(credential, url, timeout, bounds, "GET", None, {"Accept-Encoding": "identity"})
            if response.status != 200 or not HttpAnswer(200, b"", _headers_of(response)).is_json:
                return HttpAnswer(response.status, self._body(response, bounds, answer_s), _headers_of(response))
            self._check_encoding(response, _PLAIN)
        except TooLarge as error:
            raise ExchangeFailed(_too_large(self.access.target.server.address, error), False) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._broken(error, answer_s, self.patience.connect) from error
        bounds.following(whole_s)
        return AnswerStream(response, lambda error: self._broken(error, whole_s, whole_s))

    def _sent(
        self,
        credential: Credential,
        url: str,
        timeout: urllib3.Timeout,
        bounds: AnswerLimits,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> urllib3.BaseHTTPResponse:
        with within(bounds):
            return self.access.pools.of(credential).request(
                method,
                url,
                body=body,
                headers=self._headers(credential, headers),
                retries=False,
                redirect=False,
                timeout=timeout,
                preload_content=False,
            )

    def _headers(self, credential: Credential, more: Mapping[str, str]) -> urllib3.HTTPHeaderDict:
        """`extra` headers replace others of their name; "" adds none."""
        import urllib3

        headers = urllib3.HTTPHeaderDict()
        for name, value in self.access.headers:
            headers.add(name, value)
        if credential.authorization:
            headers["Authorization"] = credential.authorization
        for name, value in more.items():
            if value:
                headers[name] = value
        return headers

    def _body(self, response: urllib3.BaseHTTPResponse, bounds: AnswerLimits, limit_s: float) -> bytes:
        """The complete body, decompressed."""
        import urllib3

        whole, size = io.BytesIO(), 0
        most = self.patience.answer_bytes
        bounds.body(most)
        try:
            self._check_encoding(response, _ZIPPED)
            while part := response.read1(_CHUNK, decode_content=True):
                size += whole.write(part)
                if size > most:
                    raise TooLarge(most, False)
            response.release_conn()
        except urllib3.exceptions.ReadTimeoutError as error:
            if not bounds.over:
                raise
            url = self.access.target.server.address
            late = f"{url} did not finish its answer within {limit_s:g} s"
            raise ExchangeFailed(Incomplete(late, "Allow more with --request-timeout."), False) from error
        finally:
            response.close()
        return whole.getvalue()

    def _check_encoding(self, response: urllib3.BaseHTTPResponse, known: frozenset[str]) -> None:
        """Data that is compressed several times may expand a million times.

        Raises:
            ExchangeFailed: the encoding was not requested.
        """
        encoding = response.headers.get("content-encoding", "").strip()
        if encoding.lower() not in known:
            response.close()
            server, name = self.access.target.server.address, shown(encoding)
            said = f"{server} sent its answer in encoding {name!r}, which was not asked for"
            raise ExchangeFailed(RequestRefused(said, NO_API), False)

    def _broken(self, error: Exception, read_s: float, connect_s: float) -> ExchangeFailed:
        from urllib3 import exceptions

        seconds = connect_s if isinstance(error, exceptions.ConnectTimeoutError) else read_s
        ours, again = breakdown(error, self.access.target.server.address, self.access.proxy, seconds)
        return ExchangeFailed(ours, again, never_sent(error))


class AnswerStream:
    """The bytes of a response without an end, as they come."""

    status = 200

    def __init__(self, response: urllib3.BaseHTTPResponse, broken: Callable[[Exception], ExchangeFailed]) -> None:
        self._response = response
        self._broken = broken

    def read(self) -> bytes:
        """The next bytes; waits for them. b"" at the end.

        Raises:
            ExchangeFailed: the connection was cut, or silent for too long.
        """
        import urllib3

        try:
            return self._response.read1(_CHUNK, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:  # ValueError: it was closed meanwhile
            raise self._broken(error) from error

    def close(self) -> None:
        self._response.close()


def _headers_of(response: urllib3.BaseHTTPResponse) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _too_large(url: str, error: TooLarge) -> RequestRefused:
    size = f"{error.most >> 20} MiB"
    if error.head:
        return RequestRefused(f"{url} sent a head of more than {size} with its answer", NO_API)
    hint = "Of a list of very large objects, drain plan and drain run ask for smaller pages with --chunk-size N."
    return RequestRefused(f"{url} sent more than {size} in one answer", f"{NO_API} {hint}")
