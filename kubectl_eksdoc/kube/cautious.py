"""Questions to an API server, and small changes, of which every answer is kept: a refusal, and that none came, too."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Unknown
from kubectl_eksdoc.core.model.probe_pods import NotMade
from kubectl_eksdoc.errors import ClusterError, Unauthorized
from kubectl_eksdoc.kube.config import Access
from kubectl_eksdoc.kube.exchanges import Exchanges
from kubectl_eksdoc.kube.patience import Patience, real_timing
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import JSON, MANAGER, UNASKED, Clock, Sent, refused
from kubectl_eksdoc.kube.tries import Tries


class Cautious:
    """In one namespace. Mutable: it holds a connection."""

    def __init__(self, access: Access, patience: Patience, namespace: str, clock: Clock, tries: Tries) -> None:
        self._sender = Sender(Exchanges(access, patience, real_timing()))
        self._namespace = namespace
        self._clock = clock
        self._tries = tries

    def once(self, path: str, query: Mapping[str, str]) -> Sent:
        """A question that is not asked again: the next one comes soon anyway."""
        return self._sender.send("GET", path, query, None)

    def asked(self, method: str, path: str, query: Mapping[str, str] | None = None, body: Doc | None = None) -> Sent:
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
    ) -> Sent | NotMade:
        """Sent once; `dry`: the server only says whether it would."""
        query = {**MANAGER, "dryRun": "All"} if dry else MANAGER
        sent = self._sender.send(method, path, query, body, content)
        return sent if sent.ok else self.not_made(sent, right)

    def unknown(self, sent: Sent, right: str) -> Unknown:
        """
        Raises:
            Unauthorized: nothing more can be asked.
        """
        error = self._refused(sent, right)
        return Unknown(_how(sent, right)) if error is None else Unknown(error.message, right)

    def not_made(self, sent: Sent, right: str) -> NotMade:
        """Raises: as `unknown`."""
        error = self._refused(sent, right)
        if error is not None:
            return NotMade(error.message, right)
        return NotMade(_how(sent, right), maybe=sent.unknown, later=sent.code == 429)

    def _refused(self, sent: Sent, right: str) -> ClusterError | None:
        error = refused(sent, right, self._namespace)
        if isinstance(error, Unauthorized):
            raise Unauthorized(error.message, "Sign in anew, and probe again.")
        return error


def _how(sent: Sent, right: str) -> str:
    how = f"answered {sent.code}" if sent.code else "gave no answer"
    return f"to {right}, the server {how}: {sent.said}"
