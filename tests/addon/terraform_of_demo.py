"""Terraform plans of the demo's add-ons."""

from __future__ import annotations

from tests.addon_diff.terraform.worlds import MODULE, configuration, values
from tests.host.terraform_plans import Json, a_change, a_plan

OLD, NEW = "v1.19.5-eksbuild.1", "v1.20.4-eksbuild.2"
DEMO = "demo-shop"


def of_cni(spelling: str = "5", address: str = MODULE, **after: object) -> Json:
    """The change of vpc-cni that caused the incident."""
    before = values(spelling, cluster_name=DEMO, addon_version=OLD)
    return a_change(before, {**before, "addon_version": NEW, **after}, "update", address=address)


def an_incident(spelling: str = "5", **after: object) -> Json:
    return a_plan(of_cni(spelling, **after), configuration=configuration("~> 5.0"))


def of_everything() -> Json:
    """One change of each kind that a plan may contain."""
    dns = values("5", cluster_name=DEMO, addon_name="coredns", addon_version="v1.11.4-eksbuild.2")
    later = {key: value for key, value in dns.items() if key != "addon_version"}
    agent = values("5", cluster_name=DEMO, addon_name="eks-pod-identity-agent", addon_version="v1.3.8-eksbuild.2")
    proxy = values("5", cluster_name=DEMO, addon_name="kube-proxy", addon_version="v1.32.3-eksbuild.7")
    kept = values("5", cluster_name=DEMO, addon_name="metrics-server", preserve=True)
    return a_plan(
        of_cni(),
        a_change(dns, later, "update", address="aws_eks_addon.dns", unknown={"addon_version": True}),
        a_change(None, agent, "create", address="aws_eks_addon.agent"),
        a_change(proxy, None, "delete", address="aws_eks_addon.proxy"),
        a_change(kept, None, "forget", address="aws_eks_addon.metrics"),
        a_change(values("5"), values("5", addon_version=NEW), "update", address="aws_eks_addon.of_another"),
        configuration=configuration("~> 5.0"),
        errored=True,
    )
