"""Which release of an AMI EKS recommends, by the public parameters of Systems Manager.

Sources of the names: EKS user guide, retrieve-ami-id and retrieve-ami-id-bottlerocket; terraform-aws-modules/eks,
modules/eks-managed-node-group (which of them are a releaseVersion).
"""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Json, found, name_of
from kubectl_eksdoc.aws.believing import Believed
from kubectl_eksdoc.core.model.asked import Absent, Unknown
from kubectl_eksdoc.core.model.aws import questions

_EKS = "/aws/service/eks/optimized-ami/{}/{}/recommended/release_version"
_BOTTLEROCKET = "/aws/service/bottlerocket/aws-k8s-{}{}/{}/latest/image_version"

_OF_EKS = {
    "AL2_x86_64": "amazon-linux-2",
    "AL2_x86_64_GPU": "amazon-linux-2-gpu",
    "AL2_ARM_64": "amazon-linux-2-arm64",
    "AL2023_x86_64_STANDARD": "amazon-linux-2023/x86_64/standard",
    "AL2023_ARM_64_STANDARD": "amazon-linux-2023/arm64/standard",
    "AL2023_x86_64_NEURON": "amazon-linux-2023/x86_64/neuron",
    "AL2023_x86_64_NVIDIA": "amazon-linux-2023/x86_64/nvidia",
    "AL2023_ARM_64_NVIDIA": "amazon-linux-2023/arm64/nvidia",
}
_STARTS = {"BOTTLEROCKET_x86_64": "x86_64", "BOTTLEROCKET_ARM_64": "arm64"}
_VARIANTS = {"": "", "_FIPS": "-fips", "_NVIDIA": "-nvidia", "_NVIDIA_FIPS": "-nvidia-fips"}


def parameter_of(ami_type: str, version: str) -> str:
    """The name of the parameter, "" where there is none: Windows, images of one's own, types nobody here knows."""
    if ami_type in _OF_EKS:
        return _EKS.format(version, _OF_EKS[ami_type])
    for start, architecture in _STARTS.items():
        variant = _VARIANTS.get(ami_type.removeprefix(start)) if ami_type.startswith(start) else None
        if variant is not None:
            return _BOTTLEROCKET.format(version, variant, architecture)
    return ""


def release(of: Believed, ami_type: str, version: str) -> str | Absent | Unknown:
    """As node groups call it: ``1.33.5-20251106``."""
    name = parameter_of(ami_type, version)
    if not name:
        return Unknown(f"no public parameter tells the releases of {ami_type or 'its AMI'}")
    told = found(of.aws, questions.PARAMETER, {"Name": name}, lambda said: _value(said["Parameter"]))
    return Absent(f"Systems Manager has no parameter {name}") if isinstance(told, Absent) else told


def _value(said: Json) -> str:
    return name_of(said, "Value")
