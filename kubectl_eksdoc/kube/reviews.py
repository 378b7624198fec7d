"""Asks the API server what we may do, before anything is done: as ``kubectl auth can-i`` does."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.errors import Forbidden, Unauthorized, Unreachable
from kubectl_eksdoc.kube.requests import RequestSender, SentRequest
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.permissions import Permission, Review

PATH = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_RIGHT = "create selfsubjectaccessreviews.authorization.k8s.io"
_EVERYBODY = "The ClusterRole system:basic-user gives it to everybody who is signed in: is it still bound?"


def denied(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Permission, ...]:
    """Those of `asked` that we do not have. Where the server does not answer that, it is found out when it is needed.

    Raises:
        ConfigError: a credential cannot be had.
    """
    return tuple(each for each in asked if _allowed(sender.send("POST", PATH, {}, _review(each))) is False)


def reviewed(sender: RequestSender, asked: Iterable[Permission]) -> tuple[Review, ...]:
    """Each of `asked`, in its order. After a question without any answer no other is asked.

    Raises:
        ConfigError: a credential cannot be had.
        Unreachable: the first question got no answer.
        Unauthorized: the credentials are not accepted.
        Forbidden: not even that may be asked.
    """
    found: list[Review] = []
    silent = ""
    for each in asked:
        if silent:
            found.append(Review(each, None, silent))
            continue
        sent = sender.send("POST", PATH, {}, _review(each))
        if not found:
            if not sent.code:
                raise Unreachable(f"the API server gave no answer: {sent.said}")
            if sent.code == 401:
                raise Unauthorized(f"the credentials are not accepted: {sent.said}", "Sign in again, and retry.")
            if sent.code == 403:
                raise Forbidden(f"the cluster refuses {_RIGHT}: {sent.said}", _EVERYBODY, _RIGHT)
        silent = "" if sent.code else sent.told
        found.append(Review(each, _decided(sent), _why(sent)))
    return tuple(found)


def _decided(sent: SentRequest) -> bool | None:
    """An error while it was evaluated may be why it is not allowed: that says nothing (SubjectAccessReviewStatus)."""
    allowed = _allowed(sent)
    return None if allowed is False and at(sent.doc, "status", "evaluationError") else allowed


def _allowed(sent: SentRequest) -> bool | None:
    allowed = at(sent.doc, "status", "allowed") if sent.ok else None
    return allowed if isinstance(allowed, bool) else None


def _why(sent: SentRequest) -> str:
    """ "" where the server has decided."""
    if _decided(sent) is not None:
        return ""
    if not sent.code:
        return sent.told
    error = at(sent.doc, "status", "evaluationError")
    if isinstance(error, str) and error:
        return f"the server could not tell: {error}"
    return f"the server answered {sent.code} without a decision{f': {sent.said}' if sent.said else ''}"


def _review(asked: Permission) -> Doc:
    if asked.is_url:
        of: Doc = {"nonResourceAttributes": {"verb": asked.verb, "path": asked.resource.plural}}
    else:
        attributes = {"verb": asked.verb, "group": asked.resource.group, "resource": asked.resource.plural}
        more = {"subresource": asked.subresource, "namespace": asked.namespace}
        of = {"resourceAttributes": {**attributes, **{name: word for name, word in more.items() if word}}}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": of}
