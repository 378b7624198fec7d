"""GET requests with retries, renewed credentials and time limits; they end in a response or in one of our errors."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AbstractContextManager
from math import inf
from time import monotonic
from typing import TypeVar
from urllib.parse import quote

from kubectl_eksdoc.bounds import DeadlineExceeded, ResponseLimits, run_within
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model.connection import Connection, OutageLimits
from kubectl_eksdoc.model.kinds import PODS, Absent, Unknown
from kubectl_eksdoc.model.quantities import format_duration

from . import responses as answers
from .config import ApiAccess, open_access
from .exchanges import ExchangeFailed, Exchanges, RetryPolicy, Timing, real_timing
from .responses import HttpResponse, ReadTimeout, RequestRefused
from .target import CredentialContext, process_credential_context, utc_now

OUTAGE_MESSAGE_S = 60.0
"""Interval of the messages about a server that does not answer."""

_RETRIED_STATUSES = frozenset((429, 500, 502, 503, 504))


class Transport:
    """The API of one cluster, for reading. Safe to use from several threads."""

    def __init__(
        self,
        access: ApiAccess,
        retry_policy: RetryPolicy | None = None,
        timing: Timing | None = None,
        *,
        counts_read_time: bool = True,
        outage_limits: OutageLimits | None = None,
    ) -> None:
        """`counts_read_time`: its reads count for --read-timeout; False for reads that recur as long as a run lasts.
        `outage_limits`: how long a server is retried that has answered before and does not answer now, instead of a few
        tries; --read-timeout is no shorter than that."""
        self.access = access
        self._retry_policy = retry_policy or RetryPolicy()
        self._timing = timing or real_timing()
        self._exchanges = Exchanges(access, self._retry_policy, self._timing)
        self._counts_read_time = counts_read_time
        self._outage_limits = outage_limits
        self._has_answered = outage_limits is not None and outage_limits.answered

    def close(self) -> None:
        self.access.pools.close()

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        right: str = "",
        *,
        as_text: bool = False,
        accept: str = "",
    ) -> HttpResponse:
        """The 2xx response of the server. `right` is the RBAC name of this request, e.g. ``list pods``; `as_text`: the
        body is plain text instead of JSON; `accept`: the wanted media type, "" for the usual one.

        Raises:
            Unauthorized: the credentials are refused, or the credential plugin failed.
            Forbidden: `missing` is `right`, or "" where no credentials were sent.
            NotServed, ContinueTokenExpired: 404 and 410; ObjectNotFound: a single object does not exist.
            RequestRefused: another refusal, after retries.
            Unreachable: no connection, or (Incomplete) no complete response, after retries; ReadTimeout: nothing more
                may be read.
            ConfigError: a credential or certificate cannot be obtained.
        """
        with self.count_read_time():
            return self._get_with_retries(path, self._exchanges.url(path, query), right, as_text, accept)

    def count_read_time(self) -> AbstractContextManager[None]:
        """Time in this context counts for --read-timeout, also the time to decode the pages of a list."""
        return self.access.read_time.counting()

    def _get_with_retries(self, path: str, url: str, right: str, as_text: bool, accept: str) -> HttpResponse:
        exchanges, retry_policy = self._exchanges, self._retry_policy
        connection_failures = responses = 0
        outage = _Outage(self._outage_limits, self._timing)
        while True:
            if self._read_time_left_s() <= 0:
                raise self._read_timeout_error()
            try:
                response = self._within_read_timeout(
                    lambda: exchanges.with_credentials(
                        lambda of: exchanges.send_once(of, url, accept=accept, left_s=self._read_time_left_s())
                    )
                )
            except ExchangeFailed as failure:
                connection_failures += 1
                if self._read_time_left_s() <= 0:
                    raise self._read_timeout_error() from failure
                out_of_tries = connection_failures >= retry_policy.tries_to_connect
                if not failure.retryable or (
                    out_of_tries and not (self._has_answered and outage.allows_retry(failure.error.message))
                ):
                    raise failure.error from failure.__cause__
                self._pause(retry_policy.pause_s(connection_failures, self._timing.chance()))
                continue
            responses += 1
            self._has_answered = True
            out_of_tries = responses >= retry_policy.tries
            if response.status not in _RETRIED_STATUSES or (
                out_of_tries and not outage.allows_retry(f"the server answered {response.status}")
            ):
                if 200 <= response.status < 300 and (response.is_text if as_text else response.is_json):
                    return response
                raise answers.response_error(
                    self.access, response, path, right, responses, "plain text" if as_text else "JSON"
                )
            retry_after_s = response.retry_after(utc_now())
            pause_s = retry_policy.pause_s(responses, self._timing.chance())
            self._pause(pause_s if retry_after_s is None else min(retry_after_s, retry_policy.max_retry_after))

    def _within_read_timeout(self, send: Callable[[], HttpResponse]) -> HttpResponse:
        """Send within the read timeout, including the steps before a request: the credential plugin, and the DNS lookup
        of the server."""
        left_s, now = self._read_time_left_s(), self._timing.monotonic
        if left_s == inf:
            return send()
        try:
            return run_within(ResponseLimits(now, inf, now() + left_s), send)
        except DeadlineExceeded as error:
            raise self._read_timeout_error() from error

    def _pause(self, seconds: float) -> None:
        """Raises ReadTimeout: no time for a read would remain after it."""
        if seconds >= self._read_time_left_s():
            raise self._read_timeout_error()
        self._timing.sleep(seconds)

    def _read_time_left_s(self) -> float:
        limit_s = self.access.read_timeout
        if limit_s and self._outage_limits is not None:
            limit_s = max(limit_s, self._outage_limits.max_outage_s)
        return self.access.read_time.left_s(limit_s) if limit_s and self._counts_read_time else inf

    def _read_timeout_error(self) -> ReadTimeout:
        return ReadTimeout(
            f"{self.access.target.server.address} cannot be read within {self.access.read_timeout:g} s",
            "The server is slow, asks to wait, or does not end its answers. Allow more with --read-timeout TIME.",
        )


class _Outage:
    """The outage of the server, for one request that has failed a few times. Mutable."""

    def __init__(self, limits: OutageLimits | None, timing: Timing) -> None:
        self._limits = limits
        self._timing = timing
        self._started_s = timing.monotonic()
        self._reported_s = -inf

    def allows_retry(self, reason: str) -> bool:
        """Whether the request is to be sent again."""
        limits, now_s = self._limits, self._timing.monotonic()
        if limits is None or now_s - self._started_s >= limits.max_outage_s:
            return False
        if now_s - self._reported_s >= OUTAGE_MESSAGE_S:
            self._reported_s = now_s
            limits.notify(
                f"the cluster is read again: {reason}; for up to {format_duration(limits.max_outage_s)} "
                "(--max-api-outage)"
            )
        return True


# Requests that start ahead of their use, so that many small lists do not each cost a round trip.
#
# Results come in the order of the requests, so the same cluster always gives the same facts. Threads are daemons: after
# Ctrl-C the process does not wait for a server that does not answer.


Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_in_order(
    work: Callable[[Item], Result], items: Iterable[Item], parallel: int
) -> Iterator[Callable[[], Result]]:
    """For each item a function that waits for ``work(item)`` and returns or raises its outcome.

    At most `parallel` calls run or wait to be fetched, which bounds the memory that they hold.
    """
    remaining = iter(items)
    started: deque[Future[Result]] = deque()

    def start_next() -> None:
        for item in remaining:
            future: Future[Result] = Future()
            started.append(future)
            threading.Thread(target=_set_result, args=(future, work, item), daemon=True).start()
            return

    for _ in range(parallel):
        start_next()
    while started:
        yield started.popleft().result
        start_next()


def _set_result(future: Future[Result], work: Callable[[Item], Result], item: Item) -> None:
    try:
        future.set_result(work(item))
    except BaseException as error:  # raised where the result is fetched
        future.set_exception(error)


# The pages of one list, with limits, so that a list without an end is refused.
#
# Source: kubernetes.io, "Kubernetes API Concepts" (retrieving large results sets in chunks): a continue token stands
# for the rest of a list, and only a page that was filtered has no objects and a token.


MAX_EMPTY_PAGES = 100
"""Pages without an object."""

MAX_LIST_BYTES = 4 << 30
"""Of all pages together: 150,000 pods, the most that Kubernetes supports, have some 2 GiB."""

MAX_TOKEN_LENGTH = 1 << 16
"""The token is sent back in the URL, and servers accept about 1 MiB. Real tokens have some 200 characters."""


class Paging:
    """Mutable: it counts. `resource_name` is what is listed, `deadline_s` (of `monotonic`) when its last page must be
    there."""

    def __init__(self, resource_name: str, deadline_s: float = inf) -> None:
        self._resource_name = resource_name
        self._deadline_s = deadline_s
        self._tokens: set[str] = set()
        self._empty_pages = 0
        self._bytes = 0

    def check_page(self, token: str, objects: int, size: int) -> None:
        """Count a page with so many objects and bytes; `token` is the continue token of the next page, "" for the last.

        Raises:
            RequestRefused: the list does not end, or not within the limits.
        """
        self._bytes += size
        self._empty_pages += not objects
        reason = ""
        if token in self._tokens:
            reason = "the server sent the same continue token twice"
        elif len(token) > MAX_TOKEN_LENGTH:
            reason = f"the server sent a continue token of {len(token)} characters"
        elif token and self._empty_pages > MAX_EMPTY_PAGES:
            reason = f"the server sent {self._empty_pages} pages without an object"
        elif self._bytes > MAX_LIST_BYTES:
            reason = f"its pages have more than {MAX_LIST_BYTES >> 30} GiB"
        elif token and monotonic() >= self._deadline_s:
            reason = "it takes longer than --read-timeout allows"
        if reason:
            raise RequestRefused(
                f"the list of {self._resource_name} does not end: {reason}", "Is this the address of a Kubernetes API?"
            )
        if token:
            self._tokens.add(token)


# Readers of a cluster with a connection of their own; an object that the user may not read is `Unknown`.


class ClusterReadClient:
    """Base class. Mutable: it holds a connection. `default_retry_policy`: for subclasses that wait less."""

    default_retry_policy = RetryPolicy()

    def __init__(
        self,
        connection: Connection,
        credential_context: CredentialContext | None = None,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._transport = Transport(
            open_access(connection, credential_context or process_credential_context()),
            retry_policy or self.default_retry_policy,
        )
        self._page_size = connection.page_size

    def close(self) -> None:
        self._transport.close()

    def _get_text(self, path: str, right: str, query: Mapping[str, str] | None = None) -> str | Absent | Unknown:
        def read() -> str:
            return self._transport.get(path, query, right, as_text=True).body.decode("utf-8", "replace")

        return read_or_unknown(read, right)


KUBELET_RETRY_POLICY = RetryPolicy(tries=2, tries_to_connect=2)
"""Few tries: a kubelet that does not answer its API server is no reason to wait, other pods give the same
information."""


def read_or_unknown(read: Callable[[], Result], right: str) -> Result | Absent | Unknown:
    """The result of `read`, which needs the permission `right`.

    Raises:
        Unauthorized, Unreachable: nothing more can be read.
    """
    try:
        return read()
    except answers.ObjectNotFound as error:
        return Absent(error.message)
    except Forbidden as error:
        return Unknown(error.message, right)
    except (answers.NotServed, RequestRefused, answers.Incomplete, answers.ContinueTokenExpired) as error:
        return Unknown(error.message)


def pod_path(pod: str) -> str:
    """The API path of ``namespace/name``."""
    namespace, _, name = pod.partition("/")
    return f"{PODS.path_in(quote(namespace, safe=''))}/{quote(name, safe='')}"
