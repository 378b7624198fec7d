"""What the API server would say, asked with ``dryRun=All``.

Admission, rights and budgets are those of a real request, and nothing is changed
(https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import Cordon, Delete, Evict, OfPod, Restart
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.kube.field import restarts
from kubectl_eksdoc.kube.field.deletions import options
from kubectl_eksdoc.kube.field.evictions import eviction, path_of
from kubectl_eksdoc.kube.field.swapping import path_to
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, MERGE_PATCH

DRY = {"dryRun": "All"}


class DryTrial:
    """The port `flows.ports.Trial`."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def would(self, act: Cordon | OfPod) -> Status | Lost:
        match act:
            case Cordon(node, uid, _):
                return self._patched(
                    path_to(kinds.NODES, "", node), {"metadata": {"uid": uid}, "spec": {"unschedulable": True}}
                )
            case Restart():
                return self._patched(
                    restarts.path_of(act), {"metadata": {"uid": act.uid}, **restarts.restarted("dry-run")}
                )
            case Delete(pod):
                document = {**options(pod), "dryRun": ["All"]}
                return self._sender.send("DELETE", path_of(pod), DRY, document).answer
            case Evict(pod, grace_s):
                document = eviction(pod, grace_s)
                document["deleteOptions"]["dryRun"] = ["All"]
                return self._sender.send("POST", f"{path_of(pod)}/eviction", DRY, document).answer

    def _patched(self, path: str, body: dict[str, Any]) -> Status | Lost:
        return self._sender.send("PATCH", path, {**MANAGER, **DRY}, body, MERGE_PATCH).answer
