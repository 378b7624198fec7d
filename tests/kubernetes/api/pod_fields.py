"""The places of a pod, of what holds pod templates, and of a budget in one: enough of them to try patches with."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.types import METADATA, STRUCTS, SchemaPlace

_POD_SPEC = STRUCTS["PodSpec"].named
_SPEC = SchemaPlace(named={**_POD_SPEC, "template": STRUCTS["Template"]})
POD_FIELDS = SchemaPlace(named={**_POD_SPEC, "metadata": METADATA, "spec": _SPEC})
BUDGET_FIELDS = SchemaPlace(
    named={**POD_FIELDS.named, "spec": SchemaPlace(named={**_SPEC.named, "selector": STRUCTS["replaced"]})}
)
