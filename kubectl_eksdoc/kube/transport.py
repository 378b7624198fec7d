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

from kubectl_eksdoc.bounds import AnswerLimits, DeadlineExceeded, in_time
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.model.connection import Connection, OutageLimits
from kubectl_eksdoc.model.kinds import PODS, Absent, Unknown
from kubectl_eksdoc.model.quantities import duration

from . import responses as answers
from .config import ApiAccess, connect
from .exchanges import ExchangeFailed, Exchanges, RetryPolicy, Timing, real_timing
from .responses import HttpAnswer, ReadTimeout, RequestRefused
from .target import CredentialContext, of_this_process, utc_now

TELL_S = 60.0
"""Interval of the messages about a server that does not answer."""

_AGAIN = frozenset((429, 500, 502, 503, 504))


class Transport:
    """The API of one cluster, for reading. Safe to use from several threads."""

    def __init__(
        self,
        access: ApiAccess,
        patience: RetryPolicy | None = None,
        timing: Timing | None = None,
        *,
        together: bool = True,
        waiting: OutageLimits | None = None,
    ) -> None:
        """`counts_read_time`: its reads count for --read-timeout; False for reads that recur as long as a run lasts.
        `outage_limits`: how long a server is retried that has answered before and does not answer now, instead of a few
        tries; --read-timeout is no shorter than that."""
        self.access = access
        self._patience = patience or RetryPolicy()
        self._timing = timing or real_timing()
        self._exchanges = Exchanges(access, self._patience, self._timing)
        self._together = together
        self._waiting = waiting
        self._answered = waiting is not None and waiting.answered

    def close(self) -> None:
        self.access.pools.close()

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        right: str = "",
        *,
        of_text: bool = False,
        accept: str = "",
    ) -> HttpAnswer:
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
        with self.counted():
            return self._answer(path, self._exchanges.url(path, query), right, of_text, accept)

    def counted(self) -> AbstractContextManager[None]:
        """Time in this context counts for --read-timeout, also the time to decode the pages of a list."""
        return self.access.read_time.counted()

    def _answer(self, path: str, url: str, right: str, of_text: bool, accept: str) -> HttpAnswer:
        exchanges, patience = self._exchanges, self._patience
        broken = tried = 0
        waits = _Waits(self._waiting, self._timing)
        while True:
            if self._left_s() <= 0:
                raise self._too_long()
            try:
                answer = self._in_time(
                    lambda: exchanges.admitted(lambda of: exchanges.once(of, url, accept=accept, left_s=self._left_s()))
                )
            except ExchangeFailed as failure:
                broken += 1
                if self._left_s() <= 0:
                    raise self._too_long() from failure
                often = broken >= patience.tries_to_connect
                if not failure.again or (often and not (self._answered and waits.on(failure.error.message))):
                    raise failure.error from failure.__cause__
                self._pause(patience.pause_s(broken, self._timing.chance()))
                continue
            tried += 1
            self._answered = True
            often = tried >= patience.tries
            if answer.status not in _AGAIN or (often and not waits.on(f"the server answered {answer.status}")):
                if 200 <= answer.status < 300 and (answer.is_text if of_text else answer.is_json):
                    return answer
                raise answers.error_of(self.access, answer, path, right, tried, "plain text" if of_text else "JSON")
            asked = answer.retry_after(utc_now())
            own = patience.pause_s(tried, self._timing.chance())
            self._pause(own if asked is None else min(asked, patience.longest_retry_after))

    def _in_time(self, ask: Callable[[], HttpAnswer]) -> HttpAnswer:
        """Send within the read timeout, including the steps before a request: the credential plugin, and the DNS lookup
        of the server."""
        left_s, now = self._left_s(), self._timing.monotonic
        if left_s == inf:
            return ask()
        try:
            return in_time(AnswerLimits(now, inf, now() + left_s), ask)
        except DeadlineExceeded as error:
            raise self._too_long() from error

    def _pause(self, seconds: float) -> None:
        """Raises ReadTimeout: no time for a read would remain after it."""
        if seconds >= self._left_s():
            raise self._too_long()
        self._timing.sleep(seconds)

    def _left_s(self) -> float:
        limit_s = self.access.read_timeout
        if limit_s and self._waiting is not None:
            limit_s = max(limit_s, self._waiting.away_s)
        return self.access.read_time.left_s(limit_s) if limit_s and self._together else inf

    def _too_long(self) -> ReadTimeout:
        return ReadTimeout(
            f"{self.access.target.server.address} cannot be read within {self.access.read_timeout:g} s",
            "The server is slow, asks to wait, or does not end its answers. Allow more with --read-timeout TIME.",
        )


class _Waits:
    """The outage of the server, for one request that has failed a few times. Mutable."""

    def __init__(self, waiting: OutageLimits | None, timing: Timing) -> None:
        self._waiting = waiting
        self._timing = timing
        self._begun_s = timing.monotonic()
        self._told_s = -inf

    def on(self, why: str) -> bool:
        """Whether the request is to be sent again."""
        waiting, now_s = self._waiting, self._timing.monotonic()
        if waiting is None or now_s - self._begun_s >= waiting.away_s:
            return False
        if now_s - self._told_s >= TELL_S:
            self._told_s = now_s
            waiting.tell(f"the cluster is read again: {why}; for up to {duration(waiting.away_s)} (--max-api-outage)")
        return True


# Requests that start ahead of their use, so that many small lists do not each cost a round trip.
#
# Results come in the order of the requests, so the same cluster always gives the same facts. Threads are daemons: after
# Ctrl-C the process does not wait for a server that does not answer.


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], width: int) -> Iterator[Callable[[], Result]]:
    """For each item a function that waits for ``work(item)`` and returns or raises its outcome.

    At most `parallel` calls run or wait to be fetched, which bounds the memory that they hold.
    """
    waiting = iter(items)
    started: deque[Future[Result]] = deque()

    def start() -> None:
        for item in waiting:
            future: Future[Result] = Future()
            started.append(future)
            threading.Thread(target=_run, args=(future, work, item), daemon=True).start()
            return

    for _ in range(width):
        start()
    while started:
        yield started.popleft().result
        start()


def _run(future: Future[Result], work: Callable[[Item], Result], item: Item) -> None:
    try:
        future.set_result(work(item))
    except BaseException as error:  # raised where the result is fetched
        future.set_exception(error)


# The pages of one list, with limits, so that a list without an end is refused.
#
# Source: kubernetes.io, "Kubernetes API Concepts" (retrieving large results sets in chunks): a continue token stands
# for the rest of a list, and only a page that was filtered has no objects and a token.


MOST_EMPTY = 100
"""Pages without an object."""

LIST_BYTES = 4 << 30
"""Of all pages together: 150,000 pods, the most that Kubernetes supports, have some 2 GiB."""

LONGEST_TOKEN = 1 << 16
"""The token is sent back in the URL, and servers accept about 1 MiB. Real tokens have some 200 characters."""


class Paging:
    """Mutable: it counts. `resource_name` is what is listed, `deadline_s` (of `monotonic`) when its last page must be
    there."""

    def __init__(self, of: str, until_s: float = inf) -> None:
        self._of = of
        self._until_s = until_s
        self._tokens: set[str] = set()
        self._empty = 0
        self._bytes = 0

    def check(self, token: str, objects: int, size: int) -> None:
        """Count a page with so many objects and bytes; `token` is the continue token of the next page, "" for the last.

        Raises:
            RequestRefused: the list does not end, or not within the limits.
        """
        self._bytes += size
        self._empty += not objects
        why = ""
        if token in self._tokens:
            why = "the server sent the same continue token twice"
        elif len(token) > LONGEST_TOKEN:
            why = f"the server sent a continue token of {len(token)} characters"
        elif token and self._empty > MOST_EMPTY:
            why = f"the server sent {self._empty} pages without an object"
        elif self._bytes > LIST_BYTES:
            why = f"its pages have more than {LIST_BYTES >> 30} GiB"
        elif token and monotonic() >= self._until_s:
            why = "it takes longer than --read-timeout allows"
        if why:
            raise RequestRefused(
                f"the list of {self._of} does not end: {why}", "Is this the address of a Kubernetes API?"
            )
        if token:
            self._tokens.add(token)


# Readers of a cluster with a connection of their own; an object that the user may not read is `Unknown`.


class ClusterReads:
    """Base class. Mutable: it holds a connection. `default_retry_policy`: for subclasses that wait less."""

    patience = RetryPolicy()

    def __init__(
        self, connection: Connection, around: CredentialContext | None = None, patience: RetryPolicy | None = None
    ) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._transport = Transport(connect(connection, around or of_this_process()), patience or self.patience)
        self._page_size = connection.page_size

    def close(self) -> None:
        self._transport.close()

    def _text(self, path: str, right: str, query: Mapping[str, str] | None = None) -> str | Absent | Unknown:
        def read() -> str:
            return self._transport.get(path, query, right, of_text=True).body.decode("utf-8", "replace")

        return answer_of(read, right)


HASTY = RetryPolicy(tries=2, tries_to_connect=2)
"""Few tries: a kubelet that does not answer its API server is no reason to wait, other pods give the same
information."""


def answer_of(read: Callable[[], Result], right: str) -> Result | Absent | Unknown:
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
