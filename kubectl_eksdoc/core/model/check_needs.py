"""What a check of an upgrade judges by, besides the lists of a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Need(str, Enum):
    """Gathered only where a chosen check judges by it, so that no right is needed for what nobody asks."""

    VERSIONS = "the versions that EKS supports"
    ADDONS = "the add-ons of EKS, and their versions"
    API_REQUESTS = "the requests for deprecated APIs that the API server has counted"
    API_WRITTEN = "in which versions the objects are written whose APIs go on the way"
    API_GONE = "in which versions the objects are written that had APIs which are gone"
    HELM = "the releases of Helm"
    MANIFESTS = "the manifests of files"
    PLAN_DRAIN = "drain plan"
    PLAN_ADDONS = "addon-diff"
    PLAN_IMDS = "imds-probe"
    PLAN_DNS = "coredns-lameduck"
    PLAN_INTERRUPTION = "interruption"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`now` and `target`: Kubernetes versions as EKS writes them (``1.33``); `steps`: those that the control plane goes
    through."""

    needs: frozenset[Need]
    now: str
    target: str
    steps: tuple[str, ...] = ()
