"""Reviews: what somebody may do and who they are, answered at once and stored nowhere.

Source: pkg/registry/authorization/{selfsubjectaccessreview,selfsubjectrulesreview}, authentication/selfsubjectreview.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.rules.api.statuses import Cause, Named, invalid
from kubectl_eksdoc.embedded.serving.access import Action, User


def _access(doc: Doc, user: User) -> Doc:
    """A SelfSubjectAccessReview with its answer."""
    asked = at(doc, "spec", "resourceAttributes")
    path = at(doc, "spec", "nonResourceAttributes")
    if bool(asked) == bool(path):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found = Cause("FieldValueInvalid", f"Invalid value: {text}", "spec")
        raise invalid(Named("", "authorization.k8s.io", "SelfSubjectAccessReview"), "", (found,))
    action = Action(
        verb=_word(asked, "verb") or _word(path, "verb"),
        group=_word(asked, "group"),
        resource=_word(asked, "resource"),
        subresource=_word(asked, "subresource"),
        namespace=_word(asked, "namespace"),
        name=_word(asked, "name"),
        path=_word(path, "path"),
    )
    return with_value(doc, ("status",), {"allowed": user.may(action)})


def _rules(doc: Doc, user: User) -> Doc:
    """A SelfSubjectRulesReview: what the rules say of one namespace."""
    namespace = _word(at(doc, "spec"), "namespace")
    here = [rule for rule in user.rules if not rule.namespaces or namespace in rule.namespaces]
    resources = [
        {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
        for rule in here
        if rule.resources
    ]
    paths = [{"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)} for rule in here if rule.paths]
    said = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
    return with_value(doc, ("status",), said)


def _self(doc: Doc, user: User) -> Doc:
    """A SelfSubjectReview: `kubectl auth whoami`."""
    said = {"userInfo": {"username": user.name, "groups": ["system:authenticated"]}}
    return with_value(doc, ("status",), said)


def _word(doc: object, name: str) -> str:
    value = doc.get(name) if isinstance(doc, dict) else None
    return value if isinstance(value, str) else ""


ANSWERS: Mapping[str, Callable[[Doc, User], Doc]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": _access,
    "selfsubjectrulesreviews.authorization.k8s.io": _rules,
    "selfsubjectreviews.authentication.k8s.io": _self,
}
"""By resource."""
