"""The lock that allows one drain at a time: a Lease that the process which drains this cluster holds and renews.

Two rules keep two holders apart. First, the Lease is taken from another holder only when that holder must know that it
lost the lock: its duration is over by the API server's clock, by which its renewTime was written, or it did not change
for its whole duration by our own monotonic clock (as in client-go's leaderelection). Second, a holder relies on the
lock for less than that: from *before* the renewal was sent, and shorter by a margin. Clocks of two machines are never
compared, and every write names the resourceVersion that it replaces. Time also passes between `held` and the arrival of
an action: the margin covers that and the differences between the clocks of several API servers, and nothing longer.

Between two renewals another user may take or remove the Lease before its time is over: by hand, or with a tool that
ignores these rules. So the cluster is read once more right before each action that cannot be undone (`confirm`).

A holder that could not renew in time may hold the lock again if no other process held it meanwhile: the Lease still has
our name and has not changed hands. But decisions from before are no longer valid: the lock stays closed until the run
has observed everything again, and says so (`resume`).
"""

from __future__ import annotations

import threading
from dataclasses import replace
from math import inf
from types import TracebackType

from kubectl_eksdoc.errors import ClusterError, Locked, LockInDoubt, LockLost, Unreachable
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.journal import LockState

from . import lease
from .lease import CREATE, GET, UPDATE, LeaseClient, LeaseGaps, ObservedLease
from .requests import (
    NOT_SENT,
    ApiResponse,
    Clock,
    RequestSender,
    RetryLimits,
    refusal_error,
)

LEASE_DURATION_S = 60
POLL_INTERVAL_S = 2.0
MAX_WRITE_CONFLICTS = 3
"""How often a write is sent again at once when a client other than the holder has changed the Lease."""

_RETRY_LIMITS = RetryLimits(give_up_s=15.0)


@frozen
class _HeldLease:
    """`renewed_s`: when the renewal was sent, by the monotonic clock."""

    lease: ObservedLease
    renewed_s: float


class LeaseLock:
    """`holder` names host, process and run, and must be unique. `held`, `must_be_held`, `confirm` and `in_doubt_s` may
    be called from any thread. `try_regain` and `resume` are for the thread that relies on the lock, all others for the
    thread that renews it."""

    def __init__(
        self,
        sender: RequestSender,
        namespace: str,
        holder: str,
        clock: Clock,
        duration_s: int = LEASE_DURATION_S,
        margin_s: float | None = None,
        retry_limits: RetryLimits = _RETRY_LIMITS,
    ) -> None:
        """`margin_s`: the lock counts as lost so much before its end; a sixth of the duration if None."""
        self.holder = holder
        self.duration_s = duration_s
        self.margin_s = duration_s / 6 if margin_s is None else margin_s
        self._client = LeaseClient(sender, namespace, clock, retry_limits)
        self._clock = clock
        self._held_lease: _HeldLease | None = None
        self._lost: LockLost | None = None  # why it is certainly not held any more
        self._renewal_error = ""  # the error of the last renewal, "" if it succeeded
        self._gaps = LeaseGaps()
        self._confirm_lock = threading.Lock()
        self._confirmed_s = -inf  # when the last read began that found us as the holder
        self._changed = threading.Event()  # set when the lock is held again, or lost

    def held(self, now_s: float | None = None) -> bool:
        """Whether the lock is certainly held at `now_s` by the monotonic clock (now if None). Sends no request."""
        held_lease = self._held_lease
        now_s = self._clock.monotonic() if now_s is None else now_s
        return held_lease is not None and now_s < held_lease.renewed_s + self.duration_s - self.margin_s

    def must_be_held(self) -> None:
        """May be called from any thread.

        Raises:
            LockLost: the lock is not held any more; the message says why.
            LockInDoubt: it may not be held, or is held again and `resume` was not called yet.
        """
        if self._gaps.is_open or not self.held():
            raise self._lost_error()

    def confirm(self) -> None:
        """Read from the cluster whether this process holds the lock. Threads that ask at the same time share one read,
        if it begins after they asked.

        Raises:
            LockLost: it does not; LockInDoubt: as `must_be_held`.
            Unreachable, Unauthorized, Forbidden: the Lease cannot be read.
        """
        started_s = self._clock.monotonic()
        with self._confirm_lock:
            self.must_be_held()
            if self._confirmed_s <= started_s:
                self._confirm()

    @property
    def in_doubt_s(self) -> float:
        """For how long the lock has not certainly been held; 0 while it is."""
        certain = self.held() and not self._gaps.is_open
        return 0.0 if certain else self._clock.monotonic() - self._gaps.last_certain_s

    def try_regain(self, wait_s: float) -> bool:
        """Whether the lock is held (again); waits up to `wait_s` for that. The lock stays closed until `resume`.

        Raises:
            LockLost: it cannot be held again.
        """
        if not self.held() and self._lost is None:
            self._changed.wait(wait_s)
            self._changed.clear()
        if self._lost is not None:
            raise lease.copy_error(self._lost)
        self._gaps.observe()
        return self.held()

    def resume(self) -> None:
        """Open the lock: everything was observed again since `try_regain`.

        Raises:
            LockLost: as `must_be_held`; it was lost again meanwhile.
        """
        self._gaps.end(self.held)
        self.must_be_held()

    def current_holder(self) -> LockState:
        """The current holder; the Lease is not changed.

        Raises:
            Unreachable, Unauthorized, Forbidden
        """
        observed = self._client.read()
        return (
            LockState()
            if observed is None
            else LockState(observed.holder, observed.renewed_at, self._client.has_expired(observed, self.duration_s))
        )

    def take(self, wait_s: float = 0.0) -> None:
        """Hold the lock from now on; also again, if it was held before and no other process took it meanwhile. Waits up
        to `wait_s` for another holder. A second call knows from the first one since when the other holder has not
        renewed the Lease.

        Raises:
            Locked: another process holds it.
            UsageError: there is no such namespace.
            Unreachable, Unauthorized, Forbidden
        """
        deadline_s = self._clock.monotonic() + wait_s
        while (other := self._try_take()) is not None:
            if self._clock.monotonic() + POLL_INTERVAL_S > deadline_s:
                raise self._locked_error(other)
            self._clock.sleep(POLL_INTERVAL_S)
        self._gaps.reset()

    def renew(self) -> bool:
        """Call this at least every third of the duration. False: the server did not answer; try again in a few seconds,
        `held` says how long that is possible.

        Raises:
            LockLost: another process holds it, it was removed, or the renewal was too late; then nothing was sent.
            Unauthorized, Forbidden: the lock is held for a while yet; a permission that was taken away may come back.
        """
        if not self.held():
            raise self._lost_error()
        try:
            return self._renew_once()
        except ClusterError as error:
            self._renewal_error = error.message
            raise

    def regain(self) -> bool:
        """Call this from time to time once a renewal came too late: hold the lock again if no other process held it
        meanwhile. False: the server did not answer.

        Raises:
            LockLost: another process holds or held it, or it was removed.
            Unauthorized, Forbidden: as `renew`.
        """
        held = self._held_lease
        if held is None:
            raise self._lost_error()
        self._gaps.begin()
        try:
            return self._regain_once(held.lease)
        except ClusterError as error:
            self._renewal_error = error.message
            raise

    def release(self) -> bool:
        """Free the Lease, so that other processes need not wait for its end. False: it was not held any more, or the
        server did not answer; then it ends by itself."""
        held = self._held_lease
        if held is None:
            return False
        if self.held():
            self._lost = lease.released_error(self._client.full_name)
        elif self._renewal_error:
            return False  # the server did not answer a moment ago
        self._held_lease = None
        previous = held.lease
        for _ in range(MAX_WRITE_CONFLICTS):
            spec = {**previous.spec, "holderIdentity": "", "leaseDurationSeconds": 1}
            response = self._client.write(previous, spec, "")
            if response.ok:
                return True
            current = self._client.send("GET")
            if not current.ok:
                return False
            previous = lease.lease_from_doc(current.doc)
            if previous.holder != self.holder:
                return previous.holder == ""
        return False

    # Taking

    def _try_take(self) -> ObservedLease | None:
        """None: the lock is held now; else the Lease of the other holder. Raises: as `take`."""
        response: ApiResponse | None = NOT_SENT
        for attempt in self._client.retry_limits.attempts(self._clock):
            observed = self._client.read()
            is_free = (
                observed is None
                or observed.holder in ("", self.holder)
                or self._client.has_expired(observed, self.duration_s)
            )
            if observed is not None and not is_free and not self._client.was_not_renewed(observed, self.duration_s):
                self._held_lease = None
                return observed
            response = self._write(observed)
            if response is None:
                return None
            self._client.check_response(response, CREATE if observed is None else UPDATE)
            attempt.respect_retry_after(response)
        raise self._client.unreachable_error(response or NOT_SENT)

    def _confirm(self) -> None:
        """Raises: as `confirm`."""
        name, response = self._client.full_name, NOT_SENT
        for attempt in self._client.retry_limits.attempts(self._clock):
            held, started_s = self._held_lease, self._clock.monotonic()
            response = self._client.send("GET")
            if response.code == 404:
                raise self._record_lost(lease.removed_error(name))
            if response.ok:
                observed = lease.lease_from_doc(response.doc)
                if observed.holder != self.holder or (held and observed.transitions != held.lease.transitions):
                    raise self._record_lost(lease.taken_error(name, observed.holder))
                self._confirmed_s = started_s
                return
            self._client.check_response(response, GET)
            attempt.respect_retry_after(response)
            self.must_be_held()
        raise Unreachable(f"whether the lock {name} is still ours cannot be read: {response.summary}")

    # Writing

    def _renew_once(self) -> bool:
        """Raises: as `renew`."""
        for _ in range(MAX_WRITE_CONFLICTS):
            held, started_s = self._held_lease, self._clock.monotonic()
            if held is None or not self.held(started_s):
                return False
            response = self._write(held.lease, started_s)  # a process that is suspended here must not take it for fresh
            if response is None:
                return True
            self._check_renewal(response)
            self._renewal_error = response.summary
            if response.outcome_unknown:
                return False
        return False

    def _regain_once(self, previous: ObservedLease) -> bool:
        """Raises: as `regain`."""
        current = self._client.send("GET")
        if not current.ok:
            self._renewal_error = current.summary
            self._check_renewal(current, GET)
            return False
        observed = lease.lease_from_doc(current.doc)
        if (observed.holder, observed.transitions) != (self.holder, previous.transitions):
            raise self._record_lost(lease.changed_holder_error(self._client.full_name, observed.holder))
        response = self._write(observed)
        if response is not None:
            self._renewal_error = response.summary
            self._check_renewal(response)
        return response is None

    def _record_held(self, lease_state: ObservedLease, renewed_s: float) -> None:
        self._gaps.record_renewal(renewed_s)
        self._held_lease, self._lost, self._renewal_error = _HeldLease(lease_state, renewed_s), None, ""
        self._changed.set()

    def _record_lost(self, error: LockLost) -> LockLost:
        """Record `error` and return it, to be raised. It is stored before `held` turns false: other threads read it."""
        self._lost, self._held_lease = error, None
        self._changed.set()
        return error

    def _lost_error(self) -> LockLost:
        lost = self._lost
        return (
            lease.copy_error(lost)
            if lost
            else lease.late_renewal_error(self._client.full_name, self.duration_s, self._renewal_error)
        )

    def _write(self, previous: ObservedLease | None, renewed_s: float | None = None) -> ApiResponse | None:
        """Write the Lease once, over `previous`. Where the response does not tell the outcome, read it. None: it is
        written, and `_held_lease` has it, from `renewed_s` on, or from now.

        Raises:
            LockLost: another process holds the lock that we held.
        """
        renewed_s, server_time = (
            self._clock.monotonic() if renewed_s is None else renewed_s,
            self._client.latest_server_time,
        )
        clock_source = lease.SERVER_CLOCK if server_time is not None else ""
        now = lease.micro_time(server_time or self._clock.now())
        previous_spec = previous.spec if previous is not None else {}
        ours = previous is not None and previous.holder == self.holder
        spec = {
            **previous_spec,
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_s,
            "acquireTime": previous_spec.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": previous.transitions + int(not ours) if previous is not None else 0,
        }
        response = self._client.write(previous, spec, clock_source)
        if response.ok:
            self._record_held(lease.lease_from_doc(response.doc), renewed_s)
            return None
        if (response.outcome_unknown or response.code == 409) and self._check_written(spec, renewed_s):
            return None
        return response

    def _check_written(self, spec: Doc, renewed_s: float) -> bool:
        current = self._client.send("GET")
        if not current.ok:
            return False
        observed, held = lease.lease_from_doc(current.doc), self._held_lease
        if observed.holder == self.holder and observed.spec.get("renewTime") == spec["renewTime"]:
            self._record_held(observed, renewed_s)
            return True
        if held is not None:
            if observed.holder != self.holder:
                raise self._record_lost(lease.taken_error(self._client.full_name, observed.holder))
            self._held_lease = replace(held, lease=observed)  # another version: a client added a label, for example
        return False

    # Errors

    def _check_renewal(self, response: ApiResponse, right: str = UPDATE) -> None:
        if response.code == 404:
            raise self._record_lost(lease.removed_error(self._client.full_name))
        if error := refusal_error(response, right, self._client.namespace):
            raise error

    def _locked_error(self, other: ObservedLease) -> Locked:
        since = f" since {other.acquired_at:%Y-%m-%d %H:%M:%SZ}" if other.acquired_at is not None else ""
        release_hint = f"is free {other.duration_s or self.duration_s} s after it was renewed last: try again then."
        if not other.by_server_clock:
            namespace, _, name = self._client.full_name.partition("/")
            release_hint = (
                f"has no time by the API server's clock and stays: kubectl delete lease {name} -n {namespace}"
            )
        hint = (
            "kubectl eksdoc drain status shows what it does; pause or abort it from here. If no process "
            f"runs it any more, its lock (lease {self._client.full_name}) {release_hint}"
        )
        return Locked(f"another drain is under way: {other.holder} holds the lock{since}", hint, other.holder)


# Renewal of the lock in a thread of its own: a run may wait longer for an answer than the lock is held.


RENEWALS_PER_DURATION = 6
"""Renewals within the duration of the lock: an API server that is away for half of it must not cost the lock."""

RETRY_S = 3.0
"""Pause after a renewal that got no answer, or was refused."""

EXIT_WAIT_S = 2.0
"""On exit, the longest wait for a pending answer while the lock is not held: there is nothing to release."""


class LockRenewer:
    """A context manager that takes the lock and releases it. In between it renews the lock for as long as that may
    succeed, even where the cluster refuses, because an API server may be starting: in time to renew, and after that to
    hold it again. When the lock is lost, the thread ends, and the lock itself gives the reason."""

    def __init__(self, lock: LeaseLock, wait_s: float = 0.0, retry_s: float = RETRY_S) -> None:
        """`wait_s`: how long to wait for another holder. `retry_s`: pause after a failed try."""
        self._lock = lock
        self._retry_s = retry_s
        self._wait_s = wait_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew_until_released, name="lock", daemon=True)

    def __enter__(self) -> LockRenewer:
        """Take the lock and start the thread.

        Raises:
            Locked: another process holds it.
            UsageError, Unreachable, Unauthorized, Forbidden: as `LeaseLock.take`.
        """
        self._lock.take(self._wait_s)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(None if self._lock.held() else EXIT_WAIT_S)
        if not self._thread.is_alive():
            self._lock.release()

    def _renew_until_released(self) -> None:
        pause_s = self._lock.duration_s / RENEWALS_PER_DURATION
        while not self._stop.wait(pause_s):
            try:
                renewed = self._lock.renew() if self._lock.held() else self._lock.regain()
            except LockInDoubt:
                pause_s = 0.0  # it was late just now
                continue
            except LockLost:
                return
            except ClusterError:
                renewed = False
            pause_s = self._lock.duration_s / RENEWALS_PER_DURATION if renewed else self._retry_s
