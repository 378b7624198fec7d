"""The cluster of the incident, against which add-on changes of a Terraform plan are judged: cluster, EKS, and the
plans."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubectl_eksdoc.addon_diff.read import judge_terraform
from kubectl_eksdoc.addon_diff.terraform_result import TerraformJudgement
from kubectl_eksdoc.aws.addon_side import chart_defaults
from kubectl_eksdoc.aws.eks import parse_values
from kubectl_eksdoc.errors import AwsDenied, AwsMissing
from kubectl_eksdoc.host.terraform import read_terraform_plan
from kubectl_eksdoc.model.addons import Addon, AddonUpdateFacts, AddonVersionDetails
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, object_name
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.eks import EksCluster
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.nodes import BranchInterface, Probe, ProbeKind
from tests.addon_diff.incident import beside, rich
from tests.builders import a_cluster, a_pod
from tests.host.terraform_plans import AWS, Json, a_change, a_plan, an_addon, written
from tests.raw_facts import DATA
from tests.sessions import Answered, AppliesNothing

OLD, NEW = "v1.11.0-eksbuild.1", "v1.12.6-eksbuild.1"
CLUSTER = EksCluster("shop", "arn:aws:eks:eu-west-1:111122223333:cluster/shop", "1.24", "", "ACTIVE", "", "")


@dataclass(frozen=True)
class Held(AppliesNothing):
    """Objects of a cluster by name."""

    docs: Mapping[ObjectName, Doc]

    def read_object(self, of: ObjectName) -> Doc | Absent | Unknown:
        return self.docs.get(of, Absent(f"there is no {of}"))


def _side(version: str) -> AddonVersionDetails:
    path = DATA / "aws" / "eks" / "schemas" / f"vpc-cni_{version}.json"
    schema: Doc | Unknown = json.loads(path.read_text()) if path.exists() else Unknown(f"no schema of {version}")
    return AddonVersionDetails(version, chart_defaults("vpc-cni", version), schema)


@dataclass
class World:
    """A cluster named shop. `managed`: its EKS add-ons, by name; `live` are objects. Mutable."""

    managed: dict[str, Addon] = field(default_factory=lambda: {"vpc-cni": Addon("vpc-cni", OLD, "ACTIVE")})
    live: tuple[Doc, ...] = field(default_factory=lambda: (rich(), *beside(OLD)))
    offers: tuple[str, ...] = ("vpc-cni", "coredns", "metrics-server", "adot")
    denied: str = ""
    eks: EksCluster = CLUSTER

    @property
    def cluster(self) -> Cluster:
        """A cluster with one pod that has its own security groups, and that the kubelet probes over the network."""
        branch = BranchInterface(probes=(Probe("web", ProbeKind.READINESS, "httpGet"),))
        return a_cluster(pods=[a_pod("cart-0", "shop", branch=branch)])

    @property
    def objects(self) -> Held:
        return Held({object_name(each): each for each in self.live})

    def side(self, name: str, wish: str | None) -> AddonUpdateFacts:
        if self.denied:
            raise AwsDenied(f"IAM does not allow {self.denied}", "", self.denied)
        addon = self.managed.get(name)
        if addon is None:
            raise AwsMissing(f"{name} is no EKS add-on of cluster shop")
        target = addon.version if wish is None else wish or NEW
        values = parse_values(addon.configuration) if addon.configuration else {}
        return AddonUpdateFacts(addon, _side(addon.version), _side(target), values, True, (target,))

    def creation_side(self, name: str, wish: str) -> AddonUpdateFacts:
        if name not in self.offers:
            raise AwsMissing(f"EKS offers no add-on {name} for Kubernetes 1.24")
        none = Unknown("it is no add-on of EKS yet")
        return AddonUpdateFacts(
            Addon(name, "", ""), AddonVersionDetails("", none, none), _side(wish or NEW), {}, True, (wish or NEW,)
        )

    def session(self) -> Answered:
        asked = {"addon_side": self.side, "creation_side": self.creation_side, "addon_names": lambda: ()}
        return _Session(self.cluster, asked, self.objects, self.eks)


class _Session(Answered):
    def __init__(self, cluster: Cluster, asked: Mapping[str, Any], objects: Held, eks: EksCluster) -> None:
        super().__init__(cluster, lambda: None, objects, eks)
        self._asked = asked

    def require(self, question: Any, *args: Any, **more: Any) -> Any:
        return self._asked[question.__name__](*args, **more)


SPELLINGS: Mapping[str, tuple[str, dict[str, Any], set[str]]] = {
    "before 4.32": ("3.76.1", {"resolve_conflicts": "OVERWRITE"}, {"configuration_values"}),
    "4.32 to 4.46": ("~> 4.34.0", {"resolve_conflicts": "OVERWRITE"}, {"configuration_values"}),
    "4.47 to 4.x": ("~> 4.50", {"resolve_conflicts": "OVERWRITE"}, set()),
    "5": (
        "~> 5.0",
        {"resolve_conflicts": None, "resolve_conflicts_on_create": None, "resolve_conflicts_on_update": "OVERWRITE"},
        set(),
    ),
    "6": ("~> 6.0", {"resolve_conflicts_on_create": None, "resolve_conflicts_on_update": "OVERWRITE"}, set()),
}
"""Of each generation of the provider: what its plans ask for, the mode as it is written, and what it does not have."""

MODULE = 'module.eks.aws_eks_addon.this["vpc-cni"]'
PLAIN = "aws_eks_addon.vpc_cni"


def values(spelling: str, **given: Any) -> dict[str, Any]:
    _, mode, lacks = SPELLINGS[spelling]
    every = an_addon(**{**mode, **given})
    return {key: value for key, value in every.items() if key not in lacks}


def configuration(constraint: str, source: str = "terraform-aws-modules/eks/aws", version: str = "~> 20.0") -> Json:
    """The configuration of a root module that calls the module eks."""
    provider = {"name": "aws", "full_name": AWS, "version_constraint": constraint}
    call = {"source": source, "version_constraint": version, "expressions": {"cluster_addons": {}}, "module": {}}
    return {"provider_config": {"aws": provider}, "root_module": {"module_calls": {"eks": call}}}


def the_incident(spelling: str, address: str = PLAIN, **after: Any) -> Json:
    """The plan that caused the incident, as a provider of that generation makes it."""
    constraint, *_ = SPELLINGS[spelling]
    change = a_change(values(spelling), values(spelling, **{"addon_version": NEW, **after}), "update", address=address)
    return a_plan(change, configuration=configuration(constraint))


def judged(document: Json, world: World | None = None, addon: str = "") -> TerraformJudgement:
    with tempfile.TemporaryDirectory() as folder:
        plan = read_terraform_plan(written(Path(folder), document))
    return judge_terraform(plan, (world or World()).session(), addon)
