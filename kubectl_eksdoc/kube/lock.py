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
from kubectl_eksdoc.model.journal import HeldLock

from . import lease
from .lease import CREATE, GET, UPDATE, LeaseGaps, LeaseSeen, LeaseThere
from .requests import (
    UNASKED,
    Clock,
    RequestSender,
    RetryLimits,
    SentRequest,
    refused,
)

DURATION_S = 60
LOOK_EVERY_S = 2.0
RENEWALS = 3
"""How often a write is sent again at once when a client other than the holder has changed the Lease."""

_PATIENCE = RetryLimits(patience_s=15.0)


@frozen
class _Hold:
    """`renewed_s`: when the renewal was sent, by the monotonic clock."""

    lease: LeaseSeen
    since_s: float


class Lock:
    """`holder` names host, process and run, and must be unique. `held`, `must_be_held`, `confirm` and `in_doubt_s` may
    be called from any thread. `try_regain` and `resume` are for the thread that relies on the lock, all others for the
    thread that renews it."""

    def __init__(
        self,
        sender: RequestSender,
        namespace: str,
        holder: str,
        clock: Clock,
        duration_s: int = DURATION_S,
        margin_s: float | None = None,
        tries: RetryLimits = _PATIENCE,
    ) -> None:
        """`margin_s`: the lock counts as lost so much before its end; a sixth of the duration if None."""
        self.holder = holder
        self.duration_s = duration_s
        self.margin_s = duration_s / 6 if margin_s is None else margin_s
        self._there = LeaseThere(sender, namespace, clock, tries)
        self._clock = clock
        self._hold: _Hold | None = None
        self._lost: LockLost | None = None  # why it is certainly not held any more
        self._failed = ""  # the error of the last renewal, "" if it succeeded
        self._gaps = LeaseGaps()
        self._confirming = threading.Lock()
        self._confirmed_s = -inf  # when the last read began that found us as the holder
        self._told = threading.Event()  # set when the lock is held again, or lost

    def held(self, now_s: float | None = None) -> bool:
        """Whether the lock is certainly held at `now_s` by the monotonic clock (now if None). Sends no request."""
        hold = self._hold
        now_s = self._clock.monotonic() if now_s is None else now_s
        return hold is not None and now_s < hold.since_s + self.duration_s - self.margin_s

    def must_be_held(self) -> None:
        """May be called from any thread.

        Raises:
            LockLost: the lock is not held any more; the message says why.
            LockInDoubt: it may not be held, or is held again and `resume` was not called yet.
        """
        if self._gaps.is_open or not self.held():
            raise self._why_not()

    def confirm(self) -> None:
        """Read from the cluster whether this process holds the lock. Threads that ask at the same time share one read,
        if it begins after they asked.

        Raises:
            LockLost: it does not; LockInDoubt: as `must_be_held`.
            Unreachable, Unauthorized, Forbidden: the Lease cannot be read.
        """
        asked_s = self._clock.monotonic()
        with self._confirming:
            self.must_be_held()
            if self._confirmed_s <= asked_s:
                self._confirm()

    @property
    def doubted_s(self) -> float:
        """For how long the lock has not certainly been held; 0 while it is."""
        surely = self.held() and not self._gaps.is_open
        return 0.0 if surely else self._clock.monotonic() - self._gaps.sure_s

    def regained(self, wait_s: float) -> bool:
        """Whether the lock is held (again); waits up to `wait_s` for that. The lock stays closed until `resume`.

        Raises:
            LockLost: it cannot be held again.
        """
        if not self.held() and self._lost is None:
            self._told.wait(wait_s)
            self._told.clear()
        if self._lost is not None:
            raise lease.again(self._lost)
        self._gaps.look()
        return self.held()

    def go_on(self) -> None:
        """Open the lock: everything was observed again since `try_regain`.

        Raises:
            LockLost: as `must_be_held`; it was lost again meanwhile.
        """
        self._gaps.end(self.held)
        self.must_be_held()

    def look(self) -> HeldLock:
        """The current holder; the Lease is not changed.

        Raises:
            Unreachable, Unauthorized, Forbidden
        """
        found = self._there.look()
        return (
            HeldLock()
            if found is None
            else HeldLock(found.holder, found.renewed, self._there.is_over(found, self.duration_s))
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
        until_s = self._clock.monotonic() + wait_s
        while (other := self._taken_from()) is not None:
            if self._clock.monotonic() + LOOK_EVERY_S > until_s:
                raise self._locked(other)
            self._clock.sleep(LOOK_EVERY_S)
        self._gaps.forget()

    def renew(self) -> bool:
        """Call this every third of the duration. False: the server did not answer; try again in a few seconds, `held`
        says how long that is possible.

        Raises:
            LockLost: another process holds it, it was removed, or the renewal was too late; then nothing was sent.
            Unauthorized, Forbidden: the lock is held for a while yet; a permission that was taken away may come back.
        """
        if not self.held():
            raise self._why_not()
        try:
            return self._renewed()
        except ClusterError as error:
            self._failed = error.message
            raise

    def regain(self) -> bool:
        """Call this from time to time once a renewal came too late: hold the lock again if no other process held it
        meanwhile. False: the server did not answer.

        Raises:
            LockLost: another process holds or held it, or it was removed.
            Unauthorized, Forbidden: as `renew`.
        """
        hold = self._hold
        if hold is None:
            raise self._why_not()
        self._gaps.begin()
        try:
            return self._regained(hold.lease)
        except ClusterError as error:
            self._failed = error.message
            raise

    def release(self) -> bool:
        """Free the Lease, so that other processes need not wait for its end. False: it was not held any more, or the
        server did not answer; then it ends by itself."""
        hold = self._hold
        if hold is None:
            return False
        if self.held():
            self._lost = lease.given_back(self._there.where)
        elif self._failed:
            return False  # the server did not answer a moment ago
        self._hold = None
        before = hold.lease
        for _ in range(RENEWALS):
            spec = {**before.spec, "holderIdentity": "", "leaseDurationSeconds": 1}
            sent = self._there.written(before, spec, "")
            if sent.ok:
                return True
            there = self._there.ask("GET")
            if not there.ok:
                return False
            before = lease.seen(there.doc)
            if before.holder != self.holder:
                return before.holder == ""
        return False

    # Taking

    def _taken_from(self) -> LeaseSeen | None:
        """None: the lock is held now; else the Lease of the other holder. Raises: as `take`."""
        sent: SentRequest | None = UNASKED
        for pause in self._there.tries.each(self._clock):
            found = self._there.look()
            free = found is None or found.holder in ("", self.holder) or self._there.is_over(found, self.duration_s)
            if found is not None and not free and not self._there.stood_still(found, self.duration_s):
                self._hold = None
                return found
            sent = self._write(found)
            if sent is None:
                return None
            self._there.check(sent, CREATE if found is None else UPDATE)
            pause.after(sent)
        raise self._there.unreachable(sent or UNASKED)

    def _confirm(self) -> None:
        """Raises: as `confirm`."""
        where, sent = self._there.where, UNASKED
        for pause in self._there.tries.each(self._clock):
            hold, since_s = self._hold, self._clock.monotonic()
            sent = self._there.ask("GET")
            if sent.code == 404:
                raise self._holds_no_more(lease.removed(where))
            if sent.ok:
                found = lease.seen(sent.doc)
                if found.holder != self.holder or (hold and found.transitions != hold.lease.transitions):
                    raise self._holds_no_more(lease.taken(where, found.holder))
                self._confirmed_s = since_s
                return
            self._there.check(sent, GET)
            pause.after(sent)
            self.must_be_held()
        raise Unreachable(f"whether the lock {where} is still ours cannot be read: {sent.told}")

    # Writing

    def _renewed(self) -> bool:
        """Raises: as `renew`."""
        for _ in range(RENEWALS):
            hold, since_s = self._hold, self._clock.monotonic()
            if hold is None or not self.held(since_s):
                return False
            sent = self._write(hold.lease, since_s)  # a process that is suspended here must not take it for fresh
            if sent is None:
                return True
            self._check_renewal(sent)
            self._failed = sent.told
            if sent.unknown:
                return False
        return False

    def _regained(self, before: LeaseSeen) -> bool:
        """Raises: as `regain`."""
        there = self._there.ask("GET")
        if not there.ok:
            self._failed = there.told
            self._check_renewal(there, GET)
            return False
        found = lease.seen(there.doc)
        if (found.holder, found.transitions) != (self.holder, before.transitions):
            raise self._holds_no_more(lease.changed_hands(self._there.where, found.holder))
        sent = self._write(found)
        if sent is not None:
            self._failed = sent.told
            self._check_renewal(sent)
        return sent is None

    def _holds(self, found: LeaseSeen, since_s: float) -> None:
        self._gaps.renewed(since_s)
        self._hold, self._lost, self._failed = _Hold(found, since_s), None, ""
        self._told.set()

    def _holds_no_more(self, why: LockLost) -> LockLost:
        """Record `error` and return it, to be raised. It is stored before `held` turns false: other threads read it."""
        self._lost, self._hold = why, None
        self._told.set()
        return why

    def _why_not(self) -> LockLost:
        lost = self._lost
        return lease.again(lost) if lost else lease.too_late(self._there.where, self.duration_s, self._failed)

    def _write(self, before: LeaseSeen | None, since_s: float | None = None) -> SentRequest | None:
        """Write the Lease once, over `previous`. Where the response does not tell the outcome, read it. None: it is
        written, and `_held_lease` has it, from `renewed_s` on, or from now.

        Raises:
            LockLost: another process holds the lock that we held.
        """
        since_s, date = self._clock.monotonic() if since_s is None else since_s, self._there.latest
        clock = lease.SERVERS if date is not None else ""
        now = lease.micro_time(date or self._clock.now())
        known = before.spec if before is not None else {}
        ours = before is not None and before.holder == self.holder
        spec = {
            **known,
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_s,
            "acquireTime": known.get("acquireTime", now) if ours else now,
            "renewTime": now,
            "leaseTransitions": before.transitions + int(not ours) if before is not None else 0,
        }
        sent = self._there.written(before, spec, clock)
        if sent.ok:
            self._holds(lease.seen(sent.doc), since_s)
            return None
        if (sent.unknown or sent.code == 409) and self._was_written(spec, since_s):
            return None
        return sent

    def _was_written(self, spec: Doc, since_s: float) -> bool:
        there = self._there.ask("GET")
        if not there.ok:
            return False
        found, hold = lease.seen(there.doc), self._hold
        if found.holder == self.holder and found.spec.get("renewTime") == spec["renewTime"]:
            self._holds(found, since_s)
            return True
        if hold is not None:
            if found.holder != self.holder:
                raise self._holds_no_more(lease.taken(self._there.where, found.holder))
            self._hold = replace(hold, lease=found)  # another version: a client added a label, for example
        return False

    # Errors

    def _check_renewal(self, sent: SentRequest, right: str = UPDATE) -> None:
        if sent.code == 404:
            raise self._holds_no_more(lease.removed(self._there.where))
        if error := refused(sent, right, self._there.namespace):
            raise error

    def _locked(self, other: LeaseSeen) -> Locked:
        since = f" since {other.taken:%Y-%m-%d %H:%M:%SZ}" if other.taken is not None else ""
        free = f"is free {other.duration_s or self.duration_s} s after it was renewed last: try again then."
        if not other.by_server:
            namespace, _, name = self._there.where.partition("/")
            free = f"has no time by the API server's clock and stays: kubectl delete lease {name} -n {namespace}"
        hint = (
            "kubectl eksdoc drain status shows what it does; pause or abort it from here. If no process "
            f"runs it any more, its lock (lease {self._there.where}) {free}"
        )
        return Locked(f"another drain is under way: {other.holder} holds the lock{since}", hint, other.holder)


# Renewal of the lock in a thread of its own: a run may wait longer for an answer than the lock is held.


RENEWED = 6
"""Renewals within the duration of the lock: an API server that is away for half of it must not cost the lock."""

AGAIN_S = 3.0
"""Pause after a renewal that got no answer, or was refused."""

LEAVES_S = 2.0
"""On exit, the longest wait for a pending answer while the lock is not held: there is nothing to release."""


class LockKeeper:
    """A context manager that takes the lock and releases it. In between it renews the lock for as long as that may
    succeed, even where the cluster refuses, because an API server may be starting: in time to renew, and after that to
    hold it again. When the lock is lost, the thread ends, and the lock itself gives the reason."""

    def __init__(self, lock: Lock, wait_s: float = 0.0, again_s: float = AGAIN_S) -> None:
        """`wait_s`: how long to wait for another holder. `retry_s`: pause after a failed try."""
        self._lock = lock
        self._again_s = again_s
        self._wait_s = wait_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lock", daemon=True)

    def __enter__(self) -> LockKeeper:
        """Take the lock and start the thread.

        Raises:
            Locked: another process holds it.
            UsageError, Unreachable, Unauthorized, Forbidden: as `LeaseLock.take`.
        """
        self._lock.take(self._wait_s)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(None if self._lock.held() else LEAVES_S)
        if not self._thread.is_alive():
            self._lock.release()

    def _keep(self) -> None:
        pause_s = self._lock.duration_s / RENEWED
        while not self._over.wait(pause_s):
            try:
                renewed = self._lock.renew() if self._lock.held() else self._lock.regain()
            except LockInDoubt:
                pause_s = 0.0  # it was late just now
                continue
            except LockLost:
                return
            except ClusterError:
                renewed = False
            pause_s = self._lock.duration_s / RENEWED if renewed else self._again_s
