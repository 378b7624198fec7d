"""What the API server would say, asked with ``dryRun=All``.

Admission, rights and budgets are those of a real request, and nothing is changed
(https://kubernetes.io/docs/reference/using-api/api-concepts/#dry-run).
"""

from __future__ import annotations

from urllib.parse import quote

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.acts import Cordon, Evict
from kubectl_eksdoc.core.rules.api.statuses import Lost, Status
from kubectl_eksdoc.kube.field.evictions import eviction, path_of
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, MERGE_PATCH

DRY = {"dryRun": "All"}


class DryTrial:
    """The port `flows.ports.Trial`."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def would(self, act: Cordon | Evict) -> Status | Lost:
        if isinstance(act, Cordon):
            path = f"{kinds.NODES.path}/{quote(act.node, safe='')}"
            body = {"metadata": {"uid": act.uid}, "spec": {"unschedulable": True}}
            return self._sender.send("PATCH", path, {**MANAGER, **DRY}, body, MERGE_PATCH).answer
        document = eviction(act.pod, act.grace_s)
        document["deleteOptions"]["dryRun"] = ["All"]
        return self._sender.send("POST", f"{path_of(act.pod)}/eviction", DRY, document).answer
