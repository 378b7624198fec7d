"""The places of a pod, of what holds pod templates, and of a budget in one: enough of them to try patches with."""

from __future__ import annotations

from dataclasses import replace

from kubectl_eksdoc.kubernetes.api.places import WHOLE, Place
from kubectl_eksdoc.kubernetes.api.types.metadata import METADATA
from kubectl_eksdoc.kubernetes.api.types.pods import POD_SPEC, TEMPLATE

_SPEC = Place(named={**POD_SPEC.named, "template": TEMPLATE})
POD_FIELDS = Place(named={**POD_SPEC.named, "metadata": METADATA, "spec": _SPEC})
BUDGET_FIELDS = Place(
    named={
        **POD_FIELDS.named,
        "spec": Place(named={**_SPEC.named, "selector": replace(WHOLE, strategy=("replace",))}),
    }
)
