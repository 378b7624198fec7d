"""Object endpoints: get, list, create, update, patch, delete, each answered in the requested form. Also subresources,
such as eviction.

Source: pkg/registry/core/pod/storage/eviction.go; the details as a 1.36 server answered them (tests/embedded/contract).
"""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.kubernetes.api.defaults import (
    prepare_for_create,
    prepare_for_update,
    with_defaults,
    without_empty_metadata,
)
from kubectl_eksdoc.kubernetes.api.resources import (
    ApiRefusal,
    ApiStatus,
    StatusCause,
    StatusDetails,
    bad_request,
    modified,
    not_found,
)
from kubectl_eksdoc.kubernetes.api.shapes import EVICTION, SCALE
from kubectl_eksdoc.kubernetes.api.workload_validation import negative_numbers
from kubectl_eksdoc.kubernetes.evictions import EvictionCause, EvictionRequest, EvictionResponse
from kubectl_eksdoc.model.api_objects import Doc, nested_field, with_value
from kubectl_eksdoc.model.kinds import NAMESPACES, Resource
from kubectl_eksdoc.objects.single import encode
from kubectl_eksdoc.simulator.control_plane import ControlPlane
from kubectl_eksdoc.simulator.disruptions import initial_status, with_admission_defaults
from kubectl_eksdoc.simulator.store import PODS, StoredItem

from ..catalogue import PLAIN
from . import bodies, validation
from .bodies import (
    MAX_GRACE_S,
    FieldWriter,
    Schemas,
    check_shape,
    decoded_body,
    decoded_object,
    delete_options,
    deletion_status,
    validation_refusal,
)
from .pod_logs import PodLogs
from .reading import requested_page
from .requests import Reply, ServedRequest, ServedTarget, ServedUser
from .validation import check_unconditional, validated
from .watching import EncodedObjects, WatchEvent, WatchEventEncoder, convert, requested_form


def eviction_status(answer: EvictionResponse, pod: str) -> ApiStatus:
    """Return the Status of an eviction's response; `pod` is the pod's name."""
    if answer.ok:
        return ApiStatus(answer.code)
    return ApiStatus(answer.code, answer.reason, answer.message, _details(answer, pod))


def _details(answer: EvictionResponse, pod: str) -> StatusDetails | None:
    if answer.code == 429:
        return StatusDetails(causes=(StatusCause("DisruptionBudget", answer.cause),), retry_after_s=answer.retry_after)
    if answer.reason == "NotFound":
        return StatusDetails(pod, "", "pods")
    if answer.reason == "Conflict" and answer.eviction_cause is EvictionCause.REQUEST:
        return StatusDetails(pod, "", "Pod")
    if answer.budget is not None and answer.reason == "Forbidden":
        return StatusDetails(answer.budget.name, "policy", "poddisruptionbudget")
    return None


PodPorts = Callable[[Doc, str, str], "Reply | None"]
"""Response of a pod on one of its ports to a path; None if nothing listens."""


PROTECTED_NAMESPACES = ("default", "kube-system", "kube-public")
"""Source: apiserver pkg/admission/plugin/namespace/lifecycle/admission.go (immortalNamespaces)."""


def no_pod_ports(pod: Doc, port: str, path: str) -> Reply | None:
    """The default: containers are not simulated."""
    return None


class ObjectEndpoints:
    """Endpoints for the objects of one control plane."""

    def __init__(
        self,
        plane: ControlPlane,
        logs: PodLogs | None = None,
        ports: PodPorts = no_pod_ports,
    ) -> None:
        self._plane = plane
        self._registry = plane.registry
        self._encoded = EncodedObjects()
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
        form, served = requested_form(request), target.served
        if form == PLAIN:
            return Reply(code, self._encoded.object_bytes(item, served))
        now, include = self._plane.virtual_time.now, request.parameter("includeObject")
        return Reply(code, encode(convert(form, served, [item.doc], None, now, include)))

    def event_encoder(self, request: ServedRequest, target: ServedTarget) -> Callable[[WatchEvent], bytes]:
        """Return the encoder of one watch's events in the requested form; only the first table has columns."""
        return WatchEventEncoder(request, target.served, self._encoded, self._plane.virtual_time)

    def writer(self, request: ServedRequest, target: ServedTarget) -> FieldWriter:
        return FieldWriter(
            bodies.field_manager(request), self._registry.timestamp, target.subresource, target.served.has_status
        )

    def review_object(self, request: ServedRequest, target: ServedTarget) -> Doc:
        """Return the object in the body of a review."""
        return self._with_managed_fields(request, target, None, decoded_object(request, target))

    def _get(self, request: ServedRequest, target: ServedTarget) -> Reply:
        return self.reply(request, target, self._registry.get(target.resource, target.key))

    def _list(self, request: ServedRequest, target: ServedTarget) -> Reply:
        page, form, served = (
            requested_page(self._plane.store, request, target),
            requested_form(request),
            target.served,
        )
        if form == PLAIN:
            return Reply(200, self._encoded.list_bytes(page.items, served, page.metadata))
        docs, now = [item.doc for item in page.items], self._plane.virtual_time.now
        return Reply(200, encode(convert(form, served, docs, page.metadata, now, request.parameter("includeObject"))))

    def _create(self, request: ServedRequest, target: ServedTarget) -> Reply:
        doc = decoded_object(request, target)
        if nested_field(doc, "metadata", "resourceVersion"):
            raise ApiRefusal(ApiStatus(500, "", "resourceVersion should not be set on objects to be created"))
        doc = validated(target, None, with_defaults(doc))
        name = str(nested_field(doc, "metadata", "name") or "")
        return self._add(request, target, name, self._with_managed_fields(request, target, None, doc))

    def _add(self, request: ServedRequest, target: ServedTarget, name: str, doc: Doc) -> Reply:
        """Create an object. Fields that admission adds have no owner."""
        self._registry.check_namespace(target.resource, target.key[0], name)
        doc = prepare_for_create(doc)
        if target.resource == PODS:
            spec = with_admission_defaults(doc["spec"], self._plane.store)
            validation.check_pod_security(self._plane.store, target.key[0], name, spec)
            doc = {**doc, "spec": spec, "status": initial_status(spec)}
        created = self._registry.create(target.resource, doc, target.key[0], dry_run=request.dry_run)
        return self.reply(request, target, created, 201)

    def _update(self, request: ServedRequest, target: ServedTarget) -> Reply:
        doc = decoded_object(request, target)
        live = self._plane.store.get(target.resource, target.key)
        if live is None:
            raise not_found(target.served, target.name)
        if not nested_field(doc, "metadata", "resourceVersion"):
            check_unconditional(target)
        return self.reply(request, target, self._write(request, target, live, doc))

    def _patch(self, request: ServedRequest, target: ServedTarget) -> Reply:
        if bodies.content_type(request) in bodies.APPLY:
            return self._apply(request, target)
        plain = ServedRequest(request.method, request.path, request.query, {}, request.body)
        patch = decoded_body(plain)
        live = self._registry.get(target.resource, target.key)
        doc = bodies.apply_patch(request, target, live.doc, self._schemas.of(target.served), patch)
        return self.reply(request, target, self._write(request, target, live, doc))

    def _apply(self, request: ServedRequest, target: ServedTarget) -> Reply:
        config = decoded_body(request)
        if not isinstance(config, dict):
            config = {}
        live = self._plane.store.get(target.resource, target.key)
        config = bodies.with_target_name(target, config)
        writer = self.writer(request, target)
        doc = bodies.apply_configuration(
            request, live.doc if live else None, config, writer, self._schemas.of(target.served)
        )
        doc = validated(target, live.doc if live else None, with_defaults(doc))
        if live is None:
            return self._add(request, target, target.name, doc)
        status = target.subresource == "status"
        if not status:
            doc = prepare_for_update(live.doc, doc)
        return self.reply(request, target, self._registry.update(live, doc, status=status, dry_run=request.dry_run))

    def _write(self, request: ServedRequest, target: ServedTarget, live: StoredItem, doc: Doc) -> StoredItem:
        """Overwrite the object, unless the document names another version."""
        requested_version = nested_field(doc, "metadata", "resourceVersion")
        if requested_version not in (None, "", str(live.version)):
            raise modified(target.served, target.name)
        status = target.subresource == "status"
        doc = without_empty_metadata(doc)
        doc = validated(target, live.doc, doc if status else with_defaults(doc))
        doc = self._with_managed_fields(request, target, live.doc, doc)
        if not status:
            doc = prepare_for_update(live.doc, doc)
        return self._registry.update(live, doc, status=status, dry_run=request.dry_run)

    def _with_managed_fields(self, request: ServedRequest, target: ServedTarget, live: Doc | None, doc: Doc) -> Doc:
        return bodies.with_managed_fields(live, doc, self.writer(request, target), self._schemas.of(target.served))

    def _delete(self, request: ServedRequest, target: ServedTarget) -> Reply:
        options = delete_options(request)
        item = self._registry.get(target.resource, target.key)
        if target.resource == NAMESPACES.full_name and target.name in PROTECTED_NAMESPACES:
            message = f'namespaces "{target.name}" is forbidden: this namespace may not be deleted'
            raise ApiRefusal(ApiStatus(403, "Forbidden", message, StatusDetails(target.name, "", "namespaces")))
        deleted = self._registry.delete(item, options)
        if target.served.returns_deleted or not deleted.is_gone:
            return self.reply(request, target, deleted.item)
        return Reply(200, encode(deletion_status(deleted, target.served)))

    def _delete_collection(self, request: ServedRequest, target: ServedTarget) -> Reply:
        options, page = delete_options(request), requested_page(self._plane.store, request, target)
        for item in page.items:
            try:
                self._registry.delete(item, options)
            except ApiRefusal:
                continue  # it is gone, or a precondition does not hold
        return Reply(200, self._encoded.list_bytes(page.items, target.served, page.metadata))


# Subresources that are not part of the stored object: evictions, scales, logs, bindings, reviews.


_SubresourceHandler = Callable[[ControlPlane, ObjectEndpoints, ServedRequest, ServedTarget], Reply]


def answer_subresource(
    plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget, user: ServedUser
) -> Reply:
    """Answer a request for a subresource.

    Raises:
        ApiRefusal: in the server's words.
    """
    plane.registry.served.setdefault(target.resource, target.served)
    handler = _HANDLERS.get(target.subresource)
    if handler is None:
        raise ApiRefusal(ApiStatus(501, "", f"the embedded server does not answer {target.subresource}"))
    return handler(plane, objects, request, target)


def _evict(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    body = decoded_body(request) or {}
    check_shape(EVICTION, body, "Eviction")
    plane.evictions.check_namespace(target.namespace, target.name)
    options = body.get("deleteOptions") or {}
    conditions = options.get("preconditions") or {}
    eviction_request = EvictionRequest(
        name=str(nested_field(body, "metadata", "name") or target.name),
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
    answer = plane.evictions.evict(eviction_request, None if grace_s is None else min(grace_s, MAX_GRACE_S))
    headers = {"Retry-After": str(answer.retry_after)} if answer.retry_after else {}
    return Reply(answer.code, encode(eviction_status(answer, target.name).to_document()), headers=headers)


def _scale(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    item = plane.registry.get(target.resource, target.key)
    if request.method == "GET":
        return Reply(200, encode(_scale_of(item.doc)))
    body = decoded_body(ServedRequest(request.method, request.path, request.query, {}, request.body))
    check_shape(SCALE, body or {}, "Scale")
    replicas = nested_field(body or {}, "spec", "replicas")
    if replicas is None:
        replicas = nested_field(item.spec, "replicas") if request.method == "PATCH" else 0
    requested_version = nested_field(body, "metadata", "resourceVersion")
    if requested_version not in (None, "", str(item.version)):
        raise modified(target.served, target.name)
    if scale_problems := list(negative_numbers({"spec": {"replicas": replicas}}, ("spec", "replicas"))):
        raise validation_refusal(Resource("Scale", "scales", "autoscaling"), target.name, scale_problems)
    written = plane.registry.update(item, with_value(item.doc, ("spec", "replicas"), replicas), dry_run=request.dry_run)
    return Reply(200, encode(_scale_of(written.doc)))


def _scale_of(doc: Doc) -> Doc:
    meta = doc["metadata"]
    metadata_fields = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = nested_field(doc, "spec", "selector", "matchLabels") or {}
    status: Doc = {"replicas": nested_field(doc, "status", "replicas") or 0}
    if labels:
        status["selector"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: meta[key] for key in metadata_fields if key in meta},
        "spec": {"replicas": nested_field(doc, "spec", "replicas") or 0},
        "status": status,
    }


def _log(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    item = plane.registry.get(target.resource, target.key)
    return objects.logs.answer(item.doc, _requested_container(item.doc, request.parameter("container")), request)


def _proxy(plane: ControlPlane, objects: ObjectEndpoints, request: ServedRequest, target: ServedTarget) -> Reply:
    """``pods/NAME:PORT/proxy/PATH``. Sources: pkg/registry/core/pod/rest/subresources.go (ProxyREST),
    pkg/registry/core/pod/strategy.go (ResourceLocation)."""
    name, _, port = target.name.partition(":")
    item = plane.registry.get(target.resource, (target.namespace, name))
    _, _, path = request.path.partition(f"/{target.name}/proxy")
    reply = objects.ports(item.doc, port, path)
    if reply is not None:
        return reply
    address = f"{nested_field(item.doc, 'status', 'podIP') or ''}:{port or 80}"
    message = f"error trying to reach service: dial tcp {address}: connect: connection refused"
    raise ApiRefusal(ApiStatus(503, "ServiceUnavailable", message))


def _requested_container(pod: Doc, requested: str) -> str:
    """Return the requested container, or the only one (pkg/registry/core/pod/strategy.go, LogLocation, streamLocation).

    Raises:
        ApiRefusal: 400, there is none of that name, or several and none is named.
    """
    name, names, inits = pod["metadata"]["name"], _names(pod, "containers"), _names(pod, "initContainers")
    if requested and requested not in (*names, *inits, *_names(pod, "ephemeralContainers")):
        raise bad_request(f"container {requested} is not valid for pod {name}")
    if not requested and len(names) > 1:
        or_inits = f" or one of the init containers: [{' '.join(inits)}]" if inits else ""
        choice = f"choose one of: [{' '.join(names)}]{or_inits}"
        raise bad_request(f"a container name must be specified for pod {name}, {choice}")
    return requested or names[0]


def _names(pod: Doc, kind: str) -> list[str]:
    return [str(each["name"]) for each in nested_field(pod, "spec", kind) or ()]


_HANDLERS: dict[str, _SubresourceHandler] = {
    "eviction": _evict,
    "scale": _scale,
    "log": _log,
    "proxy": _proxy,
}
