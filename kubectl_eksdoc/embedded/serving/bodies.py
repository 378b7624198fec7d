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
    Details,
    Served,
    StatusCause,
    bad_request,
    invalid,
)
from kubectl_eksdoc.kubernetes.api.shapes import DELETE_OPTIONS, QUANTITY, Shape, misfits
from kubectl_eksdoc.kubernetes.api.types import Schema, schema_of, schema_of_custom
from kubectl_eksdoc.kubernetes.api.workload_validation import (
    FORBIDDEN,
    NOT_SUPPORTED,
    REQUIRED,
    TOO_LONG,
    Problem,
)
from kubectl_eksdoc.kubernetes.document_diff import NONE, FieldSet
from kubectl_eksdoc.kubernetes.managed_fields import settled, updated
from kubectl_eksdoc.kubernetes.server_side_apply import ApplyRefused, Conflicts, apply
from kubectl_eksdoc.model.api_objects import Doc, without
from kubectl_eksdoc.model.kinds import Resource
from kubectl_eksdoc.objects.single import NoJson, decode
from kubectl_eksdoc.simulator.registry import Deleted, DeleteOptions
from kubectl_eksdoc.simulator.store import Store

from ..catalogue import DEFINITIONS, schema_in
from . import protobuf
from .protobuf import NotUnderstood
from .reading import number
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


def manager_of(request: ServedRequest) -> str:
    """Return the field manager of a request, or its client (its User-Agent up to the slash)."""
    named = request.word("fieldManager")
    return named or request.headers.get("user-agent", "").partition("/")[0] or "unknown"


def owned(live: Doc | None, new: Doc, writer: FieldWriter, schema: Schema) -> Doc:
    """Return `document` with its managedFields, written over `live`."""
    made = updated(live, new, writer.manager, writer.now, schema, writer.subresource, _reset(writer))
    return made if live is None else settled(live, made)


def patched(request: ServedRequest, target: ServedTarget, live: Doc, schema: Schema, patch: Any) -> Doc:
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


def applied(request: ServedRequest, live: Doc | None, config: Doc, writer: FieldWriter, schema: Schema) -> Doc:
    """Return `live` (None: the object does not exist) after a server-side apply of `config`.

    Raises:
        ApiRefusal: 409 with every conflict, 422 without a field manager, 400.
    """
    if not request.word("fieldManager"):
        where = Resource("PatchOptions", "", "meta.k8s.io")
        raise unfit(where, "", [Problem("fieldManager", None, "is required for apply patch", REQUIRED)])
    force = request.flag("force")
    asked = apply(live, config, writer.manager, force, writer.now, schema, writer.subresource, _reset(writer))
    if isinstance(asked, Conflicts):
        causes = tuple(StatusCause(c["reason"], c["message"], c["field"]) for c in asked.causes)
        raise ApiRefusal(ApiStatus(409, "Conflict", asked.message, Details(causes=causes)))
    if isinstance(asked, ApplyRefused):
        raise ApiRefusal(ApiStatus(asked.code, "BadRequest" if asked.code == 400 else "", asked.message))
    return asked.doc


def content_type(request: ServedRequest) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip()


def named_after(target: ServedTarget, config: Doc) -> Doc:
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
    return {**without(config, ("metadata",)), "metadata": {**meta, **named}}


_MAIN, _OF_STATUS = FieldSet.of_paths(("status",)), FieldSet.of_paths(("spec",))


def _reset(writer: FieldWriter) -> FieldSet:
    """Return the fields that the strategy ignores in such a write, so that no manager owns them through it."""
    if not writer.has_status:
        return NONE
    return _OF_STATUS if writer.subresource == "status" else _MAIN


# Schemas for merging and ownership: of custom resources the current one of their definition.


class Schemas:
    """Mutable: caches the latest schema of every requested custom resource."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._custom: dict[tuple[str, str], tuple[int, Schema]] = {}

    def of(self, served: Served) -> Schema:
        definition = self._store.get(DEFINITIONS, ("", served.full_name)) if served.custom else None
        if definition is None:
            return schema_of(served.api_version, served.kind)
        place = (served.full_name, served.version)
        held = self._custom.get(place)
        if held is None or held[0] != definition.version:
            declared = schema_in(definition.doc, served.version)
            plain = schema_of(served.api_version, served.kind)
            held = definition.version, plain if declared is None else schema_of_custom(declared)
            self._custom[place] = held
        return held[1]


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
_LONGEST_MANAGER = 128


def check(verb: str, request: ServedRequest) -> None:
    """Check the query options.

    Raises:
        ApiRefusal: 422.
    """
    if verb in _KINDS:
        _refuse(_KINDS[verb], tuple(_of_writes(verb, request)))


def check_deletion(dry_run: Sequence[str], propagation: str | None, orphan: bool | None) -> None:
    """Check the options in the body of a deletion.

    Raises:
        ApiRefusal: 422.
    """
    found = list(_of_dry_runs(dry_run))
    if propagation is not None and orphan is not None:
        both = "orphanDependents and deletionPropagation cannot be both set"
        found.append(Problem("propagationPolicy", propagation, both))
    if propagation not in (None, "Foreground", "Background", "Orphan"):
        found.append(_unsupported("propagationPolicy", propagation, ("Foreground", "Background", "Orphan", "nil")))
    _refuse("DeleteOptions", found)


def unfit(of: Resource, name: str, problems: Iterable[Problem]) -> ApiRefusal:
    """Return a 422 refusal with a cause for each problem."""
    return invalid(
        of,
        name,
        [StatusCause(e.reason, e.worded(json.dumps(e.found, separators=(",", ":"))), e.field) for e in problems],
    )


def _refuse(kind: str, found: Sequence[Problem]) -> None:
    if found:
        raise unfit(Resource(kind, "", "meta.k8s.io"), "", found)


def _of_writes(verb: str, request: ServedRequest) -> Iterator[Problem]:
    if verb == "patch" and content_type(request) not in APPLY and request.flag("force"):
        yield Problem("force", None, "may not be specified for non-apply patch", FORBIDDEN)
    if len(request.word("fieldManager").encode()) > _LONGEST_MANAGER:
        yield Problem("fieldManager", None, f"may not be more than {_LONGEST_MANAGER} bytes", TOO_LONG)
    yield from _of_dry_runs(request.query.get("dryRun", ()))


def _of_dry_runs(words: Sequence[str]) -> Iterator[Problem]:
    if any(word != "All" for word in words):
        yield _unsupported("dryRun", list(words), ("All",))


def _unsupported(where: str, found: object, supported: Sequence[str]) -> Problem:
    return Problem(where, found, f"supported values: {', '.join(map(json.dumps, supported))}", NOT_SUPPORTED)


LONGEST_GRACE_S = 100 * 365 * 86400
"""Beyond that no date can be computed."""

_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""Source: apimachinery pkg/api/resource/quantity.go (ErrFormatWrong)."""


def body_of(request: ServedRequest) -> Any:
    """Return the decoded body. kubectl also sends JSON where the content type is YAML.

    Raises:
        ApiRefusal: 400 and 415.
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
    """Return the object in the body, of the target's kind and in its namespace.

    Raises:
        ApiRefusal: 400.
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
    """Check the types of an object's fields.

    Raises:
        ApiRefusal: 400 for the first misfit, with the decoder's message.
    """
    for misfit in misfits(shape, doc):
        where = ".".join((kind, *misfit.path))
        if misfit.wanted == QUANTITY and misfit.found == "string":
            raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {_NO_QUANTITY}')
        said = f"json: cannot unmarshal {misfit.found} into Go struct field {where} of type {misfit.wanted}"
        raise bad_request(f'{kind} in version "{version}" cannot be handled as a {kind}: {said}')


def delete_options(request: ServedRequest) -> DeleteOptions:
    """Return the options of a deletion, from the body and the query.

    Raises:
        ApiRefusal: 400 and 422.
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


def deletion_status(deleted: Deleted, of: Resource) -> Doc:
    """Return the Status response of a deletion, for kinds that are not answered with the object."""
    details = Details(deleted.item.key[1], of.group, of.plural, deleted.item.uid)
    doc = ApiStatus(200, "", "", details).doc()
    del doc["code"]
    return doc
