"""What of AWS's answers may be written down: an allow-list of fields for each question.

Source of the names: whoever makes facts of the answers (`aws.eks`, `aws.ec2` and the others); what these do not read is
left out, such as user data, tags of others and descriptions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from kubectl_eksdoc.aws.asking import Json
from kubectl_eksdoc.aws.values import values_of
from kubectl_eksdoc.core.model.aws import questions
from kubectl_eksdoc.core.model.aws.questions import Question
from kubectl_eksdoc.core.rules.keeping.keys import Keep
from kubectl_eksdoc.errors import ValuesError

_TAGS = ("aws:autoscaling:groupName", "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version")
_HEALTH = "health issues code message resourceIds"
_OPTIONS = "MetadataOptions State HttpTokens HttpPutResponseHopLimit HttpEndpoint HttpProtocolIpv6 InstanceMetadataTags"
_TEMPLATE = "LaunchTemplate LaunchTemplateId LaunchTemplateName Version"

_FIELDS: Mapping[Question, str] = {
    questions.CALLER: "Account Arn",
    questions.CLUSTER: "cluster name arn version platformVersion status endpoint certificateAuthority data "
    f"upgradePolicy supportType computeConfig enabled resourcesVpcConfig vpcId subnetIds createdAt {_HEALTH}",
    questions.CLUSTER_VERSIONS: "clusterVersions clusterVersion versionStatus status defaultVersion releaseDate "
    "endOfStandardSupportDate endOfExtendedSupportDate",
    questions.ADDONS: "addons",
    questions.ADDON: "addon addonName addonVersion status configurationValues serviceAccountRoleArn namespaceConfig "
    f"namespace modifiedAt {_HEALTH}",
    questions.ADDON_VERSIONS: "addons addonName type publisher addonVersions addonVersion compatibilities "
    "clusterVersion defaultVersion requiresConfiguration",
    questions.ADDON_CONFIGURATION: "",
    questions.UPDATES: "updateIds",
    questions.UPDATE: "update id type status params value createdAt errors errorCode errorMessage resourceIds",
    questions.NODE_GROUPS: "nodegroups",
    questions.NODE_GROUP: "nodegroup nodegroupName amiType releaseVersion version status launchTemplate id name "
    "resources autoScalingGroups createdAt updateConfig maxUnavailable maxUnavailablePercentage updateStrategy subnets "
    f"scalingConfig desiredSize minSize maxSize capacityType instanceTypes diskSize {_HEALTH}",
    questions.POD_IDENTITIES: "associations associationId namespace serviceAccount",
    questions.POD_IDENTITY: "association roleArn",
    questions.INSIGHTS: "insights id name category kubernetesVersion insightStatus status reason lastRefreshTime "
    "lastTransitionTime",
    questions.INSIGHT: "insight recommendation categorySpecificSummary deprecationDetails usage replacedWith "
    "stopServingVersion clientStats userAgent numberOfRequestsLast30Days lastRequestTime addonCompatibilityDetails "
    "name compatibleVersions resources kubernetesResourceUri arn",
    questions.INSIGHTS_REFRESH: "status message endedAt",
    questions.INSTANCES: f"Reservations Instances InstanceId ImageId InstanceType Name LaunchTime Tags {_OPTIONS}",
    questions.IMAGES: "Images ImageId Name ImdsSupport",
    questions.TEMPLATE_VERSIONS: "LaunchTemplateVersions LaunchTemplateId LaunchTemplateName VersionNumber "
    f"DefaultVersion LaunchTemplateData ImageId {_OPTIONS}",
    questions.METADATA_DEFAULTS: f"AccountLevel {_OPTIONS} HttpTokensEnforced",
    questions.SUBNETS: "Subnets SubnetId AvailabilityZone AvailableIpAddressCount CidrBlock",
    questions.PARAMETER: "Parameter Value",
    questions.QUOTA: "Quota Value UsageMetric MetricNamespace MetricName MetricDimensions Class Resource Service Type",
    questions.SCALING_GROUPS: "AutoScalingGroups AutoScalingGroupName MixedInstancesPolicy "
    f"LaunchTemplateSpecification {_TEMPLATE}",
    questions.TARGET_HEALTH: "TargetHealthDescriptions Target Id Port TargetHealth State Reason",
    questions.SPOT_REQUESTS: "SpotInstanceRequests InstanceId Status Code UpdateTime",
    questions.QUEUE_URL: "QueueUrl",
    questions.QUEUE_ATTRIBUTES: "Attributes ApproximateNumberOfMessages KmsMasterKeyId MessageRetentionPeriod QueueArn",
    questions.RULES: "Rules Name Arn State",
    questions.RULE_TARGETS: "Targets Id Arn Input InputPath InputTransformer",
    questions.KEY: "KeyMetadata Arn KeyManager Enabled",
    questions.KEY_POLICY: "",
    questions.ROLE: "Role Arn PermissionsBoundary PermissionsBoundaryArn",
    questions.ATTACHED_POLICIES: "AttachedPolicies PolicyArn",
    questions.POLICY: "Policy DefaultVersionId",
    questions.POLICY_VERSION: "PolicyVersion",
    questions.ROLE_POLICIES: "PolicyNames",
    questions.ROLE_POLICY: "",
    questions.METRICS: "MetricDataResults Id Values StatusCode",
}
"""By their names, wherever they stand in the answer."""

_WHOLE: Mapping[Question, str] = {
    questions.ADDON_CONFIGURATION: "configurationSchema",
    questions.QUEUE_ATTRIBUTES: "Policy",
    questions.RULES: "EventPattern",
    questions.KEY_POLICY: "Policy",
    questions.ROLE_POLICY: "PolicyDocument",
    questions.POLICY_VERSION: "Document",
}
"""With all below them: schemas, policies and patterns, whose names are data."""

_VALUES = ("configurationValues", "ConfigurationValues")
_JUDGED_VALUES = frozenset(
    (
        *("replicaCount", "computeType", "enabled", "minReplicas", "maxReplicas", "eniConfig", "region"),
        *("cpu", "memory", "ephemeral-storage", "operator", "effect", "tolerationSeconds", "type"),
        *("topologyKey", "whenUnsatisfiable", "maxSkew", "weight", "maxUnavailable", "minAvailable"),
        *("loglevel", "logLevel", "name", "mode", "iptables", "ipvs", "scheduler"),
    )
)
"""Keys of configuration values whose texts are kept, besides the variables that are."""
_OF_TERMS = ("key", "value", "values")
_TERMS = frozenset(("operator", "effect"))
"""Beside these they are of a toleration or a selector, and kept: elsewhere they are anything."""
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|credential|key$|pin$|code$")
"""In a name it makes of a number a secret; any other number is kept, as are truth values."""


class Kept:
    """Cleans what AWS answers."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep

    def __call__(self, question: Question, answer: Json) -> Json:
        """`answer` with what is read of it; of a question nobody makes facts of, nothing."""
        named = frozenset(_FIELDS.get(question, "").split())
        whole = frozenset(_WHOLE.get(question, "").split())
        kept = self._below(answer, named, whole)
        return kept if isinstance(kept, dict) else {}

    def _below(self, given: Any, named: frozenset[str], whole: frozenset[str]) -> Any:
        if isinstance(given, list):
            return [self._below(each, named, whole) for each in given]
        if not isinstance(given, Mapping):
            return self._text(given)
        if given.get("Key") in _TAGS and set(given) <= {"Key", "Value"}:
            return dict(given)
        kept = {key: self._field(key, each, named, whole) for key, each in given.items() if key in named}
        kept |= {key: _each_text(each, self._form) for key, each in given.items() if key in whole}
        if given.get("type") in _VALUES and isinstance(given.get("value"), str):  # of an update's parameters
            kept["value"] = self._values(given["value"])
        return kept

    def _field(self, key: str, value: Any, named: frozenset[str], whole: frozenset[str]) -> Any:
        if key in _VALUES and isinstance(value, str):
            return self._values(value)
        if key == "Tags" and isinstance(value, list):
            return [each for each in value if isinstance(each, Mapping) and each.get("Key") in _TAGS]
        if key.startswith("Input") and value:  # only that there is one is read
            return self._keep.digests.of(json.dumps(value, default=str))
        return self._below(value, named, whole)

    def _text(self, value: Any) -> Any:
        return self._keep.text(value) if isinstance(value, str) else value

    def _form(self, value: Any) -> Any:
        return self._keep.form(value) if isinstance(value, str) else value

    def _values(self, text: str) -> str:
        """Configuration values as JSON, whatever they were written in; what is none is kept as a digest."""
        if not text.strip():
            return text
        try:
            values = values_of(text)
        except ValuesError:
            return self._keep.digests.of(text)
        kept = self._value("", values)
        return text if kept == values else json.dumps(kept)

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._within(value, name, each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._value(key, each) for each in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and _SECRET.search(key):
            return self._keep.digests.of(str(value))
        if not isinstance(value, str):
            return value
        if key == "corefile":
            return self._keep.corefile(value)
        if key in _JUDGED_VALUES:
            return self._keep.text(value)
        return self._keep.variable(key, value)

    def _within(self, group: Mapping[str, Any], name: str, value: Any) -> Any:
        if name in _OF_TERMS and not _TERMS.isdisjoint(group):
            return _each_text(value, self._text)
        if name == "value" and isinstance(of := group.get("name"), str):  # an environment variable
            return self._value(of, value)
        return self._value(name, value)


def _each_text(value: Any, cleaned: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _each_text(each, cleaned) for key, each in value.items()}
    if isinstance(value, list):
        return [_each_text(each, cleaned) for each in value]
    return cleaned(value)
