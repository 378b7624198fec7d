"""What is to be said of a Terraform plan as a whole: what it leaves open, what it has twice, whose cluster it is of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from enum import Enum

from kubectl_eksdoc.core.model import addon_codes as codes
from kubectl_eksdoc.core.model.aws.asked import Unknown
from kubectl_eksdoc.core.model.aws.clusters import EksCluster
from kubectl_eksdoc.core.model.findings import Finding, Remedy, Severity, Status, Subject
from kubectl_eksdoc.core.model.terraform import AddonResource, TerraformPlan
from kubectl_eksdoc.core.plan.addon.terraform.requests import AddonRequest


class Scope(Enum):
    """Whether a request is for the cluster that was read."""

    HERE = "here"
    ELSEWHERE = "elsewhere"
    UNKNOWN = "unknown"


def scope_of(request: AddonRequest, cluster: EksCluster) -> Scope:
    """By the cluster's name, and by account and region where the plan has them."""
    if isinstance(request.cluster, Unknown) or not request.cluster:
        return Scope.UNKNOWN
    resource = request.resource
    settings = [each for each in (resource.before, resource.after) if each is not None]
    arns = [each.arn for each in settings if isinstance(each.arn, str) and each.cluster == request.cluster]
    regions = [each.region for each in settings if isinstance(each.region, str)]
    other = any(each and not _is_of(each, cluster) for each in arns)
    other = other or any(each and each != cluster.region for each in regions)
    return Scope.ELSEWHERE if other or request.cluster != cluster.name else Scope.HERE


def _is_of(arn: str, cluster: EksCluster) -> bool:
    """An add-on's ARN has its account and region."""
    return arn.split(":")[3:5] == cluster.arn.split(":")[3:5]


def whole(
    plan: TerraformPlan, cluster: EksCluster, here: Sequence[AddonRequest], elsewhere: Sequence[AddonRequest]
) -> Iterator[Finding]:
    """In no order. `here` are the requests that are judged, `elsewhere` those for other clusters."""
    if plan.failed:
        yield _open(
            plan,
            "planning ended with errors: more may change than the plan says",
            "a plan without errors",
            Remedy("mend what terraform plan says, and plan again"),
        )
    for address in plan.deferred:
        yield _open(
            plan,
            f"{address} is left to a later plan: what becomes of that add-on is not known",
            f"the plan of {address}",
            Remedy("judge the plan that comes after this one as well"),
        )
    if elsewhere and not here:
        names = ", ".join(sorted({str(each.cluster) for each in elsewhere}))
        yield _open(
            plan,
            f"nothing of the plan is of {cluster.name} in {cluster.region}, which was read: it is of {names}",
            "the cluster of the plan",
            Remedy("read the cluster that the plan is of: --context, or --snapshot"),
        )
    yield from _twice(plan, here)


def _open(plan: TerraformPlan, message: str, missing: str, remedy: Remedy) -> Finding:
    subject = Subject("TerraformPlan", plan.file)
    return Finding(
        codes.TERRAFORM_UNKNOWN, Severity.HIGH, Status.UNKNOWN, subject, message, (), (remedy,), missing=missing
    )


def _twice(plan: TerraformPlan, here: Sequence[AddonRequest]) -> Iterator[Finding]:
    """Of the add-ons that are asked for here, those that two resources have."""
    asked = {(each.cluster, each.addon) for each in here if isinstance(each.addon, str)}
    by_addon: dict[tuple[object, object], list[AddonResource]] = defaultdict(list)
    for resource in plan.addons:
        if resource.after is not None and (resource.after.cluster, resource.after.addon) in asked:
            by_addon[(resource.after.cluster, resource.after.addon)].append(resource)
    for (_, addon), resources in by_addon.items():
        if len(resources) > 1:
            first, *_ = addresses = [each.address for each in resources]
            yield Finding(
                codes.TERRAFORM_CLASH,
                Severity.HIGH,
                Status.FAIL,
                Subject("TerraformResource", first),
                f"{addon} is declared {len(resources)} times: each of them undoes what the other has set",
                tuple(f"Terraform: {each}" for each in addresses),
                (Remedy("leave one of them, and take the others out of the state: terraform state rm"),),
            )
