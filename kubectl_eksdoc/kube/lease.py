"""The Lease of the drain lock: its document, requests and errors. Its times are by the API server's clock.

Source: coordination.k8s.io/v1 (staging/src/k8s.io/api/coordination/v1/types.go); MicroTime has exactly six digits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone

from kubectl_eksdoc.errors import LockInDoubt, LockLost, Unreachable, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parsed
from kubectl_eksdoc.model.api_objects import Doc, at

from .requests import (
    JSON,
    MANAGER,
    UNASKED,
    Clock,
    RequestSender,
    RetryLimits,
    SentRequest,
    refused,
)

CLOCK, SERVERS = "eksdoc.io/renew-time-by", "server"
"""The annotation that says whether renewTime is by the API server's clock. Only then may that clock decide that the
Lease has expired."""


@frozen
class LeaseSeen:
    """`holder` "": the Lease is free. `duration_s` 0 and times None: missing, or in an unknown format. `spec` is
    complete: it changes with every renewal."""

    holder: str
    duration_s: int
    renewed: datetime | None
    taken: datetime | None
    transitions: int
    by_server: bool
    spec: Doc
    doc: Doc


def seen(doc: Doc) -> LeaseSeen:
    spec = at(doc, "spec")
    spec = spec if isinstance(spec, dict) else {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return LeaseSeen(
        str(spec.get("holderIdentity") or ""),
        duration if isinstance(duration, int) and duration > 0 else 0,
        parsed(spec.get("renewTime")),
        parsed(spec.get("acquireTime")),
        transitions if isinstance(transitions, int) else 0,
        at(doc, "metadata", "annotations", CLOCK) == SERVERS,
        spec,
        doc,
    )


def new(name: str, namespace: str, spec: Doc, clock: str, labels: Mapping[str, str]) -> Doc:
    meta = {"name": name, "namespace": namespace, "labels": dict(labels), "annotations": {CLOCK: clock}}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def changed(lease: LeaseSeen, spec: Doc, clock: str) -> Doc:
    """The complete object with another spec, at the resourceVersion that was read: the server refuses the update of any
    other version."""
    meta = {key: value for key, value in lease.doc.get("metadata", {}).items() if key != "managedFields"}
    meta["annotations"] = {**(meta.get("annotations") or {}), CLOCK: clock}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


def micro_time(when: datetime) -> str:
    return when.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# Requests for the Lease, and what repeated reads show: the server's clock, and whether it was renewed.


NAME = "eksdoc-drain"
GET, CREATE, UPDATE = (f"{verb} leases.coordination.k8s.io" for verb in ("get", "create", "update"))
LABELS = {"app.kubernetes.io/managed-by": "eksdoc"}


class LeaseThere:
    """Mutable: the last observed spec, and since when it is unchanged. For one thread."""

    def __init__(self, sender: RequestSender, namespace: str, clock: Clock, tries: RetryLimits) -> None:
        self.namespace = namespace
        self.tries = tries
        self._sender = sender
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._clock = clock
        # The API server's clock, by its Date headers. A Date is truncated to the second, and was written at some time
        # between our request and the response. So the earliest and the latest time that fit are known, and advance
        # with our own monotonic clock. Several API servers may answer in turn; the last one counts.
        self._date: tuple[datetime, float] | None = None  # one tuple: several threads read it
        self._watched: tuple[Doc, float] | None = None  # the last observed spec, and since when it is unchanged

    @property
    def where(self) -> str:
        return f"{self.namespace}/{NAME}"

    @property
    def latest(self) -> datetime | None:
        """The latest time that the server's clock could show; None where the server has sent no Date."""
        if self._date is None:
            return None
        date, asked_s = self._date
        return date + timedelta(seconds=1 + self._clock.monotonic() - asked_s)

    def ask(self, method: str, body: Doc | None = None) -> SentRequest:
        path = self._path if method == "POST" else f"{self._path}/{NAME}"
        asked_s = self._clock.monotonic()
        sent = self._sender.send(method, path, MANAGER if body is not None else {}, body, JSON)
        if sent.date is not None:
            self._date = sent.date, asked_s
        return sent

    def written(self, before: LeaseSeen | None, spec: Doc, clock: str) -> SentRequest:
        """Send one write, over `previous`, or of a new Lease."""
        if before is None:
            return self.ask("POST", new(NAME, self.namespace, spec, clock, LABELS))
        return self.ask("PUT", changed(before, spec, clock))

    def look(self) -> LeaseSeen | None:
        """None: there is no Lease.

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
                found = seen(sent.doc)
                if self._watched is None or self._watched[0] != found.spec:
                    self._watched = found.spec, self._clock.monotonic()
                return found
            self.check(sent, GET)
            pause.after(sent)
        raise self.unreachable(sent)

    def is_over(self, found: LeaseSeen, duration_s: int) -> bool:
        """Whether the Lease has expired, by the server's clock alone. The holder wrote the latest time that the
        server's clock could show, and this reads the earliest, which is its Date header. `duration_s` is for a Lease
        without a duration."""
        if self._date is None or found.renewed is None or not found.by_server:
            return False
        return self._date[0] - found.renewed > timedelta(seconds=found.duration_s or duration_s)

    def stood_still(self, found: LeaseSeen, duration_s: int) -> bool:
        """Whether the Lease was not renewed for its whole duration, by our own clock, since we observed it first."""
        if self._watched is None or self._watched[0] != found.spec:
            return False
        return self._clock.monotonic() - self._watched[1] > (found.duration_s or duration_s)

    def check(self, sent: SentRequest, right: str) -> None:
        """Raise the error of a response that a retry would not change."""
        if error := refused(sent, right, self.namespace):
            raise error
        if sent.code == 404 and right == CREATE:
            hint = f"Make it (kubectl create namespace {self.namespace}), or choose another one."
            raise UsageError(f"there is no namespace {self.namespace} to lock this cluster's drains in", hint)
        if not sent.unknown and sent.code not in (404, 409, 429):
            raise self.unreachable(sent)

    def unreachable(self, sent: SentRequest) -> Unreachable:
        return Unreachable(f"the lock {self.where} cannot be taken: {sent.told}", "Nothing was done. Try again.")


# Gaps in which the holder of the lock was unknown. After a gap everything is observed again before it is relied on.
#
# The thread that renews the lock begins a gap. The thread that relies on the lock ends it, after an observation that
# began when the gap was over. A second gap meanwhile needs a second observation, whichever thread was suspended.


class LeaseGaps:
    """Mutable. Safe to use from several threads. Times are of the lock's monotonic clock."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._begun = self._looked_at = 0
        self.is_open = False
        self.sure_s = 0.0
        """The last renewal that certainly succeeded before the gap, or at all where there is no gap."""

    def begin(self) -> None:
        with self._turn:
            self.is_open = True
            self._begun += 1

    def forget(self) -> None:
        """The lock was taken again, by a caller that relies on no earlier decision."""
        with self._turn:
            self.is_open = False

    def renewed(self, since_s: float) -> None:
        if not self.is_open:
            self.sure_s = since_s

    def look(self) -> None:
        """What is observed from now on is observed after all gaps so far."""
        self._looked_at = self._begun

    def end(self, held: Callable[[], bool]) -> None:
        """Everything was observed; the gap stays open if there was another one since, or if the lock is not held."""
        with self._turn:
            if self._begun == self._looked_at and held():
                self.is_open = False


# Errors that say why a lock is not held any more.


def given_back(where: str) -> LockLost:
    return LockLost(f"the lock {where} was given back", "Nothing more is done from here; resume the run.")


def removed(where: str) -> LockLost:
    return LockLost(f"the lock {where} was removed", "This run was stopped on purpose. Ask why, then resume.")


def taken(where: str, holder: str) -> LockLost:
    """`holder` "": it is free."""
    hint = "Nothing more is done from here; kubectl eksdoc drain status shows which process continues."
    return LockLost(f"the lock {where} is not ours any more: {holder or 'nobody'} holds it", hint, holder)


def changed_hands(where: str, holder: str) -> LockLost:
    """Another process held the lock since our last renewal. `holder`: as in `taken_error`."""
    now = f"{holder or 'no process'} holds it now"
    hint = "Nothing more is done from here; kubectl eksdoc drain status shows what they did."
    return LockLost(f"another process took the lock {where} meanwhile; {now}", hint, holder)


def too_late(where: str, duration_s: float, failed: str) -> LockInDoubt:
    """`renewal_error`: the error of the last try to renew, "" where it succeeded and none was made since."""
    said = f"the lock {where} may be held by another process by now: it was not renewed within {duration_s} s"
    if failed:
        hint = "Nothing more is done from here; fix that, then resume."
        return LockInDoubt(f"{said}; the last try: {failed}", hint, failed)
    return LockInDoubt(said, "This machine or its network stood still. Nothing more is done from here; resume the run.")


def again(error: LockLost) -> LockLost:
    """The same error, for another thread to raise."""
    return LockLost(error.message, error.hint, error.holder)
