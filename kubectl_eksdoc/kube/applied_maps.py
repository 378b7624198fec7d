"""ConfigMaps of a live cluster, applied by server-side apply as this tool's field manager."""

from __future__ import annotations

import re

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.applies import Applied, Conflict, Conflicting
from kubectl_eksdoc.core.rules.api.statuses import Status
from kubectl_eksdoc.errors import ClusterError, Drifted, Forbidden
from kubectl_eksdoc.kube.answers import Refused
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, Sent, refused

APPLY_PATCH = "application/apply-patch+yaml"
"""JSON is YAML, too."""
RIGHT = "patch configmaps"
_CONFLICT = "FieldManagerConflict"
_OWNER = re.compile(r'conflict with "([^"]*)"')


class AppliedMaps:
    """A `flows.dns_change.ConfigMaps`. Mutable: it holds connections."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def apply(self, doc: Doc, force: bool = False, dry: bool = False) -> Applied | Conflicting:
        """As `flows.dns_change.ConfigMaps.apply`."""
        namespace, name = str(at(doc, "metadata", "namespace")), str(at(doc, "metadata", "name"))
        query = {**MANAGER, "force": str(force).lower(), **({"dryRun": "All"} if dry else {})}
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        sent = self._sender.send("PATCH", path, query, doc, APPLY_PATCH)
        if sent.ok:
            return Applied(sent.doc)
        conflicts = _conflicts(sent)
        if conflicts:
            return Conflicting(conflicts)
        what = f"ConfigMap {namespace}/{name}"
        if sent.code == 409:
            raise Drifted(f"{what} is not as it was: {sent.said}", "Nothing was changed. Look again.")
        error = refused(sent, RIGHT, namespace)
        if isinstance(error, Forbidden):
            look = f"Ask for the right, or look: kubectl auth can-i {RIGHT} -n {namespace}"
            raise Forbidden(error.message, look, error.missing)
        if error is not None:
            raise error
        if sent.unknown and not dry:
            raise ClusterError(
                f"nobody knows whether {what} was changed: {sent.said}",
                f"Look: kubectl get configmap {name} -n {namespace} -o yaml",
            )
        raise Refused(f"the API server does not take the change of {what}: {sent.said}", "Nothing was changed.")


def _conflicts(sent: Sent) -> tuple[Conflict, ...]:
    answer = sent.answer
    if sent.code != 409 or not isinstance(answer, Status) or answer.details is None:
        return ()
    found = (cause for cause in answer.details.causes if cause.reason == _CONFLICT)
    return tuple(sorted(Conflict(cause.where, _owner(cause.message)) for cause in found))


def _owner(message: str) -> str:
    match = _OWNER.search(message)
    return match.group(1) if match is not None else message
