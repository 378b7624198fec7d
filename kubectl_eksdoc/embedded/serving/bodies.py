"""What the bodies of writing requests mean: objects, options of deletions.

Source: apiserver pkg/endpoints/handlers/{create,update,patch,delete}.go.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.rules.api.shapes import DELETE_OPTIONS, QUANTITY, Shape, misfits
from kubectl_eksdoc.core.rules.api.statuses import Details, Named, Refusal, Status, bad_request
from kubectl_eksdoc.core.sim.cluster.registry import Deleted, DeleteOptions
from kubectl_eksdoc.embedded.serving import protobuf_forms
from kubectl_eksdoc.embedded.serving.messages import Request
from kubectl_eksdoc.embedded.serving.options import check_deletion
from kubectl_eksdoc.embedded.serving.protobuf import NotUnderstood
from kubectl_eksdoc.embedded.serving.reading import number
from kubectl_eksdoc.embedded.serving.targets import Target
from kubectl_eksdoc.objects.single import NoJson, decode

LONGEST_GRACE_S = 100 * 365 * 86400
"""Beyond that there is no date."""

_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""Source: apimachinery pkg/api/resource/quantity.go (ErrFormatWrong)."""

_YAML = ("application/yaml", "application/apply-patch+yaml")


def body_of(request: Request) -> Any:
    """
    Raises:
        Refusal: 400 and 415.
    """
    content = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if content == "application/vnd.kubernetes.protobuf":
        try:
            return protobuf_forms.decode(request.body)
        except NotUnderstood as error:
            text = "the body of the request was in an unknown format - accepted media types include: application/json"
            raise Refusal(Status(415, "UnsupportedMediaType", f"{text} ({error})")) from error
    if content in _YAML:
        return _yaml(request.body)
    try:
        return decode(request.body or b"null")
    except NoJson as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def _yaml(body: bytes) -> Any:
    """kubectl sends JSON under YAML's name, and JSON is read many times as fast.

    Raises:
        Refusal: 400.
    """
    from kubectl_eksdoc.embedded.serving import yaml_bodies

    try:
        return decode(body or b"null")
    except NoJson:
        pass
    try:
        return yaml_bodies.decode(body)
    except yaml_bodies.NoYaml as error:
        raise bad_request(
            f"couldn't get version/kind; json parse error: error converting YAML to JSON: {error}"
        ) from error


def object_of(request: Request, target: Target) -> Doc:
    """The object in the body, of the target's kind and in its namespace.

    Raises:
        Refusal: 400.
    """
    doc = body_of(request)
    if not isinstance(doc, dict):
        raise bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal into Go value of type struct"
        )
    served = target.served
    kind, version = doc.get("kind") or served.kind, doc.get("apiVersion") or served.api_version
    if kind != served.kind and not target.subresource:
        text = f'{kind} in version "{version}" cannot be handled as a {served.kind}: converting'
        raise bad_request(f"{text} ({version}.{kind}) to ({served.api_version}.{served.kind}): unknown conversion")
    meta = doc.get("metadata") or {}
    if not isinstance(meta, dict):
        raise bad_request("the object's metadata is not an object")
    namespace = meta.get("namespace") or target.namespace
    if target.served.namespaced and namespace != target.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    if target.name and meta.get("name") not in (None, "", target.name):
        given = meta["name"]
        raise bad_request(f"the name of the object ({given}) does not match the name on the URL ({target.name})")
    return {**doc, "kind": served.kind, "apiVersion": served.api_version, "metadata": meta}


def check_shape(shape: Shape, doc: Any, kind: str, version: str = "v1") -> None:
    """
    Raises:
        Refusal: 400, of several misfits the first, as the decoder says it.
    """
    for misfit in misfits(shape, doc):
        where = ".".join((kind, *misfit.path))
        if misfit.wanted == QUANTITY and misfit.found == "string":
            raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {_NO_QUANTITY}')
        said = f"json: cannot unmarshal {misfit.found} into Go struct field {where} of type {misfit.wanted}"
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {said}')


def delete_options(request: Request) -> DeleteOptions:
    """From the body, and what the query says beside it.

    Raises:
        Refusal: 400 and 422.
    """
    doc = body_of(request) or {}
    check_shape(DELETE_OPTIONS, doc, "DeleteOptions")
    propagation = doc.get("propagationPolicy") or request.word("propagationPolicy") or None
    check_deletion(doc.get("dryRun") or (), propagation, doc.get("orphanDependents"))
    conditions = doc.get("preconditions") or {}
    grace_s = doc.get("gracePeriodSeconds")
    if grace_s is None and request.word("gracePeriodSeconds"):
        grace_s = number(request, "gracePeriodSeconds")
    orphan = "Orphan" if doc.get("orphanDependents") is True else None
    return DeleteOptions(
        grace_s=None if grace_s is None else min(grace_s, LONGEST_GRACE_S),
        uid=conditions.get("uid"),
        resource_version=conditions.get("resourceVersion"),
        propagation=propagation or orphan,
        dry_run=request.dry_run or "All" in (doc.get("dryRun") or ()),
    )


def deletion_status(deleted: Deleted, of: Named) -> Doc:
    """What a deletion is answered with, of kinds that are not answered with the object."""
    details = Details(deleted.item.key[1], of.group, of.plural, deleted.item.uid)
    doc = Status(200, "", "", details).doc()
    del doc["code"]
    return doc
