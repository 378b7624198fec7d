"""The few forms of CEL expressions that admission policies here are written in: constants and comparisons of a field.

``true``, ``false``, ``object.spec.replicas == 3``, ``object.metadata.name != 'x'``. Source of the text about a missing
field: cel-go, as a 1.36 server answered it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc

_COMPARED = re.compile(r"(object|oldObject)((?:\.\w+)+)\s*(==|!=)\s*('[^']*'|\"[^\"]*\"|-?\d+|true|false|null)")


class Fails(Exception):
    """It cannot be evaluated; the message is what CEL says."""


def holds(expression: str, variables: Mapping[str, Doc | None]) -> bool:
    """
    Raises:
        Fails: a field is missing, or the expression has none of these forms.
    """
    text = expression.strip()
    if text in ("true", "false"):
        return text == "true"
    found = _COMPARED.fullmatch(text)
    if found is None:
        raise Fails("the embedded server evaluates constants and comparisons of one field only")
    variable, path, operator, literal = found.groups()
    value = _at(variables.get(variable), path[1:].split("."))
    return bool(value == _value(literal)) == (operator == "==")


def _at(doc: Any, path: list[str]) -> Any:
    for step in path:
        if not isinstance(doc, dict) or step not in doc:
            raise Fails(f"no such key: {step}")
        doc = doc[step]
    return doc


def _value(literal: str) -> Any:
    return literal[1:-1] if literal[0] in "'\"" else json.loads(literal)
