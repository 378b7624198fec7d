"""The field paths of pods, of workloads with pod templates, and of budgets: enough of them for tests of patches."""

from __future__ import annotations

from kubectl_eksdoc.kubernetes.api.types import METADATA, STRUCTS, SchemaPlace

_POD_SPEC = STRUCTS["PodSpec"].named
_SPEC = SchemaPlace(named={**_POD_SPEC, "template": STRUCTS["Template"]})
POD_FIELDS = SchemaPlace(named={**_POD_SPEC, "metadata": METADATA, "spec": _SPEC})
BUDGET_FIELDS = SchemaPlace(
    named={**POD_FIELDS.named, "spec": SchemaPlace(named={**_SPEC.named, "selector": STRUCTS["replaced"]})}
)
