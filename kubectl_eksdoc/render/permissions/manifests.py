"""Roles and bindings as they are given to kubectl, below what says in words what they allow."""

from __future__ import annotations

from collections.abc import Iterator

from kubectl_eksdoc.core.plan.permissions.objects import Called, objects
from kubectl_eksdoc.render.in_cluster import Manifests, Step
from kubectl_eksdoc.render.permissions.steps import again
from kubectl_eksdoc.render.permissions.view import PermissionsView
from kubectl_eksdoc.render.permissions.words import about, not_granted, risks


def manifests(view: PermissionsView) -> Manifests:
    docs = objects(Called(view.name, view.tool_version), view.wanted.permissions, view.subjects)
    return Manifests((f"kubectl eksdoc {view.tool_version}: {about(view)}", *_notes(view)), _steps(view), docs)


def _notes(view: PermissionsView) -> Iterator[str]:
    if not view.subjects:
        yield "Nobody is bound to it: --bind Group:NAME prints the bindings, too."
    yield from risks(view.wanted)
    yield from not_granted(view)
    yield from view.cautions
    optional = [each.permission.said for each in view.wanted.needed if not each.required]
    if optional:
        yield f"Without these all else is answered, and what rests on them is unknown: {'; '.join(optional)}"


def _steps(view: PermissionsView) -> tuple[Step, ...]:
    return (Step("what rests on each:", f"{again(view)} -o wide"),)
