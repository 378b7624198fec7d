"""What a check of an upgrade judges by, besides the lists of a cluster."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from kubectl_eksdoc.frozen import frozen

FURTHER = 4
"""So many versions an upgrade may go at once, for which a snapshot holds all that is asked."""


class CheckNeed(str, Enum):
    """Gathered only where a chosen check judges by it, so that no right is needed for what nobody asks."""

    VERSIONS = "the versions that EKS supports"
    ADDONS = "the add-ons of EKS, and their versions"
    API_REQUESTS = "the requests for deprecated APIs that the API server has counted"
    API_WRITTEN = "in which versions the objects are written whose APIs go on the way"
    HELM = "the releases of Helm"
    MANIFESTS = "the manifests of files"
    INSIGHTS = "the insights of EKS"
    CLUSTER_UPDATES = "the latest updates of the cluster"
    NODE_GROUPS = "the managed node groups"
    GROUP_UPDATES = "the latest updates of node groups"
    TEMPLATES = "launch templates of the node groups' owners"
    RELEASES = "the AMI releases that EKS recommends"
    SUBNETS = "the subnets of the cluster and its node groups"
    QUOTAS = "quotas of the account"
    PROXY = "the configuration of kube-proxy"
    PLAN_DRAIN = "drain plan"
    PLAN_ADDONS = "addon-diff"
    PLAN_IMDS = "imds-probe"
    PLAN_DNS = "coredns-lameduck"
    PLAN_INTERRUPTION = "interruption"


@frozen
class WantedVersions:
    """`now` and `target`: Kubernetes versions as EKS writes them (``1.33``); `steps`: those that the control plane goes
    through. `at`: the moment of which figures are wanted, None for none."""

    needs: frozenset[CheckNeed]
    now: str
    target: str
    steps: tuple[str, ...] = ()
    at: datetime | None = None
