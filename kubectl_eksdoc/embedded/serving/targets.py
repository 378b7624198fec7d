"""Which part of the API a path means (apiserver pkg/endpoints/request/requestinfo.go)."""

from __future__ import annotations

from dataclasses import dataclass

from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.resources import Served
from kubectl_eksdoc.embedded.serving.access import Action
from kubectl_eksdoc.embedded.serving.messages import Request

_OF_A_NAMESPACE = ("status", "finalize")
"""What stands behind a namespace's name and is no resource in it."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@dataclass(frozen=True, slots=True)
class Target:
    """A resource, one of its objects, or a subresource of one."""

    served: Served
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        """As the store names it."""
        return self.served.full_name

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace if self.served.namespaced else "", self.name


def target_of(path: str, catalogue: Catalogue) -> Target | None:
    """None where the path is no resource's, or one that is not served."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_A_NAMESPACE:
            rest = rest[2:]
    served = catalogue.find(group, version, rest[0])
    if served is None or (len(rest) > 3 and rest[2] != "proxy"):
        return None
    name, subresource = (rest[1] if len(rest) > 1 else ""), (rest[2] if len(rest) > 2 else "")
    if subresource and served.subresource(subresource) is None:
        return None
    return Target(served, namespace, name, subresource)


def verb_of(request: Request, target: Target) -> str:
    """As RBAC has it."""
    if request.method in _VERBS:
        return _VERBS[request.method]
    if request.method == "DELETE":
        return "delete" if target.name else "deletecollection"
    if target.name and not request.flag("watch"):
        return "get"
    return "watch" if request.flag("watch") else "list"


def names_enough(verb: str, target: Target) -> bool:
    """A new object is made in its collection; other writes name theirs in the path."""
    if verb == "create":
        return not target.name
    return bool(target.name) or verb not in ("update", "patch")


def action_of(request: Request, target: Target) -> Action:
    return Action(
        verb_of(request, target),
        target.served.group,
        target.served.plural,
        target.subresource,
        target.namespace,
        target.name,
    )
