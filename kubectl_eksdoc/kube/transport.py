"""GET requests that end in an answer or in one of our errors: retries, refreshed credentials, time limits."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.kube import refusals
from kubectl_eksdoc.kube.answers import Answer
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.exchanges import Broken, Exchanges
from kubectl_eksdoc.kube.patience import Patience, Timing, real_timing
from kubectl_eksdoc.kube.surroundings import utc_now

_AGAIN = frozenset((429, 500, 502, 503, 504))


class Transport:
    """One cluster's API, for reading. Safe to use from several threads."""

    def __init__(self, access: Access, patience: Patience | None = None, timing: Timing | None = None) -> None:
        self.access = access
        self._patience = patience or Patience()
        self._timing = timing or real_timing()
        self._exchanges = Exchanges(access, self._patience, self._timing)

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
            Unreachable: no connection, or (Incomplete) no whole answer, after retries.
            ConfigError: a credential or certificate cannot be had.
        """
        exchanges = self._exchanges
        url = exchanges.url(path, query)
        broken = tried = 0
        while True:
            try:
                answer = exchanges.admitted(lambda credential: exchanges.once(credential, url, accept=accept))
            except Broken as failure:
                broken += 1
                if not failure.again or broken >= self._patience.tries_to_connect:
                    raise failure.error from failure.__cause__
                self._pause(broken, None)
                continue
            tried += 1
            if answer.status not in _AGAIN or tried >= self._patience.tries:
                if 200 <= answer.status < 300 and (answer.is_text if of_text else answer.is_json):
                    return answer
                raise refusals.error_of(self.access, answer, path, right, tried, "plain text" if of_text else "JSON")
            self._pause(tried, answer.retry_after(utc_now()))

    def _pause(self, count: int, asked: float | None) -> None:
        patience = self._patience
        if asked is not None:
            self._timing.sleep(min(asked, patience.longest_retry_after))
            return
        self._timing.sleep(patience.pause_s(count, self._timing.chance()))
