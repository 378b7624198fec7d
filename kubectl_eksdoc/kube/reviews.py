"""Asks the API server what we may do, before anything is done: as ``kubectl auth can-i`` does."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.permissions import Permission
from kubectl_eksdoc.kube.sent import Sender

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def denied(sender: Sender, asked: Iterable[Permission]) -> tuple[Permission, ...]:
    """Those of `asked` that we do not have. Where the server does not answer that, it is found out when it is needed.

    Raises:
        ConfigError: a credential cannot be had.
    """
    return tuple(each for each in asked if _is_denied(sender, each))


def _is_denied(sender: Sender, asked: Permission) -> bool:
    attributes = {"verb": asked.verb, "group": asked.resource.group, "resource": asked.resource.plural}
    more = {"subresource": asked.subresource, "namespace": asked.namespace}
    spec = {"resourceAttributes": {**attributes, **{name: word for name, word in more.items() if word}}}
    body: Doc = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    sent = sender.send("POST", PATH, {}, body)
    return sent.ok and at(sent.doc, "status", "allowed") is False
