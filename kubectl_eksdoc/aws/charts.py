"""What the charts of EKS's add-ons set where nobody configures it, by version: tables of this package, for vpc-cni.

Sources, and what a gap in them means: `chart_values/README.md`.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc, at, with_value, without
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.versions import Version, parse

_OWN_VERSION = ("env", "VPC_CNI_VERSION")
_ADDON = "vpc-cni"


def chart_defaults(addon: str, version: str) -> Doc | Unknown:
    """The chart's values of an add-on's version, such as ``v1.12.6-eksbuild.1``; the chart's own is what stands
    before ``-eksbuild``.

    Of a version between two that the table has: the older one's, if both say the same but for their own version.
    """
    if addon != _ADDON:
        return Unknown(f"which defaults the chart of {addon} has is not known here, only those of {_ADDON}")
    wanted = parse(version)
    if wanted is None or wanted.patch is None:
        return Unknown(f"{version!r} is no version of a chart")
    table = _vpc_cni()
    older = [each for each in table if not wanted < each]
    newer = [each for each in table if wanted < each]
    if older and older[-1] == wanted:
        return table[wanted]
    if not older:
        return Unknown(f"chart defaults of {_ADDON} are known from {newer[0]} on, not of {wanted}")
    if not newer:
        return Unknown(f"chart defaults of {_ADDON} are known up to {older[-1]}, not of {wanted}")
    below, above = table[older[-1]], table[newer[0]]
    if without(below, _OWN_VERSION) != without(above, _OWN_VERSION):
        return Unknown(f"chart defaults of {_ADDON} {wanted} are not known, and {older[-1]} and {newer[0]} differ")
    return below if at(below, *_OWN_VERSION) is None else with_value(below, _OWN_VERSION, str(wanted))


@lru_cache(maxsize=1)
def variables() -> frozenset[str]:
    """The names of all that a chart sets or the README documents."""
    charts = _vpc_cni().values()
    set_there = (name for values in charts for path in _ENV for name in at(values, *path) or ())
    return frozenset((*set_there, *(row["name"] for row in _read("vpc_cni_variables.json"))))


_ENV = (("env",), ("init", "env"), ("nodeAgent", "env"))


@lru_cache(maxsize=1)
def _vpc_cni() -> dict[Version, Doc]:
    """The oldest first."""
    found: dict[Version, Doc] = {}
    values: Doc = {}
    for version, patch in _read("vpc_cni.json").items():
        values = _patched(values, patch) if found else patch
        key = parse(version)
        assert key is not None, version
        found[key] = values
    return found


def _read(name: str) -> Any:
    return json.loads((files(__package__) / "chart_values" / name).read_text(encoding="utf-8"))


def _patched(values: Doc, patch: Doc) -> Doc:
    """A merge patch (RFC 7386): null takes away."""
    made = {key: value for key, value in values.items() if patch.get(key, value) is not None or key not in patch}
    for key, value in patch.items():
        old = made.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            made[key] = _patched(old, value)
        elif value is not None:
            made[key] = value
    return made
