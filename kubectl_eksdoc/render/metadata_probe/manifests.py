"""What a probe would make, as kubectl takes it."""

from __future__ import annotations

from kubectl_eksdoc.core.plan.metadata.probing.pods import manifests
from kubectl_eksdoc.render.encode import Json, plain_value, to_json, to_yaml
from kubectl_eksdoc.render.formats import Formats
from kubectl_eksdoc.render.look import Look
from kubectl_eksdoc.render.metadata_probe.view import ProbeView


def _made(view: ProbeView) -> list[Json]:
    return [plain_value(doc) for doc in manifests(view.plan.probe, view.plan.pods, view.plan.manner)]


def _yaml(view: ProbeView, look: Look) -> str:
    return "---\n".join(to_yaml(doc, look.ascii, blocks=True) for doc in _made(view))


def _json(view: ProbeView, look: Look) -> str:
    return to_json({"apiVersion": "v1", "kind": "List", "items": _made(view)}, look.ascii)


MANIFESTS: Formats[ProbeView] = Formats("a dry run", {"table": _yaml, "wide": _yaml, "yaml": _yaml, "json": _json})
"""Of a dry run: the objects and nothing else, whatever table was asked for."""
