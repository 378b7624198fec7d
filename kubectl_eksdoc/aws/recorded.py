"""Recording and replay of AWS answers: a question that was not asked at recording time is unknown."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsMissing, AwsRefused, AwsThrottled, SnapshotError, ValuesError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.redaction import Redactor
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.model.machines import manager_tags

from .asking import AwsClient, Json
from .eks import parse_values

RECORDING_KIND, RECORDING_VERSION = "AwsAnswers", 1
_TIME, _MARK = "$time", "$"


@frozen
class RecordingInfo:
    """Metadata of a recording: its cluster, the address that verified it, the caller, and the time of the first
    answer."""

    cluster: str
    region: str
    account: str
    server: str
    caller: str
    observed_at: datetime
    server_name: str = ""
    ca: str = ""

    @property
    def access(self) -> AwsAccess:
        """The access that verifies the recorded cluster again, as at recording time."""
        return AwsAccess(
            self.cluster,
            self.region,
            account=self.account,
            server=self.server,
            server_name=self.server_name,
            ca=self.ca,
        )


class Recorder:
    """An `asking.AwsClient` that records the answers of another one, refusals of single questions included, and asks
    nothing twice that was answered. `clean`: removes what may not be written down. Mutable."""

    def __init__(self, aws: AwsClient, clean: Callable[[AwsOperation, Json], Json] = lambda _, answer: answer) -> None:
        self._aws = aws
        self._clean = clean
        self._lock = threading.Lock()
        self._calls: dict[str, Json] = {}
        self._answers: dict[str, Json] = {}
        self._refused_actions: dict[str, str] = {}

    @property
    def refused_actions(self) -> Mapping[str, str]:
        """Why answers are missing, by the IAM action that was denied or throttled."""
        return self._refused_actions

    @property
    def said(self) -> str:
        """A line about the requests, where the other client counts them."""
        return str(getattr(self._aws, "said", ""))

    def __len__(self) -> int:
        """The number of questions that were asked."""
        return len(self._calls)

    def ask(self, operation: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.AwsClient.ask`."""
        key = _call_key(operation, parameters)
        if key in self._answers:
            return deepcopy(self._answers[key])
        try:
            response = self._aws.ask(operation, parameters)
        except (AwsDenied, AwsMissing, AwsThrottled, AwsRefused) as error:
            self._keep(operation, parameters, {"refused": _refusal_document(error)})
            if isinstance(error, (AwsDenied, AwsThrottled)):
                self._refused_actions[operation.action or operation.operation] = error.message
            raise
        self._answers[key] = deepcopy(response)
        self._keep(operation, parameters, {"answer": self._clean(operation, deepcopy(response))})
        return response

    def _keep(self, operation: AwsOperation, parameters: Mapping[str, Any], outcome: Json) -> None:
        request = {"service": operation.service, "operation": operation.operation, "parameters": dict(parameters)}
        key = _call_key(operation, parameters)
        with self._lock:
            if "answer" not in self._calls.get(key, {}):  # a later refusal does not replace an answer
                self._calls[key] = {**request, **outcome}

    def to_bytes(self, info: RecordingInfo) -> bytes:
        """The recording as JSON, sorted: the same answers give the same bytes."""
        with self._lock:
            calls = [self._calls[key] for key in sorted(self._calls)]
        document = {"kind": RECORDING_KIND, "version": RECORDING_VERSION, "of": asdict(info), "calls": calls}
        return json.dumps(_to_json(document), sort_keys=True).encode()


class RecordedAws:
    """An `asking.AwsClient` that answers from the recording of a `Recorder`."""

    def __init__(self, content: bytes, source: str = "the snapshot") -> None:
        """
        Raises:
            SnapshotError: it is not a recording, or is of a newer version.
        """
        self._source = source
        try:
            document = json.loads(content, object_hook=_from_json)
            if document["kind"] != RECORDING_KIND:
                raise SnapshotError(f"{source} holds {str(document['kind'])[:80]!r}, and no answers of AWS")
            if document["version"] != RECORDING_VERSION:
                raise SnapshotError(
                    f"{source} holds answers of AWS as version {document['version']!r}, and this tool reads "
                    f"{RECORDING_VERSION}",
                    "Read it with the tool that wrote it, or a newer one.",
                )
            self.info = _parse_info(document["of"])
            self._answers = {_key_of_call(call): call for call in document["calls"]}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SnapshotError(f"{source} holds no answers of AWS that can be read: {error!r}") from error

    def ask(self, operation: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.AwsClient.ask`."""
        call = self._answers.get(_call_key(operation, parameters))
        if call is None:
            raise AwsDenied(f"{self._source} does not hold the answer of {operation.service}:{operation.operation}")
        if "refused" in call:
            raise _error_of(call["refused"])
        response: Json = deepcopy(call["answer"])
        return response


def _call_key(operation: AwsOperation, parameters: Mapping[str, Any]) -> str:
    parameters_text = json.dumps(_to_json(parameters), sort_keys=True)
    return f"{operation.service} {operation.operation} {parameters_text}"


def _key_of_call(call: Json) -> str:
    if not isinstance(call["parameters"], dict) or not isinstance(call.get("answer", {}), dict):
        raise ValueError("a call is none")
    if not isinstance(call.get("refused", {}), dict):
        raise ValueError("a refusal is none")
    if not {"answer", "refused"} & call.keys():
        raise ValueError("a call has no answer")
    return _call_key(AwsOperation(str(call["service"]), str(call["operation"])), call["parameters"])


def _refusal_document(error: AwsError) -> Json:
    kind = next(name for name, each in _REFUSALS.items() if isinstance(error, each))
    detail = error.missing if isinstance(error, AwsDenied) else error.code if isinstance(error, AwsMissing) else ""
    return {"kind": kind, "message": error.message, "hint": error.hint, "more": detail}


_REFUSALS: dict[str, type[AwsError]] = {
    "denied": AwsDenied,
    "missing": AwsMissing,
    "refused": AwsRefused,
    "throttled": AwsThrottled,
}


def _error_of(refusal: Json) -> AwsError:
    message, hint, detail = (str(refusal.get(name, "")) for name in ("message", "hint", "more"))
    if refusal.get("kind") == "missing":
        return AwsMissing(message, hint, detail)
    if refusal.get("kind") in ("throttled", "refused"):
        return _REFUSALS[refusal["kind"]](message, hint)
    return AwsDenied(message, hint, detail)


def _parse_info(document: Any) -> RecordingInfo:
    info = RecordingInfo(**document)
    if not isinstance(info.observed_at, datetime):
        raise ValueError("nothing says when it was")
    for name, value in asdict(info).items():
        if name != "observed_at" and not isinstance(value, str):
            raise ValueError(f"{name} is no text")
    return info


def _to_json(value: Any) -> Any:
    """`value` in JSON types: a time becomes an object with one marked key; a key like the mark gets another mark."""
    if isinstance(value, datetime):
        return {_TIME: value.astimezone(timezone.utc).isoformat()}
    if isinstance(value, Mapping):
        return {_MARK + key if key.startswith(_MARK) else key: _to_json(each) for key, each in value.items()}
    return [_to_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def _from_json(document: Json) -> Any:
    if document.keys() == {_TIME}:
        return datetime.fromisoformat(document[_TIME])
    return {key.removeprefix(_MARK): each for key, each in document.items()}


# The fields of AWS answers that may be written down: an allow-list for each question.
#
# Source of the names: the modules that decode the answers (`aws.eks`, `aws.ec2` and the others); fields that they do
# not read are left out, such as user data, tags that name no tool and descriptions.


_KEPT_TAGS = ("aws:autoscaling:groupName", "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version")
_HEALTH_FIELDS = "health issues code message resourceIds"
_METADATA_FIELDS = (
    "MetadataOptions State HttpTokens HttpPutResponseHopLimit HttpEndpoint HttpProtocolIpv6 InstanceMetadataTags"
)
_TEMPLATE_FIELDS = "LaunchTemplate LaunchTemplateId LaunchTemplateName Version"

_KEPT_FIELDS: Mapping[AwsOperation, str] = {
    questions.CALLER: "Account Arn",
    questions.CLUSTER: "cluster name arn version platformVersion status endpoint certificateAuthority data "
    "upgradePolicy supportType computeConfig enabled resourcesVpcConfig vpcId subnetIds createdAt tags "
    f"{_HEALTH_FIELDS}",
    questions.CLUSTER_VERSIONS: "clusterVersions clusterVersion versionStatus status defaultVersion releaseDate "
    "endOfStandardSupportDate endOfExtendedSupportDate",
    questions.ADDONS: "addons",
    questions.ADDON: "addon addonName addonVersion status configurationValues serviceAccountRoleArn namespaceConfig "
    f"namespace modifiedAt {_HEALTH_FIELDS}",
    questions.ADDON_VERSIONS: "addons addonName type publisher addonVersions addonVersion compatibilities "
    "clusterVersion defaultVersion requiresConfiguration",
    questions.ADDON_CONFIGURATION: "",
    questions.UPDATES: "updateIds",
    questions.UPDATE: "update id type status params value createdAt errors errorCode errorMessage resourceIds",
    questions.NODE_GROUPS: "nodegroups",
    questions.NODE_GROUP: "nodegroup nodegroupName amiType releaseVersion version status launchTemplate id name "
    "resources autoScalingGroups createdAt updateConfig maxUnavailable maxUnavailablePercentage updateStrategy subnets "
    f"scalingConfig desiredSize minSize maxSize capacityType instanceTypes diskSize tags {_HEALTH_FIELDS}",
    questions.POD_IDENTITIES: "associations associationId namespace serviceAccount",
    questions.POD_IDENTITY: "association roleArn",
    questions.INSIGHTS: "insights id name category kubernetesVersion insightStatus status reason lastRefreshTime "
    "lastTransitionTime",
    questions.INSIGHT: "insight recommendation categorySpecificSummary deprecationDetails usage replacedWith "
    "stopServingVersion clientStats userAgent numberOfRequestsLast30Days lastRequestTime addonCompatibilityDetails "
    "name compatibleVersions resources kubernetesResourceUri arn",
    questions.INSIGHTS_REFRESH: "status message endedAt",
    questions.INSTANCES: f"Reservations Instances InstanceId ImageId InstanceType Name LaunchTime Tags "
    f"IamInstanceProfile Arn {_METADATA_FIELDS}",
    questions.IMAGES: "Images ImageId Name ImdsSupport",
    questions.TEMPLATE_VERSIONS: "LaunchTemplateVersions LaunchTemplateId LaunchTemplateName VersionNumber "
    f"DefaultVersion LaunchTemplateData ImageId {_METADATA_FIELDS}",
    questions.METADATA_DEFAULTS: f"AccountLevel {_METADATA_FIELDS} HttpTokensEnforced",
    questions.SUBNETS: "Subnets SubnetId AvailabilityZone AvailableIpAddressCount CidrBlock",
    questions.PARAMETER: "Parameter Value",
    questions.QUOTA: "Quota Value UsageMetric MetricNamespace MetricName MetricDimensions Class Resource Service Type",
    questions.SCALING_GROUPS: "AutoScalingGroups AutoScalingGroupName MixedInstancesPolicy "
    f"LaunchTemplateSpecification Overrides LaunchConfigurationName {_TEMPLATE_FIELDS}",
    questions.LAUNCH_CONFIGURATIONS: f"LaunchConfigurations LaunchConfigurationName ImageId {_METADATA_FIELDS}",
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
"""Names of fields, at any depth of the answer."""

_COMPLETE_FIELDS: Mapping[AwsOperation, str] = {
    questions.ADDON_CONFIGURATION: "configurationSchema",
    questions.QUEUE_ATTRIBUTES: "Policy",
    questions.RULES: "EventPattern",
    questions.KEY_POLICY: "Policy",
    questions.ROLE_POLICY: "PolicyDocument",
    questions.POLICY_VERSION: "Document",
}
"""Fields that are kept with everything below them: schemas, policies and patterns, whose names are data."""

_CONFIGURATION_FIELDS = ("configurationValues", "ConfigurationValues")
_KEPT_VALUE_KEYS = frozenset(
    (
        *("replicaCount", "computeType", "enabled", "minReplicas", "maxReplicas", "eniConfig", "region"),
        *("cpu", "memory", "ephemeral-storage", "operator", "effect", "tolerationSeconds", "type"),
        *("topologyKey", "whenUnsatisfiable", "maxSkew", "weight", "maxUnavailable", "minAvailable"),
        *("loglevel", "logLevel", "name", "mode", "iptables", "ipvs", "scheduler"),
    )
)
"""Keys of configuration values whose texts are kept, in addition to the environment variables that are."""
_SELECTOR_KEYS = ("key", "value", "values")
_SELECTOR_MARKS = frozenset(("operator", "effect"))
"""Beside these keys the values are those of a toleration or a selector, and kept; elsewhere they may be anything."""
_SECRET_NUMBER_KEY = re.compile(r"(?i)pass|pwd|secret|token|credential|key$|pin$|code$")
"""A number under such a key is a secret; any other number is kept, and so are booleans."""


class AwsAnswerCleaner:
    """Removes from AWS answers what may not be written down."""

    def __init__(self, redaction: Redactor) -> None:
        self._redaction = redaction

    def __call__(self, operation: AwsOperation, response: Json) -> Json:
        """The parts of the answer that are read; nothing for a question whose answer is not decoded."""
        kept_fields = frozenset(_KEPT_FIELDS.get(operation, "").split())
        complete_fields = frozenset(_COMPLETE_FIELDS.get(operation, "").split())
        cleaned = self._clean(response, kept_fields, complete_fields)
        return cleaned if isinstance(cleaned, dict) else {}

    def _clean(self, value: Any, kept_fields: frozenset[str], complete_fields: frozenset[str]) -> Any:
        if isinstance(value, list):
            return [self._clean(each, kept_fields, complete_fields) for each in value]
        if not isinstance(value, Mapping):
            return self._clean_text(value)
        if value.get("Key") in _KEPT_TAGS and set(value) <= {"Key", "Value"}:
            return dict(value)
        cleaned = {
            key: self._clean_field(key, each, kept_fields, complete_fields)
            for key, each in value.items()
            if key in kept_fields
        }
        cleaned |= {key: _each_text(each, self._clean_shape) for key, each in value.items() if key in complete_fields}
        if value.get("type") in _CONFIGURATION_FIELDS and isinstance(
            value.get("value"), str
        ):  # of an update's parameters
            cleaned["value"] = self._clean_configuration(value["value"])
        return cleaned

    def _clean_field(self, key: str, value: Any, kept_fields: frozenset[str], complete_fields: frozenset[str]) -> Any:
        if key in _CONFIGURATION_FIELDS and isinstance(value, str):
            return self._clean_configuration(value)
        if key == "Tags" and isinstance(value, list):
            return [each for each in value if isinstance(each, Mapping) and each.get("Key") in _KEPT_TAGS]
        if key == "tags" and isinstance(value, Mapping):
            return {name: self._clean_text(each) for name, each in value.items() if manager_tags([(name, str(each))])}
        if key.startswith("Input") and value:  # only whether it is set is read
            return self._redaction.digests.digest(json.dumps(value, default=str))
        return self._clean(value, kept_fields, complete_fields)

    def _clean_text(self, value: Any) -> Any:
        return self._redaction.text(value) if isinstance(value, str) else value

    def _clean_shape(self, value: Any) -> Any:
        return self._redaction.redact_forms(value) if isinstance(value, str) else value

    def _clean_configuration(self, text: str) -> str:
        """Configuration values as JSON, from JSON or YAML; a text that is neither becomes a digest."""
        if not text.strip():
            return text
        try:
            values = parse_values(text)
        except ValuesError:
            return self._redaction.digests.digest(text)
        cleaned = self._clean_value("", values)
        return text if cleaned == values else json.dumps(cleaned)

    def _clean_value(self, key: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._clean_entry(value, name, each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._clean_value(key, each) for each in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and _SECRET_NUMBER_KEY.search(key):
            return self._redaction.digests.digest(str(value))
        if not isinstance(value, str):
            return value
        if key == "corefile":
            return self._redaction.corefile(value)
        if key in _KEPT_VALUE_KEYS:
            return self._redaction.text(value)
        return self._redaction.variable(key, value)

    def _clean_entry(self, group: Mapping[str, Any], name: str, value: Any) -> Any:
        if name in _SELECTOR_KEYS and not _SELECTOR_MARKS.isdisjoint(group):
            return _each_text(value, self._clean_text)
        if name == "value" and isinstance(variable_name := group.get("name"), str):  # an environment variable
            return self._clean_value(variable_name, value)
        return self._clean_value(name, value)


def _each_text(value: Any, clean: Callable[[Any], Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _each_text(each, clean) for key, each in value.items()}
    if isinstance(value, list):
        return [_each_text(each, clean) for each in value]
    return clean(value)
