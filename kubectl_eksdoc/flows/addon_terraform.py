"""What the add-on changes of a Terraform plan would do to the cluster: each is asked for, read and judged."""

from __future__ import annotations

from typing import Protocol

from kubectl_eksdoc.addon_diff.terraform.declared import declared
from kubectl_eksdoc.addon_diff.terraform.generations import generations
from kubectl_eksdoc.addon_diff.terraform.judging import judged, open_question, refused, unjudged
from kubectl_eksdoc.addon_diff.terraform.requests import AddonRequest, Kind, requests
from kubectl_eksdoc.addon_diff.terraform.result import Change, Judged, TerraformJudgement
from kubectl_eksdoc.addon_diff.terraform.whole import Scope, scope_of, whole
from kubectl_eksdoc.errors import AwsDenied, AwsMissing, UsageError, ValuesError
from kubectl_eksdoc.flows.addon import addon_facts, judge_of
from kubectl_eksdoc.flows.ports import Objects
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.asked import Unknown
from kubectl_eksdoc.model.aws.addons import AddonSide
from kubectl_eksdoc.model.aws.clusters import EksCluster
from kubectl_eksdoc.model.aws.configuration import Broken
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Finding, Remedy
from kubectl_eksdoc.model.terraform import TerraformPlan


class Addons(Protocol):
    """The cluster as it was read, and what AWS says of its add-ons."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def objects(self) -> Objects: ...

    @property
    def eks(self) -> EksCluster: ...

    def judge(self, schema: Doc, values: Doc) -> tuple[Broken, ...] | Unknown:
        """What of values a schema does not allow."""
        ...

    def side(self, name: str, wish: str | None) -> AddonSide:
        """Of one that EKS manages. `wish`: a version, "" for the default, None for the one that is installed.

        Raises:
            AwsMissing: EKS does not manage it.
            AwsDenied, UsageError: it cannot be told.
        """
        ...

    def creation_side(self, name: str, wish: str) -> AddonSide:
        """Of one that EKS does not manage yet.

        Raises:
            AwsMissing: EKS knows no such add-on.
            AwsDenied, UsageError: it cannot be told.
        """
        ...

    def values(self, text: str) -> Doc:
        """
        Raises:
            ValuesError: it is no object in JSON or YAML.
        """
        ...


def judge_terraform(plan: TerraformPlan, world: Addons, addon: str = "") -> TerraformJudgement:
    """`addon`: only that one is looked at, "" for all.

    Raises:
        ClusterError, AwsError: the cluster or AWS cannot be talked to.
    """
    asked = [each for each in requests(plan) if not addon or each.addon == addon or isinstance(each.addon, Unknown)]
    scopes = [scope_of(each, world.eks) for each in asked]
    elsewhere = tuple(each for each, scope in zip(asked, scopes, strict=True) if scope is Scope.ELSEWHERE)
    here = [each for each, scope in zip(asked, scopes, strict=True) if scope is not Scope.ELSEWHERE]
    changes = tuple(_judged(_change(plan, each), world) for each in here)
    return TerraformJudgement(plan, changes, elsewhere, tuple(whole(plan, world.eks, here, elsewhere, addon)), addon)


def _change(plan: TerraformPlan, request: AddonRequest) -> Change:
    return Change(request, declared(plan, request), generations(plan, request.resource))


def _judged(change: Change, world: Addons) -> Judged:
    request = change.request
    if scope_of(request, world.eks) is Scope.UNKNOWN:
        what = f"whether {change.addon} is of {world.eks.name}, which was read, is not known"
        return unjudged(change, open_question(change, what, "cluster_name, which is known after apply only"))
    if isinstance(request.addon, Unknown) or not request.addon:
        what = "which add-on it is is not known"
        return unjudged(change, open_question(change, what, "addon_name, which is known after apply only"))
    if request.kind in (Kind.DELETE, Kind.FORGET) or (request.kind is Kind.REPLACE and not request.keeps):
        return unjudged(change)  # whatever its fields are, they go, or stay
    try:
        return _asked_for(change, request.addon, world)
    except ValuesError as error:
        what = f"EKS refuses configuration_values: {error.message}"
        return unjudged(change, refused(change, what, Remedy(error.hint)))
    except AwsMissing as error:
        return unjudged(change, _missing(change, error))
    except (AwsDenied, UsageError) as error:
        missing = error.missing if isinstance(error, AwsDenied) else ""
        told = f"allow {missing}, and ask again" if missing else "ask the live cluster, or a snapshot that has it"
        return unjudged(change, open_question(change, error.message, missing or error.message, Remedy(told)))


def _asked_for(change: Change, name: str, world: Addons) -> Judged:
    """
    Raises:
        ValuesError: its values are none.
        AwsMissing: EKS does not manage it, or knows no such add-on.
        AwsDenied, UsageError: it cannot be told.
    """
    values = _values(change.request, world)
    creates = change.request.kind is Kind.CREATE
    side = _creation(name, change.request, world) if creates else _side(change.request, world)
    if side is None:
        imported = f"terraform import '{change.request.address}' {change.request.cluster}:{name}"
        moved = "import it, or write a moved block where only its address has changed"
        what = f"EKS manages {name} already: it cannot be created"
        return unjudged(change, refused(change, what, Remedy(moved, imported)))
    facts = addon_facts(world.cluster, world.eks, side, world.objects)
    return judged(change, facts, values, judge_of(side.target, world.judge))


def _values(request: AddonRequest, world: Addons) -> Doc | None:
    """Those that hold afterwards, None where EKS keeps today's, or where they are not known. What is created has none
    but those that are sent; an empty text is read as none."""
    if not request.sends_values:
        return {} if request.kind is Kind.REPLACE else None
    if isinstance(request.values, Unknown):
        return None
    return world.values(request.values) if request.values and request.values.strip() else {}


def _wish(request: AddonRequest) -> str:
    return request.after if isinstance(request.after, str) else ""


def _side(request: AddonRequest, world: Addons) -> AddonSide:
    return world.side(str(request.addon), _wish(request) if request.sends_version else None)


def _creation(name: str, request: AddonRequest, world: Addons) -> AddonSide | None:
    """None where EKS manages it already."""
    try:
        world.side(name, None)
    except AwsMissing:
        return world.creation_side(name, _wish(request))
    return None


def _missing(change: Change, error: AwsMissing) -> Finding:
    if change.request.kind is Kind.CREATE:
        return refused(change, error.message, Remedy("name one that EKS offers: aws eks describe-addon-versions"))
    what = f"EKS does not manage {change.addon} in this cluster, so that it cannot be updated"
    return refused(change, what, Remedy("plan again: what Terraform's state says is out of date"))
