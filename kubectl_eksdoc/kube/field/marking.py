"""What a run does to nodes, and what takes it back: one patch of exactly the node that was read, or none.

A node is cordoned, left out by load balancers, or protected from autoscalers. The patch is a merge patch with the
node's uid and resourceVersion in it, which makes it conditional (409 where somebody wrote meanwhile): what is noted as
the state before is the state that was changed, whoever else cordons or uncordons at the same time. Tests in a JSON
patch could not say "this is absent", which an unset field of a node is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import Cordon, Exclude, OfNode, Protect, Release, Restore
from kubectl_eksdoc.core.rules.api.statuses import Details, Lost, Named, Status, precondition_failed
from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.answers import Absent
from kubectl_eksdoc.kube.field import prior
from kubectl_eksdoc.kube.patience import Timing
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, MERGE_PATCH
from kubectl_eksdoc.kube.transport import Transport

TRIES = 8
"""So often somebody else may be faster. Kubelets write a node every few seconds at most."""

_AGAIN_S = 0.2
_OURS = frozenset((409, 422))  # what a precondition that does not hold is answered with: a version's, and a uid's


_Patch = Callable[[prior.Node, str], dict[str, Any]]
_PATCHES: Mapping[type[OfNode], _Patch] = {
    Cordon: prior.cordoned,
    Exclude: prior.excluded,
    Restore: prior.restored,
    Protect: prior.protected,
    Release: prior.released,
}


class Marking:
    """Of the run with the id `run`. Safe to use from several threads."""

    def __init__(self, run: str, transport: Transport, sender: Sender, timing: Timing) -> None:
        self._run = run
        self._transport = transport
        self._sender = sender
        self._timing = timing

    def done(self, act: OfNode) -> Status | Lost:
        """What is asked for is done already: 200, and nothing is sent. Raises LockLost: as `Sender.send`."""
        name, patch_of = act.node, _PATCHES[type(act)]
        answer: Status | Lost = Status(200)
        for _ in range(TRIES):
            node = self._read(name, act.uid)
            if not isinstance(node, dict):
                return node
            try:
                patch = patch_of(node, self._run)
            except prior.NoPrior as error:
                text = f'Node "{name}" is left as it is: {error}'
                return Status(422, "Invalid", text, Details(name, "", "Node"))
            if isinstance(act, Restore) and not act.cordon:
                patch.pop("spec", None)
            if not patch:
                return Status(200)
            sent = self._sender.send("PATCH", _path(name), MANAGER, prior.exactly(node, patch), MERGE_PATCH)
            answer = sent.answer
            if isinstance(answer, Lost) or answer.code not in _OURS:
                return answer
            self._timing.sleep(_AGAIN_S * self._timing.chance())
        return answer

    def _read(self, name: str, uid: str) -> dict[str, Any] | Status | Lost:
        """The node with this uid, or why it cannot be had."""
        try:
            answer = self._transport.get(_path(name), right="get nodes")
        except Absent as error:
            return Status(404, "NotFound", error.message, Details(name, "", kinds.NODES.plural))
        except Forbidden as error:
            return Status(403, "Forbidden", error.message, Details(name, "", kinds.NODES.plural))
        except Unauthorized as error:
            return Status(401, "Unauthorized", error.message)
        except ClusterError as error:
            return Lost(error.message)
        node = dict(answer.document)
        there = str((node.get("metadata") or {}).get("uid", ""))
        if there != uid:
            named = Named(kinds.NODES.plural, "", kinds.NODES.kind)
            return precondition_failed(named, name, "UID", uid, there).status
        return node


def _path(name: str) -> str:
    return f"{kinds.NODES.path}/{quote(name, safe='')}"
