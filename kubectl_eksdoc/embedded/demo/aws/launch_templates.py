"""EC2's answers about launch templates: EKS made one for each node group, Karpenter one for its class of nodes."""

from __future__ import annotations

from collections.abc import Sequence

from kubectl_eksdoc.embedded.demo.aws.filters import tags
from kubectl_eksdoc.embedded.demo.aws.names import CLUSTER_GROUP, Params, at
from kubectl_eksdoc.embedded.demo.aws.pools import DISK, INSTANCE_TYPE, POOLS, Pool
from kubectl_eksdoc.embedded.demo.aws.refused import Refused
from kubectl_eksdoc.embedded.demo.meta import Json
from kubectl_eksdoc.embedded.demo.world import ACCOUNT, CLUSTER

_ONLY = "1"
"""Every template of the demo has one version, which is the newest and the default."""

_WORDS = ("$Latest", "$Default")


def describe_launch_template_versions(params: Params) -> Json:
    """The versions of one template, by id or name; without both, $Latest and $Default of all of them."""
    name, ident = params.get("LaunchTemplateName"), params.get("LaunchTemplateId")
    asked: Sequence[str] = params.get("Versions", ())
    if name and ident:
        text = "Exactly one of LaunchTemplateId and LaunchTemplateName must be specified"
        raise Refused("InvalidParameterCombination", text)
    if not name and not ident and not (asked and set(asked) <= set(_WORDS)):
        raise Refused("MissingParameter", "The request must contain the parameter LaunchTemplateId")
    pools = _pools(name, ident)
    for version in asked:
        if version not in (*_WORDS, _ONLY):
            text = f"Could not find the specified version {version} for the launch template with ID "
            raise Refused("InvalidLaunchTemplateId.VersionNotFound", text + f"{pools[0].template_id}.")
    return {"LaunchTemplateVersions": [_a_version(pool) for pool in pools]}


def _pools(name: str | None, ident: str | None) -> list[Pool]:
    found = [pool for pool in POOLS if name in (None, pool.template_name) and ident in (None, pool.template_id)]
    if not found and ident:
        text = f"The specified launch template, with template ID {ident}, does not exist."
        raise Refused("InvalidLaunchTemplateId.NotFound", text)
    if not found:
        text = f"The specified launch template, with template name {name}, does not exist."
        raise Refused("InvalidLaunchTemplateName.NotFoundException", text)
    return found


def _a_version(pool: Pool) -> Json:
    by = "AWSServiceRoleForAmazonEKSNodegroup/EKS" if pool.managed else f"{CLUSTER}-karpenter/karpenter"
    return {
        "LaunchTemplateId": pool.template_id,
        "LaunchTemplateName": pool.template_name,
        "VersionNumber": int(_ONLY),
        "CreateTime": at(pool.born),
        "CreatedBy": f"arn:aws:sts::{ACCOUNT}:assumed-role/{by}",
        "DefaultVersion": True,
        "LaunchTemplateData": _data_by_eks(pool) if pool.managed else _data_by_karpenter(pool),
    }


def _data_by_eks(pool: Pool) -> Json:
    said = {"eks:cluster-name": CLUSTER, "eks:nodegroup-name": pool.name}
    return {
        **_data(pool),
        "IamInstanceProfile": {"Name": pool.profile.rpartition("/")[2]},
        "InstanceType": INSTANCE_TYPE,
        "MetadataOptions": pool.metadata_options,
        "SecurityGroupIds": [CLUSTER_GROUP],
        "TagSpecifications": [{"ResourceType": kind, "Tags": tags(said)} for kind in ("volume", "instance")],
    }


def _data_by_karpenter(pool: Pool) -> Json:
    """It names all metadata options, as its class of nodes does (pkg/providers/launchtemplate)."""
    metadata = {**pool.metadata_options, "HttpEndpoint": "enabled", "HttpProtocolIpv6": "disabled"}
    return {
        **_data(pool),
        "IamInstanceProfile": {"Name": pool.profile.rpartition("/")[2]},
        "MetadataOptions": metadata,
        "NetworkInterfaces": [{"DeviceIndex": 0, "Groups": [CLUSTER_GROUP], "NetworkCardIndex": 0}],
    }


def _data(pool: Pool) -> Json:
    disk = {"DeleteOnTermination": True, "VolumeSize": DISK, "VolumeType": "gp3"}
    return {"ImageId": pool.image.id, "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": disk}]}
