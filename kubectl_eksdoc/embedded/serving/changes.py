"""Objects after a create, an update, a patch or an apply, with who owns which of their fields.

Source: apiserver pkg/endpoints/handlers/{create,update,patch}.go; strategies' GetResetFields.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.embedded.api.built_in import Served
from kubectl_eksdoc.embedded.api.catalogue import DEFINITIONS, schema_in
from kubectl_eksdoc.embedded.serving.targets import ServedRequest, ServedTarget
from kubectl_eksdoc.kubernetes.api.ownership.applying import ApplyRefused, Conflicts, apply
from kubectl_eksdoc.kubernetes.api.ownership.comparing import NONE, FieldSet
from kubectl_eksdoc.kubernetes.api.ownership.entries import settled, updated
from kubectl_eksdoc.kubernetes.api.patches.json_patch import apply_json_patch, apply_merge
from kubectl_eksdoc.kubernetes.api.patches.strategic import apply_strategic
from kubectl_eksdoc.kubernetes.api.statuses import (
    ApiRefusal,
    ApiStatus,
    Details,
    NamedResource,
    StatusCause,
    bad_request,
    invalid,
)
from kubectl_eksdoc.kubernetes.api.structural import Schema, schema_of, schema_of_custom
from kubectl_eksdoc.model.api_objects import Doc, without
from kubectl_eksdoc.simulator.store import Store

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = ("application/apply-patch+yaml", "application/apply-patch+json", "application/apply-patch+cbor")


@dataclass(frozen=True, slots=True)
class FieldWriter:
    """Who writes, and when, as managedFields have it; `subresource` is "" for the object itself. `has_status`: the
    kind's status is a subresource."""

    manager: str
    now: str
    subresource: str = ""
    has_status: bool = False


def manager_of(request: ServedRequest) -> str:
    """The field manager a request names, or the program it comes from (its User-Agent up to the slash)."""
    named = request.word("fieldManager")
    return named or request.headers.get("user-agent", "").partition("/")[0] or "unknown"


def owned(live: Doc | None, new: Doc, writer: FieldWriter, schema: Schema) -> Doc:
    """`new` with its managedFields, written over `live`."""
    made = updated(live, new, writer.manager, writer.now, schema, writer.subresource, _reset(writer))
    return made if live is None else settled(live, made)


def patched(request: ServedRequest, target: ServedTarget, live: Doc, schema: Schema, patch: Any) -> Doc:
    """`live` after the request's patch, not an apply, which is all in its body.

    Raises:
        Refusal: 415, no such patches are taken; 400, 413, 422 and 500, it does not fit.
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
    """`live` (None: there is none) after a server-side apply of `config`.

    Raises:
        Refusal: 409 with every conflict, 422 without a field manager, 400.
    """
    if not request.word("fieldManager"):
        where = NamedResource("", "meta.k8s.io", "PatchOptions")
        cause = StatusCause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
        raise invalid(where, "", (cause,))
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
    """A configuration to apply, of this object; it must not name a version.

    Raises:
        Refusal: 400.
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
    """What the strategy ignores in such a write, so that nobody comes to own it by one."""
    if not writer.has_status:
        return NONE
    return _OF_STATUS if writer.subresource == "status" else _MAIN


# The schemas by which objects are merged and owned: of custom resources the one of their definition, as it is now.


class Schemas:
    """Mutable: keeps the latest schema of every custom resource that was asked for."""

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
