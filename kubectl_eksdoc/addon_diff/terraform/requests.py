"""What a Terraform plan will ask EKS to do with its add-ons.

Source: the provider's ``internal/service/eks/addon.go`` of 5.x and 6.x. It calls UpdateAddon where the version, the
configuration, the role or pod identities change; a changed ``resolve_conflicts`` alone asks for nothing. With it goes
``resolve_conflicts``, else ``resolve_conflicts_on_update``, else nothing, which EKS takes for NONE (read in discussions
of eksctl and Cluster API, not in the API's text). Values that did not change are not sent: EKS keeps what it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kubectl_eksdoc.addon_diff.modes import Mode
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.terraform import AddonResource, AddonSettings, TerraformPlan, Text


class Kind(Enum):
    CREATE = "create"
    UPDATE = "update"
    REPLACE = "replace"
    DELETE = "delete"
    FORGET = "forget"


@dataclass(frozen=True, slots=True)
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
