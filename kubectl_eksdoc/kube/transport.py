"""GET requests that end in an answer or in one of our errors: retries, refreshed credentials, time limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from math import inf

from kubectl_eksdoc.bounds import Bounds, Late, in_time
from kubectl_eksdoc.core.model.connection import Waiting
from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.kube import refusals
from kubectl_eksdoc.kube.answers import Answer, ReadTimeout
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.exchanges import Broken, Exchanges
from kubectl_eksdoc.kube.patience import Patience, Timing, real_timing
from kubectl_eksdoc.kube.surroundings import utc_now

TELL_S = 60.0
"""So often it is told that a server is waited for."""

_AGAIN = frozenset((429, 500, 502, 503, 504))


class Transport:
    """One cluster's API, for reading. Safe to use from several threads."""

    def __init__(
        self,
        access: Access,
        patience: Patience | None = None,
        timing: Timing | None = None,
        *,
        together: bool = True,
        waiting: Waiting | None = None,
    ) -> None:
        """`together`: what it reads counts for --read-timeout; not where it reads now and then for as long as something
        goes on. `waiting`: a server that has answered before and does not answer now is asked again for so long, in the
        place of a few times, and --read-timeout is no shorter than that."""
        self.access = access
        self._patience = patience or Patience()
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
    ) -> Answer:
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

    def _answer(self, path: str, url: str, right: str, of_text: bool, accept: str) -> Answer:
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
            except Broken as failure:
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
                raise refusals.error_of(self.access, answer, path, right, tried, "plain text" if of_text else "JSON")
            asked = answer.retry_after(utc_now())
            own = patience.pause_s(tried, self._timing.chance())
            self._pause(own if asked is None else min(asked, patience.longest_retry_after))

    def _in_time(self, ask: Callable[[], Answer]) -> Answer:
        """With all that comes before a request: a plugin that gives credentials, the name and the addresses of the
        server."""
        left_s, now = self._left_s(), self._timing.monotonic
        if left_s == inf:
            return ask()
        try:
            return in_time(Bounds(now, inf, now() + left_s), ask)
        except Late as error:
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

    def __init__(self, waiting: Waiting | None, timing: Timing) -> None:
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
            waiting.tell(f"the cluster is read again: {why}; for up to {in_words(waiting.away_s)} (--stop-away)")
        return True
