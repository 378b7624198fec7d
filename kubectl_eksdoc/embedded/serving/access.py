"""Who asks, and what they may: bearer tokens, users, and rules as RBAC has them.

Source of the texts: apiserver pkg/endpoints/handlers/responsewriters/errors.go (Forbidden).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kubectl_eksdoc.core.rules.api.statuses import Details, Refusal, Status

EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources (``pods``, ``pods/eviction``) of groups; in those namespaces, or everywhere if there are none.

    ``*`` stands for all of them.
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
            return _one_of(action.path, self.paths)
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
NO_RESOURCES: tuple[str, ...] = ()
_ASK_ABOUT_ONESELF = Rule(
    ("create",), ("selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"), (EVERYTHING,)
)
_OPEN_PATHS = Rule(
    ("get",),
    NO_RESOURCES,
    paths=("/version", "/healthz", "/livez", "/readyz", "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"),
)

ADMIN = User("admin", (Rule((EVERYTHING,), paths=(EVERYTHING,)),))
VIEWER = User("viewer", (Rule(READING, paths=(EVERYTHING,)), _ASK_ABOUT_ONESELF, _OPEN_PATHS))


def restricted(name: str, rules: Iterable[Rule]) -> User:
    """A user with these rules, and what every authenticated user may."""
    return User(name, (*rules, _ASK_ABOUT_ONESELF, _OPEN_PATHS))


@dataclass(frozen=True, slots=True)
class Access:
    """Users by their bearer tokens."""

    users: Mapping[str, User] = field(default_factory=dict)

    def user(self, authorization: str) -> User:
        """
        Raises:
            Refusal: 401, nobody has that token.
        """
        scheme, _, token = authorization.partition(" ")
        found = self.users.get(token.strip()) if scheme.lower() == "bearer" else None
        if found is None:
            raise Refusal(Status(401, "Unauthorized", "Unauthorized"))
        return found


def check(user: User, action: Action) -> None:
    """
    Raises:
        Refusal: 403, in the server's words.
    """
    if user.may(action):
        return
    if action.path:
        text = f'forbidden: User "{user.name}" cannot {action.verb} path "{action.path}"'
        raise Refusal(Status(403, "Forbidden", text, Details()))
    full = f"{action.resource}.{action.group}" if action.group else action.resource
    subject = f'{full} "{action.name}"' if action.name else full
    named = f"{action.resource}/{action.subresource}" if action.subresource else action.resource
    where = f'in the namespace "{action.namespace}"' if action.namespace else "at the cluster scope"
    text = f'User "{user.name}" cannot {action.verb} resource "{named}" in API group "{action.group}" {where}'
    details = Details(action.name, action.group, action.resource)
    raise Refusal(Status(403, "Forbidden", f"{subject} is forbidden: {text}", details))


def _one_of(word: str, words: tuple[str, ...]) -> bool:
    return any(each in (EVERYTHING, word) or (each.endswith("/*") and word.startswith(each[:-1])) for each in words)
