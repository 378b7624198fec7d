"""Keeps a lock alive: renewed in a thread of its own, for a run may wait longer for an answer than a lock is held."""

from __future__ import annotations

import threading
from types import TracebackType

from kubectl_eksdoc.errors import ClusterError, LockLost
from kubectl_eksdoc.kube.locking.lock import Lock

RENEWED = 6
"""So often within its duration: a server that is away for half of that must not cost the lock."""

AGAIN_S = 3.0
"""After a renewal that nobody answered, or that was refused."""


class LockKeeper:
    """Takes the lock when it is entered, and gives it back when it is left. A lock that is lost ends its thread, and
    says itself why. While it is held it is tried again, even where the cluster refuses: it may be about to start."""

    def __init__(self, lock: Lock, wait_s: float = 0.0) -> None:
        """`wait_s`: so long somebody else is waited for."""
        self._lock = lock
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
        self._thread.join()
        self._lock.release()

    def _keep(self) -> None:
        pause_s = self._lock.duration_s / RENEWED
        while not self._over.wait(pause_s):
            try:
                renewed = self._lock.renew()
            except LockLost:
                return
            except ClusterError:
                renewed = False
            pause_s = self._lock.duration_s / RENEWED if renewed else AGAIN_S
