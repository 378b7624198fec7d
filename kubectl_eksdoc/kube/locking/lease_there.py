"""The Lease as the cluster has it: asked for, watched by looking at it again, and what the server says of it."""

from __future__ import annotations

from datetime import datetime, timedelta

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.errors import Unreachable, UsageError
from kubectl_eksdoc.kube.locking import lease
from kubectl_eksdoc.kube.locking.lease import LeaseSeen
from kubectl_eksdoc.kube.locking.server_time import ServerTime
from kubectl_eksdoc.kube.sent import JSON, MANAGER, UNASKED, Clock, Sender, Sent, refused
from kubectl_eksdoc.kube.tries import Tries

NAME = "eksdoc-drain"
GET, CREATE, UPDATE = (f"{verb} leases.coordination.k8s.io" for verb in ("get", "create", "update"))
LABELS = {"app.kubernetes.io/managed-by": "eksdoc"}


class LeaseThere:
    """Mutable: what was seen last, and since when. For one thread."""

    def __init__(self, sender: Sender, namespace: str, clock: Clock, tries: Tries) -> None:
        self.namespace = namespace
        self.tries = tries
        self._sender = sender
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._clock = clock
        self._server = ServerTime(clock)
        self._watched: tuple[Doc, float] | None = None  # the spec that was seen last, and since when

    @property
    def where(self) -> str:
        return f"{self.namespace}/{NAME}"

    @property
    def latest(self) -> datetime | None:
        """The latest time that the server's clock could show; None where it never said its own."""
        return self._server.latest()

    def ask(self, method: str, body: Doc | None = None) -> Sent:
        path = self._path if method == "POST" else f"{self._path}/{NAME}"
        asked_s = self._clock.monotonic()
        sent = self._sender.send(method, path, MANAGER if body is not None else {}, body, JSON)
        self._server.told(sent.date, asked_s)
        return sent

    def written(self, before: LeaseSeen | None, spec: Doc, clock: str) -> Sent:
        """Once, over `before`, or as a new one."""
        if before is None:
            return self.ask("POST", lease.new(NAME, self.namespace, spec, clock, LABELS))
        return self.ask("PUT", lease.changed(before, spec, clock))

    def look(self) -> LeaseSeen | None:
        """None: there is none.

        Raises:
            UsageError: there is no such namespace.
            Unreachable, Unauthorized, Forbidden
        """
        sent = UNASKED
        for pause in self.tries.each(self._clock):
            sent = self.ask("GET")
            if sent.code == 404:
                return None
            if sent.ok:
                found = lease.seen(sent.doc)
                if self._watched is None or self._watched[0] != found.spec:
                    self._watched = found.spec, self._clock.monotonic()
                return found
            self.check(sent, GET)
            pause.after(sent)
        raise self.unreachable(sent)

    def is_over(self, found: LeaseSeen, duration_s: int) -> bool:
        """By the server's clock alone: who renewed it wrote the latest time that the server's could be, and we take the
        earliest, which is its Date header. `duration_s` is for one that says none."""
        date = self._server.date
        if date is None or found.renewed is None or not found.by_server:
            return False
        return date - found.renewed > timedelta(seconds=found.duration_s or duration_s)

    def stood_still(self, found: LeaseSeen, duration_s: int) -> bool:
        """By our own clock: nobody renewed it for its whole duration while we looked."""
        if self._watched is None or self._watched[0] != found.spec:
            return False
        return self._clock.monotonic() - self._watched[1] > (found.duration_s or duration_s)

    def check(self, sent: Sent, right: str) -> None:
        """Raises, where trying again would not change this answer."""
        if error := refused(sent, right, self.namespace):
            raise error
        if sent.code == 404 and right == CREATE:
            hint = f"Make it (kubectl create namespace {self.namespace}), or choose another one."
            raise UsageError(f"there is no namespace {self.namespace} to lock this cluster's drains in", hint)
        if not sent.unknown and sent.code not in (404, 409, 429):
            raise self.unreachable(sent)

    def unreachable(self, sent: Sent) -> Unreachable:
        return Unreachable(f"the lock {self.where} cannot be taken: {said(sent)}", "Nothing was done. Try again.")


def said(sent: Sent) -> str:
    if sent.code:
        return f"the server answered {sent.code}: {sent.said}"
    return sent.said or "the server gave no answer"
