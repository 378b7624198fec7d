"""Who asks, and what they may: bearer tokens, users, and rules as RBAC has them.

Source of the texts: apiserver pkg/endpoints/handlers/responsewriters/errors.go (Forbidden).
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.rules.api.statuses import Details, Refusal, Status

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources (``pods``, ``pods/eviction``) of groups; in those namespaces, or everywhere if there are none.

    ``*`` stands for all of them, and ends a path that stands for what begins so.
    """

    verbs: tuple[str, ...]
    resources: tuple[str, ...] = (EVERYTHING,)
    groups: tuple[str, ...] = (EVERYTHING,)
    namespaces: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # of what is no resource, as ``/metrics``

    def allows(self, action: Action) -> bool:
        if not _one_of(action.verb, self.verbs):
            return False
        if action.path:
            return any(_covers(path, action.path) for path in self.paths)
        named = action.resource if not action.subresource else f"{action.resource}/{action.subresource}"
        here = not self.namespaces or action.namespace in self.namespaces
        return here and _one_of(named, self.resources) and _one_of(action.group, self.groups)


@dataclass(frozen=True, slots=True)
class Action:
    """What somebody wants to do; `path` only where it is no resource."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class User:
    name: str
    rules: tuple[Rule, ...]

    def may(self, action: Action) -> bool:
        return any(rule.allows(action) for rule in self.rules)


READING = ("get", "list", "watch")
_ASK_ABOUT_ONESELF = (
    Rule(("create",), ("selfsubjectaccessreviews", "selfsubjectrulesreviews"), ("authorization.k8s.io",)),
    Rule(("create",), ("selfsubjectreviews",), ("authentication.k8s.io",)),
)
_OPEN_PATHS = Rule(
    ("get",),
    resources=(),
    paths=(
        *("/version", "/healthz", "/livez", "/readyz", "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"),
    ),
)
"""What `system:basic-user` and `system:discovery` let every authenticated user do."""

ADMIN = User("admin", (Rule((EVERYTHING,), paths=(EVERYTHING,)),))
VIEWER = User("viewer", (Rule(READING, paths=(EVERYTHING,)), *_ASK_ABOUT_ONESELF, _OPEN_PATHS))


def restricted(name: str, rules: Iterable[Rule]) -> User:
    """A user with these rules, and what every authenticated user may."""
    return User(name, (*rules, *_ASK_ABOUT_ONESELF, _OPEN_PATHS))


@dataclass(frozen=True, slots=True)
class Access:
    """Users by their bearer tokens."""

    users: Mapping[str, User] = field(default_factory=dict)

    def user(self, headers: Mapping[str, str]) -> User:
        """Who asks, or whom they ask as (``kubectl --as``).

        Raises:
            Refusal: 401, nobody has that token; 403, they may not ask as somebody else.
        """
        scheme, _, token = headers.get("authorization", "").partition(" ")
        found = self._known(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise Refusal(Status(401, "Unauthorized", "Unauthorized"))
        named = headers.get("impersonate-user", "")
        if not named:
            return found
        check(found, Action("impersonate", resource="users", name=named))
        return next((each for each in self.users.values() if each.name == named), restricted(named, ()))

    def _known(self, token: str) -> User | None:
        """Compared so that the time it takes tells nothing of the tokens there are."""
        given = token.encode()
        return next((user for each, user in self.users.items() if hmac.compare_digest(each.encode(), given)), None)


def check(user: User, action: Action) -> None:
    """
    Raises:
        Refusal: 403, in the server's words.
    """
    if not user.may(action):
        raise Refusal(forbidden(user.name, action))


def forbidden(user: str, action: Action) -> Status:
    """That a user may not do it."""
    if action.path:
        text = f'forbidden: User "{user}" cannot {action.verb} path "{action.path}"'
        return Status(403, "Forbidden", text, Details())
    full = f"{action.resource}.{action.group}" if action.group else action.resource
    subject = f'{full} "{action.name}"' if action.name else full
    named = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    text = f'User "{user}" cannot {action.verb} resource "{named}" in API group "{action.group}" {where}'
    details = Details(action.name, action.group, action.resource)
    return Status(403, "Forbidden", f"{subject} is forbidden: {text}", details)


def _one_of(word: str, words: tuple[str, ...]) -> bool:
    return EVERYTHING in words or word in words


def _covers(path: str, asked: str) -> bool:
    return path == asked or (path.endswith(EVERYTHING) and asked.startswith(path[:-1]))
