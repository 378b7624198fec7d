"""Object endpoints: get, list, create, update, patch, delete, each answered in the requested form. Also subresources,
such as eviction.

Source: pkg/registry/core/pod/storage/eviction.go; the details as a 1.36 server answered them (tests/embedded/contract).
"""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.kubernetes.api.defaults import begun, carried, with_defaults, without_empty_metadata
from kubectl_eksdoc.kubernetes.api.resources import (
    ApiRefusal,
    ApiStatus,
    Details,
    StatusCause,
    bad_request,
    modified,
    not_found,
)
from kubectl_eksdoc.kubernetes.api.shapes import EVICTION, SCALE
from kubectl_eksdoc.kubernetes.api.workload_validation import negative
from kubectl_eksdoc.kubernetes.evictions import EvictionAnswer, EvictionCause, EvictionRequest
from kubectl_eksdoc.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.model.kinds import NAMESPACES, Resource
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.disruptions import admitted, first_status
from kubectl_eksdoc.simulator.plane import ControlPlane
from kubectl_eksdoc.simulator.store import PODS, StoredItem

from ..catalogue import PLAIN
from . import bodies, validation
from .bodies import (
    LONGEST_GRACE_S,
    FieldWriter,
    Schemas,
    body_of,
    check_shape,
    delete_options,
    deletion_status,
    object_of,
    unfit,
)
from .pod_logs import PodLogs
from .reading import page_of
from .requests import Reply, ServedRequest, ServedTarget, ServedUser
from .validation import check_unconditional, valid
from .watching import ShownEvents, ShownVersions, WatchEvent, form_of, in_form


def status_of(given: EvictionAnswer, pod: str) -> ApiStatus:
    """Return the Status of an eviction's response; `pod` is the pod's name."""
    if given.ok:
        return ApiStatus(given.code)
    return ApiStatus(given.code, given.reason, given.message, _details(given, pod))


def _details(given: EvictionAnswer, pod: str) -> Details | None:
    if given.code == 429:
        return Details(causes=(StatusCause("DisruptionBudget", given.cause),), retry_after_s=given.retry_after)
    if given.reason == "NotFound":
        return Details(pod, "", "pods")
    if given.reason == "Conflict" and given.why is EvictionCause.REQUEST:
        return Details(pod, "", "Pod")
    if given.budget is not None and given.reason == "Forbidden":
        return Details(given.budget.name, "policy", "poddisruptionbudget")
    return None


Ports = Callable[[Doc, str, str], "Reply | None"]
"""Response of a pod on one of its ports to a path; None if nothing listens."""


KEPT_NAMESPACES = ("default", "kube-system", "kube-public")
"""Source: apiserver pkg/admission/plugin/namespace/lifecycle/admission.go (immortalNamespaces)."""


def nobody_listens(pod: Doc, port: str, path: str) -> Reply | None:
    """The default: containers are not simulated."""
    return None


class ObjectEndpoints:
    """Endpoints for the objects of one control plane."""

    def __init__(
        self,
        plane: ControlPlane,
        logs: PodLogs | None = None,
        ports: Ports = nobody_listens,
    ) -> None:
        self._plane = plane
        self._registry = plane.registry
        self._shown = ShownVersions()
        self._schemas = Schemas(plane.store)
        self.logs = logs or PodLogs()
        self.ports = ports

    def answer(self, verb: str, request: ServedRequest, target: ServedTarget) -> Reply:
        """Answer a request.

        Raises:
            ApiRefusal, TooOldToContinue: in the server's words.
        """
        self._registry.served.setdefault(target.resource, target.served)
        answers = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }
        return answers[verb](request, target)

    def reply(self, request: ServedRequest, target: ServedTarget, item: StoredItem, code: int = 200) -> Reply:
        form, served = form_of(request), target.served
        if form == PLAIN:
            return Reply(code, self._shown.whole(item, served))
        now, include = self._plane.agenda.now, request.word("includeObject")
        return Reply(code, encode(in_form(form, served, [item.doc], None, now, include)))

    def told(self, request: ServedRequest, target: ServedTarget) -> Callable[[WatchEvent], bytes]:
        """Return the encoder of one watch's events in the requested form; only the first table has columns."""
        return ShownEvents(request, target.served, self._shown, self._plane.agenda)

    def writer(self, request: ServedRequest, target: ServedTarget) -> FieldWriter:
        return FieldWriter(bodies.manager_of(request), self._registry.now, target.subresource, target.served.has_status)

    def unstored(self, request: ServedRequest, target: ServedTarget) -> Doc:
        """Return the object in the body of a review."""
        return self._owned(request, target, None, object_of(request, target))

    def _get(self, request: ServedRequest, target: ServedTarget) -> Reply:
        return self.reply(request, target, self._registry.get(target.resource, target.key))

    def _list(self, request: ServedRequest, target: ServedTarget) -> Reply:
        page, form, served = (
            page_of(self._plane.store, request, target),
            form_of(request),
            target.served,
        )
        if form == PLAIN:
            return Reply(200, self._shown.listed(page.items, served, page.metadata))
        docs, now = [item.doc for item in page.items], self._plane.agenda.now
        return Reply(200, encode(in_form(form, served, docs, page.metadata, now, request.word("includeObject"))))

    def _create(self, request: ServedRequest, target: ServedTarget) -> Reply:
        doc = object_of(request, target)
        if at(doc, "metadata", "resourceVersion"):
            raise ApiRefusal(ApiStatus(500, "", "resourceVersion should not be set on objects to be created"))
        doc = valid(target, None, with_defaults(doc))
        name = str(at(doc, "metadata", "name") or "")
        return self._add(request, target, name, self._owned(request, target, None, doc))

    def _add(self, request: ServedRequest, target: ServedTarget, name: str, doc: Doc) -> Reply:
        """Create an object. Fields that admission adds have no owner."""
        self._registry.check_namespace(target.resource, target.key[0], name)
        doc = begun(doc)
        if target.resource == PODS:
            spec = admitted(doc["spec"], self._plane.store)
            validation.check(self._plane.store, target.key[0], name, spec)
            doc = {**doc, "spec": spec, "status": first_status(spec)}
        made = self._registry.create(target.resource, doc, target.key[0], dry_run=request.dry_run)
        return self.reply(request, target, made, 201)

    def _update(self, request: ServedRequest, target: ServedTarget) -> Reply:
        doc = object_of(request, target)
        live = self._plane.store.get(target.resource, target.key)
        if live is None:
            raise not_found(target.served, target.name)
        if not at(doc, "metadata", "resourceVersion"):
            check_unconditional(target)
        return self.reply(request, target, self._write(request, target, live, doc))

    def _patch(self, request: ServedRequest, target: ServedTarget) -> Reply:
        if bodies.content_type(request) in bodies.APPLY:
            return self._apply(request, target)
        plain = ServedRequest(request.method, request.path, request.query, {}, request.body)
        patch = body_of(plain)
        live = self._registry.get(target.resource, target.key)
        doc = bodies.patched(request, target, live.doc, self._schemas.of(target.served), patch)
        return self.reply(request, target, self._write(request, target, live, doc))

    def _apply(self, request: ServedRequest, target: ServedTarget) -> Reply:
        config = body_of(request)
        if not isinstance(config, dict):
            config = {}
        live = self._plane.store.get(target.resource, target.key)
        config = bodies.named_after(target, config)
        writer = self.writer(request, target)
        doc = bodies.applied(request, live.doc if live else None, config, writer, self._schemas.of(target.served))
        doc = valid(target, live.doc if live else None, with_defaults(doc))
        if live is None:
            return self._add(request, target, target.name, doc)
        status = target.subresource == "status"
        if not status:
            doc = carried(live.doc, doc)
        return self.reply(request, target, self._registry.update(live, doc, status=status, dry_run=request.dry_run))

    def _write(self, request: ServedRequest, target: ServedTarget, live: StoredItem, doc: Doc) -> StoredItem:
        """Overwrite the object, unless the document names another version."""
        asked = at(doc, "metadata", "resourceVersion")
        if asked not in (None, "", str(live.version)):
            raise modified(target.served, target.name)
        status = target.subresource == "status"
        doc = without_empty_metadata(doc)
        doc = valid(target, live.doc, doc if status else with_defaults(doc))
        doc = self._owned(request, target, live.doc, doc)
        if not status:
            doc = carried(live.doc, doc)
        return self._registry.update(live, doc, status=status, dry_run=request.dry_run)

    def _owned(self, request: ServedRequest, target: ServedTarget, live: Doc | None, doc: Doc) -> Doc:
        return bodies.owned(live, doc, self.writer(request, target), self._schemas.of(target.served))

    def _delete(self, request: ServedRequest, target: ServedTarget) -> Reply:
        options = delete_options(request)
        item = self._registry.get(target.resource, target.key)
        if target.resource == NAMESPACES.full_name and target.name in KEPT_NAMESPACES:
            said = f'namespaces "{target.name}" is forbidden: this namespace may not be deleted'
            raise ApiRefusal(ApiStatus(403, "Forbidden", said, Details(target.name, "", "namespaces")))
        deleted = self._registry.delete(item, options)
        if target.served.returned or not deleted.gone:
            return self.reply(request, target, deleted.item)
        return Reply(200, encode(deletion_status(deleted, target.served)))

    def _delete_collection(self, request: ServedRequest, target: ServedTarget) -> Reply:
        options, page = delete_options(request), page_of(self._plane.store, request, target)
        for item in page.items:
            try:
                self._registry.delete(item, options)
            except ApiRefusal:
                continue  # it is gone, or a precondition does not hold
        return Reply(200, self._shown.listed(page.items, target.served, page.metadata))


# Subresources that are not part of the stored object: evictions, scales, logs, bindings, reviews.


_Answering = Callable[[ControlPlane, ObjectEndpoints, ServedRequest, ServedTarget], Reply]


def answer(
    plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget, user: ServedUser
) -> Reply:
    """Answer a request for a subresource.

    Raises:
        ApiRefusal: in the server's words.
    """
    plane.registry.served.setdefault(target.resource, target.served)
    answering = _ANSWERS.get(target.subresource)
    if answering is None:
        raise ApiRefusal(ApiStatus(501, "", f"the embedded server does not answer {target.subresource}"))
    return answering(plane, objects, request, target)


def _evict(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    body = body_of(request) or {}
    check_shape(EVICTION, body, "Eviction")
    plane.evictions.check_namespace(target.namespace, target.name)
    options = body.get("deleteOptions") or {}
    conditions = options.get("preconditions") or {}
    asked = EvictionRequest(
        name=str(at(body, "metadata", "name") or target.name),
        url_name=target.name,
        namespace=target.namespace,
        dry_run=request.query.get("dryRun", ()),
        body_dry_run=tuple(options.get("dryRun") or ()),
        uid=conditions.get("uid"),
        resource_version=conditions.get("resourceVersion"),
        ignore_store_read_error=bool(options.get("ignoreStoreReadErrorWithClusterBreakingPotential")),
        method=request.method,
        api_version=str(body.get("apiVersion") or ""),
        kind=str(body.get("kind") or ""),
    )
    grace_s = options.get("gracePeriodSeconds")
    given = plane.evictions.evict(asked, None if grace_s is None else min(grace_s, LONGEST_GRACE_S))
    headers = {"Retry-After": str(given.retry_after)} if given.retry_after else {}
    return Reply(given.code, encode(status_of(given, target.name).doc()), headers=headers)


def _scale(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    item = plane.registry.get(target.resource, target.key)
    if request.method == "GET":
        return Reply(200, encode(_scale_of(item.doc)))
    body = body_of(ServedRequest(request.method, request.path, request.query, {}, request.body))
    check_shape(SCALE, body or {}, "Scale")
    wanted = at(body or {}, "spec", "replicas")
    if wanted is None:
        wanted = at(item.spec, "replicas") if request.method == "PATCH" else 0
    asked = at(body, "metadata", "resourceVersion")
    if asked not in (None, "", str(item.version)):
        raise modified(target.served, target.name)
    if found := list(negative({"spec": {"replicas": wanted}}, ("spec", "replicas"))):
        raise unfit(Resource("Scale", "scales", "autoscaling"), target.name, found)
    written = plane.registry.update(item, with_value(item.doc, ("spec", "replicas"), wanted), dry_run=request.dry_run)
    return Reply(200, encode(_scale_of(written.doc)))


def _scale_of(doc: Doc) -> Doc:
    meta = doc["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = at(doc, "spec", "selector", "matchLabels") or {}
    status: Doc = {"replicas": at(doc, "status", "replicas") or 0}
    if labels:
        status["selector"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in kept if key in meta},
        "spec": {"replicas": at(doc, "spec", "replicas") or 0},
        "status": status,
    }


def _log(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    item = plane.registry.get(target.resource, target.key)
    return objects.logs.answer(item.doc, _container_of(item.doc, request.word("container")), request)


def _proxy(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    """``pods/NAME:PORT/proxy/PATH``. Sources: pkg/registry/core/pod/rest/subresources.go (ProxyREST),
    pkg/registry/core/pod/strategy.go (ResourceLocation)."""
    name, _, port = target.name.partition(":")
    item = plane.registry.get(target.resource, (target.namespace, name))
    _, _, path = request.path.partition(f"/{target.name}/proxy")
    found = objects.ports(item.doc, port, path)
    if found is not None:
        return found
    where = f"{at(item.doc, 'status', 'podIP') or ''}:{port or 80}"
    said = f"error trying to reach service: dial tcp {where}: connect: connection refused"
    raise ApiRefusal(ApiStatus(503, "ServiceUnavailable", said))


def _container_of(pod: Doc, asked: str) -> str:
    """Return the requested container, or the only one (pkg/registry/core/pod/strategy.go, LogLocation, streamLocation).

    Raises:
        ApiRefusal: 400, there is none of that name, or several and none is named.
    """
    name, names, inits = pod["metadata"]["name"], _names(pod, "containers"), _names(pod, "initContainers")
    if asked and asked not in (*names, *inits, *_names(pod, "ephemeralContainers")):
        raise bad_request(f"container {asked} is not valid for pod {name}")
    if not asked and len(names) > 1:
        or_inits = f" or one of the init containers: [{' '.join(inits)}]" if inits else ""
        choice = f"choose one of: [{' '.join(names)}]{or_inits}"
        raise bad_request(f"a container name must be specified for pod {name}, {choice}")
    return asked or names[0]


def _names(pod: Doc, kind: str) -> list[str]:
    return [str(each["name"]) for each in at(pod, "spec", kind) or ()]


_ANSWERS: dict[str, _Answering] = {
    "eviction": _evict,
    "scale": _scale,
    "log": _log,
    "proxy": _proxy,
}
