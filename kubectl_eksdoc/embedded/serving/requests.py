"""Requests and replies; authentication and authorization: bearer tokens, users, and rules as in RBAC.

Source of the texts: apiserver pkg/endpoints/handlers/responsewriters/errors.go (Forbidden).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import (
    ApiRefusal,
    ApiStatus,
    ServedResource,
    StatusCause,
    StatusDetails,
    invalid,
)
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import encode

from ..catalogue import Catalogue

WILDCARD = "*"


@frozen
class RbacRule:
    """Verbs on resources (``pods``, ``pods/eviction``) of groups; in these namespaces, or everywhere if there are none.

    ``*`` matches all of them; at the end of a path it matches every path with that prefix.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = (WILDCARD,)
    groups: tuple[str, ...] = (WILDCARD,)
    namespaces: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # non-resource URLs, as ``/metrics``

    def allows(self, action: Action) -> bool:
        if not _matches_any(action.verb, self.verbs):
            return False
        if action.path:
            return any(_matches_path(path, action.path) for path in self.paths)
        named = action.resource if not action.subresource else f"{action.resource}/{action.subresource}"
        is_in_scope = not self.namespaces or action.namespace in self.namespaces
        return is_in_scope and _matches_any(named, self.resources) and _matches_any(action.group, self.groups)


@frozen
class Action:
    """The requested operation; `path` only for a non-resource URL."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@frozen
class ServedUser:
    name: str
    rules: tuple[RbacRule, ...]

    def may(self, action: Action) -> bool:
        return any(rule.allows(action) for rule in self.rules)


READ_VERBS = ("get", "list", "watch")
_SELF_REVIEWS = (
    RbacRule(("create",), ("selfsubjectaccessreviews", "selfsubjectrulesreviews"), ("authorization.k8s.io",)),
    RbacRule(("create",), ("selfsubjectreviews",), ("authentication.k8s.io",)),
)
_OPEN_PATHS = RbacRule(
    ("get",),
    resources=(),
    paths=(
        *("/version", "/healthz", "/livez", "/readyz", "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"),
    ),
)
"""Permissions of `system:basic-user` and `system:discovery` for every authenticated user."""

ADMIN = ServedUser("admin", (RbacRule((WILDCARD,), paths=(WILDCARD,)),))
VIEWER = ServedUser("viewer", (RbacRule(READ_VERBS, paths=(WILDCARD,)), *_SELF_REVIEWS, _OPEN_PATHS))


def restricted(name: str, rules: Iterable[RbacRule]) -> ServedUser:
    """Return a user with these rules and those of every authenticated user."""
    return ServedUser(name, (*rules, *_SELF_REVIEWS, _OPEN_PATHS))


@frozen
class TokenUsers:
    """Users by their bearer tokens."""

    users: Mapping[str, ServedUser] = field(default_factory=dict)

    def user(self, headers: Mapping[str, str]) -> ServedUser:
        """Return the user of the token, or the impersonated user (``kubectl --as``).

        Raises:
            ApiRefusal: 401, the token is unknown; 403, the user may not impersonate.
        """
        scheme, _, token = headers.get("authorization", "").partition(" ")
        token_user = self._user_of_token(token.strip()) if scheme.lower() == "bearer" else None
        if token_user is None:
            raise ApiRefusal(ApiStatus(401, "Unauthorized", "Unauthorized"))
        named = headers.get("impersonate-user", "")
        if not named:
            return token_user
        check_permission(token_user, Action("impersonate", resource="users", name=named))
        return next((each for each in self.users.values() if each.name == named), restricted(named, ()))

    def _user_of_token(self, token: str) -> ServedUser | None:
        """Compare in constant time, which reveals nothing about existing tokens."""
        token_bytes = token.encode()
        return next(
            (user for each, user in self.users.items() if hmac.compare_digest(each.encode(), token_bytes)), None
        )


def check_permission(user: ServedUser, action: Action) -> None:
    """Check that the user may do the action.

    Raises:
        ApiRefusal: 403, in the server's words.
    """
    if not user.may(action):
        raise ApiRefusal(forbidden_status(user.name, action))


def forbidden_status(user: str, action: Action) -> ApiStatus:
    """Return the Status of a forbidden action."""
    if action.path:
        text = f'forbidden: User "{user}" cannot {action.verb} path "{action.path}"'
        return ApiStatus(403, "Forbidden", text, StatusDetails())
    full = f"{action.resource}.{action.group}" if action.group else action.resource
    subject = f'{full} "{action.name}"' if action.name else full
    named = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    scope_text = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    text = f'User "{user}" cannot {action.verb} resource "{named}" in API group "{action.group}" {scope_text}'
    details = StatusDetails(action.name, action.group, action.resource)
    return ApiStatus(403, "Forbidden", f"{subject} is forbidden: {text}", details)


def _matches_any(word: str, allowed: tuple[str, ...]) -> bool:
    return WILDCARD in allowed or word in allowed


def _matches_path(path: str, requested: str) -> bool:
    return path == requested or (path.endswith(WILDCARD) and requested.startswith(path[:-1]))


# A user who creates a role must have its permissions already, in the same scope, or the verb escalate.
#
# Bindings are not checked: a user who binds a role here has created it. Source: policybased/storage.go of
# pkg/registry/rbac/{clusterrole,role}, and pkg/registry/rbac/validation (ConfirmNoEscalation, CompactString: the text).


GROUP = "rbac.authorization.k8s.io"
ROLES = (f"roles.{GROUP}", f"clusterroles.{GROUP}")


def check_escalation(user: ServedUser, plural: str, namespace: str, role: Doc) -> None:
    """`plural`: of roles or of cluster roles.

    Raises:
        ApiRefusal: 403, in the server's words, with the rules that the user does not have.
    """
    if _has_permission(user, Action("escalate", GROUP, plural, namespace=namespace)):
        return
    missing = [text for text, action in _granted_actions(role, namespace) if not _has_permission(user, action)]
    if not missing:
        return
    name = str((role.get("metadata") or {}).get("name", ""))
    user_text = f'user "{user.name}" (groups=["system:authenticated"])'
    text = f"{user_text} is attempting to grant RBAC permissions not currently held:\n" + "\n".join(missing)
    message = f'{plural}.{GROUP} "{name}" is forbidden: {text}'
    raise ApiRefusal(ApiStatus(403, "Forbidden", message, StatusDetails(name, GROUP, plural)))


def _has_permission(user: ServedUser, action: Action) -> bool:
    """Check without `may`, which tests override to record requests: this is not a request."""
    return any(rule.allows(action) for rule in user.rules)


def _granted_actions(role: Doc, namespace: str) -> Iterator[tuple[str, Action]]:
    """Yield each permission by itself, in the server's notation, and the action that it allows."""
    for rule in role.get("rules") or ():
        for verb in rule.get("verbs") or ():
            for path in rule.get("nonResourceURLs") or ():
                yield f"{{NonResourceURLs:{_quoted([path])}, Verbs:{_quoted([verb])}}}", Action(verb, path=path)
            for group in rule.get("apiGroups") or ():
                for named in rule.get("resources") or ():
                    resource, _, subresource = named.partition("/")
                    text = f"{{APIGroups:{_quoted([group])}, Resources:{_quoted([named])}, Verbs:{_quoted([verb])}}}"
                    yield text, Action(verb, group, resource, subresource, namespace)


def _quoted(values: Sequence[str]) -> str:
    """Return a slice in the notation of Go's %q."""
    return "[" + " ".join(f'"{word}"' for word in values) + "]"


# Reviews of permissions and of the user, answered at once and not stored.
#
# Source: pkg/registry/authorization/{selfsubjectaccessreview,selfsubjectrulesreview}, authentication/selfsubjectreview.


def _access_review(doc: Doc, user: ServedUser) -> Doc:
    """Return a SelfSubjectAccessReview with its answer."""
    resource_attributes = nested_field(doc, "spec", "resourceAttributes")
    path = nested_field(doc, "spec", "nonResourceAttributes")
    if bool(resource_attributes) == bool(path):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        cause = StatusCause("FieldValueInvalid", f"Invalid value: {text}", "spec")
        raise invalid(Resource("SelfSubjectAccessReview", "", "authorization.k8s.io"), "", (cause,))
    action = Action(
        verb=_text_field(resource_attributes, "verb") or _text_field(path, "verb"),
        group=_text_field(resource_attributes, "group"),
        resource=_text_field(resource_attributes, "resource"),
        subresource=_text_field(resource_attributes, "subresource"),
        namespace=_text_field(resource_attributes, "namespace"),
        name=_text_field(resource_attributes, "name"),
        path=_text_field(path, "path"),
    )
    return with_value(doc, ("status",), {"allowed": user.may(action)})


def _rules_review(doc: Doc, user: ServedUser) -> Doc:
    """Return a SelfSubjectRulesReview: the rules of one namespace."""
    namespace = _text_field(nested_field(doc, "spec"), "namespace")
    applicable = [rule for rule in user.rules if not rule.namespaces or namespace in rule.namespaces]
    resources = [
        {"verbs": list(rule.verbs), "apiGroups": list(rule.groups), "resources": list(rule.resources)}
        for rule in applicable
        if rule.resources
    ]
    paths = [{"verbs": list(rule.verbs), "nonResourceURLs": list(rule.paths)} for rule in applicable if rule.paths]
    status = {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}
    return with_value(doc, ("status",), status)


def _self_review(doc: Doc, user: ServedUser) -> Doc:
    """Return a SelfSubjectReview: `kubectl auth whoami`."""
    status = {"userInfo": {"username": user.name, "groups": ["system:authenticated"]}}
    return with_value(doc, ("status",), status)


def _text_field(doc: object, name: str) -> str:
    value = doc.get(name) if isinstance(doc, dict) else None
    return value if isinstance(value, str) else ""


REVIEWS: Mapping[str, Callable[[Doc, ServedUser], Doc]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": _access_review,
    "selfsubjectrulesreviews.authorization.k8s.io": _rules_review,
    "selfsubjectreviews.authentication.k8s.io": _self_review,
}
"""By resource."""


# Requests and replies, independent of the transport.


JSON = "application/json"
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

_FALSE_VALUES = ("0", "f", "false")


@frozen
class ServedRequest:
    """`path` is decoded and without query; `query` has all values of each name; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def parameter(self, name: str) -> str:
        """Return the first value of a query parameter, "" without one."""
        return (self.query.get(name) or ("",))[0]

    def flag(self, name: str) -> bool:
        """Whether a boolean query parameter is set: present, and not a Go false (strconv.ParseBool)."""
        return name in self.query and self.parameter(name).lower() not in _FALSE_VALUES

    @property
    def dry_run(self) -> bool:
        return "All" in self.query.get("dryRun", ())


@frozen
class Reply:
    """`stream`, if any, yields the pieces of a body without a known end; `body` is empty then. An empty piece means
    that there is nothing new: time to check whether the client is still connected. `sent_bytes`: number of bytes of the
    body that are sent before the connection ends."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    sent_bytes: int | None = None


class ConnectionLost(Exception):
    """The client gets no response: its connection is closed without one."""


class NoAnswer(Exception):
    """The client gets no response, and its connection stays open as long as it waits."""


class RequestHandler(Protocol):
    """Handles requests: the API, or a layer in front of it."""

    def handle(self, request: ServedRequest) -> Reply:
        """Handle a request.

        Raises:
            ConnectionLost
            NoAnswer
        """


def status_reply(status: ApiStatus) -> Reply:
    """Return a Status as a reply."""
    headers = {}
    if status.details is not None and status.details.retry_after_s:
        headers["Retry-After"] = str(status.details.retry_after_s)
    return Reply(status.code, encode(status.to_document()), headers=headers)


# Parsing of request paths (apiserver pkg/endpoints/request/requestinfo.go).


_NAMESPACE_SUBRESOURCES = ("status", "finalize")
"""Subresources of a namespace, which are not resources in it."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@frozen
class ServedTarget:
    """A resource, one of its objects, or a subresource of one."""

    served: ServedResource
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource(self) -> str:
        """The store's name of the resource."""
        return self.served.full_name

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace if self.served.namespaced else "", self.name


@frozen
class ParsedPath:
    """A parsed path, whether or not the resource is served; `rest` are the parts after the namespace."""

    group: str
    version: str
    namespace: str
    rest: Sequence[str]

    @property
    def plural(self) -> str:
        return self.rest[0]

    @property
    def name(self) -> str:
        return self.rest[1] if len(self.rest) > 1 else ""

    @property
    def subresource(self) -> str:
        return self.rest[2] if len(self.rest) > 2 else ""

    @property
    def has_extra_parts(self) -> bool:
        return len(self.rest) > 3 and self.subresource != "proxy"


def parse_path(path: str) -> ParsedPath | None:
    """Parse a path; None if it is not a resource path."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, remaining_parts = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, remaining_parts = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if remaining_parts[0] == "namespaces" and len(remaining_parts) > 1:
        namespace = remaining_parts[1]
        if len(remaining_parts) > 2 and remaining_parts[2] not in _NAMESPACE_SUBRESOURCES:
            remaining_parts = remaining_parts[2:]
    return ParsedPath(group, version, namespace, remaining_parts)


def resolve_target(path: str, catalogue: Catalogue) -> ServedTarget | None:
    """Return the target of a path; None if it is not a resource path, or the resource is not served."""
    parsed_path = parse_path(path)
    served = (
        catalogue.find(parsed_path.group, parsed_path.version, parsed_path.plural) if parsed_path is not None else None
    )
    if parsed_path is None or served is None or parsed_path.has_extra_parts:
        return None
    if parsed_path.subresource and served.subresource(parsed_path.subresource) is None:
        return None
    return ServedTarget(served, parsed_path.namespace, parsed_path.name, parsed_path.subresource)


def rbac_verb(request: ServedRequest, name: str) -> str:
    """Return RBAC's verb; `name` of the object, "" for a collection."""
    if request.method in _VERBS:
        return _VERBS[request.method]
    if request.method == "DELETE":
        return "delete" if name else "deletecollection"
    if name and not request.flag("watch"):
        return "get"
    return "watch" if request.flag("watch") else "list"


def has_required_name(verb: str, target: ServedTarget) -> bool:
    """Whether the path has a name where required: an object is created in its collection; other writes name the
    object."""
    if verb == "create":
        return not target.name
    return bool(target.name) or verb not in ("update", "patch")


def requested_action(request: ServedRequest, target: ServedTarget) -> Action:
    return Action(
        rbac_verb(request, target.name),
        target.served.group,
        target.served.plural,
        target.subresource,
        target.namespace,
        target.name,
    )
