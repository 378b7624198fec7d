"""The update with values that change nothing, as the tools write it by which people declare add-ons.

Sources: aws-cli 2 (``eks update-addon``); Terraform's AWS provider: ``configuration_values`` from 4.47,
``resolve_conflicts`` deprecated in 5.0 and removed in 6.0, PRESERVE from 4.32 (documented from 4.34); eksctl's schema.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator

from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.addon_diff.plan import AddonPlan, WayOut
from kubectl_eksdoc.addon_diff.terraform.generations import Generation
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.api_objects import Doc


def as_json(values: Doc) -> str:
    """On one line, keys sorted."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def printed_text(text: str) -> str:
    """Of JSON, or of anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return printed(text)
    kept = printed(found)
    return text if kept == found else json.dumps(kept, ensure_ascii=False)


def given(values: Doc) -> str:
    """As an argument for a shell; where a secret is in it, a file of one's own."""
    return as_json(values) if printed(values) == values else "file://values.json"


def safest(way: WayOut) -> Mode:
    """With NONE, EKS refuses to overwrite a field of another owner; where fields are left that no value keeps, only
    PRESERVE leaves them."""
    return Mode.PRESERVE if way.cannot else Mode.NONE


def update_addon(plan: AddonPlan, way: WayOut) -> str:
    """For a shell."""
    return shlex.join([*_update(plan, safest(way)), "--configuration-values", given(way.values)])


def _update(plan: AddonPlan, mode: Mode) -> list[str]:
    facts = plan.facts
    words = ["aws", "eks", "update-addon", "--cluster-name", facts.cluster.name, "--addon-name", facts.addon.name]
    words += ["--addon-version", facts.target.version, "--resolve-conflicts", mode.value]
    return words + (["--region", facts.cluster.region] if facts.cluster.region else [])


def next_update(plan: AddonPlan) -> str:
    """For a shell: with the values that are proposed; without any, so that EKS keeps those it has, where none are
    needed. "" where no values are known with which it can be made."""
    if plan.facts.offered is False:
        return ""
    if plan.way_out is None:
        return "" if any(change.at_risk for change in plan.changes) else shlex.join(_update(plan, Mode.NONE))
    return update_addon(plan, plan.way_out) if plan.way_out.usable else ""


def terraform(plan: AddonPlan, way: WayOut) -> Iterator[tuple[str, str]]:
    """(of which versions of the provider, the arguments), the newest first; what an old one cannot do is said."""
    addon = f'addon_name    = "{plan.facts.addon.name}"'
    for generation in (each for each in Generation if each is not Generation.V5):  # written as for 6
        called = "5 and 6" if generation is Generation.V6 else generation.value
        yield called, "\n".join((addon, *arguments(plan, way, generation)))


def arguments(
    plan: AddonPlan,
    way: WayOut,
    generation: Generation,
    creates: bool = False,
    conflicts: str = "",
    module_lacks: bool = False,
) -> tuple[str, ...]:
    """What a resource says for the values that change nothing, as that generation of the provider takes it. At its
    creation nothing but OVERWRITE makes EKS's what is somebody's already. `conflicts`: the argument that resolves them,
    "" for the generation's own; `module_lacks`: the module around it hands on no configuration values."""
    version = f'addon_version = "{plan.facts.target.version}"'
    if module_lacks or not generation.gives_values:
        cannot = f"this {'module' if module_lacks else 'provider'} gives no configuration values"
        if creates:
            return (version, f"# {cannot}: create it by the AWS CLI, and import it")
        refused = "" if generation.gives_preserve else ", and PRESERVE is refused"
        mode = (f'resolve_conflicts = "{Mode.PRESERVE.value}"',) if generation.gives_preserve else ()
        return (version, *mode, f"# {cannot}: update by the AWS CLI, and set addon_version here as well{refused}")
    when = "" if generation.start < (5, 0) else "_on_create" if creates else "_on_update"
    mode = (f'{conflicts or "resolve_conflicts" + when} = "{(Mode.OVERWRITE if creates else safest(way)).value}"',)
    return (version, *mode, f"configuration_values = jsonencode({_hcl(printed(way.values))})")


def eksctl(plan: AddonPlan, way: WayOut) -> Doc:
    """The add-on's entry of a ClusterConfig."""
    return {
        "addons": [
            {
                "name": plan.facts.addon.name,
                "version": plan.facts.target.version,
                "resolveConflicts": safest(way).value.lower(),
                "configurationValues": as_json(printed(way.values)),
            }
        ]
    }


def _hcl(values: object, depth: int = 1) -> str:
    """Values as Terraform writes objects; ``${`` and ``%{`` would be templates there."""
    pad = "  " * depth
    if isinstance(values, dict) and values:
        lines = [f"{pad}{_string(str(key))} = {_hcl(values[key], depth + 1)}" for key in sorted(values)]
        return "{\n" + "\n".join(lines) + "\n" + "  " * (depth - 1) + "}"
    if isinstance(values, list) and values:
        lines = [f"{pad}{_hcl(each, depth + 1)}," for each in values]
        return "[\n" + "\n".join(lines) + "\n" + "  " * (depth - 1) + "]"
    if isinstance(values, str):
        return _string(values)
    return json.dumps(values)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
