"""What admission and validation say before an object is written: only what decides about drains is looked at.

Source: pkg/apis/policy/validation/validation.go.
"""

from __future__ import annotations

import json
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.rules.api.statuses import Cause, Named, invalid
from kubectl_eksdoc.core.rules.budget_validation import BudgetSpec, FieldError, problems
from kubectl_eksdoc.embedded.serving.targets import Target

BUDGETS = "poddisruptionbudgets.policy"


def admitted(target: Target, live: Doc | None, doc: Doc) -> Doc:
    """The object as it may be written over `live` (None: it is new).

    Raises:
        Refusal: 422.
    """
    if target.resource == BUDGETS and target.subresource != "status":
        _check_budget(target, doc)
    return doc


def _check_budget(target: Target, doc: Doc) -> None:
    spec = at(doc, "spec") or {}
    found = problems(
        BudgetSpec(
            _amount(spec.get("minAvailable")),
            _amount(spec.get("maxUnavailable")),
            spec.get("unhealthyPodEvictionPolicy"),
        )
    )
    if found:
        named = Named(target.served.plural, target.served.group, target.served.kind)
        causes = tuple(Cause(each.reason, _said(each, spec), each.field) for each in found)
        raise invalid(named, str(at(doc, "metadata", "name") or ""), causes)


def _amount(given: Any) -> int | str | None:
    return given if isinstance(given, (int, str)) else None


def _said(error: FieldError, spec: Doc) -> str:
    """The cause's message: what was found, as Go prints it, and what is wrong with it."""
    found: Any = error.value
    if isinstance(found, BudgetSpec):
        found = {
            "MinAvailable": spec.get("minAvailable"),
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec.get("maxUnavailable"),
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
    word = "Unsupported value" if error.reason == "FieldValueNotSupported" else "Invalid value"
    shown = json.dumps(found, separators=(",", ":"), default=str)
    return f"{word}: {shown}: {error.detail}"
