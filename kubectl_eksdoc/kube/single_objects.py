"""Single objects of a live cluster as they are, with who owns which of their fields."""

from __future__ import annotations

import json

from kubectl_eksdoc.core.model import kinds
from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.connection import Connection
from kubectl_eksdoc.core.model.named import Named
from kubectl_eksdoc.errors import Forbidden
from kubectl_eksdoc.kube.answers import NotServed, Refused
from kubectl_eksdoc.kube.config import connect
from kubectl_eksdoc.kube.surroundings import Surroundings, of_this_process
from kubectl_eksdoc.kube.transport import Transport

VERB = "get"
_HINT = "Is this the address of a Kubernetes API?"
READ = {resource.kind: resource for resource in kinds.SINGLE}


class SingleObjects:
    """A `flows.ports.Objects`. Mutable: it holds a connection."""

    def __init__(self, connection: Connection, around: Surroundings | None = None) -> None:
        """Raises ConfigError: the kubeconfig, a flag, a certificate or a proxy cannot be used."""
        self._transport = Transport(connect(connection, around or of_this_process()))

    def one(self, of: Named) -> Doc | Absent | Unknown:
        """As `flows.ports.Objects.one`."""
        resource = READ[of.kind]
        right = f"{VERB} {resource.full_name}"
        try:
            answer = self._transport.get(f"{resource.path_in(of.namespace)}/{of.name}", right=right)
        except NotServed as error:
            return Absent(error.message)
        except Forbidden as error:
            return Unknown(error.message, right)
        return _doc(answer.body, of)

    def close(self) -> None:
        self._transport.close()


def _doc(body: bytes, of: Named) -> Doc:
    try:
        doc = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the answer to get {of} is no JSON: {error}", _HINT) from error
    if not isinstance(doc, dict):
        raise Refused(f"the answer to get {of} is no object", _HINT)
    return doc
