"""JSON merge patches (RFC 7386), Content-Type application/merge-patch+json.

Source: MergePatch in merge.go of github.com/evanphx/json-patch v4.13, and applyJSPatch in
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.api.patches.refusals import checked
from kubectl_eksdoc.model.api_objects import Doc


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
