"""The sockets of a pool of connections, remembered while they are open: who stops can cut what is under way. Answers
are read from them within `bounds`.

They are also kept alive: load balancers in front of API servers forget a connection on which nothing comes for minutes
(a network load balancer after 350 s), and tell nobody before it is used again.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from kubectl_eksdoc.bounds import BoundedResponse, current

if TYPE_CHECKING:
    import urllib3

IDLE_S, BETWEEN_S, PROBES = 20, 5, 4
"""After so long without a byte the other side is asked whether it is there, so often, before it counts as gone."""


_last = threading.local()


@contextlib.contextmanager
def asked_before_each_byte(word: Callable[[], object]) -> Iterator[None]:
    """What this thread sends within it goes out only after `word` was asked, once the connection stands: by what it
    raises nothing is sent, or half a request, which no server does anything about."""
    _last.word = word
    try:
        yield
    finally:
        _last.word = None


class OpenSockets:
    """Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def remember(self, manager: urllib3.PoolManager) -> None:
        """From now on the connections that `manager` makes are known."""
        pools: dict[str, Any] = manager.pool_classes_by_scheme
        manager.pool_classes_by_scheme = {scheme: _telling(pool, self._add) for scheme, pool in pools.items()}

    def cut(self) -> None:
        """Whoever waits for one of them is told that it has ended."""
        with self._lock:
            left = list(self._sockets)
        for each in left:
            with contextlib.suppress(OSError):
                # Not the TLS socket's own, which would take the session from under a thread that reads.
                socket.socket.shutdown(each, socket.SHUT_RDWR)

    def _add(self, opened: socket.socket) -> None:
        with self._lock:
            self._sockets.add(opened)


def _telling(pool: Any, tell: Callable[[socket.socket], None]) -> Any:
    """The class of pools `pool`, whose connections tell of their sockets."""

    class Telling(pool.ConnectionCls):  # type: ignore[misc]
        response_class = BoundedResponse

        def send(self, data: Any) -> None:
            word = getattr(_last, "word", None)
            if word is not None:
                if self.sock is None:
                    self.connect()  # which takes time: it is asked behind it
                word()
            bounds = current()
            if bounds is not None and self.sock is not None:
                self.sock.settimeout(bounds.wait_s())  # the last answer on it may have left very little
            super().send(data)

        def connect(self) -> None:
            super().connect()
            if self.sock is not None:
                tell(self.sock)

    return type(pool.__name__, (pool,), {"ConnectionCls": Telling})


def keeping_alive() -> list[tuple[int, int, int]]:
    """Socket options, as far as this system has them."""
    wanted = {"TCP_KEEPIDLE": IDLE_S, "TCP_KEEPINTVL": BETWEEN_S, "TCP_KEEPCNT": PROBES}
    options = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in wanted.items():
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options
