"""Subresources that are no part of the object as it is stored: evictions, scales, logs, bindings, reviews."""

from __future__ import annotations

from collections.abc import Callable

from kubectl_eksdoc.core.model.api_objects import Doc, at, with_value
from kubectl_eksdoc.core.rules.api.shapes import EVICTION, SCALE
from kubectl_eksdoc.core.rules.api.statuses import (
    Named,
    Refusal,
    Status,
    bad_request,
    invalid,
    modified,
)
from kubectl_eksdoc.core.rules.api.workload_validation import negative
from kubectl_eksdoc.core.rules.eviction_requests import EvictionRequest
from kubectl_eksdoc.core.rules.evictions import Answer
from kubectl_eksdoc.core.sim.cluster.plane import ControlPlane
from kubectl_eksdoc.embedded.api.learning import known
from kubectl_eksdoc.embedded.eviction_status import status_of
from kubectl_eksdoc.embedded.serving.access import User
from kubectl_eksdoc.embedded.serving.bodies import LONGEST_GRACE_S, body_of, check_shape
from kubectl_eksdoc.embedded.serving.messages import Reply, Request
from kubectl_eksdoc.embedded.serving.objects import Objects
from kubectl_eksdoc.embedded.serving.policies import Asked
from kubectl_eksdoc.embedded.serving.targets import Target
from kubectl_eksdoc.embedded.serving.validation import causes_of
from kubectl_eksdoc.objects.single import encode

_Answering = Callable[[ControlPlane, Objects, Request, Target], Reply]


def answer(plane: ControlPlane, objects: Objects, request: Request, target: Target, user: User) -> Reply:
    """
    Raises:
        Refusal: in the server's words.
    """
    known(plane.registry, target.served)
    answering = _ANSWERS.get(target.subresource)
    if answering is None:
        raise Refusal(Status(501, "", f"the embedded server does not answer {target.subresource}"))
    return answering(plane, objects, request, target)


def _evict(plane: ControlPlane, objects: Objects, request: Request, target: Target) -> Reply:
    body = body_of(request) or {}
    check_shape(EVICTION, body, "Eviction")
    plane.evictions.check_namespace(target.namespace, target.name)
    objects.policies.check(Asked("CREATE", target, target.name, body))
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
    return _of_eviction(given, target)


def _of_eviction(given: Answer, target: Target) -> Reply:
    headers = {"Retry-After": str(given.retry_after)} if given.retry_after else {}
    return Reply(given.code, encode(status_of(given, target.name).doc()), headers=headers)


def _scale(plane: ControlPlane, objects: Objects, request: Request, target: Target) -> Reply:
    item = plane.registry.get(target.resource, target.key)
    if request.method == "GET":
        return Reply(200, encode(_scale_of(item.doc)))
    body = body_of(Request(request.method, request.path, request.query, {}, request.body))
    check_shape(SCALE, body or {}, "Scale")
    wanted = at(body or {}, "spec", "replicas")
    if wanted is None:
        wanted = at(item.doc, "spec", "replicas") if request.method == "PATCH" else 0
    asked = at(body, "metadata", "resourceVersion")
    if asked not in (None, "", str(item.version)):
        raise modified(plane.registry.traits[target.resource].named, target.name)
    if causes := causes_of(negative({"spec": {"replicas": wanted}}, ("spec", "replicas"))):
        raise invalid(Named("scales", "autoscaling", "Scale"), target.name, causes)
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


def _log(plane: ControlPlane, objects: Objects, request: Request, target: Target) -> Reply:
    item = plane.registry.get(target.resource, target.key)
    return objects.logs.answer(item.doc, _container_of(item.doc, request.word("container")), request)


def _exec(plane: ControlPlane, objects: Objects, request: Request, target: Target) -> Reply:
    """What is said before a connection is upgraded; the upgrade itself is not answered here."""
    item = plane.registry.get(target.resource, target.key)
    _container_of(item.doc, request.word("container"))
    if not at(item.doc, "spec", "nodeName"):
        raise bad_request(f"pod {target.name} does not have a host assigned")
    if not request.headers.get("upgrade"):
        raise bad_request("Upgrade request required")
    raise Refusal(Status(501, "", f"the embedded server does not answer {target.subresource}"))


def _proxy(plane: ControlPlane, objects: Objects, request: Request, target: Target) -> Reply:
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
    raise Refusal(Status(503, "ServiceUnavailable", said))


def _container_of(pod: Doc, asked: str) -> str:
    """The one that is asked for, or the only one (pkg/registry/core/pod/strategy.go, LogLocation, streamLocation).

    Raises:
        Refusal: 400, there is none of that name, or several and none is named.
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
    "exec": _exec,
    "attach": _exec,
    "proxy": _proxy,
}
