"""The directives a strategic merge patch speaks in, and what is left of a value without them.

Source: handleDirectiveInMergeMap, extractKey, applyRetainKeysDirective, removeDirectives and discardNullValuesFromPatch
in staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.api.patches import refusals
from kubectl_eksdoc.kubernetes.api.patches.go_values import printed, printed_as_string
from kubectl_eksdoc.model.api_objects import Doc

MARK = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder"
REMOVE = "$deleteFromPrimitiveList"

_MALFORMED = {
    ORDER: "invalid patch format of setElementOrder list",
    REMOVE: "invalid patch format of primitive list",
}


def is_marked(value: Any) -> bool:
    """Whether `value` is an object that says by itself what becomes of it."""
    return isinstance(value, dict) and MARK in value


def field_of(directive: str, prefix: str) -> str:
    """The field beside which ``prefix/field`` stands."""
    name, slash, field = directive.partition("/")
    if name != prefix or not slash:
        raise refusals.malformed(_MALFORMED[prefix])
    return field


def replacement(patch: Doc) -> Doc:
    """The object instead of one that `patch`, which is marked, was to be merged into."""
    mark = patch[MARK]
    if mark == "delete":
        return {}
    if mark == "replace":
        return {name: whole(inner) for name, inner in patch.items() if inner is not None and not _is_directive(name)}
    raise unknown_mark(patch)


def unknown_mark(patch: Doc) -> refusals.PatchRefused:
    return refusals.unexpected(f"unknown patch type: {printed_as_string(patch[MARK])} in map: {printed(patch)}")


def retained(held: Doc, patch: Doc) -> Doc:
    """A new object of the members of `held` that `patch` lets it keep; all, where it does not say."""
    if RETAIN not in patch:
        return dict(held)
    names = patch[RETAIN]
    malformed = refusals.malformed("invalid patch format of retainKeys")
    if not isinstance(names, list):
        raise malformed
    if any(isinstance(name, (dict, list)) for name in names):
        raise refusals.crash("an object or a list cannot be the key of a map")
    kept = {name for name in names if isinstance(name, str)}
    for name, value in patch.items():
        if value is not None and name != RETAIN and not name.startswith((REMOVE, ORDER)) and name not in kept:
            raise malformed
    return {name: value for name, value in held.items() if name in kept}


def whole(value: Any) -> Any:
    """`value` as it is stored where a patch sets it unread: without nulls, and with its marked parts.

    The library leaves nulls and directives in it. Decoding the object, which follows, then drops both: a null is as
    good as a member that is missing, and no type has a field that is called as a directive is.
    """
    if isinstance(value, dict):
        return {name: whole(inner) for name, inner in value.items() if inner is not None and not _is_directive(name)}
    return [whole(inner) for inner in value] if isinstance(value, list) else value


def added(value: Any) -> Any:
    """`value` as it is stored where nothing of its type was: without nulls, and without its marked parts."""
    if isinstance(value, dict):
        return {
            name: added(inner)
            for name, inner in value.items()
            if inner is not None and not is_marked(inner) and not _is_directive(name)
        }
    return [added(inner) for inner in value if not is_marked(inner)] if isinstance(value, list) else value


def _is_directive(name: str) -> bool:
    return name in (MARK, RETAIN) or name.startswith((f"{ORDER}/", f"{REMOVE}/"))
