"""Reviews: what somebody may do, answered at once and stored nowhere."""

from __future__ import annotations

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.embedded.serving.access import Action, User

SELF_ACCESS = "selfsubjectaccessreviews.authorization.k8s.io"


def reviewed(doc: Doc, user: User) -> Doc:
    """A SelfSubjectAccessReview with its answer."""
    asked = at(doc, "spec", "resourceAttributes") or {}
    path = at(doc, "spec", "nonResourceAttributes") or {}
    action = Action(
        verb=str(asked.get("verb") or path.get("verb") or ""),
        group=str(asked.get("group") or ""),
        resource=str(asked.get("resource") or ""),
        subresource=str(asked.get("subresource") or ""),
        namespace=str(asked.get("namespace") or ""),
        name=str(asked.get("name") or ""),
        path=str(path.get("path") or ""),
    )
    return with_value(doc, ("status",), {"allowed": user.may(action)})
