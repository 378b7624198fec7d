"""Rollout restarts, once in a run: one patch of exactly the workload that was read, or none.

As ``kubectl rollout restart`` does it, by an annotation of the pod template, but with the run's id for its value: so
that a template that has it already was restarted by this run, and is left as it is. The patch has the uid and the
resourceVersion of what was read in it (409 where somebody wrote meanwhile).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import RESTARTED_AT, Restart
from kubectl_eksdoc.core.rules.api.statuses import Details, Lost, Named, Status, precondition_failed
from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.answers import Absent
from kubectl_eksdoc.kube.patience import Timing
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, MERGE_PATCH
from kubectl_eksdoc.kube.transport import Transport

TRIES = 8
"""So often somebody else may be faster: its controller writes a Deployment only while it rolls."""

_AGAIN_S = 0.2
_OURS = frozenset((409, 422))  # what a precondition that does not hold is answered with: a version's, and a uid's
_RESOURCES = {kinds.DEPLOYMENTS.kind: kinds.DEPLOYMENTS}


class Restarts:
    """Of the run with the id `run`. Safe to use from several threads."""

    def __init__(self, run: str, transport: Transport, sender: Sender, timing: Timing) -> None:
        self._run = run
        self._transport = transport
        self._sender = sender
        self._timing = timing

    def restart(self, act: Restart) -> Status | Lost:
        """200 and nothing is sent where this run has done it already. Raises LockLost: as `Sender.send`."""
        answer: Status | Lost = Status(200)
        for _ in range(TRIES):
            there = self._read(act)
            if not isinstance(there, dict):
                return there
            if restarted_by(there) == self._run:
                return Status(200)
            answer = self._sender.send("PATCH", path_to(act), MANAGER, restarted(there, self._run), MERGE_PATCH).answer
            if isinstance(answer, Lost) or answer.code not in _OURS:
                return answer
            self._timing.sleep(_AGAIN_S * self._timing.chance())
        return answer

    def _read(self, act: Restart) -> dict[str, Any] | Status | Lost:
        """The workload with this uid, or why it cannot be had."""
        resource = _RESOURCES[act.kind]
        details = Details(act.name, resource.group, resource.plural)
        try:
            answer = self._transport.get(path_to(act), right=f"get {resource.full_name}")
        except Absent as error:
            return Status(404, "NotFound", error.message, details)
        except Forbidden as error:
            return Status(403, "Forbidden", error.message, details)
        except Unauthorized as error:
            return Status(401, "Unauthorized", error.message)
        except ClusterError as error:
            return Lost(error.message)
        there = dict(answer.document)
        uid = str((there.get("metadata") or {}).get("uid", ""))
        if uid != act.uid:
            named = Named(resource.plural, resource.group, resource.kind)
            return precondition_failed(named, act.name, "UID", act.uid, uid).status
        return there


def restarted_by(workload: Mapping[str, Any]) -> str:
    """The run, or the time, that was noted by the last restart; "" where there was none."""
    template = (workload.get("spec") or {}).get("template") or {}
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    return str(annotations.get(RESTARTED_AT, ""))


def restarted(workload: Mapping[str, Any], run: str) -> dict[str, Any]:
    """The merge patch, to be refused unless the workload is still as it was read."""
    meta = workload.get("metadata") or {}
    template = {"metadata": {"annotations": {RESTARTED_AT: run}}}
    version = {key: meta[key] for key in ("uid", "resourceVersion") if key in meta}
    return {"metadata": version, "spec": {"template": template}}


def path_to(act: Restart) -> str:
    resource = _RESOURCES[act.kind]
    namespace, name = quote(act.namespace, safe=""), quote(act.name, safe="")
    return f"/apis/{resource.group}/{resource.version}/namespaces/{namespace}/{resource.plural}/{name}"
