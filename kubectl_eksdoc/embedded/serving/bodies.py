"""What the bodies of writing requests mean: objects, options of deletions.

Source: apiserver pkg/endpoints/handlers/{create,update,patch,delete}.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kubectl_eksdoc.embedded.serving import protobuf
from kubectl_eksdoc.embedded.serving.changes import APPLY, content_type
from kubectl_eksdoc.embedded.serving.protobuf import NotUnderstood
from kubectl_eksdoc.embedded.serving.reading import number
from kubectl_eksdoc.embedded.serving.targets import ServedRequest, ServedTarget
from kubectl_eksdoc.kubernetes.api.shapes import DELETE_OPTIONS, QUANTITY, Shape, misfits
from kubectl_eksdoc.kubernetes.api.statuses import (
    ApiRefusal,
    ApiStatus,
    Details,
    NamedResource,
    StatusCause,
    bad_request,
    invalid,
)
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.objects.single import NoJson, decode
from kubectl_eksdoc.simulator.registry import Deleted, DeleteOptions

# What the query of a request may ask for: options that contradict each other, or that nobody knows, are refused before
# anything is done. A dry run that is misspelt must not become a change.
#
# Source: apimachinery pkg/apis/meta/v1/validation/validation.go (ValidateCreateOptions, ValidatePatchOptions,
# ValidateDeleteOptions), v1.36.


_KINDS = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}
_LONGEST_MANAGER = 128


def check(verb: str, request: ServedRequest) -> None:
    """
    Raises:
        Refusal: 422.
    """
    if verb in _KINDS:
        _refuse(_KINDS[verb], tuple(_of_writes(verb, request)))


def check_deletion(dry_run: Sequence[str], propagation: str | None, orphan: bool | None) -> None:
    """What the body of a deletion asks for.

    Raises:
        Refusal: 422.
    """
    causes = list(_of_dry_runs(dry_run))
    if propagation is not None and orphan is not None:
        causes.append(
            _wrong("propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set")
        )
    if propagation not in (None, "Foreground", "Background", "Orphan"):
        supported = ("Foreground", "Background", "Orphan", "nil")
        causes.append(_unsupported("propagationPolicy", propagation, supported))
    _refuse("DeleteOptions", tuple(causes))


def _refuse(kind: str, causes: tuple[StatusCause, ...]) -> None:
    if causes:
        raise invalid(NamedResource("", "meta.k8s.io", kind), "", causes)


def _of_writes(verb: str, request: ServedRequest) -> Iterator[StatusCause]:
    if verb == "patch" and content_type(request) not in APPLY and request.flag("force"):
        yield _forbidden("force", "may not be specified for non-apply patch")
    if len(request.word("fieldManager").encode()) > _LONGEST_MANAGER:
        text = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        yield StatusCause("FieldValueTooLong", text, "fieldManager")
    yield from _of_dry_runs(request.query.get("dryRun", ()))


def _of_dry_runs(words: Sequence[str]) -> Iterator[StatusCause]:
    if any(word != "All" for word in words):
        yield _unsupported("dryRun", list(words), ("All",))


def _forbidden(where: str, said: str) -> StatusCause:
    return StatusCause("FieldValueForbidden", f"Forbidden: {said}", where)


def _wrong(where: str, found: str, said: str) -> StatusCause:
    return StatusCause("FieldValueInvalid", f"Invalid value: {json.dumps(found)}: {said}", where)


def _unsupported(where: str, found: object, supported: Sequence[str]) -> StatusCause:
    shown = json.dumps(found, separators=(",", ":"))
    text = f"Unsupported value: {shown}: supported values: {', '.join(map(json.dumps, supported))}"
    return StatusCause("FieldValueNotSupported", text, where)


LONGEST_GRACE_S = 100 * 365 * 86400
"""Beyond that there is no date."""

_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""Source: apimachinery pkg/api/resource/quantity.go (ErrFormatWrong)."""


def body_of(request: ServedRequest) -> Any:
    """kubectl sends JSON also where it says that it is YAML.

    Raises:
        Refusal: 400 and 415.
    """
    content = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if content == "application/vnd.kubernetes.protobuf":
        try:
            return protobuf.decode(request.body)
        except NotUnderstood as error:
            text = "the body of the request was in an unknown format - accepted media types include: application/json"
            raise ApiRefusal(ApiStatus(415, "UnsupportedMediaType", f"{text} ({error})")) from error
    try:
        return decode(request.body or b"null")
    except NoJson as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def object_of(request: ServedRequest, target: ServedTarget) -> Doc:
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


def delete_options(request: ServedRequest) -> DeleteOptions:
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


def deletion_status(deleted: Deleted, of: NamedResource) -> Doc:
    """What a deletion is answered with, of kinds that are not answered with the object."""
    details = Details(deleted.item.key[1], of.group, of.plural, deleted.item.uid)
    doc = ApiStatus(200, "", "", details).doc()
    del doc["code"]
    return doc
