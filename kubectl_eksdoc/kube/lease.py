"""The Lease of the drain lock: its document, requests and errors. Its times are by the API server's clock.

Source: coordination.k8s.io/v1 (staging/src/k8s.io/api/coordination/v1/types.go); MicroTime has exactly six digits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone

from kubectl_eksdoc.errors import LockInDoubt, LockLost, Unreachable, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.schedules import parse_time
from kubectl_eksdoc.model.api_objects import Doc, nested_field

from .requests import (
    FIELD_MANAGER,
    JSON,
    NOT_SENT,
    ApiResponse,
    Clock,
    RequestSender,
    RetryLimits,
    refusal_error,
)

CLOCK_ANNOTATION, SERVER_CLOCK = "eksdoc.io/renew-time-by", "server"
"""The annotation that says whether renewTime is by the API server's clock. Only then may that clock decide that the
Lease has expired."""


@frozen
class ObservedLease:
    """`holder` "": the Lease is free. `duration_s` 0 and times None: missing, or in an unknown format. `spec` is
    complete: it changes with every renewal."""

    holder: str
    duration_s: int
    renewed_at: datetime | None
    acquired_at: datetime | None
    transitions: int
    by_server_clock: bool
    spec: Doc
    doc: Doc


def lease_from_doc(doc: Doc) -> ObservedLease:
    spec = nested_field(doc, "spec")
    spec = spec if isinstance(spec, dict) else {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    return ObservedLease(
        str(spec.get("holderIdentity") or ""),
        duration if isinstance(duration, int) and duration > 0 else 0,
        parse_time(spec.get("renewTime")),
        parse_time(spec.get("acquireTime")),
        transitions if isinstance(transitions, int) else 0,
        nested_field(doc, "metadata", "annotations", CLOCK_ANNOTATION) == SERVER_CLOCK,
        spec,
        doc,
    )


def new_lease(name: str, namespace: str, spec: Doc, clock_source: str, labels: Mapping[str, str]) -> Doc:
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": dict(labels),
        "annotations": {CLOCK_ANNOTATION: clock_source},
    }
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def replace_spec(lease: ObservedLease, spec: Doc, clock_source: str) -> Doc:
    """The complete object with another spec, at the resourceVersion that was read: the server refuses the update of any
    other version."""
    metadata = {key: value for key, value in lease.doc.get("metadata", {}).items() if key != "managedFields"}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), CLOCK_ANNOTATION: clock_source}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def micro_time(time: datetime) -> str:
    return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# Requests for the Lease, and what repeated reads show: the server's clock, and whether it was renewed.


LEASE_NAME = "eksdoc-drain"
GET, CREATE, UPDATE = (f"{verb} leases.coordination.k8s.io" for verb in ("get", "create", "update"))
LABELS = {"app.kubernetes.io/managed-by": "eksdoc"}


class LeaseClient:
    """Mutable: the last observed spec, and since when it is unchanged. For one thread."""

    def __init__(self, sender: RequestSender, namespace: str, clock: Clock, retry_limits: RetryLimits) -> None:
        self.namespace = namespace
        self.retry_limits = retry_limits
        self._sender = sender
        self._path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._clock = clock
        # The API server's clock, by its Date headers. A Date is truncated to the second, and was written at some time
        # between our request and the response. So the earliest and the latest time that fit are known, and advance
        # with our own monotonic clock. Several API servers may answer in turn; the last one counts.
        self._server_date: tuple[datetime, float] | None = None  # one tuple: several threads read it
        self._last_observed: tuple[Doc, float] | None = None  # the last observed spec, and since when it is unchanged

    @property
    def full_name(self) -> str:
        return f"{self.namespace}/{LEASE_NAME}"

    @property
    def latest_server_time(self) -> datetime | None:
        """The latest time that the server's clock could show; None where the server has sent no Date."""
        if self._server_date is None:
            return None
        date, sent_s = self._server_date
        return date + timedelta(seconds=1 + self._clock.monotonic() - sent_s)

    def send(self, method: str, body: Doc | None = None) -> ApiResponse:
        path = self._path if method == "POST" else f"{self._path}/{LEASE_NAME}"
        sent_s = self._clock.monotonic()
        response = self._sender.send(method, path, FIELD_MANAGER if body is not None else {}, body, JSON)
        if response.date is not None:
            self._server_date = response.date, sent_s
        return response

    def write(self, previous: ObservedLease | None, spec: Doc, clock_source: str) -> ApiResponse:
        """Send one write, over `previous`, or of a new Lease."""
        if previous is None:
            return self.send("POST", new_lease(LEASE_NAME, self.namespace, spec, clock_source, LABELS))
        return self.send("PUT", replace_spec(previous, spec, clock_source))

    def read(self) -> ObservedLease | None:
        """None: there is no Lease.

        Raises:
            UsageError: there is no such namespace.
            Unreachable, Unauthorized, Forbidden
        """
        response = NOT_SENT
        for attempt in self.retry_limits.attempts(self._clock):
            response = self.send("GET")
            if response.code == 404:
                return None
            if response.ok:
                observed = lease_from_doc(response.doc)
                if self._last_observed is None or self._last_observed[0] != observed.spec:
                    self._last_observed = observed.spec, self._clock.monotonic()
                return observed
            self.check_response(response, GET)
            attempt.respect_retry_after(response)
        raise self.unreachable_error(response)

    def has_expired(self, lease: ObservedLease, duration_s: int) -> bool:
        """Whether the Lease has expired, by the server's clock alone. The holder wrote the latest time that the
        server's clock could show, and this reads the earliest, which is its Date header. `duration_s` is for a Lease
        without a duration."""
        if self._server_date is None or lease.renewed_at is None or not lease.by_server_clock:
            return False
        return self._server_date[0] - lease.renewed_at > timedelta(seconds=lease.duration_s or duration_s)

    def was_not_renewed(self, lease: ObservedLease, duration_s: int) -> bool:
        """Whether the Lease was not renewed for its whole duration, by our own clock, since we observed it first."""
        if self._last_observed is None or self._last_observed[0] != lease.spec:
            return False
        return self._clock.monotonic() - self._last_observed[1] > (lease.duration_s or duration_s)

    def check_response(self, response: ApiResponse, right: str) -> None:
        """Raise the error of a response that a retry would not change."""
        if error := refusal_error(response, right, self.namespace):
            raise error
        if response.code == 404 and right == CREATE:
            hint = f"Make it (kubectl create namespace {self.namespace}), or choose another one."
            raise UsageError(f"there is no namespace {self.namespace} to lock this cluster's drains in", hint)
        if not response.outcome_unknown and response.code not in (404, 409, 429):
            raise self.unreachable_error(response)

    def unreachable_error(self, response: ApiResponse) -> Unreachable:
        return Unreachable(
            f"the lock {self.full_name} cannot be taken: {response.summary}", "Nothing was done. Try again."
        )


# Gaps in which the holder of the lock was unknown. After a gap everything is observed again before it is relied on.
#
# The thread that renews the lock begins a gap. The thread that relies on the lock ends it, after an observation that
# began when the gap was over. A second gap meanwhile needs a second observation, whichever thread was suspended.


class LeaseGaps:
    """Mutable. Safe to use from several threads. Times are of the lock's monotonic clock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gaps = self._observed_gaps = 0
        self.is_open = False
        self.last_certain_s = 0.0
        """The last renewal that certainly succeeded before the gap, or at all where there is no gap."""

    def begin(self) -> None:
        with self._lock:
            self.is_open = True
            self._gaps += 1

    def reset(self) -> None:
        """The lock was taken again, by a caller that relies on no earlier decision."""
        with self._lock:
            self.is_open = False

    def record_renewal(self, renewed_s: float) -> None:
        if not self.is_open:
            self.last_certain_s = renewed_s

    def observe(self) -> None:
        """What is observed from now on is observed after all gaps so far."""
        self._observed_gaps = self._gaps

    def end(self, is_held: Callable[[], bool]) -> None:
        """Everything was observed; the gap stays open if there was another one since, or if the lock is not held."""
        with self._lock:
            if self._gaps == self._observed_gaps and is_held():
                self.is_open = False


# Errors that say why a lock is not held any more.


def released_error(name: str) -> LockLost:
    return LockLost(f"the lock {name} was given back", "Nothing more is done from here; resume the run.")


def removed_error(name: str) -> LockLost:
    return LockLost(f"the lock {name} was removed", "This run was stopped on purpose. Ask why, then resume.")


def taken_error(name: str, holder: str) -> LockLost:
    """`holder` "": it is free."""
    hint = "Nothing more is done from here; kubectl eksdoc drain status shows which process continues."
    return LockLost(f"the lock {name} is not ours any more: {holder or 'nobody'} holds it", hint, holder)


def changed_holder_error(name: str, holder: str) -> LockLost:
    """Another process held the lock since our last renewal. `holder`: as in `taken_error`."""
    current_holder = f"{holder or 'no process'} holds it now"
    hint = "Nothing more is done from here; kubectl eksdoc drain status shows what they did."
    return LockLost(f"another process took the lock {name} meanwhile; {current_holder}", hint, holder)


def late_renewal_error(name: str, duration_s: float, renewal_error: str) -> LockInDoubt:
    """`renewal_error`: the error of the last try to renew, "" where it succeeded and none was made since."""
    message = f"the lock {name} may be held by another process by now: it was not renewed within {duration_s} s"
    if renewal_error:
        hint = "Nothing more is done from here; fix that, then resume."
        return LockInDoubt(f"{message}; the last try: {renewal_error}", hint, renewal_error)
    return LockInDoubt(
        message, "This machine or its network stood still. Nothing more is done from here; resume the run."
    )


def copy_error(error: LockLost) -> LockLost:
    """The same error, for another thread to raise."""
    return LockLost(error.message, error.hint, error.holder)
