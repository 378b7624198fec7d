"""Asks the API server what we may do, before anything is done: as ``kubectl auth can-i`` does."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.kube.sent import RequestSender, SentRequest
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.permissions import Permission

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def denied(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Permission, ...]:
    """Those of `asked` that we do not have. Where the server does not answer that, it is found out when it is needed.

    Raises:
        ConfigError: a credential cannot be had.
    """
    return tuple(each for each in asked if _allowed(sender.send("POST", PATH, {}, _review(each))) is False)


def _allowed(sent: SentRequest) -> bool | None:
    allowed = at(sent.doc, "status", "allowed") if sent.ok else None
    return allowed if isinstance(allowed, bool) else None


def _review(asked: Permission) -> Doc:
    attributes = {"verb": asked.verb, "group": asked.resource.group, "resource": asked.resource.plural}
    more = {"subresource": asked.subresource, "namespace": asked.namespace}
    of = {"resourceAttributes": {**attributes, **{name: word for name, word in more.items() if word}}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": of}
