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
from kubectl_eksdoc.kubernetes.api.resources import ApiRefusal, ApiStatus, StatusDetails, expired
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.store import StoreChange

from .. import catalogue
from ..catalogue import DEFINITIONS, Build, Catalogue
from . import bodies, objects
from . import requests as access
from .handler import ManualTime, TimeDriver
from .objects import ObjectEndpoints, PodPorts, no_pod_ports
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
    check_permission,
    has_required_name,
    rbac_verb,
    requested_action,
    resolve_target,
    status_reply,
)
from .watching import ServedWatch, Streaming, watch_options

_TEXT = "text/plain; charset=utf-8"
_HEALTH = ("/healthz", "/livez", "/readyz")
API_SERVICES = "apiservices.apiregistration.k8s.io"

_MAX_INTERNAL_ERRORS = 20
"""Number of internal errors that are kept."""

T = TypeVar("T")


@frozen
class ApiSetup:
    """`address`: where it is served, as ``/api`` reports; `metrics`: the text of ``/metrics``. `logs`: logs of
    containers; `ports`: responses of pods on their ports. `note` receives the reason if the API stops responding."""

    access: TokenUsers = field(default_factory=TokenUsers)
    build: Build = field(default_factory=Build)
    address: str = "127.0.0.1:6443"
    metrics: bytes = b""
    logs: PodLogs = field(default_factory=PodLogs)
    ports: PodPorts = no_pod_ports
    note: Callable[[str], object] = str


class Api:
    """Answers requests about one simulated cluster. `internal_errors`: the latest internal errors."""

    def __init__(
        self,
        plane: ControlPlane,
        setup: ApiSetup,
        time_driver: TimeDriver | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._plane = plane
        self._setup = setup
        self._time_driver = time_driver or ManualTime()
        self._changed = threading.Condition(threading.Lock())
        self._objects = ObjectEndpoints(plane, setup.logs, setup.ports)
        self._streaming = Streaming(plane.virtual_time, self._time_driver, self._changed, self._advance, monotonic)
        self._catalogue: tuple[int, Catalogue] | None = None
        self._has_changes = False
        self.internal_errors: deque[Exception] = deque(maxlen=_MAX_INTERNAL_ERRORS)
        self._stop_message = ""
        plane.store.listen(self._handle_change)

    def handle(self, request: ServedRequest) -> Reply:
        """Never raises: an invalid request gets an error response."""
        with self._changed:
            self._advance()
            if self._stop_message:
                return status_reply(ApiStatus(500, "InternalError", self._stop_message))
            try:
                return self._answer(request)
            except ApiRefusal as refusal:
                return status_reply(refusal.status)
            except TooOldToContinue as refused:
                doc = expired(TOO_OLD_TO_CONTINUE).status.to_document()
                return Reply(410, encode({**doc, "metadata": {"continue": refused.token}}))
            except Exception as error:
                self.internal_errors.append(error)
                text = f"Internal error occurred: {type(error).__name__}"
                return status_reply(ApiStatus(500, "InternalError", text))
            finally:
                self._notify_watches()

    def run_locked(self, operation: Callable[[ControlPlane], T]) -> T:
        """Change or read the cluster between two requests."""
        with self._changed:
            self._advance()
            try:
                return operation(self._plane)
            finally:
                self._notify_watches()

    @property
    def logs(self) -> PodLogs:
        """Logs of containers: the creator of a container may add to them at any time."""
        return self._objects.logs

    def _handle_change(self, change: StoreChange) -> None:
        self._has_changes = True

    def _notify_watches(self) -> None:
        """Wake the watches once for all changes."""
        if self._has_changes:
            self._has_changes = False
            self._changed.notify_all()

    def _answer(self, request: ServedRequest) -> Reply:
        user = self._setup.access.user(request.headers)
        # The catalogue is rebuilt when a definition was created or deleted.
        store = self._plane.store
        sources = [*store.list(DEFINITIONS), *store.list(API_SERVICES)]
        newest = max((item.version for item in sources), default=0) + len(sources)
        if self._catalogue is None or self._catalogue[0] != newest:
            definitions = (item.doc for item in store.list(DEFINITIONS))
            services = (item.doc for item in store.list(API_SERVICES))
            self._catalogue = newest, catalogue.build_catalogue(definitions, services)
        served = self._catalogue[1]
        target = resolve_target(request.path, served)
        if target is None:
            path = request.path.rstrip("/")
            check_permission(user, Action(request.method.lower(), path=path or "/"))
            if path in _HEALTH:
                return Reply(200, b"ok", _TEXT)
            if path == "/metrics":
                return Reply(200, self._setup.metrics, METRICS_TEXT)
            match path.split("/"):
                case ["", "apis", group, version, *_] if served.is_unserved(group, version):
                    return Reply(503, b"service unavailable\n", _TEXT)
            if path == "/openapi/v3":
                return Reply(200, encode(catalogue.openapi_index(served)), _TEXT)
            doc = self._discovery_document(path, served)
            return Reply(404, b"404 page not found\n", _TEXT) if doc is None else Reply(200, encode(doc))
        check_permission(user, requested_action(request, target))
        return self._answer_resource(request, target, user)

    def _answer_resource(self, request: ServedRequest, target: ServedTarget, user: ServedUser) -> Reply:
        verb = rbac_verb(request, target.name)
        bodies.check_options(verb, request)
        if target.subresource and target.subresource != "status":
            return objects.answer_subresource(self._plane, self._objects, request, target, user)
        verbs = target.served.verbs
        if target.subresource:
            subresource = target.served.subresource(target.subresource)
            verbs = subresource.verbs if subresource is not None else ()
        if verb not in verbs or not has_required_name(verb, target):
            raise ApiRefusal(_not_allowed())
        if target.resource in access.REVIEWS:
            doc = self._objects.review_object(request, target)
            return Reply(201, encode(access.REVIEWS[target.resource](doc, user)))
        if verb == "create" and target.resource in access.ROLES:
            access.check_escalation(
                user, target.served.plural, target.key[0], self._objects.review_object(request, target)
            )
        if verb == "watch":
            options = watch_options(request, target)
            watch = ServedWatch(self._plane.store, options)
            return Reply(
                200, stream=self._streaming.lines(watch, options, self._objects.event_encoder(request, target))
            )
        return self._objects.answer(verb, request, target)

    def _discovery_document(self, path: str, served: Catalogue) -> Doc | None:
        match path.split("/")[1:]:
            case ["version"]:
                return catalogue.version_document(self._setup.build)
            case ["openapi", "v3", *rest]:
                return catalogue.openapi_document(served, "/".join(rest))
            case ["api"]:
                return catalogue.api_versions_document(self._setup.address)
            case ["apis"]:
                return catalogue.group_list_document(served)
            case ["api", version]:
                return catalogue.resource_list_document(served, "", version)
            case ["apis", group]:
                return catalogue.group_document(served, group)
            case ["apis", group, version]:
                return catalogue.resource_list_document(served, group, version)
        return None

    def _advance(self) -> None:
        """Let time pass. An error in a controller is not the client's fault."""
        try:
            self._time_driver.advance(self._plane.virtual_time)
        except UsageError as error:  # its controllers never become idle
            if not self._stop_message:
                self._stop_message = error.message
                self._setup.note(f"{error.message}. Nothing is answered any more. {error.hint}")
        except Exception as error:
            self.internal_errors.append(error)
        self._notify_watches()


def _not_allowed() -> ApiStatus:
    return ApiStatus(
        405, "MethodNotAllowed", "the server does not allow this method on the requested resource", StatusDetails()
    )
