"""Result of a Terraform plan: each add-on change with its findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.addons import AddonResource, AddonSettings, TerraformPlan
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.findings import Finding, Severity, Status, Subject, sort_findings
from kubectl_eksdoc.model.kinds import Unknown

from .plan import AddonPlan
from .prediction import Mode
from .terraform_requests import (
    AddonRequest,
    DeclaredAddon,
    Generation,
    RequestKind,
)


@frozen
class PlannedAddonChange:
    """The request to EKS, the place of its declaration, and the possible generations of the provider."""

    request: AddonRequest
    declaration: DeclaredAddon
    generations: tuple[Generation, ...]

    @property
    def subject(self) -> Subject:
        return Subject("TerraformResource", self.request.address)

    @property
    def addon(self) -> str:
        return display(self.request.addon)

    @property
    def is_creation(self) -> bool:
        """EKS creates the add-on, possibly again."""
        return self.request.kind in (RequestKind.CREATE, RequestKind.REPLACE)

    @property
    def conflicts_argument(self) -> str:
        """The argument that resolves conflicts: ``resolve_conflicts`` if it is set, because it has precedence, or if
        the module passes no other; otherwise the argument of the newest possible provider."""
        is_single = self.declaration.has_single_mode or self.request.set_by == "resolve_conflicts"
        if is_single or (self.generations and self.generations[0].start < (5, 0)):
            return "resolve_conflicts"
        return f"resolve_conflicts_on_{'create' if self.is_creation else 'update'}"

    @property
    def evidence(self) -> str:
        """The resource of the request, and the argument that sets the mode."""
        mode = self.request.mode
        if isinstance(mode, Unknown):
            return f"Terraform: {self.request.address}, {self.declaration.argument(self.request.set_by)}: {mode.why}"
        return f"Terraform: {self.request.address}, {self.declaration.describe(self.request.set_by, mode)}"


@frozen
class Assumption:
    """A fact that the plan does not have: the `argument`, the `reason` as a clause, and the value `assumed` for it."""

    argument: str
    reason: str
    assumed: str

    def __str__(self) -> str:
        return f"{self.argument} {self.reason}: judged with {self.assumed}"


@frozen
class JudgedAddonChange:
    """`plan`: the predicted fields, None if no update or creation was judged. `assumptions`: for facts that the plan
    does not have. `findings`: all, including those of `plan`, worst first."""

    change: PlannedAddonChange
    plan: AddonPlan | None
    findings: tuple[Finding, ...]
    assumptions: tuple[Assumption, ...] = ()

    @property
    def worst_severity(self) -> Severity | None:
        """The highest severity of failed findings; None without any."""
        return next((each.severity for each in self.findings if each.status is Status.FAIL), None)


@frozen
class TerraformJudgement:
    """`changes` by address; `other_requests`: requests for other clusters, which are not judged. `findings`: of the
    plan as a whole. `addon`: the only checked add-on, "" for all."""

    plan: TerraformPlan
    changes: tuple[JudgedAddonChange, ...]
    other_requests: tuple[AddonRequest, ...]
    findings: tuple[Finding, ...]
    addon: str = ""

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """The findings of the plan and of all changes, worst first."""
        return sort_findings((*self.findings, *(each for change in self.changes for each in change.findings)))


def display(value: str | Unknown | None) -> str:
    return "(known after apply)" if isinstance(value, Unknown) else value or "(none)"


# Findings of a Terraform plan as a whole: unknown parts, duplicate resources, and its cluster.


class RequestScope(Enum):
    """The cluster of a request, compared with the one that was read."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    UNKNOWN = "unknown"


def scope_of(request: AddonRequest, cluster: EksCluster) -> RequestScope:
    """By the cluster's name, and by account and region if the plan has them."""
    if isinstance(request.cluster, Unknown) or not request.cluster:
        return RequestScope.UNKNOWN
    sides = [each for each in request.sides if each.cluster == request.cluster]
    is_elsewhere = request.cluster != cluster.name or any(_is_elsewhere(each, cluster) for each in sides)
    return RequestScope.ELSEWHERE if is_elsewhere else RequestScope.HERE


def _is_elsewhere(settings: AddonSettings, cluster: EksCluster) -> bool:
    """By account and region, if they are known."""
    arn, region = settings.arn, settings.region
    is_other_account = isinstance(arn, str) and bool(arn) and not _is_in_account(arn, cluster)
    return is_other_account or (isinstance(region, str) and bool(region) and region != cluster.region)


def _is_in_account(arn: str, cluster: EksCluster) -> bool:
    """An add-on's ARN has its account and region."""
    return arn.split(":")[3:5] == cluster.arn.split(":")[3:5]


def plan_findings(
    plan: TerraformPlan,
    cluster: EksCluster,
    local_requests: Sequence[AddonRequest],
    other_requests: Sequence[AddonRequest],
    addon: str = "",
) -> Iterator[Finding]:
    """Unsorted. `local_requests` are judged, `other_requests` are for other clusters; `addon`: the only checked
    add-on."""
    subject = Subject("TerraformPlan", plan.file)
    if plan.failed:
        yield Finding.of("addon-terraform-unknown/errors", subject)
    for address in plan.deferred:
        yield Finding.of("addon-terraform-unknown/deferred", subject, address=address)
    for address in plan.not_read:
        yield Finding.of("addon-terraform-unknown/other-resource", subject, address=address)
    for upgrade in plan.upgrades if local_requests else ():
        if upgrade.cluster == cluster.name and (not upgrade.arn or _is_in_account(upgrade.arn, cluster)):
            yield Finding.of(
                "addon-terraform-unknown/upgrade",
                subject,
                cluster=cluster.name,
                before=upgrade.before,
                then=upgrade.after,
                version=cluster.version,
            )
    if addon and not any(_concerns(each, addon) for each in plan.addons):
        yield Finding.of("addon-terraform-unknown/no-addon", subject, addon=addon)
    if other_requests and not local_requests:
        yield Finding.of(
            "addon-terraform-unknown/other-cluster",
            subject,
            cluster=cluster.name,
            region=cluster.region,
            names=", ".join(sorted({str(each.cluster) for each in other_requests})),
        )
    yield from _duplicate_findings(plan, cluster, local_requests)
    requested_resources = [each.resource for each in local_requests]
    for resource in plan.addons:
        if (
            resource not in requested_resources
            and (not addon or _concerns(resource, addon))
            and _will_overwrite(resource, cluster)
        ):
            subject = Subject("TerraformResource", resource.address)
            yield Finding.of("addon-terraform-unknown/overwrites-later", subject, address=resource.address)


def _will_overwrite(resource: AddonResource, cluster: EksCluster) -> bool:
    """The plan changes the conflict mode to OVERWRITE, without a request to EKS now."""
    after = resource.after
    if resource.actions != ("update",) or after is None or _is_elsewhere(after, cluster):
        return False
    modes = {"resolve_conflicts": after.resolve_conflicts, "resolve_conflicts_on_update": after.on_update}
    return after.cluster == cluster.name and any(
        mode == Mode.OVERWRITE.value and name in resource.differs for name, mode in modes.items()
    )


def _concerns(resource: AddonResource, addon: str) -> bool:
    """The resource is, or may be, of that add-on."""
    sides = [each for each in (resource.before, resource.after) if each is not None]
    return any(each.addon == addon or isinstance(each.addon, Unknown) for each in sides)


def _duplicate_findings(
    plan: TerraformPlan, cluster: EksCluster, local_requests: Sequence[AddonRequest]
) -> Iterator[Finding]:
    """Requested add-ons that two resources declare."""
    requested_addons = {(each.cluster, each.addon) for each in local_requests if isinstance(each.addon, str)}
    by_addon: dict[tuple[object, object], list[AddonResource]] = defaultdict(list)
    for resource in plan.addons:
        after = resource.after
        if after is None or (after.cluster, after.addon) not in requested_addons or _is_elsewhere(after, cluster):
            continue
        by_addon[(after.cluster, after.addon)].append(resource)
    for (_, addon), resources in by_addon.items():
        if len(resources) > 1:
            first, *_ = addresses = [each.address for each in resources]
            yield Finding.of(
                "addon-terraform-clash",
                Subject("TerraformResource", first),
                tuple(f"Terraform: {each}" for each in addresses),
                addon=addon,
                resources_count=len(resources),
            )
