"""What a Terraform plan will ask EKS to do with its add-ons.

Source: the provider's ``internal/service/eks/addon.go`` of 5.x and 6.x. It calls UpdateAddon where the version, the
configuration, the role or pod identities change; a changed ``resolve_conflicts`` alone asks for nothing. With it goes
``resolve_conflicts``, else ``resolve_conflicts_on_update``, else nothing, which EKS takes for NONE (read in discussions
of eksctl and Cluster API, not in the API's text). Values that did not change are not sent: EKS keeps what it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import AddonResource, AddonSettings, ModuleCall, TerraformPlan, Text
from kubectl_eksdoc.model.kinds import Unknown

from .prediction import Mode


class Kind(Enum):
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    FORGET = "forget"


@frozen
class AddonRequest:
    """What EKS is asked for, for the resource at `address`.

    `mode`: NONE, OVERWRITE or PRESERVE, and `set_by` the argument that says so, "" for EKS's own default. `before` is
    None where there is no such version yet; `after` None where the add-on goes. `sends_values`: configuration values go
    with it, which are `values`; otherwise what EKS has stays; `sends_version`: so does `after`. `keeps`: a deletion
    leaves its objects in the cluster. `resource`: the one that is changed.
    """

    resource: AddonResource
    kind: Kind
    cluster: Text
    addon: Text
    before: Text
    after: Text
    mode: str | Unknown
    set_by: str
    values: Text
    sends_values: bool
    sends_version: bool
    keeps: bool = False

    @property
    def address(self) -> str:
        return self.resource.address

    @property
    def sides(self) -> tuple[AddonSettings, ...]:
        """What the resource says of the add-on that is asked for: a replacement may end one, and begin another."""
        before, after = self.resource.before, self.resource.after
        sides = {Kind.DELETE: (before,), Kind.CREATE: (after,)}.get(self.kind, (before, after))
        return tuple(each for each in sides if each is not None)

    def __str__(self) -> str:
        way = {
            Kind.UPDATE: f"from {_shown(self.before)} to {_shown(self.after)}",
            Kind.CREATE: f"at {_shown(self.after)}",
            Kind.REPLACE: f"by {_shown(self.after)}",
        }.get(self.kind, "")
        mode = f", {_shown(self.mode)} by {self.set_by or 'default'}" if way else ""
        return f"{self.address}: {self.kind.value} {_shown(self.addon)} {way}".rstrip() + mode


def requests(plan: TerraformPlan) -> tuple[AddonRequest, ...]:
    """By address; what stays as it is, or changes in Terraform's state only, is not among them."""
    return tuple(each for resource in plan.addons for each in _requests(resource))


def _requests(resource: AddonResource) -> Iterator[AddonRequest]:
    kind = _kind(resource)
    before, after = resource.before, resource.after
    if kind is None or not (after or before):
        return
    if kind is Kind.REPLACE and before is not None and after is not None and _is_another(before, after):
        yield _request(resource, Kind.DELETE, before, None)
        yield _request(resource, Kind.CREATE, None, after)
    else:
        yield _request(resource, kind, before, after)


def _is_another(before: AddonSettings, after: AddonSettings) -> bool:
    """Another add-on, or one in another cluster; before 6, the provider says no region."""
    moved = bool(before.region and after.region) and before.region != after.region
    return moved or (before.cluster, before.addon) != (after.cluster, after.addon)


def _request(
    resource: AddonResource, kind: Kind, before: AddonSettings | None, after: AddonSettings | None
) -> AddonRequest:
    settings = after or before
    assert settings is not None, "there is one of them"
    creates = kind in (Kind.CREATE, Kind.REPLACE)
    mode, set_by = _mode(after, creates) if after is not None else (NONE, "")
    goes = before is not None and kind in (Kind.DELETE, Kind.REPLACE)
    return AddonRequest(
        resource=resource,
        kind=kind,
        cluster=settings.cluster,
        addon=settings.addon,
        before=before.version if before is not None else None,
        after=after.version if after is not None else None,
        mode=mode,
        set_by=set_by,
        values=settings.configuration,
        sends_values=_sends(after, resource, creates),
        sends_version=after is not None and (creates or "addon_version" in resource.differs),
        keeps=goes and before is not None and before.preserve is True,
    )


def _kind(resource: AddonResource) -> Kind | None:
    actions = set(resource.actions)
    if {"create", "delete"} <= actions:
        return Kind.REPLACE
    if "update" in actions:
        return None if _ASKING.isdisjoint(resource.differs) and not resource.cloud_control else Kind.UPDATE
    return next((Kind(each) for each in ("create", "delete", "forget") if each in actions), None)


_ASKING = {"addon_version", "configuration_values", "service_account_role_arn", "pod_identity_association"}
"""Arguments whose change makes the provider call UpdateAddon; Cloud Control may for any."""


def _sends(after: AddonSettings | None, resource: AddonResource, creates: bool) -> bool:
    if creates:
        return after is not None and bool(after.configuration)
    return after is not None and "configuration_values" in resource.differs


_MODES = frozenset(mode.value for mode in Mode)
NONE = Mode.NONE.value
"""EKS's own default."""


def _mode(settings: AddonSettings, creates: bool) -> tuple[str | Unknown, str]:
    own = ("resolve_conflicts_on_create", settings.on_create)
    if not creates:
        own = ("resolve_conflicts_on_update", settings.on_update)
    for name, value in (("resolve_conflicts", settings.resolve_conflicts), own):
        if isinstance(value, Unknown):
            return value, name
        if value:
            known = value.upper() in _MODES
            return value.upper() if known else Unknown(f"it is {value!r}, which EKS does not know"), name
    return NONE, ""


def _shown(value: Text) -> str:
    return "(known after apply)" if isinstance(value, Unknown) else value or "(none)"


# How old the AWS provider is that made a plan, as far as add-ons are written differently for it.
#
# Sources: the provider's changelog: PRESERVE is taken from 4.32 (documented from 4.34), ``configuration_values`` from
# 4.47; 5.0 deprecates ``resolve_conflicts`` for ``resolve_conflicts_on_create`` and ``…_on_update``, 6.0 removes it.


Release = tuple[int, int]
_NEWEST: Release = (10**6, 0)


class Generation(Enum):
    """By the first release of each, newest first; its value is how people call it."""

    V6 = "6"
    V5 = "5"
    V4_47 = "4.47 to 4.x"
    V4_32 = "4.32 to 4.46"
    OLD = "before 4.32"

    @property
    def start(self) -> Release:
        return _STARTS[self]

    @property
    def gives_values(self) -> bool:
        """It has ``configuration_values``."""
        return self.start >= (4, 47)

    @property
    def gives_preserve(self) -> bool:
        """It takes PRESERVE."""
        return self.start >= (4, 32)


_STARTS = {
    Generation.V6: (6, 0),
    Generation.V5: (5, 0),
    Generation.V4_47: (4, 47),
    Generation.V4_32: (4, 32),
    Generation.OLD: (0, 0),
}


def generations(plan: TerraformPlan, resource: AddonResource) -> tuple[Generation, ...]:
    """Those that may have made it, newest first: by the arguments that it knows for the resource, and by what its
    modules ask for. Several where neither tells."""
    by_arguments = tuple(_by_arguments(resource.arguments))
    asked = [each.version for each in plan.constraints if _is_around(each.module, resource.module_path)]
    lowest, end = bounds(asked)
    fitting = tuple(each for each in by_arguments if _end(each) > lowest and each.start < end)
    return fitting or by_arguments


def _is_around(module: str, path: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")


def _by_arguments(names: Sequence[str]) -> Iterator[Generation]:
    """A plan has all arguments of a resource, set or not."""
    old, new, values = (name in names for name in _TELLING)
    for each in Generation:
        if not old and not new:
            fits = each.gives_values or not values  # nothing speaks of conflicts
        else:
            fits = old is (each.start < (6, 0)) and new is (each.start >= (5, 0))
            fits = fits and (new or values is each.gives_values)
        if fits:
            yield each


_TELLING = ("resolve_conflicts", "resolve_conflicts_on_update", "configuration_values")


def _end(generation: Generation) -> Release:
    every = list(Generation)
    at = every.index(generation)
    return every[at - 1].start if at else _NEWEST


def bounds(constraints: Sequence[str]) -> tuple[Release, Release]:
    """The first release that all of them allow, and the first after them: ``~> 4.30`` is (4, 30) to (5, 0). Of what is
    excluded (``!=``) or no version nothing follows."""
    lowest, end = (0, 0), _NEWEST
    for text in constraints:
        for part in text.split(","):
            low, high = _bounds(part.strip())
            lowest, end = max(lowest, low), min(end, high)
    return lowest, end


_CONSTRAINT = re.compile(r"(=|!=|>|>=|<|<=|~>)?\s*v?(\d{1,5})(?:\.(\d{1,5}))?(?:\.(\d{1,5}))?(?:-[\w.]+)?\Z", re.ASCII)


def _bounds(constraint: str) -> tuple[Release, Release]:
    match = _CONSTRAINT.match(constraint)
    if match is None:
        return (0, 0), _NEWEST
    sign, major, minor, patch = match.groups()
    release = (int(major), int(minor or 0))
    after = (release[0], release[1] + 1)
    if sign in (">", ">="):
        return release, _NEWEST
    if sign == "<":
        return (0, 0), after if int(patch or 0) else release
    if sign == "<=":
        return (0, 0), after
    if sign == "~>":
        return release, after if patch is not None else (release[0] + 1, 0)
    return ((0, 0), _NEWEST) if sign == "!=" else (release, after)


# Where people write what a resource of a plan says: at the resource, or in the arguments of a module that is known.
#
# Sources: terraform-aws-modules/eks, main.tf and variables.tf of v18 to v21 (it overwrites on update since v19, hands
# on ``configuration_values`` since v19.1 and ``resolve_conflicts_on_update`` since v20; v21 calls ``cluster_addons``
# ``addons``); aws-ia/eks-blueprints-addons, amazon-eks-addons.md (both default to OVERWRITE).


_EKS = ("terraform-aws-modules/eks/aws", "terraform-aws-modules/terraform-aws-eks")
_BLUEPRINTS = ("aws-ia/eks-blueprints-addons/aws", "aws-ia/terraform-aws-eks-blueprints-addons")
_INSTANCE = re.compile(r'\["((?:[^"\\]|\\.)*)"\]\Z')
_ON_UPDATE = ("resolve_conflicts", "resolve_conflicts_on_update")
_RENAMED = (21, 0)
_OVERWRITES_SINCE = (19, 0)
_VALUES_SINCE = (19, 1)
_TWO_MODES_SINCE = (20, 0)


@frozen
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
