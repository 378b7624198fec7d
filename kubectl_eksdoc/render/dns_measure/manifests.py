"""What a measurement would make, as kubectl takes it."""

from __future__ import annotations

from collections.abc import Iterable

from kubectl_eksdoc.core.model.api_objects import Doc
from kubectl_eksdoc.core.plan.dns.measuring.pods import manifests
from kubectl_eksdoc.render.dns_measure.view import MeasureView
from kubectl_eksdoc.render.formats import Formats
from kubectl_eksdoc.render.kubectl_takes import manifest_formats


def _objects(view: MeasureView) -> Iterable[Doc]:
    return manifests(view.plan, view.program, view.asked)


MANIFESTS: Formats[MeasureView] = manifest_formats(_objects)
