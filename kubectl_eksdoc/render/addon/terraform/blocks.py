"""What to write in Terraform so that a change loses nothing: at the resource, or in the arguments of its module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubectl_eksdoc.addon_diff.plan import AddonPlan, WayOut
from kubectl_eksdoc.addon_diff.terraform.declared import Declared
from kubectl_eksdoc.addon_diff.terraform.result import Change
from kubectl_eksdoc.render.addon.commands import arguments
from kubectl_eksdoc.render.text import joined


def blocks(change: Change, plan: AddonPlan, way: WayOut) -> Iterator[tuple[str, str]]:
    """(of which versions of the provider, what to write), newest first; those that are written alike are one."""
    made: dict[str, list[str]] = {}
    one = "resolve_conflicts" if change.conflicts == "resolve_conflicts" else ""
    cloud = change.request.resource.cloud_control
    for generation in change.generations:
        lines = arguments(plan, way, generation, change.creates, one, not change.where.gives_values)
        made.setdefault(_written(change.where, lines), []).insert(0, "awscc" if cloud else generation.value)
    for text, versions in made.items():
        yield joined(versions), text


def _written(where: Declared, lines: Sequence[str]) -> str:
    """Of a module, the part of its call that is about the add-on."""
    every = [line for text in lines for line in text.splitlines()]
    if not where.module:
        return "\n".join([f"# {where.address}", *every])
    outer, _, name = where.module.rpartition(".")
    within = [f"# in module {outer}"] if outer else []
    inner = [f"      {line}" for line in every]
    head = [f'module "{name}" {{', f"  {where.map} = {{", f'    "{where.key}" = {{']
    return "\n".join([*within, *head, *inner, "    }", "  }", "}"])
