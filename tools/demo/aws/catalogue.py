"""The add-ons that EKS offers for each Kubernetes version, and the configuration of each.

Versions without a source are made up: see the README beside the schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tools.demo.aws.clusters import supported
from tools.demo.meta import Json


@dataclass(frozen=True, slots=True)
class Build:
    """One version of an add-on: for clusters from `first` to `last`, and the default of EKS for clusters of
    `default`."""

    version: str
    first: str
    last: str
    default: tuple[str, ...] = ()

    def fits(self, cluster_version: str) -> bool:
        """Whether it can be installed on a cluster of that version."""
        return _minor(self.first) <= _minor(cluster_version) <= _minor(self.last)


@dataclass(frozen=True, slots=True)
class Addon:
    """An add-on that EKS offers, with its `builds`, the newest first.

    `service_account` and `policies` are its recommendation for Pod Identity; `schema` is the file with the schema of
    its configuration, "" where none is known.
    """

    name: str
    kind: str
    builds: tuple[Build, ...]
    service_account: str = ""
    policies: tuple[str, ...] = ()
    schema: str = ""
    publisher: str = "eks"
    owner: str = "aws"
    compute: tuple[str, ...] = ("ec2", "auto", "hybrid", "fargate")

    def for_cluster(self, version: str) -> Iterator[str]:
        """Its versions for a cluster of that version, the newest first."""
        return (build.version for build in self.builds if build.fits(version))

    def build(self, version: str) -> Build | None:
        """That version, if EKS offers it."""
        return next((build for build in self.builds if build.version == version), None)


def _minor(version: str) -> int:
    return int(version.partition(".")[2])


_CATALOGUE = (
    Addon(
        "aws-ebs-csi-driver",
        "storage",
        (
            Build("v1.66.0-eksbuild.1", "1.31", "1.36", ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")),
            Build("v1.48.0-eksbuild.1", "1.31", "1.34"),
            Build("v1.44.0-eksbuild.1", "1.31", "1.34"),
        ),
        service_account="ebs-csi-controller-sa",
        policies=("arn:aws:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy",),
        compute=("ec2", "auto"),
    ),
    Addon(
        "coredns",
        "networking",
        (
            Build("v1.14.6-eksbuild.4", "1.35", "1.36", ("1.36",)),
            Build("v1.14.3-eksbuild.22", "1.35", "1.36", ("1.35",)),
            Build("v1.14.3-eksbuild.11", "1.35", "1.36"),
            Build("v1.13.2-eksbuild.19", "1.33", "1.35", ("1.33", "1.34")),
            Build("v1.12.4-eksbuild.38", "1.33", "1.34"),
            Build("v1.12.3-eksbuild.1", "1.33", "1.34"),
            Build("v1.11.4-eksbuild.48", "1.31", "1.33", ("1.31", "1.32")),
            Build("v1.11.4-eksbuild.22", "1.31", "1.33"),
            Build("v1.11.4-eksbuild.2", "1.31", "1.33"),
        ),
        schema="coredns_v1.10.1-eksbuild.11.json",
    ),
    Addon(
        "eks-pod-identity-agent",
        "security",
        (Build("v1.4.0-eksbuild.2", "1.31", "1.36", ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")),),
        compute=("ec2", "hybrid"),
    ),
    Addon(
        "kube-proxy",
        "networking",
        # Never newer than the control plane, and up to three minors older.
        (
            Build("v1.36.0-eksbuild.25", "1.36", "1.36", ("1.36",)),
            Build("v1.35.3-eksbuild.29", "1.35", "1.36", ("1.35",)),
            Build("v1.34.6-eksbuild.25", "1.34", "1.36", ("1.34",)),
            Build("v1.33.10-eksbuild.29", "1.33", "1.36", ("1.33",)),
            Build("v1.32.13-eksbuild.28", "1.32", "1.35", ("1.32",)),
            Build("v1.32.3-eksbuild.7", "1.32", "1.35"),
            Build("v1.31.14-eksbuild.32", "1.31", "1.34", ("1.31",)),
        ),
        schema="kube-proxy_v1.28.8-eksbuild.5.json",
        compute=("ec2", "hybrid"),
    ),
    Addon(
        "metrics-server",
        "observability",
        (
            Build("v0.8.0-eksbuild.2", "1.31", "1.36", ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")),
            Build("v0.7.2-eksbuild.3", "1.31", "1.35"),
        ),
        publisher="kubernetes-sigs",
        owner="community",
    ),
    Addon(
        "vpc-cni",
        "networking",
        (
            Build("v1.23.1-eksbuild.1", "1.31", "1.36", ("1.34", "1.35", "1.36")),
            Build("v1.22.4-eksbuild.3", "1.31", "1.36", ("1.31", "1.32", "1.33")),
            Build("v1.21.2-eksbuild.1", "1.31", "1.35"),
            Build("v1.20.4-eksbuild.2", "1.31", "1.34"),
            Build("v1.20.1-eksbuild.3", "1.31", "1.34"),
            Build("v1.19.6-eksbuild.1", "1.31", "1.34"),
            Build("v1.19.5-eksbuild.1", "1.31", "1.34"),
        ),
        service_account="aws-node",
        policies=("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy",),
        schema="vpc-cni_v1.15.1-eksbuild.1.json",
        compute=("ec2",),
    ),
)


OFFERED = {addon.name: addon for addon in _CATALOGUE}
"""By name."""


def offered(addon: Addon, versions: tuple[str, ...]) -> Json:
    """The add-on and its builds for one of the cluster `versions`, as DescribeAddonVersions returns them."""
    return {
        "addonName": addon.name,
        "type": addon.kind,
        "publisher": addon.publisher,
        "owner": addon.owner,
        "defaultNamespace": "kube-system",
        "addonVersions": [
            {
                "addonVersion": build.version,
                "architecture": ["amd64", "arm64"],
                "computeTypes": list(addon.compute),
                "compatibilities": _compatibilities(build, versions),
                "requiresConfiguration": False,
                "requiresIamPermissions": bool(addon.policies),
            }
            for build in addon.builds
            if any(map(build.fits, versions))
        ],
    }


def _compatibilities(build: Build, versions: tuple[str, ...]) -> list[Json]:
    return [
        {"clusterVersion": version, "platformVersions": ["*"], "defaultVersion": version in build.default}
        for version in versions
        if build.fits(version)
    ]


def cluster_versions(asked: str | None) -> tuple[str, ...]:
    """The versions of a request: the one that it names, or all supported ones; none if the named one is not
    supported."""
    return tuple(version for version in supported() if asked in (None, version))
