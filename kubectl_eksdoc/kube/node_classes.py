"""Karpenter's EC2NodeClasses of a live cluster, one by one: as they are, and patched."""

from __future__ import annotations

import json

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.kinds import NODE_CLASSES
from kubectl_eksdoc.errors import ClusterError, Drifted, Forbidden
from kubectl_eksdoc.kube.answers import Absent as NoSuchObject
from kubectl_eksdoc.kube.answers import NotServed, Refused
from kubectl_eksdoc.kube.sending import Sender
from kubectl_eksdoc.kube.sent import MANAGER, MERGE_PATCH, refused
from kubectl_eksdoc.kube.transport import Transport

_RIGHT = NODE_CLASSES.full_name


class LiveNodeClasses:
    """A `flows.metadata_fix.ports.NodeClasses`. Mutable: connections, and in which version the server has them."""

    def __init__(self, transport: Transport, sender: Sender) -> None:
        self._transport = transport
        self._sender = sender
        self._resource = NODE_CLASSES

    def one(self, name: str) -> Doc | Absent | Unknown:
        """As `flows.metadata_fix.ports.NodeClasses.one`."""
        right = f"get {_RIGHT}"
        said = ""
        for resource in NODE_CLASSES.versions:
            try:
                answer = self._transport.get(f"{resource.path}/{name}", right=right)
            except NoSuchObject as error:
                return Absent(error.message)
            except NotServed as error:
                said = error.message
                continue
            except Forbidden as error:
                return Unknown(error.message, right)
            self._resource = resource
            return _doc(answer.body, name)
        return Absent(said)

    def patch(self, name: str, body: Doc, dry: bool = False) -> Doc:
        """As `flows.metadata_fix.ports.NodeClasses.patch`."""
        query = {**MANAGER, **({"dryRun": "All"} if dry else {})}
        sent = self._sender.send("PATCH", f"{self._resource.path}/{name}", query, body, MERGE_PATCH)
        if sent.ok:
            return sent.doc
        what = f"EC2NodeClass {name}"
        if sent.code in (404, 409):
            raise Drifted(f"{what} is not as it was: {sent.said}", "Nothing was changed. Look again.")
        error = refused(sent, f"patch {_RIGHT}", "")
        if isinstance(error, Forbidden):
            look = f"Ask for the right, or look: kubectl auth can-i patch {_RIGHT}"
            raise Forbidden(error.message, look, error.missing)
        if error is not None:
            raise error
        if sent.unknown and not dry:
            raise ClusterError(
                f"nobody knows whether {what} was changed: {sent.said}", f"Look: kubectl get {_RIGHT} {name} -o yaml"
            )
        raise Refused(f"the API server does not take the change of {what}: {sent.said}", "Nothing was changed.")

    def close(self) -> None:
        self._transport.close()


def _doc(body: bytes, name: str) -> Doc:
    hint = "Is this the address of a Kubernetes API?"
    try:
        doc = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the answer to get EC2NodeClass {name} is no JSON: {error}", hint) from error
    if not isinstance(doc, dict):
        raise Refused(f"the answer to get EC2NodeClass {name} is no object", hint)
    return doc
