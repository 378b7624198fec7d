"""JSON patches (RFC 6902), Content-Type application/json-patch+json.

Where the RFC and the server's library differ, this is the library: replacing a member that is missing adds it,
copying one that is missing adds null, testing one that is missing against null passes, an operation without a value
has null, and indices may be negative. Where the library panics we do not: nulls in lists are compared, and the whole
document cannot be replaced by nothing.

Source: patch.go of github.com/evanphx/json-patch v4.13, and applyJSPatch in
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36; how much may be copied is
JSONPatchMaxCopyBytes in staging/src/k8s.io/apiserver/pkg/server/config.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kubectl_eksdoc.kubernetes.api.patches import nesting, pointers, refusals
from kubectl_eksdoc.kubernetes.api.patches.go_values import json_word, same
from kubectl_eksdoc.model.api_objects import Doc

MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 1024 * 1024

Container: TypeAlias = "dict[str, Any] | list[Any]"
Change: TypeAlias = Callable[[Container, str], Container]

_TEXTS = ("op", "path", "from")


def apply_json_patch(doc: Doc, patch: Any) -> Doc:
    """`doc` after `patch`, a list of operations: all of them, or `PatchRefused`."""
    operations = _decoded(patch)
    changed: Container = doc
    copied = 0
    for operation in operations:
        copied += _copies(changed, operation)
        if copied > MOST_COPIED:
            raise refusals.does_not_fit(f"more than {MOST_COPIED} bytes are copied")
        changed = _after(changed, operation)
    if not isinstance(changed, dict):
        raise refusals.does_not_fit("the document became a list")
    return changed


def _decoded(patch: Any) -> list[Doc]:
    """The operations; null is a patch without any, and an operation that is null has no members."""
    if patch is None:
        return []
    if not isinstance(patch, list):
        raise _undecodable(patch, "value of type []handlers.jsonPatchOp")
    if nesting.too_deep(patch):
        raise refusals.undecodable(nesting.ERROR)
    for operation in patch:
        _check_shape(operation)
    if len(patch) > MOST_OPERATIONS:
        raise refusals.too_large(
            f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(patch)}"
        )
    return [{} if operation is None else operation for operation in patch]


def _check_shape(operation: Any) -> None:
    if operation is None:
        return
    if not isinstance(operation, dict):
        raise _undecodable(operation, "value of type handlers.jsonPatchOp")
    for name in _TEXTS:
        text = operation.get(name)
        if text is not None and not isinstance(text, str):
            raise _undecodable(text, f"struct field jsonPatchOp.{name} of type string")


def _undecodable(value: Any, wanted: str) -> refusals.PatchRefused:
    return refusals.undecodable(f"json: cannot unmarshal {json_word(value)} into Go {wanted}")


def _copies(root: Container, operation: Doc) -> int:
    """How many bytes an operation copies. Without a limit, a few operations that copy would fill any memory."""
    return nesting.size(_found(root, _path(operation, "from"))) if operation.get("op") == "copy" else 0


def _after(root: Container, operation: Doc) -> Container:
    """`root` after one operation."""
    kind, value = operation.get("op"), operation.get("value")
    match kind:
        case "add":
            return _with_added(root, _path(operation, "path"), value)
        case "remove":
            return _changed(root, _path(operation, "path"), _removing)
        case "replace":
            return _replaced(root, _path(operation, "path"), value)
        case "move":
            source = _path(operation, "from")
            moved = _found(root, source)
            return _with_added(_changed(root, source, _removing), _path(operation, "path"), moved)
        case "copy":
            return _with_added(root, _path(operation, "path"), _found(root, _path(operation, "from")))
        case "test":
            return _tested(root, _path(operation, "path"), value)
    raise refusals.does_not_fit(f"there is no operation {kind}")


def _path(operation: Doc, name: str) -> str:
    text: str | None = operation.get(name)
    if text is None:
        raise refusals.does_not_fit(f"an operation {operation.get('op')} has no {name}")
    return text


def _with_added(root: Container, path: str, value: Any) -> Container:
    def adding(held: Container, step: str) -> Container:
        if isinstance(held, dict):
            return {**held, step: value}
        place = len(held) if step == "-" else pointers.index(step, len(held) + 1)
        if place is None:
            raise _missing(path)
        return [*held[:place], value, *held[place:]]

    _check_depth(path, value)
    return _changed(root, path, adding)


def _replaced(root: Container, path: str, value: Any) -> Container:
    def replacing(held: Container, step: str) -> Container:
        return _with_child(held, step, value, path)

    if path == "":
        if not isinstance(value, (dict, list)):
            raise refusals.does_not_fit("only an object or a list can replace the whole document")
        return value
    _check_depth(path, value)
    return _changed(root, path, replacing)


def _removing(held: Container, step: str) -> Container:
    if isinstance(held, dict):
        if step not in held:
            raise _missing(step)
        return {name: value for name, value in held.items() if name != step}
    place = pointers.index(step, len(held))
    if place is None:
        raise _missing(step)
    return [*held[:place], *held[place + 1 :]]


def _tested(root: Container, path: str, value: Any) -> Container:
    held = root if path == "" else _found(root, path)
    if not same(held, value):
        raise refusals.does_not_fit(f"the test of {path} failed")
    return root


def _found(root: Container, path: str) -> Any:
    """What stands at `path`; None also for a member that is missing in an object that is there."""
    way = pointers.steps(path)
    if not way:
        raise _missing(path)
    held = root
    for step in way[:-1]:
        held = _inner(held, step, path)
    return _child(held, way[-1], path)


def _changed(root: Container, path: str, change: Change) -> Container:
    """`root` with what holds the last step of `path` changed; what is off the path is shared."""
    way = pointers.steps(path)
    if not way:
        raise _missing(path)
    held = root
    above: list[tuple[Container, str]] = []
    for step in way[:-1]:
        above.append((held, step))
        held = _inner(held, step, path)
    held = change(held, way[-1])
    for holder, step in reversed(above):
        held = _with_child(holder, step, held, path)
    return held


def _inner(held: Container, step: str, path: str) -> Container:
    inner = _child(held, step, path)
    if not isinstance(inner, (dict, list)):
        raise _missing(path)
    return inner


def _child(held: Container, step: str, path: str) -> Any:
    if isinstance(held, dict):
        return held.get(step)
    place = pointers.index(step, len(held))
    if place is None:
        raise _missing(path)
    return held[place]


def _with_child(held: Container, step: str, value: Any, path: str) -> Container:
    if isinstance(held, dict):
        return {**held, step: value}
    place = pointers.index(step, len(held))
    if place is None:
        raise _missing(path)
    return [*held[:place], value, *held[place + 1 :]]


def _check_depth(path: str, value: Any) -> None:
    # Operations nest ever deeper what each of them holds: only where the value will stand says how deep it gets.
    room = nesting.DEEPEST - path.count("/")
    if room < 0 or nesting.too_deep(value, room):
        raise refusals.does_not_fit(f"what would stand at {path[:80]} is nested too deeply")


def _missing(path: str) -> refusals.PatchRefused:
    return refusals.does_not_fit(f"there is no {path[:80] or 'such place'}")
