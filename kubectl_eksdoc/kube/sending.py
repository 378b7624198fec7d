"""Requests that change something: each is sent once, and ends in the server's answer, or in nobody knowing."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.api.statuses import Lost
from kubectl_eksdoc.errors import ClusterError
from kubectl_eksdoc.kube.answers import Answer
from kubectl_eksdoc.kube.credentials import Credential
from kubectl_eksdoc.kube.exchanges import Broken, Exchanges
from kubectl_eksdoc.kube.sent import JSON, Sent
from kubectl_eksdoc.kube.sockets import asked_before_each_byte
from kubectl_eksdoc.kube.statuses import status_of

Fence = Callable[[], object]
"""Raises LockLost where nothing must be sent any more. Asked from several threads."""


def unfenced() -> None:
    """Nothing is to be held."""


class Sender:
    """One cluster's API, for writing. Safe to use from several threads.

    A request is sent again only where nothing can have been done: after a 401 with newer credentials, and after a
    connection that did not come about. Whatever else breaks down is `Lost`. Each time the fence is asked right before:
    making credentials, a connection that does not come and the pauses between take longer than a lock may be held.
    """

    def __init__(self, exchanges: Exchanges, fence: Fence = unfenced, confirm: Fence = unfenced) -> None:
        """`fence` asks nobody itself, and is asked before each byte; `confirm` asks the cluster whether the lock is
        still ours, once before each try, and may raise other errors of a cluster: then it is not sent either."""
        self._exchanges = exchanges
        self._fence = fence
        self._confirm = confirm

    def send(
        self, method: str, path: str, query: Mapping[str, str], body: Doc | None, content_type: str = JSON
    ) -> Sent:
        """
        Raises:
            LockLost: the fence does, and nothing that could have been done was sent.
        """
        url = self._exchanges.url(path, query)
        sent = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        try:
            answer = self._answer(method, url, sent, content_type if body is not None else "")
        except Broken as failure:
            return Sent(Lost(failure.error.message), {})
        except ClusterError as error:  # no credentials, or a certificate that cannot be used: it was not sent
            return Sent(Lost(error.message), {})
        status, document = status_of(answer), answer.document
        return Sent(status, {} if document.get("kind") == "Status" else dict(document), answer.date)

    def _answer(self, method: str, url: str, body: bytes | None, content_type: str) -> Answer:
        exchanges, patience, timing = self._exchanges, self._exchanges.patience, self._exchanges.timing

        def once(given: Credential) -> Answer:
            self._confirm()
            self._fence()
            with asked_before_each_byte(self._fence):
                return exchanges.once(given, url, method, body, content_type)

        tried = 0
        while True:
            try:
                return exchanges.admitted(once)
            except Broken as failure:
                tried += 1
                if not failure.unsent or tried >= patience.tries_to_connect:
                    raise
            timing.sleep(patience.pause_s(tried, timing.chance()))
