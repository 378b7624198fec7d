"""Rollout restarts, once in a run: one patch of exactly the workload that was read, or none (`swapping`).

As ``kubectl rollout restart`` does it, by an annotation of the pod template, but with the run's id for its value: so
that a template that has it already was restarted by this run, and is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import RESTARTED_AT, Restart
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.kube.field.swapping import Swapping, path_to

_RESOURCES = {kinds.DEPLOYMENTS.kind: kinds.DEPLOYMENTS}


class Restarts:
    """Of the run with the id `run`. Safe to use from several threads."""

    def __init__(self, run: str, swapping: Swapping) -> None:
        self._run = run
        self._swapping = swapping

    def restart(self, act: Restart) -> Status | Lost:
        """200 and nothing is sent where this run has done it already. Raises LockLost: as `Sender.send`."""
        return self._swapping.change(
            _RESOURCES[act.kind],
            act.namespace,
            act.name,
            act.uid,
            lambda there: {} if restarted_by(there) == self._run else restarted(self._run),
        )


def restarted_by(workload: Mapping[str, Any]) -> str:
    """The run, or the time, that was noted by the last restart; "" where there was none."""
    template = (workload.get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(RESTARTED_AT, ""))


def restarted(run: str) -> dict[str, Any]:
    """The merge patch."""
    return {"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: run}}}}}


def path_of(act: Restart) -> str:
    return path_to(_RESOURCES[act.kind], act.namespace, act.name)
