"""Requests that change something: each is sent once, and ends in the server's answer, or in nobody knowing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kubectl_eksdoc.errors import ClusterError, Unauthorized
from kubectl_eksdoc.kube.answers import HttpAnswer, status_of
from kubectl_eksdoc.kube.config import ApiAccess
from kubectl_eksdoc.kube.credentials import Credential
from kubectl_eksdoc.kube.exchanges import ExchangeFailed, Exchanges, RetryPolicy, real_timing
from kubectl_eksdoc.kube.pools import asked_before_each_byte
from kubectl_eksdoc.kube.sent import JSON, MANAGER, UNASKED, Clock, SentRequest, refused
from kubectl_eksdoc.kubernetes.api.statuses import LostAnswer
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.placing import NotMade

Fence = Callable[[], object]
"""Raises LockLost where nothing must be sent any more. Asked from several threads."""


def unfenced() -> None:
    """Nothing is to be held."""


class ApiWriter:
    """One cluster's API, for writing. Safe to use from several threads.

    A request is sent again only where nothing can have been done: after a 401 with newer credentials, and after a
    connection that did not come about. Whatever else breaks down is `LostAnswer`. Each time the fence is asked right
    before: making credentials, a connection that does not come and the pauses between take longer than a lock may be
    held.
    """

    def __init__(self, exchanges: Exchanges, fence: Fence = unfenced, confirm: Fence = unfenced) -> None:
        """`fence` asks nobody itself, and is asked before each byte; `confirm` asks the cluster whether the lock is
        still ours, once before each try, and may raise other errors of a cluster: then it is not sent either."""
        self._exchanges = exchanges
        self._fence = fence
        self._confirm = confirm

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> SentRequest:
        """
        Raises:
            LockLost: the fence does, and nothing that could have been done was sent.
        """
        url = self._exchanges.url(path, query)
        sent = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        try:
            answer = self._answer(method, url, sent, content_type if body is not None else "")
        except ExchangeFailed as failure:
            return SentRequest(LostAnswer(failure.error.message), {})
        except ClusterError as error:  # no credentials, or a certificate that cannot be used: it was not sent
            return SentRequest(LostAnswer(error.message), {})
        status, document = status_of(answer), answer.document
        return SentRequest(status, {} if document.get("kind") == "Status" else dict(document), answer.date)

    def _answer(self, method: str, url: str, body: bytes | None, content_type: str) -> HttpAnswer:
        exchanges, patience, timing = self._exchanges, self._exchanges.patience, self._exchanges.timing

        def once(given: Credential) -> HttpAnswer:
            self._confirm()
            self._fence()
            with asked_before_each_byte(self._fence):
                return exchanges.once(given, url, method, body, content_type)

        tried = 0
        while True:
            try:
                return exchanges.admitted(once)
            except ExchangeFailed as failure:
                tried += 1
                if not failure.unsent or tried >= patience.tries_to_connect:
                    raise
            timing.sleep(patience.pause_s(tried, timing.chance()))


# How long one write is tried again, and what it waits between: for whoever must know how it ended.


@dataclass(frozen=True, slots=True)
class RetryLimits:
    """Times in seconds. `patience_s`: after so long no further try is begun; a server that is replaced is away for some
    30 s."""

    patience_s: float = 45.0
    first_pause_s: float = 0.2
    longest_pause_s: float = 4.0
    longest_asked_s: float = 10.0

    def each(self, clock: Clock) -> Iterator[Pause]:
        """One for every try; before the next one, its pause is slept."""
        begun, pause_s = clock.monotonic(), self.first_pause_s
        while True:
            pause = Pause(pause_s, self.longest_asked_s, clock.monotonic() - begun)
            yield pause
            if clock.monotonic() - begun + pause.seconds > self.patience_s:
                return
            clock.sleep(pause.seconds)
            pause_s = min(pause_s * 2, self.longest_pause_s)


class Pause:
    """Mutable: what the answer asks for is added to it. `tried_s`: so long it had been tried when this try began."""

    def __init__(self, seconds: float, longest_s: float, tried_s: float = 0.0) -> None:
        self.seconds = seconds
        self.tried_s = tried_s
        self._longest_s = longest_s

    def after(self, sent: SentRequest) -> None:
        self.seconds = max(self.seconds, min(sent.retry_s, self._longest_s))


# Questions to an API server, and small changes, of which every answer is kept: a refusal, and that none came, too.


class Cautious:
    """In one namespace. Mutable: it holds a connection."""

    def __init__(
        self, access: ApiAccess, patience: RetryPolicy, namespace: str, clock: Clock, tries: RetryLimits
    ) -> None:
        self._sender = ApiWriter(Exchanges(access, patience, real_timing()))
        self._namespace = namespace
        self._clock = clock
        self._tries = tries

    def once(self, path: str, query: Mapping[str, str]) -> SentRequest:
        """A question that is not asked again: the next one comes soon anyway."""
        return self._sender.send("GET", path, query, None)

    def asked(
        self, method: str, path: str, query: Mapping[str, str] | None = None, body: Doc | None = None
    ) -> SentRequest:
        """Asked again while nobody answers, or says that it cannot just now: what may be done twice."""
        sent = UNASKED
        for pause in self._tries.each(self._clock):
            sent = self._sender.send(method, path, query or {}, body, JSON)
            if not sent.unknown and sent.code != 429:
                return sent
            pause.after(sent)
        return sent

    def changed(
        self, method: str, path: str, right: str, body: Doc, content: str = JSON, dry: bool = False
    ) -> SentRequest | NotMade:
        """Sent once; `dry`: the server only says whether it would."""
        query = {**MANAGER, "dryRun": "All"} if dry else MANAGER
        sent = self._sender.send(method, path, query, body, content)
        return sent if sent.ok else self.not_made(sent, right)

    def unknown(self, sent: SentRequest, right: str) -> Unknown:
        """
        Raises:
            Unauthorized: nothing more can be asked.
        """
        error = self._refused(sent, right)
        return Unknown(_how(sent, right)) if error is None else Unknown(error.message, right)

    def not_made(self, sent: SentRequest, right: str) -> NotMade:
        """Raises: as `unknown`."""
        error = self._refused(sent, right)
        if error is not None:
            return NotMade(error.message, right)
        return NotMade(_how(sent, right), maybe=sent.unknown, later=sent.code == 429)

    def _refused(self, sent: SentRequest, right: str) -> ClusterError | None:
        error = refused(sent, right, self._namespace)
        if isinstance(error, Unauthorized):
            raise Unauthorized(error.message, "Sign in again, and retry the test.")
        return error


def _how(sent: SentRequest, right: str) -> str:
    how = f"answered {sent.code}" if sent.code else "gave no answer"
    return f"to {right}, the server {how}: {sent.said}"
