"""What a run does to nodes, and what takes it back: one patch of exactly the node that was read, or none.

A node is cordoned, left out by load balancers, or protected from autoscalers. As patches are conditional (`swapping`),
what is noted as the state before is the state that was changed, whoever else cordons or uncordons at the same time.
Tests in a JSON patch could not say "this is absent", which an unset field of a node is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import Cordon, Exclude, OfNode, Protect, Release, Restore
from kubectl_eksdoc.core.rules.api.statuses import Details, Lost, Status
from kubectl_eksdoc.kube.field import prior
from kubectl_eksdoc.kube.field.swapping import Found, Swapping

_Marked = Callable[[prior.Node, str, str], dict[str, Any]]
_MARKED: Mapping[type[OfNode], _Marked] = {
    Exclude: prior.excluded,
    Protect: prior.protected,
}


class Marking:
    """Of the run with the id `run`, whose journal is in the namespace `journal`. Safe to use from several threads."""

    def __init__(self, run: str, swapping: Swapping, journal: str = "") -> None:
        self._run = run
        self._journal = journal
        self._swapping = swapping

    def done(self, act: OfNode) -> Status | Lost:
        """What is asked for is done already: 200, and nothing is sent. Raises LockLost: as `Sender.send`."""
        try:
            return self._swapping.change(kinds.NODES, "", act.node, act.uid, lambda node: self._patch(act, node))
        except prior.NoPrior as error:
            text = f'Node "{act.node}" is left as it is: {error}'
            return Status(422, "Invalid", text, Details(act.node, "", "Node"))
        except prior.Foreign as error:
            text = f'Node "{act.node}" is left as it is: {error}'
            return Status(409, "Conflict", text, Details(act.node, "", "Node"))

    def _patch(self, act: OfNode, node: Found) -> Found:
        match act:
            case Restore(_, _, cordon):
                patch = prior.restored(node, self._run)
                return patch if cordon else {key: value for key, value in patch.items() if key != "spec"}
            case Release():
                return prior.released(node, self._run)
            case Cordon(_, _, over, skipped):
                prior.check_ours(node, self._run, over)
                return prior.cordoned(node, self._run, self._journal, skipped)
        return _MARKED[type(act)](node, self._run, self._journal)
