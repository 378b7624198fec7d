"""Which part of the API a path means (apiserver pkg/endpoints/request/requestinfo.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Protocol

from kubectl_eksdoc.embedded.catalogue import Catalogue
from kubectl_eksdoc.embedded.serving.requests import Action
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import Served
from kubectl_eksdoc.kubernetes.api.statuses import ApiStatus
from kubectl_eksdoc.objects.single import encode

# Requests and replies, whatever carries them.


JSON = "application/json"
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"

_NO = ("0", "f", "false")


@frozen
class ServedRequest:
    """`path` is without query and decoded; `query` has of each name its values; header names are lower case."""

    method: str
    path: str
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def word(self, name: str) -> str:
        """The first value of a query parameter, "" without one."""
        return (self.query.get(name) or ("",))[0]

    def flag(self, name: str) -> bool:
        """A query parameter that switches something on: given, and not a Go false (strconv.ParseBool)."""
        return name in self.query and self.word(name).lower() not in _NO

    @property
    def dry_run(self) -> bool:
        return "All" in self.query.get("dryRun", ())


@frozen
class Reply:
    """`stream`, where there is one, are the pieces of a body that has no end yet; `body` is empty then. An empty piece
    says that there is nothing new: time to look whether anybody still wants to know. `sent`: so much of the body is
    sent, and then the connection ends."""

    status: int
    body: bytes = b""
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    sent: int | None = None


class ConnectionLost(Exception):
    """The client gets no answer: its connection is closed without one."""


class NoAnswer(Exception):
    """The client gets no answer, and its connection stays open as long as it waits."""


class RequestHandler(Protocol):
    """Whoever takes requests: the API, or something that stands in front of it."""

    def handle(self, request: ServedRequest) -> Reply:
        """
        Raises:
            ConnectionLost
            Unanswered
        """


def status_reply(status: ApiStatus) -> Reply:
    """A Status as an answer."""
    headers = {}
    if status.details is not None and status.details.retry_after_s:
        headers["Retry-After"] = str(status.details.retry_after_s)
    return Reply(status.code, encode(status.doc()), headers=headers)


_OF_A_NAMESPACE = ("status", "finalize")
"""What stands behind a namespace's name and is no resource in it."""

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
        """As the store names it."""
        return self.served.full_name

    @property
    def key(self) -> tuple[str, str]:
        return self.namespace if self.served.namespaced else "", self.name


@frozen
class PathWords:
    """A path in words, whether or not such a resource is served; `rest` is what stands behind the namespace."""

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
    """None where the path is no resource's."""
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
    """None where the path is no resource's, or one that is not served."""
    said = words_of(path)
    served = catalogue.find(said.group, said.version, said.plural) if said is not None else None
    if said is None or served is None or said.too_many:
        return None
    if said.subresource and served.subresource(said.subresource) is None:
        return None
    return ServedTarget(served, said.namespace, said.name, said.subresource)


def verb_of(request: ServedRequest, name: str) -> str:
    """As RBAC has it; `name` of the object, "" of a collection."""
    if request.method in _VERBS:
        return _VERBS[request.method]
    if request.method == "DELETE":
        return "delete" if name else "deletecollection"
    if name and not request.flag("watch"):
        return "get"
    return "watch" if request.flag("watch") else "list"


def names_enough(verb: str, target: ServedTarget) -> bool:
    """A new object is made in its collection; other writes name theirs in the path."""
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
