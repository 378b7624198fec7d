"""What the query of a request may ask for: options that contradict each other, or that nobody knows, are refused before
anything is done. A dry run that is misspelt must not become a change.

Source: apimachinery pkg/apis/meta/v1/validation/validation.go (ValidateCreateOptions, ValidatePatchOptions,
ValidateDeleteOptions), pkg/apis/meta/internalversion/validation/validation.go (ValidateListOptions), v1.36.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from kubectl_eksdoc.core.rules.api.statuses import Cause, Named, bad_request, invalid
from kubectl_eksdoc.embedded.serving.changes import APPLY, content_type
from kubectl_eksdoc.embedded.serving.messages import Request

_KINDS = {
    "create": "CreateOptions",
    "update": "UpdateOptions",
    "patch": "PatchOptions",
    "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}
_LONGEST_MANAGER = 128
_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"


def check(verb: str, request: Request) -> None:
    """
    Raises:
        Refusal: 422, and 400 where a continued list names a version.
    """
    if verb == "get":
        return
    if verb in _KINDS:
        _refuse(_KINDS[verb], tuple(_of_writes(verb, request)))
        return
    _refuse("ListOptions", tuple(_of_watches(request) if verb == "watch" else _of_lists(request)))
    if request.word("continue") and request.word("resourceVersion") not in ("", "0"):
        raise bad_request("specifying resource version is not allowed when using continue")


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


def _refuse(kind: str, causes: tuple[Cause, ...]) -> None:
    if causes:
        raise invalid(Named("", "meta.k8s.io", kind), "", causes)


def _of_writes(verb: str, request: Request) -> Iterator[Cause]:
    if verb == "patch" and content_type(request) not in APPLY and request.flag("force"):
        yield _forbidden("force", "may not be specified for non-apply patch")
    if len(request.word("fieldManager").encode()) > _LONGEST_MANAGER:
        text = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        yield Cause("FieldValueTooLong", text, "fieldManager")
    yield from _of_dry_runs(request.query.get("dryRun", ()))


def _of_dry_runs(words: Sequence[str]) -> Iterator[Cause]:
    if any(word != "All" for word in words):
        yield _unsupported("dryRun", list(words), ("All",))


def _of_lists(request: Request) -> Iterator[Cause]:
    match, where = request.word("resourceVersionMatch"), "resourceVersionMatch"
    if match:
        if not request.word("resourceVersion"):
            yield _forbidden(where, f"{where} is forbidden unless resourceVersion is provided")
        if request.word("continue"):
            yield _forbidden(where, f"{where} is forbidden when continue is provided")
        if match not in (_EXACT, _NOT_OLDER):
            yield _unsupported(where, match, (_EXACT, _NOT_OLDER, ""))
        if match == _EXACT and request.word("resourceVersion") == "0":
            yield _forbidden(where, f'{where} "exact" is forbidden for resourceVersion "0"')
    if "sendInitialEvents" in request.query:
        yield _forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list")


def _of_watches(request: Request) -> Iterator[Cause]:
    match, where = request.word("resourceVersionMatch"), "resourceVersionMatch"
    initial = "sendInitialEvents" in request.query
    if initial and match != _NOT_OLDER:
        yield _forbidden(where, f"sendInitialEvents requires setting {where} to {_NOT_OLDER}")
    if match and not initial:
        yield _forbidden(where, f"{where} is forbidden for watch unless sendInitialEvents is provided")
    if match not in ("", _NOT_OLDER):
        yield _unsupported(where, match, (_NOT_OLDER,))
    if match and request.word("continue"):
        yield _forbidden(where, f"{where} is forbidden when continue is provided")


def _forbidden(where: str, said: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {said}", where)


def _wrong(where: str, found: str, said: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {json.dumps(found)}: {said}", where)


def _unsupported(where: str, found: object, supported: Sequence[str]) -> Cause:
    shown = json.dumps(found, separators=(",", ":"))
    text = f"Unsupported value: {shown}: supported values: {', '.join(map(json.dumps, supported))}"
    return Cause("FieldValueNotSupported", text, where)
