"""The places of a pod, of what holds pod templates, and of a budget in one: enough of them to try patches with."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.places import Place
from kubectl_eksdoc.kubernetes.api.types.kinds import METADATA, STRUCTS

_POD_SPEC = STRUCTS["PodSpec"].named
_SPEC = Place(named={**_POD_SPEC, "template": STRUCTS["Template"]})
POD_FIELDS = Place(named={**_POD_SPEC, "metadata": METADATA, "spec": _SPEC})
BUDGET_FIELDS = Place(named={**POD_FIELDS.named, "spec": Place(named={**_SPEC.named, "selector": STRUCTS["replaced"]})})
