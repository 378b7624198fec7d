"""Single looks at the cluster: what is under a pod's name, and which pods are on a node and which volumes
are attached to it, right now."""

from __future__ import annotations

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.pods import Pod
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.answers import Absent
from kubectl_eksdoc.kube.field.closing import Closing
from kubectl_eksdoc.kube.field.evictions import path_of
from kubectl_eksdoc.kube.field.insisting import Insisting, until_read
from kubectl_eksdoc.kube.field.lists import Lister
from kubectl_eksdoc.kube.patience import Patience, Timing
from kubectl_eksdoc.kube.transport import Transport
from kubectl_eksdoc.objects.changing import Changing

LONGEST_S = 60.0
"""Who asked may ask again; a reader that never came back would hold up all that others ask for."""


class Reads:
    """Those of pods are tried again for `LONGEST_S`. For one thread.

    Raises, from every method:
        Unauthorized, Forbidden, ConfigError: they must not be done any more.
        GaveUp: of those of pods, nothing but errors came of it.
        Closed: the field is.
    """

    def __init__(
        self, transport: Transport, patience: Patience, timing: Timing, closing: Closing, page_size: int
    ) -> None:
        self._transport = transport
        self._patience = patience
        self._timing = timing
        self._closing = closing
        self._changing = Changing(kinds.PODS)
        self._lister = Lister(kinds.PODS, transport, self._changing, page_size)
        self._attachments = Lister(kinds.VOLUME_ATTACHMENTS, transport, Changing(kinds.VOLUME_ATTACHMENTS), page_size)

    def pod(self, pod: Pod) -> tuple[Pod, ...]:
        """What is there under its name: one pod, or none."""
        return until_read(lambda: self._pod(path_of(pod)), self._insisting(), self._closing)

    def on_node(self, node: str) -> tuple[Pod, ...]:
        """All pods on it, finished ones and all."""
        fields = f"spec.nodeName={node}"
        listed = until_read(lambda: self._lister.all(fields), self._insisting(), self._closing)
        return tuple(pod for pod, _ in listed.items)

    def attached_to(self, node: str) -> tuple[str, ...]:
        """The PersistentVolumes that are attached to it; no field selector takes those of one node.

        Raises:
            Forbidden: and it was so several times in a row; any other ClusterError, BadObject: it could not be read.
        """
        insisting = Insisting(self._patience, self._timing, 0.0)  # a right that most drains go without
        while True:
            self._closing.check()
            try:
                listed = self._attachments.all()
            except Forbidden as error:
                insisting.failed(error)
            else:
                return tuple(sorted(each.volume for each, _ in listed.items if each.node == node and each.volume))

    def _pod(self, path: str) -> tuple[Pod, ...]:
        try:
            answer = self._transport.get(path, right="get pods")
        except Absent:
            return ()
        return (self._changing.object(answer.body, path)[0],)

    def _insisting(self) -> Insisting:
        return Insisting(self._patience, self._timing, longest_s=LONGEST_S)
