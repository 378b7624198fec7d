"""The plan that goes along with a run, where the whole of it is too large: what the run is held against."""

from __future__ import annotations

from collections.abc import Mapping

from kubectl_eksdoc.core.model.api_objects import Doc

_WHOLE = ("apiVersion", "kind", "metadata", "rounds", "options", "estimate", "lowerBound", "gap", "waves", "budgets")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "targets": ("name", "uid", "verdict"),
    "evictions": ("uid", "namespace", "name", "ownerUid", "means"),
    "findings": ("code", "subject", "severity", "status", "message"),
}


def needed(plan: Doc) -> Doc:
    """What people read is left out: why nodes and pods stay, the evidence, and what is proposed. It is a saved plan
    still, for ``drain run --plan``."""
    kept = {key: plan[key] for key in _WHOLE}
    for key, names in _PARTS.items():
        kept[key] = [{name: each[name] for name in names if name in each} for each in plan[key]]
    kept["targets"] = [{**each, "why": []} for each in kept["targets"]]
    return {**kept, "left": []}
