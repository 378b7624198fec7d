"""JSON patches (RFC 6902), Content-Type application/json-patch+json.

Where the RFC and the server's library differ, this is the library: replacing a member that is missing adds it,
copying one that is missing adds null, testing one that is missing against null passes, an operation without a value
has null, and indices may be negative.

Source: patch.go of github.com/evanphx/json-patch v4.13; how much may be copied is JSONPatchMaxCopyBytes in
staging/src/k8s.io/apiserver/pkg/server/config.go, Kubernetes v1.36.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal, ApiStatus, Details, bad_request
from kubectl_eksdoc.model.api_objects import Doc

# Why a patch is not applied, as the API server answers it.
#
# Source: applyJSPatch, applyPatchToObject and interpretStrategicMergePatchError in
# staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.


UNFIT = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
"""What is raised where a patch is not of its form, or asks for what its object has not."""

DEEPEST = 128
"""A server reads 10,000 levels. We stop far earlier, and far beyond what any object needs, because we recurse."""


def checked(patch: Any, form: type) -> Any:
    """
    Raises:
        Refusal: 400, it is no `form`, or nested too deeply.
    """
    if not isinstance(patch, form):
        raise bad_request("error decoding patch: json: it is of another type")
    if too_deep(patch):
        raise bad_request("error decoding patch: invalid character '{' exceeded max depth")
    return patch


def too_deep(value: Any) -> bool:
    """Asked without recursion."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [each for held in level for each in (held.values() if isinstance(held, dict) else held)]
        level = [each for each in level if isinstance(each, (dict, list))]
        if not level:
            return False
    return True


def does_not_fit() -> ApiRefusal:
    """It is a JSON patch, but not for this object; also one whose test fails."""
    return ApiRefusal(
        ApiStatus(422, "Invalid", "the server rejected our request due to an error in our request", Details())
    )


MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 1024 * 1024

# No list has an entry that takes more than 18 digits to name.
_INDEX = re.compile(r"[+-]?0*[0-9]{1,18}", re.ASCII)


def apply_json_patch(doc: Doc, patch: Any) -> Doc:
    """`doc` after `patch`, a list of operations: all of them.

    Raises:
        Refusal: 400, 413 and 422.
    """
    operations = checked([] if patch is None else patch, list)
    if len(operations) > MOST_OPERATIONS:
        raise ApiRefusal(
            ApiStatus(413, "RequestEntityTooLarge", f"Request entity too large: {len(operations)} operations")
        )
    changed: Any = doc
    copied = 0
    try:
        for operation in operations:
            if operation.get("op") == "copy":  # a few operations that copy would fill any memory
                copied += len(repr(_found(changed, operation["from"])))
            changed = _after(changed, operation) if copied <= MOST_COPIED else None
    except UNFIT as error:
        raise does_not_fit() from error
    if not isinstance(changed, dict) or too_deep(changed):
        raise does_not_fit()
    return changed


def _after(root: Any, operation: Doc) -> Any:
    """`root` after one operation."""
    path, value = operation["path"], operation.get("value")
    match operation["op"]:
        case "add":
            return _changed(root, _steps(path), lambda held, step: _inserted(held, step, value))
        case "remove":
            return _changed(root, _steps(path), _removed)
        case "replace":
            return _changed(root, _steps(path), lambda held, step: _with(held, step, value)) if path else value
        case "move":
            moved = {"op": "add", "path": path, "value": _found(root, operation["from"])}
            return _after(_changed(root, _steps(operation["from"]), _removed), moved)
        case "copy":
            return _after(root, {"op": "add", "path": path, "value": _found(root, operation["from"])})
        case "test" if _same(_found(root, path) if path else root, value):
            return root
    raise ValueError(operation["op"])


def _same(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON, members in any order; 1, 1.0 and true are different."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(_same(value, right[name]) for name, value in left.items())
    if isinstance(left, list):
        return len(left) == len(right) and all(map(_same, left, right))
    return bool(left == right)


def _steps(pointer: str) -> list[str]:
    """The names and indices that a JSON pointer (RFC 6901) goes through, at least one. What stands before the first
    slash is not looked at, as the library does it."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    if not steps:
        raise KeyError(pointer)
    return steps


def _found(root: Any, path: str) -> Any:
    """What stands at `path`; None also for a member that is missing in an object that is there."""
    for step in _steps(path):
        root = root.get(step) if isinstance(root, dict) else root[_index(root, step)]
    return root


def _changed(root: Any, steps: Sequence[str], change: Callable[[Any, str], Any]) -> Any:
    """`root` with what holds the last step changed; what is off the path is shared."""
    first, *rest = steps
    if not rest:
        return change(root, first)
    inner = root[first] if isinstance(root, dict) else root[_index(root, first)]
    return _with(root, first, _changed(inner, rest, change))


def _with(held: Any, step: str, value: Any) -> Any:
    if isinstance(held, dict):
        return {**held, step: value}
    place = _index(held, step)
    return [*held[:place], value, *held[place + 1 :]]


def _inserted(held: Any, step: str, value: Any) -> Any:
    if isinstance(held, dict):
        return {**held, step: value}
    place = len(held) if step == "-" else _index(held, step, 1)
    return [*held[:place], value, *held[place:]]


def _removed(held: Any, step: str) -> Any:
    if isinstance(held, dict):
        held[step]  # it must be there
        return {name: value for name, value in held.items() if name != step}
    place = _index(held, step)
    return [*held[:place], *held[place + 1 :]]


def _index(held: Any, step: str, more: int = 0) -> int:
    """Negative ones count from the end, which RFC 6901 does not have and the library does."""
    if not isinstance(held, list) or not _INDEX.fullmatch(step):
        raise KeyError(step)
    place: int = range(len(held) + more)[int(step)]
    return place


# JSON merge patches (RFC 7386), Content-Type application/merge-patch+json.
#
# Source: MergePatch in merge.go of github.com/evanphx/json-patch v4.13, and applyJSPatch in
# staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.


def apply_merge(doc: Doc, patch: Any) -> Doc:
    """`doc` after `patch`, a JSON object: null removes, objects merge, everything else replaces.

    Raises:
        Refusal: 400.
    """
    return _merged(doc, checked(patch, dict))


def _merged(doc: Doc, patch: Doc) -> Doc:
    merged = dict(doc)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _member(doc.get(name), value)
    return merged


def _member(held: Any, value: Any) -> Any:
    """The value of one member; `held` is None where it was missing or null."""
    if not isinstance(held, dict):
        return _without_nulls(value)
    # A list that replaces an object keeps its nulls: the library looks into a list only where none was an object.
    return _merged(held, value) if isinstance(value, dict) else value


def _without_nulls(value: Any) -> Any:
    """`value` without members that are null, those of objects in lists included; null entries of lists stay.

    RFC 7386 leaves lists alone. The library does not.
    """
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(inner) for inner in value] if isinstance(value, list) else value
