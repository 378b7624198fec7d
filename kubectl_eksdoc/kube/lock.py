"""One drain at a time: a Lease that whoever drains this cluster holds and renews.

Two rules keep two holders apart. It is taken from somebody only when they must know that they lost it: their time is
over by the server's clock, in which it was written, or it did not change for its whole duration by our own monotonic
clock (as client-go's leaderelection has it). And who holds it believes so for less than that: from *before* the renewal
was sent, and a margin shorter. No clock of one machine is ever compared with another's; every write names the version
that it is for. Between `held` and the arrival of an act time passes, too: the margin is for that, for clocks of several
API servers that differ, and for nothing longer.

Between two renewals somebody may take or remove it though its time is not over: by hand, or by a tool that does not
keep to this. So the cluster is asked once more right before each act that cannot be taken back (`confirm`).

Who could not renew it in time may hold it again where nobody else did meanwhile: it has our name still, and has not
changed hands. But what was decided before is not to be done any more: the lock stays shut until somebody has looked at
everything anew, and says so (`go_on`).
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
"""So often a renewal is sent again at once when something else than its holder changed the Lease."""

_PATIENCE = RetryLimits(patience_s=15.0)


@frozen
class _Hold:
    """`since_s`: sent at that time, by the monotonic clock."""

    lease: LeaseSeen
    since_s: float


class Lock:
    """`holder` names host, process and run, and must be nobody else's. `held`, `must_be_held`, `confirm` and what is
    left of it may be asked from any thread. `regained` and `go_on` are for whoever relies on it, the rest for who keeps
    it alive.
    """

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
        """`margin_s`: so much earlier than its end we stop to believe in it; a sixth of it if None."""
        self.holder = holder
        self.duration_s = duration_s
        self.margin_s = duration_s / 6 if margin_s is None else margin_s
        self._there = LeaseThere(sender, namespace, clock, tries)
        self._clock = clock
        self._hold: _Hold | None = None
        self._lost: LockLost | None = None  # why we surely do not hold it any more
        self._failed = ""  # what became of the last renewal, "" if it went well
        self._gaps = LeaseGaps()
        self._confirming = threading.Lock()
        self._confirmed_s = -inf  # the last look that found it ours began then
        self._told = threading.Event()  # that it is ours again, or lost

    def held(self, now_s: float | None = None) -> bool:
        """Whether we surely hold it at `now_s` by the monotonic clock (now if None). Asks nobody."""
        hold = self._hold
        now_s = self._clock.monotonic() if now_s is None else now_s
        return hold is not None and now_s < hold.since_s + self.duration_s - self.margin_s

    def must_be_held(self) -> None:
        """To be asked from any thread.

        Raises:
            LockLost: we do not hold it any more; it says why.
            LockInDoubt: we may not, or do again and nobody has said `go_on`.
        """
        if self._gaps.is_open or not self.held():
            raise self._why_not()

    def confirm(self) -> None:
        """Look into the cluster whether it is ours. What several threads want at once is one look, if it begins after
        they asked.

        Raises:
            LockLost: it is not; LockInDoubt: as `must_be_held`.
            Unreachable, Unauthorized, Forbidden: nobody could tell.
        """
        asked_s = self._clock.monotonic()
        with self._confirming:
            self.must_be_held()
            if self._confirmed_s <= asked_s:
                self._confirm()

    @property
    def doubted_s(self) -> float:
        """So long it has not surely been ours; 0 while it is."""
        surely = self.held() and not self._gaps.is_open
        return 0.0 if surely else self._clock.monotonic() - self._gaps.sure_s

    def regained(self, wait_s: float) -> bool:
        """Whether it is ours (again); if not, it waits so long for that. It stays shut until `go_on`.

        Raises:
            LockLost: and it never will be.
        """
        if not self.held() and self._lost is None:
            self._told.wait(wait_s)
            self._told.clear()
        if self._lost is not None:
            raise lease.again(self._lost)
        self._gaps.look()
        return self.held()

    def go_on(self) -> None:
        """Everything was looked at anew since it was `regained`.

        Raises:
            LockLost: as `must_be_held`; it was lost again meanwhile.
        """
        self._gaps.end(self.held)
        self.must_be_held()

    def look(self) -> HeldLock:
        """Who holds it now; it is not touched.

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
        """Hold it from now on; again, if we held it before and nobody took it meanwhile. It waits so long for somebody
        else; asked again, it knows since when the other one has not renewed it.

        Raises:
            Locked: somebody else holds it.
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
        """To be called every third of the duration. False: not this time, the server did not answer; try again in a few
        seconds, `held` says how long that may go on.

        Raises:
            LockLost: somebody else has it, it was removed, or we were too late; then nothing was sent.
            Unauthorized, Forbidden: it is ours for a while yet; a right that was taken away may come back.
        """
        if not self.held():
            raise self._why_not()
        try:
            return self._renewed()
        except ClusterError as error:
            self._failed = error.message
            raise

    def regain(self) -> bool:
        """To be called now and then once it was not renewed in time: hold it again if nobody else did meanwhile. False:
        not this time, the server did not answer.

        Raises:
            LockLost: somebody else has it or had it, or it was removed.
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
        """Others need not wait for its end. False: it was not ours any more, or that could not be said to the server:
        then it ends by itself."""
        hold = self._hold
        if hold is None:
            return False
        if self.held():
            self._lost = lease.given_back(self._there.where)
        elif self._failed:
            return False  # nobody answered a moment ago
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
        """None: it is ours now; else the other one's. Raises: as `take`."""
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
            sent = self._write(hold.lease, since_s)  # who stands still here must not think that it is fresh
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
        """`why`, to be raised. It is there before `held` is false: other threads ask for it."""
        self._lost, self._hold = why, None
        self._told.set()
        return why

    def _why_not(self) -> LockLost:
        lost = self._lost
        return lease.again(lost) if lost else lease.too_late(self._there.where, self.duration_s, self._failed)

    def _write(self, before: LeaseSeen | None, since_s: float | None = None) -> SentRequest | None:
        """Once, over `before`; where the answer says too little it is read what became of it. None: it is written, and
        `_hold` says so: from `since_s` on, or from now.

        Raises:
            LockLost: somebody else has it, and we did.
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
            self._hold = replace(hold, lease=found)  # of another version: somebody put a label on it, say
        return False

    # What is told

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


# Keeps a lock alive: renewed in a thread of its own, for a run may wait longer for an answer than a lock is held.


RENEWED = 6
"""So often within its duration: a server that is away for half of that must not cost the lock."""

AGAIN_S = 3.0
"""After a renewal that nobody answered, or that was refused."""

LEAVES_S = 2.0
"""So long an answer is waited for when it is left and the lock is not ours: there is nothing to give back."""


class LockKeeper:
    """Takes the lock when it is entered, and gives it back when it is left. It is tried again for as long as it may be
    ours, even where the cluster refuses, for that may be about to start: in time to renew it, and once that is past to
    hold it again. A lock that is lost ends its thread, and says itself why."""

    def __init__(self, lock: Lock, wait_s: float = 0.0, again_s: float = AGAIN_S) -> None:
        """`wait_s`: so long somebody else is waited for. `again_s`: so long after a try that failed the next one is."""
        self._lock = lock
        self._again_s = again_s
        self._wait_s = wait_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="lock", daemon=True)

    def __enter__(self) -> LockKeeper:
        """
        Raises:
            Locked: somebody else holds it.
            UsageError, Unreachable, Unauthorized, Forbidden: as `Lock.take`.
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
