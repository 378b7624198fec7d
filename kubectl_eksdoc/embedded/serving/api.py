"""The API: a request in, a reply out, whatever carried the request.

One lock around everything, since the simulated cluster has one thread. A watch takes it whenever it looks for news.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.api.patches.refusals import PatchRefused
from kubectl_eksdoc.core.rules.api.statuses import Details, Refusal, Status, expired
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.api import aggregated_discovery, catalogue, discovery, openapi
from kubectl_eksdoc.embedded.api.catalogue import Catalogue
from kubectl_eksdoc.embedded.api.discovery import Build
from kubectl_eksdoc.embedded.serving import expressions, subresources
from kubectl_eksdoc.embedded.serving.access import Access, Action, User, check
from kubectl_eksdoc.embedded.serving.clockwork import ByHand, Clockwork
from kubectl_eksdoc.embedded.serving.messages import Reply, Request
from kubectl_eksdoc.embedded.serving.objects import Objects
from kubectl_eksdoc.embedded.serving.policies import Holds, Policies
from kubectl_eksdoc.embedded.serving.reading import TOO_OLD_TO_CONTINUE, TooOldToContinue
from kubectl_eksdoc.embedded.serving.reviews import SELF_ACCESS, reviewed
from kubectl_eksdoc.embedded.serving.targets import Target, action_of, target_of, verb_of
from kubectl_eksdoc.embedded.serving.watching import Asked, Bookmarks, Event, Shown, Watch, asked
from kubectl_eksdoc.objects.single import encode

_TEXT = "text/plain; charset=utf-8"
_HEALTH = ("/healthz", "/livez", "/readyz")
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
API_SERVICES = "apiservices.apiregistration.k8s.io"

LOOK_S = 0.05
"""A watch looks for news at least so often while virtual time passes by itself."""


@dataclass(frozen=True, slots=True)
class Setup:
    """`address` is where it is served, as ``/api`` tells. `watch_cache`: as servers have it that are not told
    otherwise (--watch-cache). `holds` evaluates the expressions of admission policies."""

    access: Access = field(default_factory=Access)
    build: Build = field(default_factory=Build)
    address: str = "127.0.0.1:6443"
    watch_cache: bool = True
    holds: Holds = expressions.holds


class Api:
    """Answers requests about one simulated cluster."""

    def __init__(self, plane: ControlPlane, setup: Setup, clockwork: Clockwork | None = None) -> None:
        self._plane = plane
        self._setup = setup
        self._clockwork = clockwork or ByHand()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._objects = Objects(plane, Policies(plane.store, setup.holds), setup.watch_cache)
        self._catalogue: tuple[int, Catalogue] | None = None
        plane.store.listen(lambda change: self._changed.notify_all() if self._lock.locked() else None)

    def handle(self, request: Request) -> Reply:
        """Never raises: whatever is wrong with a request is its answer."""
        with self._lock:
            self._clockwork.advance(self._plane.agenda)
            try:
                return self._answer(request)
            except Refusal as refusal:
                return _status(refusal.status)
            except PatchRefused as refused:
                return Reply(refused.refusal.code, encode(refused.refusal.status()))
            except TooOldToContinue as refused:
                doc = expired(TOO_OLD_TO_CONTINUE).status.doc()
                return Reply(410, encode({**doc, "metadata": {"continue": refused.token}}))

    def _answer(self, request: Request) -> Reply:
        user = self._setup.access.user(request.headers.get("authorization", ""))
        served = self._served()
        target = target_of(request.path, served)
        if target is None:
            return self._without_resource(request, user, served)
        check(user, action_of(request, target))
        verb = verb_of(request, target)
        if target.subresource and target.subresource != "status":
            return subresources.answer(self._plane, self._objects, request, target, user)
        verbs = target.served.verbs
        if target.subresource:
            subresource = target.served.subresource(target.subresource)
            verbs = subresource.verbs if subresource is not None else ()
        if verb not in verbs:
            raise Refusal(_not_allowed())
        if target.resource == SELF_ACCESS:
            doc = self._objects.unstored(request, target)
            return Reply(201, encode(reviewed(doc, user)))
        if verb == "watch":
            return Reply(200, stream=self._watch(request, target, asked(request, target)))
        return self._objects.answer(verb, request, target)

    def _served(self) -> Catalogue:
        """The catalogue, made anew when a definition came or went."""
        store = self._plane.store
        held = [*store.list(DEFINITIONS), *store.list(API_SERVICES)]
        newest = max((item.version for item in held), default=0) + len(held)
        if self._catalogue is None or self._catalogue[0] != newest:
            definitions = (item.doc for item in store.list(DEFINITIONS))
            services = (item.doc for item in store.list(API_SERVICES))
            self._catalogue = newest, catalogue.of(definitions, services)
        return self._catalogue[1]

    def _without_resource(self, request: Request, user: User, served: Catalogue) -> Reply:
        path = request.path.rstrip("/")
        check(user, Action(request.method.lower(), path=path or "/"))
        if path in _HEALTH:
            return Reply(200, b"ok", _TEXT)
        doc, content = self._discovered(path, request.headers.get("accept", ""), served)
        if doc is None:
            return Reply(404, b"404 page not found\n", _TEXT)
        return Reply(200, encode(doc), content) if content else Reply(200, encode(doc))

    def _discovered(self, path: str, accept: str, served: Catalogue) -> tuple[Doc | None, str]:
        form = aggregated_discovery.asked_for(accept)
        parts = path.split("/")[1:]
        if path in ("/api", "/apis") and form is not None:
            made = aggregated_discovery.core if path == "/api" else aggregated_discovery.groups
            return made(served, form), aggregated_discovery.content_type(form)
        if path == "/version":
            return discovery.version(self._setup.build), ""
        if path == "/openapi/v3":
            return openapi.index(served), _TEXT
        if path.startswith("/openapi/v3/"):
            return openapi.document(served, path.removeprefix("/openapi/v3/")), ""
        match parts:
            case ["api"]:
                return discovery.api_versions(self._setup.address), ""
            case ["apis"]:
                return discovery.group_list(served), ""
            case ["api", version]:
                return discovery.resource_list(served, "", version), ""
            case ["apis", group]:
                return discovery.group(served, group), ""
            case ["apis", group, version]:
                return discovery.resource_list(served, group, version), ""
        return None, ""

    def _watch(self, request: Request, target: Target, what: Asked) -> Iterator[bytes]:
        """Lines of events until its time is over. What is there at once is looked up at once, under the lock."""
        shown = self._objects.shown_as(request, target)
        watch = Watch(self._plane.store, what, self._setup.watch_cache)
        return self._lines(watch, what, shown, [_line(event, shown) for event in watch.news()])

    def _lines(self, watch: Watch, what: Asked, shown: Shown, first: list[bytes]) -> Iterator[bytes]:
        yield from first
        bookmarks = Bookmarks(self._plane.agenda.seconds, what)
        end_s = self._plane.agenda.seconds + what.seconds
        while not watch.ended and self._plane.agenda.seconds < end_s:
            with self._changed:
                self._changed.wait(self._pause_s(end_s))
                self._clockwork.advance(self._plane.agenda)
                lines = [_line(event, shown) for event in watch.news()]
                lines += [_line(event, shown) for event in self._bookmark(watch, bookmarks)]
            yield from lines

    def _bookmark(self, watch: Watch, bookmarks: Bookmarks) -> tuple[Event, ...]:
        due = bookmarks.due(self._plane.agenda.seconds)
        return (watch.bookmark(),) if due and not watch.ended else ()

    def _pause_s(self, end_s: float) -> float:
        due_s = self._plane.agenda.due_s
        until_s = end_s if due_s is None else min(due_s, end_s)
        return max(0.001, min(LOOK_S, self._clockwork.real_s(until_s - self._plane.agenda.seconds)))


def _line(event: Event, shown: Shown) -> bytes:
    body = shown(event.item) if event.item is not None else encode(event.doc)
    return b'{"type":"%b","object":%b}\n' % (event.type.encode(), body)


def _status(status: Status) -> Reply:
    headers = {}
    if status.details is not None and status.details.retry_after_s:
        headers["Retry-After"] = str(status.details.retry_after_s)
    return Reply(status.code, encode(status.doc()), headers=headers)


def _not_allowed() -> Status:
    return Status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", Details())
