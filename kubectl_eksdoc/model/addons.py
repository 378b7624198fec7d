"""EKS add-ons: as they are, as they could be, and how they were updated."""

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
class Issue:
    """What EKS says is wrong. `code` such as ``ConfigurationConflict``."""

    code: str
    message: str
    resources: tuple[str, ...] = ()


@frozen
class Addon:
    """As it is (DescribeAddon). `configuration` is what the user gave, JSON or YAML, "" for nothing; how conflicts were
    resolved is not in it: only an `EksAddonUpdate` says that."""

    name: str
    version: str
    status: str
    configuration: str = ""
    role: str = ""
    namespace: str = ""
    issues: tuple[Issue, ...] = ()
    changed: datetime | None = None


@frozen
class CompatibleVersion:
    """A Kubernetes version that an add-on's version is for; `default`: the one that EKS installs there."""

    kubernetes: str
    default: bool = False


@frozen
class AddonVersion:
    """One that could be installed (DescribeAddonVersions)."""

    version: str
    fits: tuple[CompatibleVersion, ...]

    def is_default_for(self, kubernetes: str) -> bool:
        return any(each.kubernetes == kubernetes and each.default for each in self.fits)


@frozen
class AddonVersions:
    """Those of one add-on, as EKS lists them: the newest first. `kind`: what it is for; `by`: who publishes it."""

    name: str
    kind: str
    by: str
    versions: tuple[AddonVersion, ...]


@frozen
class AddonConfiguration:
    """What may be configured of a version (DescribeAddonConfiguration): a JSON Schema of draft 6 so far. Some versions
    have none, and older ones cannot be configured: it is unknown then, and nothing follows from that."""

    name: str
    version: str
    schema: Doc | Unknown


@frozen
class EksAddonUpdate:
    """One that was asked for (DescribeUpdate). `parameters` by the names EKS gives them, such as ``AddonVersion`` and
    ``ResolveConflicts``; `status` such as ``Successful``."""

    id: str
    type: str
    status: str
    parameters: tuple[tuple[str, str], ...] = ()
    begun: datetime | None = None
    errors: tuple[Issue, ...] = ()

    def parameter(self, name: str) -> str:
        """ "" where it was not given."""
        return next((value for key, value in self.parameters if key == name), "")


@frozen
class UpdateCall:
    """What UpdateAddon is asked for. `mode` as EKS spells it; `values`: the whole document as text, None to send none,
    with which EKS keeps what it has. `token`: the same one twice is the same update."""

    addon: str
    version: str
    mode: str
    values: str | None
    token: str


@frozen
class VersionSide:
    """What is known of a version: its chart's defaults, and the schema of its configuration."""

    version: str
    chart: Doc | Unknown
    schema: Doc | Unknown


@frozen
class AddonSide:
    """What AWS says of an installed add-on and of an update of it to `target`. `values`: the configuration of today;
    `offered`: whether EKS offers the target for this cluster; `steps`: the versions to go by, the target last;
    `between`: all that are newer than the installed one, up to the target, the oldest first."""

    addon: Addon
    now: VersionSide
    target: VersionSide
    values: Doc | Unknown
    offered: bool | Unknown
    steps: tuple[str, ...]
    between: tuple[str, ...] = ()


@frozen
class UpdateHistory:
    """`updates` are the latest that EKS lists, the newest first; `unseen`: so many more it lists, of which nothing was
    asked. `values`: by the id of an update, the configuration values that it gave; one that is not there gave none."""

    updates: tuple[EksAddonUpdate | Unknown, ...]
    unseen: int = 0
    values: Mapping[str, Doc | Unknown] = field(default_factory=dict)


@frozen
class AddonPast:
    """What AWS says of an installed add-on and of what was done to it. `update` is the one that is looked at, Absent
    where EKS knows of none."""

    addon: Addon
    now: VersionSide
    values: Doc | Unknown
    history: UpdateHistory | Unknown
    update: EksAddonUpdate | Unknown | Absent


# Where something stands in an add-on's configuration, and what is wrong there.


ConfigPath = tuple[str, ...]
"""The keys down to a value: ``("init", "env", "DISABLE_TCP_EARLY_DEMUX")``. In a schema the items of a list are the
step ``[]`` and keys that are not named ``*``; in values the items are ``[0]``, ``[1]`` and so on."""

ITEMS = "[]"
ANY_KEY = "*"

_PLAIN = re.compile(r"[^\s.\[\]\"]+\Z")
_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_ITEM = re.compile(r"\[\d*\]\Z")


def item(index: int) -> str:
    """The step to an item of a list."""
    return f"[{index}]"


def shown(path: ConfigPath) -> str:
    """As people write it: ``init.env.X``, ``tolerations[0].key``, ``nodeSelector["kubernetes.io/os"]``."""
    text = ""
    for step in path:
        if _ITEM.match(step):
            text += step
        elif _PLAIN.match(step):
            text += f".{step}" if text else step
        else:
            text += f'["{step.translate(_ESCAPED)}"]'
    return text or "(the whole configuration)"


def referred(schema: Doc, ref: Any) -> Any:
    """What a ``$ref`` within the schema names (``#/definitions/Env``), None for any other."""
    if not isinstance(ref, str) or "%" in ref or not (ref == "#" or ref.startswith("#/")):
        return None
    found: Any = schema
    for step in ref[2:].split("/") if ref != "#" else ():
        if not isinstance(found, dict):
            return None
        found = found.get(step.replace("~1", "/").replace("~0", "~"))
    return found


@frozen
class SchemaViolation:
    """One thing in configuration values that their schema does not allow.

    `what` in words; `rule` as JSON Schema names it (``type``, ``additionalProperties``, ``required``). `wanted`: what
    the rule asks for (types, values, a pattern, a number), and `found` the JSON type that stands there. `doubtful`: the
    schema says it, but whoever checks it may not: JSON Schema lets a checker skip a ``format``, and EKS's ``boolean``
    and ``integer`` are none of the standard's.
    """

    path: ConfigPath
    what: str
    rule: str
    wanted: tuple[str, ...] = ()
    found: str = ""
    doubtful: bool = False

    def __str__(self) -> str:
        return f"{shown(self.path)}: {self.what}"


# What a Terraform plan says of EKS add-ons (``aws_eks_addon``, ``awscc_eks_addon``), as it is written there.


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
