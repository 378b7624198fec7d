"""GET requests that end in an answer or in one of our errors: retries, refreshed credentials, time limits."""

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
"""So often it is told that a server is waited for."""

_AGAIN = frozenset((429, 500, 502, 503, 504))


class Transport:
    """One cluster's API, for reading. Safe to use from several threads."""

    def __init__(
        self,
        access: ApiAccess,
        patience: RetryPolicy | None = None,
        timing: Timing | None = None,
        *,
        together: bool = True,
        waiting: OutageLimits | None = None,
    ) -> None:
        """`together`: what it reads counts for --read-timeout; not where it reads now and then for as long as something
        goes on. `waiting`: a server that has answered before and does not answer now is asked again for so long, in the
        place of a few times, and --read-timeout is no shorter than that."""
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
        """The server's 2xx answer. `right` is what RBAC calls this request, e.g. ``list pods``; `of_text`: it is plain
        text instead of JSON; `accept`: in which form it is wanted, "" for the usual one.

        Raises:
            Unauthorized: the credentials are refused, or the plugin that makes them failed.
            Forbidden: `missing` is `right`, or "" where no credentials were sent.
            NotServed, Expired: 404 and 410; Absent: it is one object that is not there.
            Refused: another refusal, after retries.
            Unreachable: no connection, or (Incomplete) no whole answer, after retries; ReadTimeout: nothing more may
                be read.
            ConfigError: a credential or certificate cannot be had.
        """
        with self.counted():
            return self._answer(path, self._exchanges.url(path, query), right, of_text, accept)

    def counted(self) -> AbstractContextManager[None]:
        """What is done within it is a part of --read-timeout: also what is made of the pages of a list."""
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
        """With all that comes before a request: a plugin that gives credentials, the name and the addresses of the
        server."""
        left_s, now = self._left_s(), self._timing.monotonic
        if left_s == inf:
            return ask()
        try:
            return in_time(AnswerLimits(now, inf, now() + left_s), ask)
        except DeadlineExceeded as error:
            raise self._too_long() from error

    def _pause(self, seconds: float) -> None:
        """Raises ReadTimeout: nothing could be read after it."""
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
    """Mutable: for one request, which has failed a few times."""

    def __init__(self, waiting: OutageLimits | None, timing: Timing) -> None:
        self._waiting = waiting
        self._timing = timing
        self._begun_s = timing.monotonic()
        self._told_s = -inf

    def on(self, why: str) -> bool:
        """Whether it is to be sent again."""
        waiting, now_s = self._waiting, self._timing.monotonic()
        if waiting is None or now_s - self._begun_s >= waiting.away_s:
            return False
        if now_s - self._told_s >= TELL_S:
            self._told_s = now_s
            waiting.tell(f"the cluster is read again: {why}; for up to {duration(waiting.away_s)} (--max-api-outage)")
        return True


# Starts requests ahead of their use, so that many small lists do not each cost a round trip.
#
# Results come in the order of the questions, hence the same cluster always gives the same facts. Threads are
# daemons: after Ctrl-C nobody waits for a server that does not answer.


Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(work: Callable[[Item], Result], items: Iterable[Item], width: int) -> Iterator[Callable[[], Result]]:
    """For each item a function that waits for ``work(item)`` and returns or raises what it did.

    At most `width` are under way or wait to be fetched, which bounds the memory they hold.
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
    except BaseException as error:  # it belongs to whoever asks for the result
        future.set_exception(error)


# The pages of one list: they must come to an end.
#
# Source: kubernetes.io, "Kubernetes API Concepts" (retrieving large results sets in chunks): a continue token stands
# for the rest of a list, and only a page that was filtered has no objects and a token.


MOST_EMPTY = 100
"""Pages without an object."""

LIST_BYTES = 4 << 30
"""Of all pages together: 150,000 pods, the most that Kubernetes supports, have some 2 GiB."""

LONGEST_TOKEN = 1 << 16
"""It is sent back in the address, of which servers take about a MiB. Real ones have some 200 characters."""


class Paging:
    """Mutable: it counts. `of` is what is listed, `until_s` (of `monotonic`) when its last page must be there."""

    def __init__(self, of: str, until_s: float = inf) -> None:
        self._of = of
        self._until_s = until_s
        self._tokens: set[str] = set()
        self._empty = 0
        self._bytes = 0

    def check(self, token: str, objects: int, size: int) -> None:
        """A page came with so many objects and bytes, and `token` for the next one, "" where it is the last.

        Raises:
            Refused: the list has no end, or none that would be waited for.
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


# What reads a cluster over a connection of its own, and takes what it may not read for unknown.


class ClusterReads:
    """Mutable: it holds a connection. `patience`: where it waits less than others do."""

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
"""A kubelet that does not answer its API server is no reason to wait: others tell as much."""


def answer_of(read: Callable[[], Result], right: str) -> Result | Absent | Unknown:
    """What is `read`, which needs that right.

    Raises:
        Unauthorized, Unreachable: nothing more can be asked.
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
    """Of ``namespace/name``."""
    namespace, _, name = pod.partition("/")
    return f"{PODS.path_in(quote(namespace, safe=''))}/{quote(name, safe='')}"
