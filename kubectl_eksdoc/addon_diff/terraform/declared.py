"""Where people write what a resource of a plan says: at the resource, or in the arguments of a module that is known.

Sources: terraform-aws-modules/eks, main.tf and variables.tf of v18 to v21 (it overwrites on update since v19, hands on
``configuration_values`` since v19.1 and ``resolve_conflicts_on_update`` since v20; v21 calls ``cluster_addons``
``addons``); aws-ia/eks-blueprints-addons, amazon-eks-addons.md (both default to OVERWRITE).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kubectl_eksdoc.addon_diff.terraform.generations import bounds
from kubectl_eksdoc.addon_diff.terraform.requests import AddonRequest
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.terraform import ModuleCall, TerraformPlan

_EKS = ("terraform-aws-modules/eks/aws", "terraform-aws-modules/terraform-aws-eks")
_BLUEPRINTS = ("aws-ia/eks-blueprints-addons/aws", "aws-ia/terraform-aws-eks-blueprints-addons")
_INSTANCE = re.compile(r'\["((?:[^"\\]|\\.)*)"\]\Z')
_ON_UPDATE = ("resolve_conflicts", "resolve_conflicts_on_update")
_RENAMED = (21, 0)
_OVERWRITES_SINCE = (19, 0)
_VALUES_SINCE = (19, 1)
_TWO_MODES_SINCE = (20, 0)


@dataclass(frozen=True, slots=True)
class DeclaredAddon:
    """`module`: the names of the module that is to be written to, from the root's; "" where it is the resource itself.
    `map`: its argument with the add-ons, ``cluster_addons``; `key`: the add-on's there, its name in most. `source` and
    `version` as it is called. `overwrites`: it says OVERWRITE for an update where nothing else is given. `one_mode`: it
    hands on ``resolve_conflicts`` only, whatever the provider has; `gives_values`: it hands on configuration values."""

    address: str
    key: str
    module: str = ""
    map: str = ""
    source: str = ""
    version: str = ""
    overwrites: bool = False
    one_mode: bool = False
    gives_values: bool = True

    def argument(self, name: str) -> str:
        """What to write to: ``cluster_addons["vpc-cni"].preserve of module "eks"``."""
        if self.module:
            return f'{self.map}["{self.key}"].{name} of module "{self.module}"'
        return f"{name} of {self.address}"

    def said(self, name: str, value: str) -> str:
        """That an argument says so, and who said it."""
        text = f'{name} = "{value}"' if name else f"no argument says how conflicts are resolved: {value}"
        if self.module and self.overwrites and value == "OVERWRITE" and name in _ON_UPDATE:
            asked = f" {self.version}" if self.version else ""
            return f"{text}: {self.source}{asked} shows where {self.argument(name)} says nothing else"
        return f"{text}, by {self.argument(name)}" if self.module and name else text


def declared(plan: TerraformPlan, request: AddonRequest) -> DeclaredAddon:
    """By the calls that the plan's configuration has; where the module is none that is known, the resource itself."""
    addon = "" if isinstance(request.addon, Unknown) or request.addon is None else request.addon
    instance = _INSTANCE.search(request.address)
    key = instance[1] if instance else addon
    path = request.resource.module_path
    call = plan.module(path) if path else None
    if call is None or not (_is_of(call, _EKS) or _is_of(call, _BLUEPRINTS)):
        return DeclaredAddon(request.address, key)
    by_eks = _is_of(call, _EKS)
    lowest, end = bounds([call.version or call.source.partition("?ref=")[2]])
    return DeclaredAddon(
        request.address,
        key,
        path,
        _map(call, lowest) if by_eks else "eks_addons",
        call.source,
        call.version,
        not by_eks or end > _OVERWRITES_SINCE,
        by_eks and end <= _TWO_MODES_SINCE,
        not by_eks or end > _VALUES_SINCE,
    )


def _is_of(call: ModuleCall, sources: tuple[str, ...]) -> bool:
    return any(each in call.source for each in sources)


def _map(call: ModuleCall, lowest: tuple[int, int]) -> str:
    for name in ("addons", "cluster_addons"):
        if name in call.given:
            return name
    return "addons" if lowest >= _RENAMED else "cluster_addons"
