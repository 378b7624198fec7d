"""Users of a served cluster with only the rights of the printed roles; their requests are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from kubectl_eksdoc.cli import rights
from kubectl_eksdoc.embedded.serving.requests import Action, RbacRule, ServedUser, parse_path, restricted
from kubectl_eksdoc.model.api_objects import Doc
from tests.cli.running import run_cli
from tests.yaml_reader import yaml_documents

EVERYBODY = restricted("everybody", ())
_REVIEWS = rights.ACCESS_REVIEWS.plural


class Held(NamedTuple):
    """One verb on one resource (``pods/eviction``), or on a path; `namespace` "" for all of them."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    @property
    def said(self) -> str:
        """The name that the tool prints: ``create pods/eviction``, ``list poddisruptionbudgets.policy``."""
        plural, _, subresource = self.resource.partition("/") if not self.is_path else (self.resource, "", "")
        full = f"{plural}.{self.group}" if self.group else plural
        return f"{self.verb} {full}/{subresource}" if subresource else f"{self.verb} {full}"

    @property
    def is_path(self) -> bool:
        return self.resource.startswith("/")

    @property
    def rule(self) -> RbacRule:
        if self.is_path:
            return RbacRule((self.verb,), (), (), (), (self.resource,))
        where = (self.namespace,) if self.namespace else ()
        return RbacRule((self.verb,), (self.resource,), (self.group,), where)

    def allows(self, action: Action) -> bool:
        return self.rule.allows(action)


@cache
def printed(*commands: str) -> tuple[Held, ...]:
    """The rights in the roles that ``permissions COMMAND … -o yaml`` prints; `commands` as a user types them, with
    their flags."""
    ran = run_cli("permissions", *(word for each in commands for word in each.split()), "-o", "yaml")
    assert ran.code == 0, ran.err
    return tuple(held(yaml_documents(ran.out)))


def held(docs: Iterable[Doc]) -> Iterator[Held]:
    """Whether the rules of the roles give the right, as the API server reads them."""
    for doc in docs:
        assert doc["kind"] in ("ClusterRole", "Role") and doc["apiVersion"] == "rbac.authorization.k8s.io/v1"
        namespace = doc["metadata"].get("namespace", "")
        assert bool(namespace) == (doc["kind"] == "Role")
        for rule in doc["rules"]:
            for verb in rule["verbs"]:
                for path in rule.get("nonResourceURLs", ()):
                    assert not namespace, "a Role cannot allow paths"
                    yield Held(verb, path)
                for group in rule.get("apiGroups", ()):
                    yield from (Held(verb, of, group, namespace) for of in rule["resources"])


class Watched(ServedUser):
    """A user whose requests are recorded in `asked`: those for resources and for paths that not every user may get. As
    at the API server itself, a request for a resource's path needs a right, whether or not it is served."""

    def __init__(self, name: str, held: Iterable[Held]) -> None:
        super().__init__(name, tuple(each.rule for each in held))
        object.__setattr__(self, "asked", [])
        object.__setattr__(self, "reviewing", False)

    asked: list[Action]
    reviewing: bool

    def may(self, action: Action) -> bool:
        action = _of_resource(action)
        by_review, allowed = self.reviewing, super().may(action) or EVERYBODY.may(action)
        object.__setattr__(self, "reviewing", action.resource == _REVIEWS and not by_review)
        if not by_review and not EVERYBODY.may(action):
            self.asked.append(action)
        return allowed


def _of_resource(action: Action) -> Action:
    words = parse_path(action.path) if action.path else None
    if words is None:
        return action
    verb = action.verb if action.verb != "get" or words.name else "list"
    return Action(verb, words.group, words.plural, words.subresource, words.namespace, words.name)


def unregistered(asked: Iterable[Action], allowed: Iterable[Held]) -> list[Action]:
    """Requests that no right of `allowed` covers."""
    rules = [each.rule for each in allowed]
    return [action for action in asked if not any(rule.allows(action) for rule in rules)]
