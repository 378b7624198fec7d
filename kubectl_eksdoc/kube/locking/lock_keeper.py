"""Keeps a lock alive: renewed in a thread of its own, for a run may wait longer for an answer than a lock is held."""

from __future__ import annotations

import threading
from types import TracebackType

from kubectl_eksdoc.errors import ClusterError, LockInDoubt, LockLost
from kubectl_eksdoc.kube.locking.lock import Lock

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
