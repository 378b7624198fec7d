"""What a probe would make, as kubectl takes it."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.plan.metadata.probing.pods import manifests
from kubectl_eksdoc.render.formats import Formats
from kubectl_eksdoc.render.kubectl_takes import manifest_formats
from kubectl_eksdoc.render.metadata_probe.view import ProbeView


def _objects(view: ProbeView) -> Iterable[Doc]:
    return manifests(view.plan.probe, view.plan.pods, view.plan.manner)


MANIFESTS: Formats[ProbeView] = manifest_formats(_objects)
