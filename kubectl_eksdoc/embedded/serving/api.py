"""The API: a request in, a reply out, independent of the transport.

One lock protects everything, because the simulated cluster has one thread. A watch acquires it whenever it looks for
events.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import field
from typing import TypeVar

from kubectl_eksdoc.errors import UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus, Details, expired
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange

from .. import catalogue
from ..catalogue import DEFINITIONS, Build, Catalogue
from . import bodies, objects
from . import requests as access
from .handler import ManualTime, TimeDriver
from .objects import ObjectEndpoints, Ports, nobody_listens
from .pod_logs import PodLogs
from .reading import TOO_OLD_TO_CONTINUE, TooOldToContinue
from .requests import (
    METRICS_TEXT,
    Action,
    Reply,
    ServedRequest,
    ServedTarget,
    ServedUser,
    TokenUsers,
    action_of,
    check,
    names_enough,
    status_reply,
    target_of,
    verb_of,
)
from .watching import ServedWatch, Streaming, asked

_TEXT = "text/plain; charset=utf-8"
_HEALTH = ("/healthz", "/livez", "/readyz")
API_SERVICES = "apiservices.apiregistration.k8s.io"

_FAULTS = 20
"""Number of internal errors that are kept."""

T = TypeVar("T")


@frozen
class Setup:
    """`address`: where it is served, as ``/api`` reports; `metrics`: the text of ``/metrics``. `logs`: logs of
    containers; `ports`: responses of pods on their ports. `note` receives the reason if the API stops responding."""

    access: TokenUsers = field(default_factory=TokenUsers)
    build: Build = field(default_factory=Build)
    address: str = "127.0.0.1:6443"
    metrics: bytes = b""
    logs: PodLogs = field(default_factory=PodLogs)
    ports: Ports = nobody_listens
    note: Callable[[str], object] = str


class Api:
    """Answers requests about one simulated cluster. `internal_errors`: the latest internal errors."""

    def __init__(
        self,
        plane: ControlPlane,
        setup: Setup,
        clockwork: TimeDriver | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plane = plane
        self._setup = setup
        self._clockwork = clockwork or ManualTime()
        self._changed = threading.Condition(threading.Lock())
        self._objects = ObjectEndpoints(plane, setup.logs, setup.ports)
        self._streaming = Streaming(plane.agenda, self._clockwork, self._changed, self._advance, monotonic)
        self._catalogue: tuple[int, Catalogue] | None = None
        self._stirred = False
        self.faults: deque[Exception] = deque(maxlen=_FAULTS)
        self._restless = ""
        plane.store.listen(self._note)

    def handle(self, request: ServedRequest) -> Reply:
        """Never raises: an invalid request gets an error response."""
        with self._changed:
            self._advance()
            if self._restless:
                return status_reply(ApiStatus(500, "InternalError", self._restless))
            try:
                return self._answer(request)
            except ApiRefusal as refusal:
                return status_reply(refusal.status)
            except TooOldToContinue as refused:
                doc = expired(TOO_OLD_TO_CONTINUE).status.doc()
                return Reply(410, encode({**doc, "metadata": {"continue": refused.token}}))
            except Exception as error:
                self.faults.append(error)
                text = f"Internal error occurred: {type(error).__name__}"
                return status_reply(ApiStatus(500, "InternalError", text))
            finally:
                self._tell()

    def now(self, deed: Callable[[ControlPlane], T]) -> T:
        """Change or read the cluster between two requests."""
        with self._changed:
            self._advance()
            try:
                return deed(self._plane)
            finally:
                self._tell()

    @property
    def logs(self) -> PodLogs:
        """Logs of containers: the creator of a container may add to them at any time."""
        return self._objects.logs

    def _note(self, change: StoreChange) -> None:
        self._stirred = True

    def _tell(self) -> None:
        """Wake the watches once for all changes."""
        if self._stirred:
            self._stirred = False
            self._changed.notify_all()

    def _answer(self, request: ServedRequest) -> Reply:
        user = self._setup.access.user(request.headers)
        # The catalogue is rebuilt when a definition was created or deleted.
        store = self._plane.store
        held = [*store.list(DEFINITIONS), *store.list(API_SERVICES)]
        newest = max((item.version for item in held), default=0) + len(held)
        if self._catalogue is None or self._catalogue[0] != newest:
            definitions = (item.doc for item in store.list(DEFINITIONS))
            services = (item.doc for item in store.list(API_SERVICES))
            self._catalogue = newest, catalogue.of(definitions, services)
        served = self._catalogue[1]
        target = target_of(request.path, served)
        if target is None:
            path = request.path.rstrip("/")
            check(user, Action(request.method.lower(), path=path or "/"))
            if path in _HEALTH:
                return Reply(200, b"ok", _TEXT)
            if path == "/metrics":
                return Reply(200, self._setup.metrics, METRICS_TEXT)
            match path.split("/"):
                case ["", "apis", group, version, *_] if served.unanswered(group, version):
                    return Reply(503, b"service unavailable\n", _TEXT)
            if path == "/openapi/v3":
                return Reply(200, encode(catalogue.index(served)), _TEXT)
            doc = self._discovered(path, served)
            return Reply(404, b"404 page not found\n", _TEXT) if doc is None else Reply(200, encode(doc))
        check(user, action_of(request, target))
        return self._of_resource(request, target, user)

    def _of_resource(self, request: ServedRequest, target: ServedTarget, user: ServedUser) -> Reply:
        verb = verb_of(request, target.name)
        bodies.check(verb, request)
        if target.subresource and target.subresource != "status":
            return objects.answer(self._plane, self._objects, request, target, user)
        verbs = target.served.verbs
        if target.subresource:
            subresource = target.served.subresource(target.subresource)
            verbs = subresource.verbs if subresource is not None else ()
        if verb not in verbs or not names_enough(verb, target):
            raise ApiRefusal(_not_allowed())
        if target.resource in access.ANSWERS:
            doc = self._objects.unstored(request, target)
            return Reply(201, encode(access.ANSWERS[target.resource](doc, user)))
        if verb == "create" and target.resource in access.ROLES:
            access.check_granting(user, target.served.plural, target.key[0], self._objects.unstored(request, target))
        if verb == "watch":
            what = asked(request, target)
            watch = ServedWatch(self._plane.store, what)
            return Reply(200, stream=self._streaming.lines(watch, what, self._objects.told(request, target)))
        return self._objects.answer(verb, request, target)

    def _discovered(self, path: str, served: Catalogue) -> Doc | None:
        match path.split("/")[1:]:
            case ["version"]:
                return catalogue.version(self._setup.build)
            case ["openapi", "v3", *rest]:
                return catalogue.document(served, "/".join(rest))
            case ["api"]:
                return catalogue.api_versions(self._setup.address)
            case ["apis"]:
                return catalogue.group_list(served)
            case ["api", version]:
                return catalogue.resource_list(served, "", version)
            case ["apis", group]:
                return catalogue.group(served, group)
            case ["apis", group, version]:
                return catalogue.resource_list(served, group, version)
        return None

    def _advance(self) -> None:
        """Let time pass. An error in a controller is not the client's fault."""
        try:
            self._clockwork.advance(self._plane.agenda)
        except UsageError as error:  # its controllers never become idle
            if not self._restless:
                self._restless = error.message
                self._setup.note(f"{error.message}. Nothing is answered any more. {error.hint}")
        except Exception as error:
            self.faults.append(error)
        self._tell()


def _not_allowed() -> ApiStatus:
    return ApiStatus(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", Details()
    )
