"""Compare and swap: one merge patch of exactly the object that was read, or none.

The object's uid and resourceVersion are in the patch, which makes it conditional (409 where somebody wrote meanwhile):
what it was decided by is what is changed, whoever else writes at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from kubectl_eksdoc.core.model.kinds import Resource
from kubectl_eksdoc.core.rules.api.statuses import Details, Lost, Named, Status, precondition_failed
from kubectl_eksdoc.errors import ClusterError, Forbidden, Unauthorized
from kubectl_eksdoc.kube.answers import Absent
from kubectl_eksdoc.kube.patience import Timing
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, MERGE_PATCH
from kubectl_eksdoc.kube.transport import Transport

TRIES = 8
"""So often somebody else may be faster. Kubelets write a node every few seconds at most, controllers their objects only
while something moves."""

_AGAIN_S = 0.2
_OURS = frozenset((409, 422))  # what a precondition that does not hold is answered with: a version's, and a uid's

Found = dict[str, Any]
"""An object's document, as the server has it."""


class Swapping:
    """Safe to use from several threads."""

    def __init__(self, transport: Transport, sender: Sender, timing: Timing) -> None:
        self._transport = transport
        self._sender = sender
        self._timing = timing

    def change(
        self, resource: Resource, namespace: str, name: str, uid: str, patch_of: Callable[[Found], Found]
    ) -> Status | Lost:
        """`patch_of` makes the patch of what was read; an empty one says that it is done already: 200, and nothing is
        sent. What it raises is raised.

        Raises:
            LockLost: as `Sender.send`.
        """
        path = path_to(resource, namespace, name)
        answer: Status | Lost = Status(200)
        for _ in range(TRIES):
            there = self._read(resource, path, name, uid)
            if not isinstance(there, dict):
                return there
            patch = patch_of(there)
            if not patch:
                return Status(200)
            answer = self._sender.send("PATCH", path, MANAGER, exactly(there, patch), MERGE_PATCH).answer
            if isinstance(answer, Lost) or answer.code not in _OURS:
                return answer
            self._timing.sleep(_AGAIN_S * self._timing.chance())
        return answer

    def _read(self, resource: Resource, path: str, name: str, uid: str) -> Found | Status | Lost:
        """The object with this uid, or why it cannot be had."""
        details = Details(name, resource.group, resource.plural)
        try:
            answer = self._transport.get(path, right=f"get {resource.full_name}")
        except Absent as error:
            return Status(404, "NotFound", error.message, details)
        except Forbidden as error:
            return Status(403, "Forbidden", error.message, details)
        except Unauthorized as error:
            return Status(401, "Unauthorized", error.message)
        except ClusterError as error:
            return Lost(error.message)
        there = dict(answer.document)
        found = str((there.get("metadata") or {}).get("uid", ""))
        if found != uid:
            named = Named(resource.plural, resource.group, resource.kind)
            return precondition_failed(named, name, "UID", uid, found).status
        return there


def exactly(there: Mapping[str, Any], patch: Found) -> Found:
    """The patch, to be refused unless the object is still this one, as it was when it was read."""
    meta = there.get("metadata") or {}
    version = {"uid": meta.get("uid"), "resourceVersion": meta.get("resourceVersion")}
    return {**patch, "metadata": {**patch.get("metadata", {}), **version}}


def path_to(resource: Resource, namespace: str, name: str) -> str:
    """`namespace` "": the resource has none."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{root}/{resource.version}{within}/{resource.plural}/{quote(name, safe='')}"
