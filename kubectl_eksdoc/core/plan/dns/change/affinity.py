"""The affinity with which CoreDNS stays off Spot nodes, as a whole: the add-on's value replaces every default.

Managed node groups and Karpenter label capacity differently, and neither label need be there: ``NotIn`` is right for
both, as it also matches nodes without the label. So a self-managed Spot node without labels is not told from others.
Sources: EKS user guide, managed node groups (eks.amazonaws.com/capacityType); Karpenter, well-known labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.model.placement import NodeTerm
from kubectl_eksdoc.core.model.selectors import Requirement

KEY = "affinity"
NOT_SPOT: tuple[Doc, ...] = (
    {"key": "karpenter.sh/capacity-type", "operator": "NotIn", "values": ["spot"]},
    {"key": "eks.amazonaws.com/capacityType", "operator": "NotIn", "values": ["SPOT"]},
)
_NODES, _REQUIRED, _TERMS = "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"


def without_spot(affinity: Doc) -> Doc:
    """Each of its required terms, which are alternatives, leaves Spot nodes out; all else stays."""
    # A term without requirements matches no node: with ours it would match nearly all.
    terms = [each for each in _terms(affinity) if isinstance(each, dict) and any(each.values())] or [{}]
    return _with_terms(affinity, [_more(term) for term in terms])


def with_spot(affinity: Doc) -> Doc:
    """What `without_spot` added is taken away; what is left empty goes with it."""
    terms = [_less(term) for term in _terms(affinity) if isinstance(term, dict)]
    # A term without requirements matches no node, and beside others it says nothing: what is left is what was there.
    return _with_terms(affinity, [term for term in terms if term])


def of_schema(default: Any) -> Doc:
    """A schema's default: some are wrapped once too often (coredns v1.10.1-eksbuild.11)."""
    inner = default.get(KEY, default) if isinstance(default, dict) else {}
    return inner if isinstance(inner, dict) else {}


def node_terms(affinity: Doc) -> tuple[NodeTerm, ...] | None:
    """Of its required node affinity, None where it has none."""
    if at(affinity, _NODES, _REQUIRED) is None:
        return None
    return tuple(NodeTerm(_asked(term, "matchExpressions"), _asked(term, "matchFields")) for term in _terms(affinity))


def of_pods(affinity: Doc) -> Doc:
    """What it requires of other pods: what it only prefers keeps no pod from a node."""
    found = {key: at(affinity, key, _REQUIRED) for key in ("podAffinity", "podAntiAffinity")}
    return {key: value for key, value in found.items() if value}


def _terms(affinity: Doc) -> list[Any]:
    found = at(affinity, _NODES, _REQUIRED, _TERMS)
    return found if isinstance(found, list) else []


def _more(term: Doc) -> Doc:
    held = list(term.get("matchExpressions") or ())
    return {**term, "matchExpressions": [*held, *(dict(each) for each in NOT_SPOT if each not in held)]}


def _less(term: Doc) -> Doc:
    held = [each for each in term.get("matchExpressions") or () if each not in NOT_SPOT]
    rest = {key: value for key, value in term.items() if key != "matchExpressions"}
    return {**rest, "matchExpressions": held} if held else rest


def _with_terms(affinity: Doc, terms: list[Doc]) -> Doc:
    nodes = {key: value for key, value in (affinity.get(_NODES) or {}).items() if key != _REQUIRED}
    required = {_REQUIRED: {**(at(affinity, _NODES, _REQUIRED) or {}), _TERMS: terms}} if terms else {}
    rest = {key: value for key, value in affinity.items() if key != _NODES}
    made = {**nodes, **required}
    return {**rest, _NODES: made} if made else rest


def _asked(term: Any, key: str) -> tuple[Requirement, ...]:
    return tuple(_requirements(term.get(key) or ())) if isinstance(term, dict) else ()


def _requirements(listed: Any) -> Iterator[Requirement]:
    for each in listed:
        if isinstance(each, dict):
            values = tuple(map(str, each.get("values") or ()))
            yield Requirement(str(each.get("key") or ""), str(each.get("operator") or ""), values)
