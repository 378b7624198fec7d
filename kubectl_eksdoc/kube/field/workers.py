"""Threads that do acts, a few at a time: each act is answered once, in whatever order they end."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from kubectl_eksdoc.core.model.acts import Act, Cordon, Delete, Evict, ListPods, Look, Restart, Restore
from kubectl_eksdoc.core.rules.news import Answered, Found, News
from kubectl_eksdoc.kube.field.closing import Closing
from kubectl_eksdoc.kube.field.cordons import Cordons
from kubectl_eksdoc.kube.field.deletions import delete
from kubectl_eksdoc.kube.field.evictions import evict
from kubectl_eksdoc.kube.field.reads import Reads
from kubectl_eksdoc.kube.field.restarts import Restarts
from kubectl_eksdoc.kube.sending import Sender

Acts = SimpleQueue[Act | None]
"""What is to be done, in this order; None: it is over."""


class Worker:
    """For one thread."""

    def __init__(self, sender: Sender, cordons: Cordons, restarts: Restarts, reads: Reads, closing: Closing) -> None:
        self._sender = sender
        self._restarts = restarts
        self._cordons = cordons
        self._reads = reads
        self._closing = closing

    def work(self, acts: Acts, tell: Callable[[News], None]) -> None:
        """
        Raises:
            Closed: the field is.
            Unauthorized, Forbidden, ConfigError: a read is refused for good.
        """
        while (act := acts.get()) is not None:
            self._closing.check()
            tell(self.done(act))

    def done(self, act: Act) -> News:
        match act:
            case Evict(pod, grace_s):
                return Answered(act, evict(self._sender, pod, grace_s))
            case Delete(pod):
                return Answered(act, delete(self._sender, pod))
            case Restart():
                return Answered(act, self._restarts.restart(act))
            case Cordon(node, uid):
                return Answered(act, self._cordons.cordon(node, uid))
            case Restore(node, uid):
                return Answered(act, self._cordons.restore(node, uid))
            case Look(pod):
                return Found(act, self._reads.pod(pod))
            case ListPods(node):
                return Found(act, self._reads.on_node(node))
