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

from kubectl_eksdoc.bounds import ResponseLimits, TooLarge, use_limits
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.frozen import frozen

from .config import ApiAccess
from .responses import (
    NO_API_HINT,
    HttpResponse,
    Incomplete,
    RequestRefused,
    connection_error,
    safe_message,
    was_never_sent,
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
    max_pause: float = 8.0
    max_retry_after: float = 30.0
    connect_timeout: float = 10.0
    silence_timeout: float = 75.0
    refusal_patience: float = 30.0
    max_response_bytes: int = 256 << 20

    def pause_s(self, failures: int, chance: float) -> float:
        """The pause after that many failures in a row; `chance` in [0, 1) shortens it, by half at most."""
        pause = min(self.first_pause * 2.0 ** min(failures - 1, 30), self.max_pause)
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
_MIN_TIMEOUT_S = 0.001  # urllib3 accepts no time limit of 0
_IDENTITY_ENCODINGS = frozenset(("", "identity"))
_GZIP_ENCODINGS = _IDENTITY_ENCODINGS | {"gzip"}


class ExchangeFailed(Exception):
    """No complete response came: `error` is for the user; `retryable`: another try may succeed; `unsent`: the server
    cannot have received the request."""

    def __init__(self, error: ClusterError, retryable: bool, unsent: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.retryable = retryable
        self.unsent = unsent


class _HasStatus(Protocol):
    @property
    def status(self) -> int: ...


Response = TypeVar("Response", bound=_HasStatus)


class Exchanges:
    """The API of one cluster, request by request. Safe to use from several threads."""

    def __init__(self, access: ApiAccess, retry_policy: RetryPolicy, timing: Timing) -> None:
        self.access = access
        self.retry_policy = retry_policy
        self.timing = timing

    def url(self, path: str, query: Mapping[str, str] | None = None) -> str:
        return f"{self.access.target.server.url}{path}{'?' + urlencode(query) if query else ''}"

    def with_credentials(self, send: Callable[[Credential], Response]) -> Response:
        """The result of `send` with the credentials in use, or with newer ones where those are refused (401).

        Raises:
            ConfigError, Unauthorized: the credentials cannot be obtained.
            the errors of `send`.
        """
        credential = self.access.credentials.current()
        response = send(credential)
        just_fetched = False
        while (
            response.status == 401 and not just_fetched
        ):  # a credential that another thread renewed may have expired, too
            newer, just_fetched = self.access.credentials.renew(credential)
            if newer == credential:
                break
            credential, response = newer, send(newer)
        return response

    def send_once(
        self,
        credential: Credential,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        content_type: str = "",
        accept: str = "",
        left_s: float = inf,
    ) -> HttpResponse:
        """Send one request. `left_s`: the time limit, whatever --request-timeout allows.

        Raises:
            ExchangeFailed: there is no complete response, or it is too large.
            ConfigError: a certificate cannot be used.
        """
        import urllib3

        timeout_s, retry_policy = (
            max(min(self.access.request_timeout or inf, left_s), _MIN_TIMEOUT_S),
            self.retry_policy,
        )
        limits = ResponseLimits(
            self.timing.monotonic, retry_policy.silence_timeout, self.timing.monotonic() + timeout_s
        )
        total = timeout_s if timeout_s < inf else None
        timeout = urllib3.Timeout(connect=retry_policy.connect_timeout, read=retry_policy.silence_timeout, total=total)
        try:
            headers = {"Content-Type": content_type, "Accept": accept}
            response = self._send(credential, url, timeout, limits, method, body, headers)
            content = self._read_body(response, limits, timeout_s)
        except TooLarge as error:
            raise ExchangeFailed(_too_large_error(self.access.target.server.address, error), False) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._failure(
                error, min(timeout_s, retry_policy.silence_timeout), min(timeout_s, retry_policy.connect_timeout)
            ) from error
        return HttpResponse(response.status, content, _lower_case_headers(response))

    def open_stream(
        self, credential: Credential, url: str, first_byte_s: float, stream_s: float
    ) -> ResponseStream | HttpResponse:
        """Open a response that the server ends in its own time, such as a watch. The response must begin within
        `first_byte_s` and may go on for `stream_s`; --request-timeout does not apply. A response other than 200 with
        JSON is returned as `HttpResponse`.

        Raises:
            as `send_once`.
        """
        import urllib3

        limits = ResponseLimits(self.timing.monotonic, first_byte_s, self.timing.monotonic() + first_byte_s)
        timeout = urllib3.Timeout(connect=self.retry_policy.connect_timeout, read=first_byte_s)
        try:
            response = self._send(credential, url, timeout, limits, "GET", None, {"Accept-Encoding": "identity"})
            if response.status != 200 or not HttpResponse(200, b"", _lower_case_headers(response)).is_json:
                return HttpResponse(
                    response.status, self._read_body(response, limits, first_byte_s), _lower_case_headers(response)
                )
            self._check_encoding(response, _IDENTITY_ENCODINGS)
        except TooLarge as error:
            raise ExchangeFailed(_too_large_error(self.access.target.server.address, error), False) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise self._failure(error, first_byte_s, self.retry_policy.connect_timeout) from error
        limits.start_stream(stream_s)
        return ResponseStream(response, lambda error: self._failure(error, stream_s, stream_s))

    def _send(
        self,
        credential: Credential,
        url: str,
        timeout: urllib3.Timeout,
        limits: ResponseLimits,
        method: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> urllib3.BaseHTTPResponse:
        with use_limits(limits):
            return self.access.pools.for_credential(credential).request(
                method,
                url,
                body=body,
                headers=self._request_headers(credential, headers),
                retries=False,
                redirect=False,
                timeout=timeout,
                preload_content=False,
            )

    def _request_headers(self, credential: Credential, extra: Mapping[str, str]) -> urllib3.HTTPHeaderDict:
        """`extra` headers replace others of their name; "" adds none."""
        import urllib3

        headers = urllib3.HTTPHeaderDict()
        for name, value in self.access.headers:
            headers.add(name, value)
        if credential.authorization:
            headers["Authorization"] = credential.authorization
        for name, value in extra.items():
            if value:
                headers[name] = value
        return headers

    def _read_body(self, response: urllib3.BaseHTTPResponse, limits: ResponseLimits, timeout_s: float) -> bytes:
        """The complete body, decompressed."""
        import urllib3

        content, size = io.BytesIO(), 0
        max_bytes = self.retry_policy.max_response_bytes
        limits.start_body(max_bytes)
        try:
            self._check_encoding(response, _GZIP_ENCODINGS)
            while part := response.read1(_CHUNK, decode_content=True):
                size += content.write(part)
                if size > max_bytes:
                    raise TooLarge(max_bytes, False)
            response.release_conn()
        except urllib3.exceptions.ReadTimeoutError as error:
            if not limits.is_expired:
                raise
            url = self.access.target.server.address
            message = f"{url} did not finish its answer within {timeout_s:g} s"
            raise ExchangeFailed(Incomplete(message, "Allow more with --request-timeout."), False) from error
        finally:
            response.close()
        return content.getvalue()

    def _check_encoding(self, response: urllib3.BaseHTTPResponse, accepted: frozenset[str]) -> None:
        """Data that is compressed several times may expand a million times.

        Raises:
            ExchangeFailed: the encoding was not requested.
        """
        encoding = response.headers.get("content-encoding", "").strip()
        if encoding.lower() not in accepted:
            response.close()
            server, name = self.access.target.server.address, safe_message(encoding)
            message = f"{server} sent its answer in encoding {name!r}, which was not asked for"
            raise ExchangeFailed(RequestRefused(message, NO_API_HINT), False)

    def _failure(self, error: Exception, read_s: float, connect_s: float) -> ExchangeFailed:
        from urllib3 import exceptions

        seconds = connect_s if isinstance(error, exceptions.ConnectTimeoutError) else read_s
        our_error, retryable = connection_error(error, self.access.target.server.address, self.access.proxy, seconds)
        return ExchangeFailed(our_error, retryable, was_never_sent(error))


class ResponseStream:
    """The bytes of a response without an end, as they come."""

    status = 200

    def __init__(self, response: urllib3.BaseHTTPResponse, failure_of: Callable[[Exception], ExchangeFailed]) -> None:
        self._response = response
        self._failure_of = failure_of

    def read(self) -> bytes:
        """The next bytes; waits for them. b"" at the end.

        Raises:
            ExchangeFailed: the connection was cut, or silent for too long.
        """
        import urllib3

        try:
            return self._response.read1(_CHUNK, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:  # ValueError: it was closed meanwhile
            raise self._failure_of(error) from error

    def close(self) -> None:
        self._response.close()


def _lower_case_headers(response: urllib3.BaseHTTPResponse) -> Mapping[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _too_large_error(url: str, error: TooLarge) -> RequestRefused:
    size = f"{error.max_bytes >> 20} MiB"
    if error.in_head:
        return RequestRefused(f"{url} sent a head of more than {size} with its answer", NO_API_HINT)
    hint = "Of a list of very large objects, drain plan and drain run ask for smaller pages with --chunk-size N."
    return RequestRefused(f"{url} sent more than {size} in one answer", f"{NO_API_HINT} {hint}")
