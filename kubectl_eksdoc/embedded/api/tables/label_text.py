"""Labels, selectors and containers as one cell each."""

from __future__ import annotations

from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc

NONE = "<none>"
_WORDS = {"In": " in ", "NotIn": " notin "}


def labels(found: dict[str, Any]) -> str:
    """``a=b,c=d``, by key (apimachinery, ``labels.FormatLabels``)."""
    return ",".join(f"{key}={value}" for key, value in sorted(found.items())) or NONE


def selector(found: Doc | None) -> str:
    """A label selector as its text, by key: ``app=web,!old,tier in (a,b)`` (``labels.Selector.String``)."""
    found = found or {}
    terms = [(key, f"{key}={value}") for key, value in (found.get("matchLabels") or {}).items()]
    terms += [(e["key"], _expression(e)) for e in found.get("matchExpressions") or ()]
    return ",".join(term for _, term in sorted(terms, key=lambda term: term[0]))


def _expression(expression: Doc) -> str:
    key, operator = expression["key"], expression["operator"]
    if operator in _WORDS:
        return f"{key}{_WORDS[operator]}({','.join(sorted(expression.get('values') or ()))})"
    return f"!{key}" if operator == "DoesNotExist" else str(key)


def containers(found: list[Doc]) -> list[str]:
    """Two cells: the names and the images of a template's containers."""
    return [",".join(str(c.get(field) or "") for c in found) for field in ("name", "image")]
