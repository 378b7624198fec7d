"""What a Terraform plan says of EKS add-ons (``aws_eks_addon``, ``awscc_eks_addon``), as it is written there."""

from __future__ import annotations

import re

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.kinds import Unknown

Text = str | None | Unknown
"""None where the plan says null or nothing: it is not set. Unknown where it is known after apply only."""


@frozen
class AddonSettings:
    """Arguments of the resource, by the provider's names. `resolve_conflicts` is that of providers before 6,
    `on_create` and `on_update` are ``resolve_conflicts_on_create`` and ``…_on_update`` of 5 and later. `region` is an
    argument of 6 and later."""

    cluster: Text
    addon: Text
    version: Text
    configuration: Text = None
    resolve_conflicts: Text = None
    on_create: Text = None
    on_update: Text = None
    role: Text = None
    preserve: bool | Unknown | None = None
    arn: Text = None
    region: Text = None


@frozen
class AddonResource:
    """A resource in a plan. `address` with its modules: ``module.eks.aws_eks_addon.this["vpc-cni"]``; `actions` as
    Terraform names them (``no-op``, ``create``, ``update``, ``delete``, ``read``), two for a replacement. `before` and
    `after` are None where there is nothing. `differs`: the arguments, by the provider's names, that are not the same
    before and after, or not known; null, "" and an empty list are the same. `arguments`: all that the provider knows
    for it, set or not, which tells how old it is. `cloud_control`: it is an ``awscc_eks_addon``."""

    address: str
    module: str
    actions: tuple[str, ...]
    before: AddonSettings | None
    after: AddonSettings | None
    differs: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    cloud_control: bool = False

    @property
    def module_path(self) -> str:
        """Of `module`, its names without instances: ``module.a["x"].module.eks`` is ``a.eks``."""
        return ".".join(_CALL.findall(_INSTANCE.sub("", self.module)))


_INSTANCE = re.compile(r'\[(?:"(?:[^"\\]|\\.)*"|[^]"]*)\]')
_CALL = re.compile(r"(?:^|\.)module\.([^.]+)")


@frozen
class ProviderConstraint:
    """A provider as a module (its path) asks for it. `version` such as ``~> 5.0``, "" where none is asked for: a plan
    does not say which version made it."""

    module: str
    source: str
    version: str


@frozen
class ModuleCall:
    """A module that is called: `path` as `AddonResource.module_path`, `source` such as
    ``terraform-aws-modules/eks/aws``, `version` as it is asked for, "" where it is not. `given`: the arguments that
    are given to it, by name."""

    path: str
    source: str
    version: str = ""
    given: tuple[str, ...] = ()


@frozen
class ClusterUpgrade:
    """A cluster whose version of Kubernetes the plan changes. `before` and `after` are the versions, `after` None where
    the plan does not say."""

    cluster: str
    arn: str
    before: str
    after: str | None


@frozen
class TerraformPlan:
    """`addons` by address. `failed`: planning ended with errors. `deferred`: add-ons that this plan leaves to a later
    one, so that more may happen than it says. `unread`: changes of add-ons by resources of other kinds, of which
    nothing more is read. `upgrades`: of clusters, by address."""

    file: str
    terraform: str
    addons: tuple[AddonResource, ...]
    constraints: tuple[ProviderConstraint, ...] = ()
    failed: bool = False
    deferred: tuple[str, ...] = ()
    modules: tuple[ModuleCall, ...] = ()
    unread: tuple[str, ...] = ()
    upgrades: tuple[ClusterUpgrade, ...] = ()

    def module(self, path: str) -> ModuleCall | None:
        """The call at that path, None where the plan does not say."""
        return next((each for each in self.modules if each.path == path), None)
