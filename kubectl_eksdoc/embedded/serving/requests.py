"""Requests and replies; authentication and authorization: bearer tokens, users, and rules as in RBAC.

Source of the texts: apiserver pkg/endpoints/handlers/responsewriters/errors.go (Forbidden).
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus, Details, Served, StatusCause, invalid
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import encode

from ..catalogue import Catalogue

EVERYTHING = "*"


@frozen
class RbacRule:
    """Verbs on resources (``pods``, ``pods/eviction``) of groups; in these namespaces, or everywhere if there are none.

    ``*`` matches all of them; at the end of a path it matches every path with that prefix.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = (EVERYTHING,)
    groups: tuple[str, ...] = (EVERYTHING,)
    namespaces: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # non-resource URLs, as ``/metrics``

    def allows(self, action: Action) -> bool:
        if not _one_of(action.verb, self.verbs):
            return False
        if action.path:
            return any(_covers(path, action.path) for path in self.paths)
        named = action.resource if not action.subresource else f"{action.resource}/{action.subresource}"
        here = not self.namespaces or action.namespace in self.namespaces
        return here and _one_of(named, self.resources) and _one_of(action.group, self.groups)


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


READING = ("get", "list", "watch")
_ASK_ABOUT_ONESELF = (
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

ADMIN = ServedUser("admin", (RbacRule((EVERYTHING,), paths=(EVERYTHING,)),))
VIEWER = ServedUser("viewer", (RbacRule(READING, paths=(EVERYTHING,)), *_ASK_ABOUT_ONESELF, _OPEN_PATHS))


def restricted(name: str, rules: Iterable[RbacRule]) -> ServedUser:
    """Return a user with these rules and those of every authenticated user."""
    return ServedUser(name, (*rules, *_ASK_ABOUT_ONESELF, _OPEN_PATHS))


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
        found = self._known(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise ApiRefusal(ApiStatus(401, "Unauthorized", "Unauthorized"))
        named = headers.get("impersonate-user", "")
        if not named:
            return found
        check(found, Action("impersonate", resource="users", name=named))
        return next((each for each in self.users.values() if each.name == named), restricted(named, ()))

    def _known(self, token: str) -> ServedUser | None:
        """Compare in constant time, which reveals nothing about existing tokens."""
        given = token.encode()
        return next((user for each, user in self.users.items() if hmac.compare_digest(each.encode(), given)), None)


def check(user: ServedUser, action: Action) -> None:
    """Check that the user may do the action.

    Raises:
        ApiRefusal: 403, in the server's words.
    """
    if not user.may(action):
        raise ApiRefusal(forbidden(user.name, action))


def forbidden(user: str, action: Action) -> ApiStatus:
    """Return the Status of a forbidden action."""
    if action.path:
        text = f'forbidden: User "{user}" cannot {action.verb} path "{action.path}"'
        return ApiStatus(403, "Forbidden", text, Details())
    full = f"{action.resource}.{action.group}" if action.group else action.resource
    subject = f'{full} "{action.name}"' if action.name else full
    named = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    text = f'User "{user}" cannot {action.verb} resource "{named}" in API group "{action.group}" {where}'
    details = Details(action.name, action.group, action.resource)
    return ApiStatus(403, "Forbidden", f"{subject} is forbidden: {text}", details)


def _one_of(word: str, words: tuple[str, ...]) -> bool:
    return EVERYTHING in words or word in words


def _covers(path: str, asked: str) -> bool:
    return path == asked or (path.endswith(EVERYTHING) and asked.startswith(path[:-1]))


# A user who creates a role must have its permissions already, in the same scope, or the verb escalate.
#
# Bindings are not checked: a user who binds a role here has created it. Source: policybased/storage.go of
# pkg/registry/rbac/{clusterrole,role}, and pkg/registry/rbac/validation (ConfirmNoEscalation, CompactString: the text).


GROUP = "rbac.authorization.k8s.io"
ROLES = (f"roles.{GROUP}", f"clusterroles.{GROUP}")


def check_granting(user: ServedUser, plural: str, namespace: str, role: Doc) -> None:
    """`plural`: of roles or of cluster roles.

    Raises:
        ApiRefusal: 403, in the server's words, with the rules that the user does not have.
    """
    if _has(user, Action("escalate", GROUP, plural, namespace=namespace)):
        return
    lacking = [text for text, action in _granted(role, namespace) if not _has(user, action)]
    if not lacking:
        return
    name = str((role.get("metadata") or {}).get("name", ""))
    asks = f'user "{user.name}" (groups=["system:authenticated"])'
    text = f"{asks} is attempting to grant RBAC permissions not currently held:\n" + "\n".join(lacking)
    said = f'{plural}.{GROUP} "{name}" is forbidden: {text}'
    raise ApiRefusal(ApiStatus(403, "Forbidden", said, Details(name, GROUP, plural)))


def _has(user: ServedUser, action: Action) -> bool:
    """Check without `may`, which tests override to record requests: this is not a request."""
    return any(rule.allows(action) for rule in user.rules)


def _granted(role: Doc, namespace: str) -> Iterator[tuple[str, Action]]:
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


def _quoted(words: Sequence[str]) -> str:
    """Return a slice in the notation of Go's %q."""
    return "[" + " ".join(f'"{word}"' for word in words) + "]"


# Reviews of permissions and of the user, answered at once and not stored.
#
# Source: pkg/registry/authorization/{selfsubjectaccessreview,selfsubjectrulesreview}, authentication/selfsubjectreview.


def _access(doc: Doc, user: ServedUser) -> Doc:
    """Return a SelfSubjectAccessReview with its answer."""
    asked = at(doc, "spec", "resourceAttributes")
    path = at(doc, "spec", "nonResourceAttributes")
    if bool(asked) == bool(path):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        found = StatusCause("FieldValueInvalid", f"Invalid value: {text}", "spec")
        raise invalid(Resource("SelfSubjectAccessReview", "", "authorization.k8s.io"), "", (found,))
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


def _rules(doc: Doc, user: ServedUser) -> Doc:
    """Return a SelfSubjectRulesReview: the rules of one namespace."""
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


def _self(doc: Doc, user: ServedUser) -> Doc:
    """Return a SelfSubjectReview: `kubectl auth whoami`."""
    said = {"userInfo": {"username": user.name, "groups": ["system:authenticated"]}}
    return with_value(doc, ("status",), said)


def _word(doc: object, name: str) -> str:
    value = doc.get(name) if isinstance(doc, dict) else None
    return value if isinstance(value, str) else ""


ANSWERS: Mapping[str, Callable[[Doc, ServedUser], Doc]] = {
    "selfsubjectaccessreviews.authorization.k8s.io": _access,
    "selfsubjectrulesreviews.authorization.k8s.io": _rules,
    "selfsubjectreviews.authentication.k8s.io": _self,
}
"""By resource."""


# Requests and replies, independent of the transport.


JSON = "application/json"
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

_NO = ("0", "f", "false")


@frozen
class ServedRequest:
    """`path` is decoded and without query; `query` has all values of each name; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def word(self, name: str) -> str:
        """Return the first value of a query parameter, "" without one."""
        return (self.query.get(name) or ("",))[0]

    def flag(self, name: str) -> bool:
        """Whether a boolean query parameter is set: present, and not a Go false (strconv.ParseBool)."""
        return name in self.query and self.word(name).lower() not in _NO

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
    sent: int | None = None


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
    return Reply(status.code, encode(status.doc()), headers=headers)


# Parsing of request paths (apiserver pkg/endpoints/request/requestinfo.go).


_OF_A_NAMESPACE = ("status", "finalize")
"""Subresources of a namespace, which are not resources in it."""

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}


@frozen
class ServedTarget:
    """A resource, one of its objects, or a subresource of one."""

    served: Served
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
class PathWords:
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
    def too_many(self) -> bool:
        return len(self.rest) > 3 and self.subresource != "proxy"


def words_of(path: str) -> PathWords | None:
    """Parse a path; None if it is not a resource path."""
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
    return PathWords(group, version, namespace, rest)


def target_of(path: str, catalogue: Catalogue) -> ServedTarget | None:
    """Return the target of a path; None if it is not a resource path, or the resource is not served."""
    said = words_of(path)
    served = catalogue.find(said.group, said.version, said.plural) if said is not None else None
    if said is None or served is None or said.too_many:
        return None
    if said.subresource and served.subresource(said.subresource) is None:
        return None
    return ServedTarget(served, said.namespace, said.name, said.subresource)


def verb_of(request: ServedRequest, name: str) -> str:
    """Return RBAC's verb; `name` of the object, "" for a collection."""
    if request.method in _VERBS:
        return _VERBS[request.method]
    if request.method == "DELETE":
        return "delete" if name else "deletecollection"
    if name and not request.flag("watch"):
        return "get"
    return "watch" if request.flag("watch") else "list"


def names_enough(verb: str, target: ServedTarget) -> bool:
    """Whether the path has a name where required: an object is created in its collection; other writes name the
    object."""
    if verb == "create":
        return not target.name
    return bool(target.name) or verb not in ("update", "patch")


def action_of(request: ServedRequest, target: ServedTarget) -> Action:
    return Action(
        verb_of(request, target.name),
        target.served.group,
        target.served.plural,
        target.subresource,
        target.namespace,
        target.name,
    )
