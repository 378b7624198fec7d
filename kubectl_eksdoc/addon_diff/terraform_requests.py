"""Requests to EKS that a Terraform plan makes for its add-ons.

Source: the provider's ``internal/service/eks/addon.go`` of 5.x and 6.x. It calls UpdateAddon if the version, the
configuration, the role or pod identities change; a change of ``resolve_conflicts`` alone makes no request. The request
has the mode of ``resolve_conflicts``, else of ``resolve_conflicts_on_update``, else none, which EKS takes for NONE
(read in discussions of eksctl and Cluster API, not in the API's text). Unchanged values are not sent: EKS keeps the
current ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import AddonResource, AddonSettings, ModuleCall, PlannedText, TerraformPlan
from kubectl_eksdoc.model.kinds import Unknown

from .prediction import Mode


class RequestKind(Enum):
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    FORGET = "forget"


@frozen
class AddonRequest:
    """A request to EKS for the resource at `address`.

    `mode`: NONE, OVERWRITE or PRESERVE; `set_by`: the argument that sets it, "" for EKS's default. `before` is None if
    there is no version yet, `after` is None if the add-on is deleted. `sends_values`: the request has the configuration
    values `values`; otherwise EKS keeps its own; `sends_version`: it has `after`. `preserves_objects`: a deletion
    leaves its objects in the cluster. `resource`: the changed resource.
    """

    resource: AddonResource
    kind: RequestKind
    cluster: PlannedText
    addon: PlannedText
    before: PlannedText
    after: PlannedText
    mode: str | Unknown
    set_by: str
    values: PlannedText
    sends_values: bool
    sends_version: bool
    preserves_objects: bool = False

    @property
    def address(self) -> str:
        return self.resource.address

    @property
    def sides(self) -> tuple[AddonSettings, ...]:
        """The resource's settings before and after: a replacement may delete one add-on and create another."""
        before, after = self.resource.before, self.resource.after
        sides = {RequestKind.DELETE: (before,), RequestKind.CREATE: (after,)}.get(self.kind, (before, after))
        return tuple(each for each in sides if each is not None)

    def __str__(self) -> str:
        change = {
            RequestKind.UPDATE: f"from {_display(self.before)} to {_display(self.after)}",
            RequestKind.CREATE: f"at {_display(self.after)}",
            RequestKind.REPLACE: f"by {_display(self.after)}",
        }.get(self.kind, "")
        mode = f", {_display(self.mode)} by {self.set_by or 'default'}" if change else ""
        return f"{self.address}: {self.kind.value} {_display(self.addon)} {change}".rstrip() + mode


def read_requests(plan: TerraformPlan) -> tuple[AddonRequest, ...]:
    """Sorted by address, without resources that stay the same or change only in Terraform's state."""
    return tuple(each for resource in plan.addons for each in _requests_of(resource))


def _requests_of(resource: AddonResource) -> Iterator[AddonRequest]:
    kind = _request_kind(resource)
    before, after = resource.before, resource.after
    if kind is None or not (after or before):
        return
    if (
        kind is RequestKind.REPLACE
        and before is not None
        and after is not None
        and _is_replaced_elsewhere(before, after)
    ):
        yield _build_request(resource, RequestKind.DELETE, before, None)
        yield _build_request(resource, RequestKind.CREATE, None, after)
    else:
        yield _build_request(resource, kind, before, after)


def _is_replaced_elsewhere(before: AddonSettings, after: AddonSettings) -> bool:
    """The resource changes to another add-on or cluster; before version 6, the provider has no region."""
    is_moved = bool(before.region and after.region) and before.region != after.region
    return is_moved or (before.cluster, before.addon) != (after.cluster, after.addon)


def _build_request(
    resource: AddonResource, kind: RequestKind, before: AddonSettings | None, after: AddonSettings | None
) -> AddonRequest:
    settings = after or before
    assert settings is not None, "there is one of them"
    is_creation = kind in (RequestKind.CREATE, RequestKind.REPLACE)
    mode, set_by = _conflict_mode(after, is_creation) if after is not None else (NONE, "")
    is_deletion = before is not None and kind in (RequestKind.DELETE, RequestKind.REPLACE)
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
        sends_values=_sends_values(after, resource, is_creation),
        sends_version=after is not None and (is_creation or "addon_version" in resource.differs),
        preserves_objects=is_deletion and before is not None and before.preserve is True,
    )


def _request_kind(resource: AddonResource) -> RequestKind | None:
    actions = set(resource.actions)
    if {"create", "delete"} <= actions:
        return RequestKind.REPLACE
    if "update" in actions:
        return (
            None
            if _UPDATING_ARGUMENTS.isdisjoint(resource.differs) and not resource.cloud_control
            else RequestKind.UPDATE
        )
    return next((RequestKind(each) for each in ("create", "delete", "forget") if each in actions), None)


_UPDATING_ARGUMENTS = {"addon_version", "configuration_values", "service_account_role_arn", "pod_identity_association"}
"""Arguments whose change makes the provider call UpdateAddon; Cloud Control may call it for any change."""


def _sends_values(after: AddonSettings | None, resource: AddonResource, is_creation: bool) -> bool:
    if is_creation:
        return after is not None and bool(after.configuration)
    return after is not None and "configuration_values" in resource.differs


_MODES = frozenset(mode.value for mode in Mode)
NONE = Mode.NONE.value
"""EKS's default."""


def _conflict_mode(settings: AddonSettings, is_creation: bool) -> tuple[str | Unknown, str]:
    specific_argument = ("resolve_conflicts_on_create", settings.on_create)
    if not is_creation:
        specific_argument = ("resolve_conflicts_on_update", settings.on_update)
    for name, value in (("resolve_conflicts", settings.resolve_conflicts), specific_argument):
        if isinstance(value, Unknown):
            return value, name
        if value:
            known = value.upper() in _MODES
            return value.upper() if known else Unknown(f"it is {value!r}, which EKS does not know"), name
    return NONE, ""


def _display(value: PlannedText) -> str:
    return "(known after apply)" if isinstance(value, Unknown) else value or "(none)"


# Versions of the AWS provider that may have made a plan, as far as add-ons are declared differently for them.
#
# Sources: the provider's changelog: PRESERVE is accepted from 4.32 (documented from 4.34), ``configuration_values``
# from 4.47; 5.0 deprecates ``resolve_conflicts`` for ``resolve_conflicts_on_create`` and ``…_on_update``, 6.0 removes
# it.


Release = tuple[int, int]
_NO_LIMIT: Release = (10**6, 0)


class Generation(Enum):
    """Ranges of provider versions, newest first; the value is the display name."""

    V6 = "6"
    V5 = "5"
    V4_47 = "4.47 to 4.x"
    V4_32 = "4.32 to 4.46"
    OLD = "before 4.32"

    @property
    def start(self) -> Release:
        return _STARTS[self]

    @property
    def has_values(self) -> bool:
        """The provider has ``configuration_values``."""
        return self.start >= (4, 47)

    @property
    def accepts_preserve(self) -> bool:
        """The provider accepts PRESERVE."""
        return self.start >= (4, 32)


_STARTS = {
    Generation.V6: (6, 0),
    Generation.V5: (5, 0),
    Generation.V4_47: (4, 47),
    Generation.V4_32: (4, 32),
    Generation.OLD: (0, 0),
}


def provider_generations(plan: TerraformPlan, resource: AddonResource) -> tuple[Generation, ...]:
    """Generations that may have made the plan, newest first, by the arguments of the resource and the version
    constraints of its modules. Several if neither determines one."""
    by_arguments = tuple(_generations_by_arguments(resource.arguments))
    constraints = [each.version for each in plan.constraints if _contains(each.module, resource.module_path)]
    lowest, end = version_bounds(constraints)
    matching = tuple(each for each in by_arguments if _end_of(each) > lowest and each.start < end)
    return matching or by_arguments


def _contains(module: str, path: str) -> bool:
    return not module or path == module or path.startswith(f"{module}.")


def _generations_by_arguments(names: Sequence[str]) -> Iterator[Generation]:
    """A plan has all arguments of a resource, set or not."""
    has_old_argument, has_new_argument, has_values = (name in names for name in _DISTINGUISHING_ARGUMENTS)
    for generation in Generation:
        if not has_old_argument and not has_new_argument:
            fits = generation.has_values or not has_values  # no argument for conflicts
        else:
            fits = has_old_argument is (generation.start < (6, 0)) and has_new_argument is (generation.start >= (5, 0))
            fits = fits and (has_new_argument or has_values is generation.has_values)
        if fits:
            yield generation


_DISTINGUISHING_ARGUMENTS = ("resolve_conflicts", "resolve_conflicts_on_update", "configuration_values")


def _end_of(generation: Generation) -> Release:
    all_generations = list(Generation)
    index = all_generations.index(generation)
    return all_generations[index - 1].start if index else _NO_LIMIT


def version_bounds(constraints: Sequence[str]) -> tuple[Release, Release]:
    """The first release that all constraints allow, and the first release after them: ``~> 4.30`` is (4, 30) to (5, 0).
    Exclusions (``!=``) and invalid constraints have no effect."""
    lowest, end = (0, 0), _NO_LIMIT
    for text in constraints:
        for part in text.split(","):
            low, high = _constraint_bounds(part.strip())
            lowest, end = max(lowest, low), min(end, high)
    return lowest, end


_CONSTRAINT = re.compile(r"(=|!=|>|>=|<|<=|~>)?\s*v?(\d{1,5})(?:\.(\d{1,5}))?(?:\.(\d{1,5}))?(?:-[\w.]+)?\Z", re.ASCII)


def _constraint_bounds(constraint: str) -> tuple[Release, Release]:
    match = _CONSTRAINT.match(constraint)
    if match is None:
        return (0, 0), _NO_LIMIT
    operator, major, minor, patch = match.groups()
    release = (int(major), int(minor or 0))
    next_release = (release[0], release[1] + 1)
    if operator in (">", ">="):
        return release, _NO_LIMIT
    if operator == "<":
        return (0, 0), next_release if int(patch or 0) else release
    if operator == "<=":
        return (0, 0), next_release
    if operator == "~>":
        return release, next_release if patch is not None else (release[0] + 1, 0)
    return ((0, 0), _NO_LIMIT) if operator == "!=" else (release, next_release)


# The place where users declare a resource of a plan: the resource itself, or the arguments of a known module.
#
# Sources: terraform-aws-modules/eks, main.tf and variables.tf of v18 to v21 (it overwrites on update since v19, passes
# ``configuration_values`` since v19.1 and ``resolve_conflicts_on_update`` since v20; v21 renames ``cluster_addons`` to
# ``addons``); aws-ia/eks-blueprints-addons, amazon-eks-addons.md (both default to OVERWRITE).


_EKS_MODULES = ("terraform-aws-modules/eks/aws", "terraform-aws-modules/terraform-aws-eks")
_BLUEPRINTS_MODULES = ("aws-ia/eks-blueprints-addons/aws", "aws-ia/terraform-aws-eks-blueprints-addons")
_INSTANCE = re.compile(r'\["((?:[^"\\]|\\.)*)"\]\Z')
_ON_UPDATE = ("resolve_conflicts", "resolve_conflicts_on_update")
_RENAMED = (21, 0)
_OVERWRITES_SINCE = (19, 0)
_VALUES_SINCE = (19, 1)
_SEPARATE_MODES_SINCE = (20, 0)


@frozen
class DeclaredAddon:
    """`module`: path of the module call that declares the add-on, from the root module; "" for the resource itself.
    `addons_argument`: the module's argument with the add-ons, ``cluster_addons``; `key`: the add-on's key in it,
    usually its name. `source` and `version` of the module call. `overwrites_by_default`: the module updates with
    OVERWRITE by default. `has_single_mode`: it passes only ``resolve_conflicts``, whatever the provider has;
    `accepts_values`: it passes configuration values."""

    address: str
    key: str
    module: str = ""
    addons_argument: str = ""
    source: str = ""
    version: str = ""
    overwrites_by_default: bool = False
    has_single_mode: bool = False
    accepts_values: bool = True

    def argument(self, name: str) -> str:
        """The argument to edit: ``cluster_addons["vpc-cni"].preserve of module "eks"``."""
        if self.module:
            return f'{self.addons_argument}["{self.key}"].{name} of module "{self.module}"'
        return f"{name} of {self.address}"

    def describe(self, name: str, value: str) -> str:
        """The argument with its value, and who set it."""
        text = f'{name} = "{value}"' if name else f"no argument says how conflicts are resolved: {value}"
        if self.module and self.overwrites_by_default and value == "OVERWRITE" and name in _ON_UPDATE:
            version = f" {self.version}" if self.version else ""
            return f"{text}: {self.source}{version} shows where {self.argument(name)} says nothing else"
        return f"{text}, by {self.argument(name)}" if self.module and name else text


def find_declaration(plan: TerraformPlan, request: AddonRequest) -> DeclaredAddon:
    """The declaration by the module calls of the plan; the resource itself if the module is unknown."""
    addon = "" if isinstance(request.addon, Unknown) or request.addon is None else request.addon
    instance = _INSTANCE.search(request.address)
    key = instance[1] if instance else addon
    path = request.resource.module_path
    call = plan.module(path) if path else None
    if call is None or not (_has_source(call, _EKS_MODULES) or _has_source(call, _BLUEPRINTS_MODULES)):
        return DeclaredAddon(request.address, key)
    is_eks_module = _has_source(call, _EKS_MODULES)
    lowest, end = version_bounds([call.version or call.source.partition("?ref=")[2]])
    return DeclaredAddon(
        request.address,
        key,
        path,
        _addons_argument(call, lowest) if is_eks_module else "eks_addons",
        call.source,
        call.version,
        not is_eks_module or end > _OVERWRITES_SINCE,
        is_eks_module and end <= _SEPARATE_MODES_SINCE,
        not is_eks_module or end > _VALUES_SINCE,
    )


def _has_source(call: ModuleCall, sources: tuple[str, ...]) -> bool:
    return any(each in call.source for each in sources)


def _addons_argument(call: ModuleCall, lowest: tuple[int, int]) -> str:
    for name in ("addons", "cluster_addons"):
        if name in call.arguments:
            return name
    return "addons" if lowest >= _RENAMED else "cluster_addons"
