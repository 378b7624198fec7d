"""EKS add-ons: their state, the available versions, and their updates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from kubectl_eksdoc.frozen import frozen

from .api_objects import Doc
from .kinds import Absent, Unknown


@frozen
class HealthIssue:
    """A health issue that EKS reports. `code` such as ``ConfigurationConflict``."""

    code: str
    message: str
    resources: tuple[str, ...] = ()


@frozen
class Addon:
    """An installed add-on (DescribeAddon). `configuration`: the user's values, JSON or YAML, "" for none. It does not
    include how conflicts were resolved: only an `EksAddonUpdate` does."""

    name: str
    version: str
    status: str
    configuration: str = ""
    role: str = ""
    namespace: str = ""
    issues: tuple[HealthIssue, ...] = ()
    changed: datetime | None = None


@frozen
class CompatibleVersion:
    """A Kubernetes version that an add-on version supports; `default`: the version that EKS installs there."""

    kubernetes: str
    default: bool = False


@frozen
class AddonVersion:
    """An available version (DescribeAddonVersions)."""

    version: str
    fits: tuple[CompatibleVersion, ...]

    def is_default_for(self, kubernetes: str) -> bool:
        return any(each.kubernetes == kubernetes and each.default for each in self.fits)


@frozen
class AddonVersions:
    """The versions of one add-on, newest first, as EKS lists them. `kind`: its purpose; `by`: the publisher."""

    name: str
    kind: str
    by: str
    versions: tuple[AddonVersion, ...]


@frozen
class AddonConfiguration:
    """The configuration that a version accepts (DescribeAddonConfiguration): a JSON Schema, of draft 6 so far. Some
    versions have no schema, and older ones cannot be configured: then it is unknown, and no conclusion is drawn."""

    name: str
    version: str
    schema: Doc | Unknown


@frozen
class EksAddonUpdate:
    """An update of an add-on (DescribeUpdate). `parameters` by EKS's names, such as ``AddonVersion`` and
    ``ResolveConflicts``; `status` such as ``Successful``."""

    id: str
    type: str
    status: str
    parameters: tuple[tuple[str, str], ...] = ()
    begun: datetime | None = None
    errors: tuple[HealthIssue, ...] = ()

    def parameter(self, name: str) -> str:
        """The value of a parameter, "" if it was not given."""
        return next((value for key, value in self.parameters if key == name), "")


@frozen
class UpdateCall:
    """The parameters of UpdateAddon. `mode` as EKS spells it; `values`: the whole document as text, None to send none,
    so that EKS keeps the current values. `token`: two calls with the same token are one update."""

    addon: str
    version: str
    mode: str
    values: str | None
    token: str


@frozen
class AddonVersionDetails:
    """Facts about a version: the defaults of its chart, and the schema of its configuration."""

    version: str
    chart: Doc | Unknown
    schema: Doc | Unknown


@frozen
class AddonUpdateFacts:
    """AWS's facts about an installed add-on and its update to `target`. `values`: the current configuration; `offered`:
    whether EKS offers the target for this cluster; `steps`: the versions of the update path, the target last;
    `between`: all versions newer than the installed one, up to the target, oldest first."""

    addon: Addon
    now: AddonVersionDetails
    target: AddonVersionDetails
    values: Doc | Unknown
    offered: bool | Unknown
    steps: tuple[str, ...]
    between: tuple[str, ...] = ()


@frozen
class UpdateHistory:
    """`updates` are the latest that EKS lists, newest first; `unseen`: number of further updates that were not read.
    `values`: by update ID, the configuration values of the update; an update that is not included had none."""

    updates: tuple[EksAddonUpdate | Unknown, ...]
    unseen: int = 0
    values: Mapping[str, Doc | Unknown] = field(default_factory=dict)


@frozen
class AddonHistoryFacts:
    """AWS's facts about an installed add-on and its past updates. `update` is the update in question, Absent if EKS
    knows of none."""

    addon: Addon
    now: AddonVersionDetails
    values: Doc | Unknown
    history: UpdateHistory | Unknown
    update: EksAddonUpdate | Unknown | Absent


# Paths in an add-on's configuration, and violations of its schema.


ConfigPath = tuple[str, ...]
"""The keys that lead to a value: ``("init", "env", "DISABLE_TCP_EARLY_DEMUX")``. In a schema, the items of a list are
the step ``[]`` and keys without names are ``*``; in values, the items are ``[0]``, ``[1]`` and so on."""

ITEMS_STEP = "[]"
ANY_KEY = "*"

_PLAIN_KEY = re.compile(r"[^\s.\[\]\"]+\Z")
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_ITEM = re.compile(r"\[\d*\]\Z")


def item_step(index: int) -> str:
    """The step to an item of a list."""
    return f"[{index}]"


def format_path(path: ConfigPath) -> str:
    """The readable form: ``init.env.X``, ``tolerations[0].key``, ``nodeSelector["kubernetes.io/os"]``."""
    text = ""
    for step in path:
        if _ITEM.match(step):
            text += step
        elif _PLAIN_KEY.match(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step.translate(_ESCAPES)}"]'
    return text or "(the whole configuration)"


def resolve_ref(schema: Doc, ref: Any) -> Any:
    """The target of a ``$ref`` within the schema (``#/definitions/Env``), None for any other reference."""
    if not isinstance(ref, str) or "%" in ref or not (ref == "#" or ref.startswith("#/")):
        return None
    node: Any = schema
    for step in ref[2:].split("/") if ref != "#" else ():
        if not isinstance(node, dict):
            return None
        node = node.get(step.replace("~1", "/").replace("~0", "~"))
    return node


@frozen
class SchemaViolation:
    """A configuration value that the schema does not allow.

    `what` in words; `rule` is the JSON Schema keyword (``type``, ``additionalProperties``, ``required``). `allowed`:
    what the rule allows (types, values, a pattern, a number); `found`: the JSON type of the value. `doubtful`: a
    checker may ignore the rule: JSON Schema lets a checker skip a ``format``, and EKS's ``boolean`` and ``integer`` are
    not standard formats.
    """

    path: ConfigPath
    what: str
    rule: str
    allowed: tuple[str, ...] = ()
    found: str = ""
    doubtful: bool = False

    def __str__(self) -> str:
        return f"{format_path(self.path)}: {self.what}"


# EKS add-ons in a Terraform plan (``aws_eks_addon``, ``awscc_eks_addon``), as the plan contains them.


PlannedText = str | None | Unknown
"""None if the plan has null or no value: it is not set. Unknown if the value is known only after apply."""


@frozen
class AddonSettings:
    """Arguments of the resource, by the provider's names. `resolve_conflicts` belongs to providers before version 6,
    `on_create` and `on_update` are ``resolve_conflicts_on_create`` and ``…_on_update`` of version 5 and later. `region`
    is an argument of version 6 and later."""

    cluster: PlannedText
    addon: PlannedText
    version: PlannedText
    configuration: PlannedText = None
    resolve_conflicts: PlannedText = None
    on_create: PlannedText = None
    on_update: PlannedText = None
    role: PlannedText = None
    preserve: bool | Unknown | None = None
    arn: PlannedText = None
    region: PlannedText = None


@frozen
class AddonResource:
    """An add-on resource in a plan. `address` with its modules: ``module.eks.aws_eks_addon.this["vpc-cni"]``; `actions`
    by Terraform's names (``no-op``, ``create``, ``update``, ``delete``, ``read``), two for a replacement. `before` and
    `after` are None if the resource does not exist. `differs`: the arguments, by the provider's names, that change or
    are not known; null, "" and an empty list are equal. `arguments`: all arguments that the provider has for it, set or
    not, which shows how old the provider is. `cloud_control`: it is an ``awscc_eks_addon``."""

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
        """The names of `module` without instance keys: ``module.a["x"].module.eks`` is ``a.eks``."""
        return ".".join(_MODULE_NAME.findall(_INSTANCE.sub("", self.module)))


_INSTANCE = re.compile(r'\[(?:"(?:[^"\\]|\\.)*"|[^]"]*)\]')
_MODULE_NAME = re.compile(r"(?:^|\.)module\.([^.]+)")


@frozen
class ProviderConstraint:
    """The version constraint of a module (its path) on a provider. `version` such as ``~> 5.0``, "" without one: a plan
    does not say which version made it."""

    module: str
    source: str
    version: str


@frozen
class ModuleCall:
    """A module call: `path` as `AddonResource.module_path`, `source` such as ``terraform-aws-modules/eks/aws``,
    `version` as requested, "" without one. `arguments`: the names of its arguments."""

    path: str
    source: str
    version: str = ""
    arguments: tuple[str, ...] = ()


@frozen
class ClusterUpgrade:
    """A cluster whose Kubernetes version the plan changes. `before` and `after` are the versions, `after` None if the
    plan does not say."""

    cluster: str
    arn: str
    before: str
    after: str | None


@frozen
class TerraformPlan:
    """`addons` by address. `failed`: planning ended with errors. `deferred`: add-ons that Terraform deferred to a later
    plan, so more changes may follow. `not_read`: changes of add-ons by resources of other kinds, which are not read
    further. `upgrades`: of clusters, by address."""

    file: str
    terraform: str
    addons: tuple[AddonResource, ...]
    constraints: tuple[ProviderConstraint, ...] = ()
    failed: bool = False
    deferred: tuple[str, ...] = ()
    modules: tuple[ModuleCall, ...] = ()
    not_read: tuple[str, ...] = ()
    upgrades: tuple[ClusterUpgrade, ...] = ()

    def module(self, path: str) -> ModuleCall | None:
        """The call at that path, None if the plan does not contain it."""
        return next((each for each in self.modules if each.path == path), None)
