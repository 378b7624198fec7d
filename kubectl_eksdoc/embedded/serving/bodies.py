"""Bodies of write requests: objects, options of deletions; and objects after a create, update, patch or apply, with the
owners of their fields.

Source: apiserver pkg/endpoints/handlers/{create,update,patch,delete}.go; strategies' GetResetFields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.patches import apply_json_patch, apply_merge, apply_strategic
from kubectl_eksdoc.kubernetes.api.resources import (
    ApiRefusal,
    ApiStatus,
    ServedResource,
    StatusCause,
    StatusDetails,
    bad_request,
    invalid,
)
from kubectl_eksdoc.kubernetes.api.shapes import DELETE_OPTIONS, QUANTITY, Shape, find_mismatches
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_from_openapi, schema_of
from kubectl_eksdoc.kubernetes.api.workload_validation import (
    FORBIDDEN,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    FieldProblem,
)
from kubectl_eksdoc.kubernetes.document_diff import NO_FIELDS, FieldSet
from kubectl_eksdoc.kubernetes.managed_fields import keep_times_if_unchanged, with_update
from kubectl_eksdoc.kubernetes.server_side_apply import ApplyConflictSet, ApplyRefused, apply
from kubectl_eksdoc.model.api_objects import Doc, without_path
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import InvalidJson, decode_json
from kubectl_eksdoc.simulator.registry import DeleteOptions, DeleteResult
from kubectl_eksdoc.simulator.store import Store

from ..catalogue import DEFINITIONS, version_schema
from . import protobuf
from .protobuf import UnsupportedMessage
from .reading import number_parameter
from .requests import ServedRequest, ServedTarget

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = ("application/apply-patch+yaml", "application/apply-patch+json", "application/apply-patch+cbor")


@frozen
class FieldWriter:
    """The writer and time as in managedFields; `subresource` is "" for the object itself. `has_status`: the kind's
    status is a subresource."""

    manager: str
    now: str
    subresource: str = ""
    has_status: bool = False


def field_manager(request: ServedRequest) -> str:
    """Return the field manager of a request, or its client (its User-Agent up to the slash)."""
    named = request.parameter("fieldManager")
    return named or request.headers.get("user-agent", "").partition("/")[0] or "unknown"


def with_managed_fields(live: Doc | None, document: Doc, writer: FieldWriter, schema: Schema) -> Doc:
    """Return `document` with its managedFields, written over `live`."""
    managed = with_update(
        live, document, writer.manager, writer.now, schema, writer.subresource, _ignored_fields(writer)
    )
    return managed if live is None else keep_times_if_unchanged(live, managed)


def apply_patch(request: ServedRequest, target: ServedTarget, live: Doc, schema: Schema, patch: Any) -> Doc:
    """Return `live` after the request's patch (not an apply).

    Raises:
        ApiRefusal: 415, the patch type is not supported; 400, 413, 422 and 500, it does not fit.
    """
    content = content_type(request)
    if content == MERGE:
        return apply_merge(live, patch)
    if content == JSON_PATCH:
        return apply_json_patch(live, patch)
    if content == STRATEGIC and not target.served.custom:
        return apply_strategic(live, patch, schema.root)
    accepted = [JSON_PATCH, MERGE, APPLY[0]] if target.served.custom else [JSON_PATCH, MERGE, STRATEGIC, APPLY[0]]
    text = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    raise ApiRefusal(ApiStatus(415, "UnsupportedMediaType", text))


def apply_configuration(
    request: ServedRequest, live: Doc | None, config: Doc, writer: FieldWriter, schema: Schema
) -> Doc:
    """Return `live` (None: the object does not exist) after a server-side apply of `config`.

    Raises:
        ApiRefusal: 409 with every conflict, 422 without a field manager, 400.
    """
    if not request.parameter("fieldManager"):
        options_resource = Resource("PatchOptions", "", "meta.k8s.io")
        raise validation_refusal(
            options_resource, "", [FieldProblem("fieldManager", None, "is required for apply patch", REQUIRED)]
        )
    force = request.flag("force")
    result = apply(live, config, writer.manager, force, writer.now, schema, writer.subresource, _ignored_fields(writer))
    if isinstance(result, ApplyConflictSet):
        causes = tuple(StatusCause(c["reason"], c["message"], c["field"]) for c in result.causes)
        raise ApiRefusal(ApiStatus(409, "Conflict", result.message, StatusDetails(causes=causes)))
    if isinstance(result, ApplyRefused):
        raise ApiRefusal(ApiStatus(result.code, "BadRequest" if result.code == 400 else "", result.message))
    return result.doc


def content_type(request: ServedRequest) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def with_target_name(target: ServedTarget, config: Doc) -> Doc:
    """Return a configuration to apply with the name of the target; it must not contain managedFields.

    Raises:
        ApiRefusal: 400.
    """
    meta = config.get("metadata")
    if not isinstance(meta, dict):
        meta = {}
    if meta.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    named = {"name": target.name, **({"namespace": target.namespace} if target.served.namespaced else {})}
    return {**without_path(config, ("metadata",)), "metadata": {**meta, **named}}


_STATUS_FIELDS, _SPEC_FIELDS = FieldSet.of_paths(("status",)), FieldSet.of_paths(("spec",))


def _ignored_fields(writer: FieldWriter) -> FieldSet:
    """Return the fields that the strategy ignores in such a write, so that no manager owns them through it."""
    if not writer.has_status:
        return NO_FIELDS
    return _SPEC_FIELDS if writer.subresource == "status" else _STATUS_FIELDS


# Schemas for merging and ownership: of custom resources the current one of their definition.


class Schemas:
    """Mutable: caches the latest schema of every requested custom resource."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._custom: dict[tuple[str, str], tuple[int, Schema]] = {}

    def of(self, served: ServedResource) -> Schema:
        definition = self._store.get(DEFINITIONS, ("", served.full_name)) if served.custom else None
        if definition is None:
            return schema_of(served.api_version, served.kind)
        place = (served.full_name, served.version)
        cached = self._custom.get(place)
        if cached is None or cached[0] != definition.version:
            declared = version_schema(definition.doc, served.version)
            plain = schema_of(served.api_version, served.kind)
            cached = definition.version, plain if declared is None else schema_from_openapi(declared)
            self._custom[place] = cached
        return cached[1]


# Validation of query options: contradictory or unknown options are refused before anything is done. A misspelt dry run
# must not become a change.
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
_MAX_MANAGER_BYTES = 128


def check_options(verb: str, request: ServedRequest) -> None:
    """Check the query options.

    Raises:
        ApiRefusal: 422.
    """
    if verb in _KINDS:
        _refuse_problems(_KINDS[verb], tuple(_write_problems(verb, request)))


def check_deletion(dry_run: Sequence[str], propagation: str | None, orphan: bool | None) -> None:
    """Check the options in the body of a deletion.

    Raises:
        ApiRefusal: 422.
    """
    problems = list(_dry_run_problems(dry_run))
    if propagation is not None and orphan is not None:
        conflict_text = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(FieldProblem("propagationPolicy", propagation, conflict_text))
    if propagation not in (None, "Foreground", "Background", "Orphan"):
        problems.append(
            _unsupported_value("propagationPolicy", propagation, ("Foreground", "Background", "Orphan", "nil"))
        )
    _refuse_problems("DeleteOptions", problems)


def validation_refusal(resource: Resource, name: str, problems: Iterable[FieldProblem]) -> ApiRefusal:
    """Return a 422 refusal with a cause for each problem."""
    return invalid(
        resource,
        name,
        [
            StatusCause(e.reason, e.text_with_value(json.dumps(e.value, separators=(",", ":"))), e.field)
            for e in problems
        ],
    )


def _refuse_problems(kind: str, problems: Sequence[FieldProblem]) -> None:
    if problems:
        raise validation_refusal(Resource(kind, "", "meta.k8s.io"), "", problems)


def _write_problems(verb: str, request: ServedRequest) -> Iterator[FieldProblem]:
    if verb == "patch" and content_type(request) not in APPLY and request.flag("force"):
        yield FieldProblem("force", None, "may not be specified for non-apply patch", FORBIDDEN)
    if len(request.parameter("fieldManager").encode()) > _MAX_MANAGER_BYTES:
        yield FieldProblem("fieldManager", None, f"may not be more than {_MAX_MANAGER_BYTES} bytes", TOO_LONG)
    yield from _dry_run_problems(request.query.get("dryRun", ()))


def _dry_run_problems(values: Sequence[str]) -> Iterator[FieldProblem]:
    if any(word != "All" for word in values):
        yield _unsupported_value("dryRun", list(values), ("All",))


def _unsupported_value(field_name: str, value: object, supported: Sequence[str]) -> FieldProblem:
    return FieldProblem(field_name, value, f"supported values: {', '.join(map(json.dumps, supported))}", NOT_SUPPORTED)


MAX_GRACE_S = 100 * 365 * 86400
"""Beyond that no date can be computed."""

_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""Source: apimachinery pkg/api/resource/quantity.go (ErrFormatWrong)."""


def decoded_body(request: ServedRequest) -> Any:
    """Return the decoded body. kubectl also sends JSON where the content type is YAML.

    Raises:
        ApiRefusal: 400 and 415.
    """
    content = request.headers.get("content-type", "application/json").partition(";")[0].strip()
    if content == "application/vnd.kubernetes.protobuf":
        try:
            return protobuf.decode(request.body)
        except UnsupportedMessage as error:
            text = "the body of the request was in an unknown format - accepted media types include: application/json"
            raise ApiRefusal(ApiStatus(415, "UnsupportedMediaType", f"{text} ({error})")) from error
    try:
        return decode_json(request.body or b"null")
    except InvalidJson as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


def decoded_object(request: ServedRequest, target: ServedTarget) -> Doc:
    """Return the object in the body, of the target's kind and in its namespace.

    Raises:
        ApiRefusal: 400.
    """
    doc = decoded_body(request)
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
        body_name = meta["name"]
        raise bad_request(f"the name of the object ({body_name}) does not match the name on the URL ({target.name})")
    return {**doc, "kind": served.kind, "apiVersion": served.api_version, "metadata": meta}


def check_shape(shape: Shape, doc: Any, kind: str, version: str = "v1") -> None:
    """Check the types of an object's fields.

    Raises:
        ApiRefusal: 400 for the first misfit, with the decoder's message.
    """
    for misfit in find_mismatches(shape, doc):
        field_path = ".".join((kind, *misfit.path))
        if misfit.expected == QUANTITY and misfit.found == "string":
            raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {_NO_QUANTITY}')
        message = f"json: cannot unmarshal {misfit.found} into Go struct field {field_path} of type {misfit.expected}"
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {message}')


def delete_options(request: ServedRequest) -> DeleteOptions:
    """Return the options of a deletion, from the body and the query.

    Raises:
        ApiRefusal: 400 and 422.
    """
    doc = decoded_body(request) or {}
    check_shape(DELETE_OPTIONS, doc, "DeleteOptions")
    propagation = doc.get("propagationPolicy") or request.parameter("propagationPolicy") or None
    check_deletion(doc.get("dryRun") or (), propagation, doc.get("orphanDependents"))
    conditions = doc.get("preconditions") or {}
    grace_s = doc.get("gracePeriodSeconds")
    if grace_s is None and request.parameter("gracePeriodSeconds"):
        grace_s = number_parameter(request, "gracePeriodSeconds")
    orphan = "Orphan" if doc.get("orphanDependents") is True else None
    return DeleteOptions(
        grace_s=None if grace_s is None else min(grace_s, MAX_GRACE_S),
        uid=conditions.get("uid"),
        resource_version=conditions.get("resourceVersion"),
        propagation=propagation or orphan,
        dry_run=request.dry_run or "All" in (doc.get("dryRun") or ()),
    )


def deletion_status(deleted: DeleteResult, resource: Resource) -> Doc:
    """Return the Status response of a deletion, for kinds that are not answered with the object."""
    details = StatusDetails(deleted.item.key[1], resource.group, resource.plural, deleted.item.uid)
    doc = ApiStatus(200, "", "", details).to_document()
    del doc["code"]
    return doc
