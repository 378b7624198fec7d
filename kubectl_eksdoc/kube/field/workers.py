"""Threads that do acts, a few at a time: each act is answered once, in whatever order they end."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue

from kubectl_eksdoc.core.model.acts import Act, Delete, Evict, ListAttachments, ListPods, Look, Restart
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.core.rules.api.statuses import Lost
from kubectl_eksdoc.core.rules.news import Answered, Attached, Found, News
from kubectl_eksdoc.errors import ClusterError, Forbidden, LockLost
from kubectl_eksdoc.kube.field.closing import Closing
from kubectl_eksdoc.kube.field.deletions import delete
from kubectl_eksdoc.kube.field.evictions import evict
from kubectl_eksdoc.kube.field.insisting import GaveUp
from kubectl_eksdoc.kube.field.marking import Marking
from kubectl_eksdoc.kube.field.reads import Reads
from kubectl_eksdoc.kube.field.restarts import Restarts
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.objects.collector import BadObject

Acts = SimpleQueue[Act | None]
"""What is to be done, in this order; None: it is over."""


class Worker:
    """For one thread."""

    def __init__(self, sender: Sender, marking: Marking, restarts: Restarts, reads: Reads, closing: Closing) -> None:
        self._sender = sender
        self._marking = marking
        self._restarts = restarts
        self._reads = reads
        self._closing = closing

    def work(self, acts: Acts, tell: Callable[[News], None], stop: Callable[[LockLost], None]) -> None:
        """`stop` is told that the lock is lost: what waited meanwhile is answered, and not sent.

        Raises:
            Closed: the field is.
            Unauthorized, Forbidden, ConfigError: a read is refused for good.
        """
        while (act := acts.get()) is not None:
            self._closing.check()
            try:
                tell(self.done(act))
            except LockLost as error:
                tell(Answered(act, Lost(f"it was not sent: {error.message}")))
                stop(error)

    def done(self, act: Act) -> News:
        """Raises LockLost: it is not done, and must not be."""
        match act:
            case Evict(pod, grace_s):
                return Answered(act, evict(self._sender, pod, grace_s))
            case Delete(pod):
                return Answered(act, delete(self._sender, pod))
            case Restart():
                return Answered(act, self._restarts.restart(act))
            case Look(pod):
                return self._found(act, lambda: self._reads.pod(pod))
            case ListPods(node):
                return self._found(act, lambda: self._reads.on_node(node))
            case ListAttachments():
                return self._attached(act)
            case _:
                return Answered(act, self._marking.done(act))

    @staticmethod
    def _found(act: Look | ListPods, read: Callable[[], tuple[Pod, ...]]) -> News:
        try:
            return Found(act, read())
        except GaveUp as error:
            return Answered(act, Lost(str(error)))

    def _attached(self, act: ListAttachments) -> Attached:
        """A drain goes on without them, so that nobody insists on them, and no right to list them is needed."""
        try:
            return Attached(act, self._reads.attached_to(act.node))
        except ClusterError as error:
            return Attached(act, (), error.message, isinstance(error, Forbidden))
        except BadObject as error:
            return Attached(act, (), str(error))
