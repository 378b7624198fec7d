"""EC2's answers about launch templates: one from EKS for each node group, one from Karpenter for its NodeClass, and
some custom ones."""

from __future__ import annotations

from dataclasses import dataclass

from tools.demo.aws.names import CLUSTER_GROUP, Params, at
from tools.demo.aws.pools import DISK, INSTANCE_TYPE, Estate, Maker, Own, Pool
from tools.demo.aws.tags import tags
from tools.demo.meta import Json
from tools.demo.world import ACCOUNT, CLUSTER


@dataclass(frozen=True, slots=True)
class _Template:
    """A launch template with one version, which is the newest and the default."""

    id: str
    name: str
    version: str
    pool: Pool
    own: Own | None = None


def describe_launch_template_versions(estate: Estate, params: Params) -> Json:
    """The newest version of one template, by id or name; without both, of all of them."""
    name, ident = params.get("LaunchTemplateName"), params.get("LaunchTemplateId")
    found = (each for each in _templates(estate) if name in (None, each.name) and ident in (None, each.id))
    return {"LaunchTemplateVersions": [_a_version(each) for each in found]}


def _templates(estate: Estate) -> list[_Template]:
    """The template from which each pool's instances are launched, and the custom templates from which EKS derived
    one."""
    made = []
    for pool in estate.pools:
        if pool.maker is Maker.AUTO_MODE:
            continue  # EKS hides them
        own = pool.own if pool.maker is Maker.OWNER else None
        made.append(_Template(pool.template_id, pool.template_name, pool.template_version, pool, own))
        if pool.own is not None and own is None:
            made.append(_Template(pool.own.id, pool.own.name, str(pool.own.version), pool, pool.own))
    return made


def _a_version(template: _Template) -> Json:
    pool = template.pool
    by = "AWSServiceRoleForAmazonEKSNodegroup/EKS" if pool.managed else f"{CLUSTER}-karpenter/karpenter"
    data = _data_by_eks(pool) if pool.managed else _data_by_karpenter(pool)
    if template.own is not None:
        by, data = "terraform/shop", _data_by_owner(pool, template.own)
    return {
        "LaunchTemplateId": template.id,
        "LaunchTemplateName": template.name,
        "VersionNumber": int(template.version),
        "CreateTime": at(pool.born),
        "CreatedBy": f"arn:aws:sts::{ACCOUNT}:assumed-role/{by}",
        "DefaultVersion": True,
        "LaunchTemplateData": data,
    }


def _data_by_owner(pool: Pool, own: Own) -> Json:
    """The custom template of a managed node group names no AMI; EKS adds it (user guide, launch templates)."""
    data = _data(pool)
    if pool.managed:
        del data["ImageId"]
    else:
        data |= {"IamInstanceProfile": {"Name": pool.profile.rpartition("/")[2]}, "InstanceType": INSTANCE_TYPE}
    return {**data, **({"MetadataOptions": dict(own.says)} if own.says else {})}


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
    """It has all metadata options, as in the NodeClass (pkg/providers/launchtemplate)."""
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
