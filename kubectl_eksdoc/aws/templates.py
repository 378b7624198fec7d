"""The versions of a node group's own launch template. Source of the shapes: botocore 1.44.5, ec2/2016-11-15."""

from __future__ import annotations

from kubectl_eksdoc.aws.asking import Json, found, parts
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.aws.ec2 import a_template_version, template_version
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.clusters import TemplateVersions
from kubectl_eksdoc.model.aws.machines import TemplateRef, TemplateVersion

_BOTH = ["$Latest", "$Default"]


def template_versions(of: VerifiedCluster, ref: TemplateRef) -> TemplateVersions | Absent | Unknown:
    """`ref` names the version that is used; that one is asked for by itself where it is neither of the others: EC2
    refuses a whole request for one version that is gone."""
    which = {"LaunchTemplateId": ref.id} if ref.id else {"LaunchTemplateName": ref.name}
    told = found(of.aws, questions.TEMPLATE_VERSIONS, {**which, "Versions": _BOTH}, _both)
    if isinstance(told, (Absent, Unknown)):
        return told
    latest, default = told
    known = {str(each.number): each for each in told} | {"$Latest": latest, "$Default": default}
    return TemplateVersions(latest, default, known.get(ref.version) or template_version(of, ref))


def _both(said: Json) -> tuple[TemplateVersion, TemplateVersion]:
    """One answer where the newest is the default."""
    versions = [(a_template_version(each), each) for each in parts(said, "LaunchTemplateVersions")]
    latest = max((each for each, _ in versions), key=lambda each: each.number)
    default = next((each for each, one in versions if one.get("DefaultVersion") is True), latest)
    return latest, default
