"""Why a patch is not applied, as the API server answers it.

Source: applyJSPatch, applyPatchToObject and interpretStrategicMergePatchError in
staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go, Kubernetes v1.36.
"""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.kubernetes.api.statuses import ApiRefusal, ApiStatus, Details, bad_request

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
