"""Changes of the metadata service's options: of running instances, by a template's version, by a node group's update.

Sources: botocore 1.44.5's models of EC2 and EKS. EC2 answers a dry run that would go well with an error,
``DryRunOperation``; EKS has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubectl_eksdoc.aws import ec2, eks, machines
from kubectl_eksdoc.aws.asking import Json, answered, at_once, found, known
from kubectl_eksdoc.aws.believing import VerifiedCluster
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsRefused
from kubectl_eksdoc.model.asked import Absent, Unknown
from kubectl_eksdoc.model.aws import questions
from kubectl_eksdoc.model.aws.addons import EksAddonUpdate
from kubectl_eksdoc.model.aws.machines import Instance, NodeGroup, SaidOptions
from kubectl_eksdoc.model.aws.questions import AwsOperation
from kubectl_eksdoc.model.metadata import OnTemplate, SetOptions

_LATEST = 10
"""Of its updates so many are looked at: EKS lists the latest first."""

_WOULD_GO_WELL = "DryRunOperation"
_FAULTS = frozenset(("InternalError", "InternalFailure", "ServerException", "ServiceUnavailable", "Unavailable"))
"""Of AWS itself: what was asked for may be done all the same."""


class MetadataChanges:
    """A `changes.metadata_fix.MetadataAws`."""

    def __init__(self, of: VerifiedCluster) -> None:
        self._of = of

    def instances(self, ids: Sequence[str]) -> Mapping[str, Instance | Absent | Unknown]:
        """As `MetadataAws.instances`."""
        return ec2.instances(self._of, ids)

    def group(self, name: str) -> NodeGroup | Absent | Unknown:
        """As `MetadataAws.group`."""
        return machines.node_group(self._of, name)

    def set_options(self, act: SetOptions, dry: bool = False) -> None:
        """As `MetadataAws.set_options`. What is not named stays as it is."""
        wanted: Json = {"InstanceId": act.instance, "HttpPutResponseHopLimit": act.hop_limit}
        if act.endpoint is not act.before.endpoint:
            wanted["HttpEndpoint"] = "enabled" if act.endpoint else "disabled"
        self._changed(questions.MODIFY_METADATA, wanted, dry)

    def new_version(self, act: OnTemplate, token: str, dry: bool = False) -> int:
        """As `MetadataAws.new_version`. All of MetadataOptions is given: what is given replaces what the
        source version says."""
        wanted: Json = {
            "LaunchTemplateId": act.id,
            "SourceVersion": str(act.source),
            "ClientToken": token,
            "VersionDescription": token,
            "LaunchTemplateData": {"MetadataOptions": said(act.after)},
        }
        made = self._changed(questions.CREATE_TEMPLATE_VERSION, wanted, dry)
        return 0 if dry else int(made["LaunchTemplateVersion"]["VersionNumber"])

    def version_of(self, act: OnTemplate, token: str) -> int | Unknown:
        """As `MetadataAws.version_of`, by its description."""
        wanted = {"LaunchTemplateId": act.id, "MinVersion": str(act.source)}

        def made(answer: Json) -> int:
            ours = (each for each in answer["LaunchTemplateVersions"] if each.get("VersionDescription") == token)
            return max((int(each["VersionNumber"]) for each in ours), default=0)

        return known(self._of.aws, questions.TEMPLATE_VERSIONS, wanted, made)

    def update_group(self, act: OnTemplate, number: int, token: str) -> EksAddonUpdate:
        """As `MetadataAws.update_group`. Without version and release the AMI would move."""
        wanted: Json = {
            "clusterName": self._of.cluster.name,
            "nodegroupName": act.group,
            "launchTemplate": {"id": act.id, "version": str(number)},
            "clientRequestToken": token,
        }
        if act.release:
            wanted |= {"version": act.version, "releaseVersion": act.release}
        unused = f"Node group {act.group} is as it was; version {number} of its launch template is made, and unused."
        return eks.update_of(self._changed(questions.UPDATE_NODE_GROUP, wanted, is_so=unused))

    def update_to(self, act: OnTemplate, number: int) -> str | Unknown:
        """As `MetadataAws.update_to`."""
        wanted = {"name": self._of.cluster.name, "nodegroupName": act.group}
        listed = known(self._of.aws, questions.UPDATES, wanted, lambda told: tuple(map(str, told["updateIds"])))
        if isinstance(listed, Unknown):
            return listed
        for _, update in at_once(listed[:_LATEST], lambda ident: self.update(act.group, ident)):
            if isinstance(update, EksAddonUpdate) and update.parameter("LaunchTemplateVersion") == str(number):
                return update.id
        return ""

    def update(self, group: str, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """As `MetadataAws.update`."""
        wanted = {"name": self._of.cluster.name, "nodegroupName": group, "updateId": ident}
        return found(self._of.aws, questions.UPDATE, wanted, eks.update_of)

    def _changed(
        self, question: AwsOperation, wanted: Json, dry: bool = False, is_so: str = "Nothing was changed."
    ) -> Json:
        try:
            return answered(self._of.aws, question, wanted | ({"DryRun": True} if dry else {}), lambda told: told)
        except AwsDenied as error:
            raise AwsDenied(error.message, f"{is_so} {error.hint}", error.missing) from error
        except AwsRefused as error:
            if dry and error.code == _WOULD_GO_WELL:
                return {}
            if error.code in _FAULTS or not error.code:
                raise AwsError(error.message, error.hint) from error
            raise


def said(options: SaidOptions) -> Json:
    """As a launch template writes it: what is not said is left out."""
    switched = {True: "enabled", False: "disabled", None: None}
    told = {
        "HttpTokens": options.tokens or None,
        "HttpPutResponseHopLimit": options.hop_limit,
        "HttpEndpoint": switched[options.endpoint],
        "HttpProtocolIpv6": switched[options.ipv6],
        "InstanceMetadataTags": switched[options.tags],
    }
    return {name: value for name, value in told.items() if value is not None}
