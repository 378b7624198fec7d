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
from kubectl_eksdoc.kubernetes.redaction import KeptAnnotations
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.aws_operations import AwsOperation
from kubectl_eksdoc.model.eks import AwsAccess
from kubectl_eksdoc.model.machines import managed_by

from .asking import AwsClient, Json
from .eks import values_of

KIND, VERSION = "AwsAnswers", 1
_TIME, _MARK = "$time", "$"


@frozen
class RecordedOf:
    """Metadata of a recording: its cluster, the address that verified it, the caller, and the time of the first answer."""

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

    def __init__(self, aws: AwsClient, kept: Callable[[AwsOperation, Json], Json] = lambda _, answer: answer) -> None:
        self._aws = aws
        self._of_answer = kept
        self._lock = threading.Lock()
        self._kept: dict[str, Json] = {}
        self._answers: dict[str, Json] = {}
        self._refused: dict[str, str] = {}

    @property
    def refused(self) -> Mapping[str, str]:
        """Why answers are missing, by the IAM action that was refused."""
        return self._refused

    @property
    def said(self) -> str:
        """A line about the requests, where the other client counts them."""
        return str(getattr(self._aws, "said", ""))

    def __len__(self) -> int:
        """The number of questions that were asked."""
        return len(self._kept)

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.AwsClient.ask`."""
        key = _key(question, parameters)
        if key in self._answers:
            return deepcopy(self._answers[key])
        try:
            answer = self._aws.ask(question, parameters)
        except (AwsDenied, AwsMissing, AwsThrottled, AwsRefused) as error:
            self._keep(question, parameters, {"refused": _refusal(error)})
            if isinstance(error, (AwsDenied, AwsThrottled)):
                self._refused[question.action or question.operation] = error.message
            raise
        self._answers[key] = deepcopy(answer)
        self._keep(question, parameters, {"answer": self._of_answer(question, deepcopy(answer))})
        return answer

    def _keep(self, question: AwsOperation, parameters: Mapping[str, Any], what: Json) -> None:
        asked = {"service": question.service, "operation": question.operation, "parameters": dict(parameters)}
        key = _key(question, parameters)
        with self._lock:
            if "answer" not in self._kept.get(key, {}):  # a later refusal does not replace an answer
                self._kept[key] = {**asked, **what}

    def written(self, of: RecordedOf) -> bytes:
        """The recording as JSON, sorted: the same answers give the same bytes."""
        with self._lock:
            calls = [self._kept[key] for key in sorted(self._kept)]
        whole = {"kind": KIND, "version": VERSION, "of": asdict(of), "calls": calls}
        return json.dumps(_plain(whole), sort_keys=True).encode()


class Recorded:
    """An `asking.AwsClient` that answers from the recording of a `Recorder`."""

    def __init__(self, written: bytes, where: str = "the snapshot") -> None:
        """
        Raises:
            SnapshotError: it is not a recording, or is of a newer version.
        """
        self._where = where
        try:
            read = json.loads(written, object_hook=_meant)
            if read["kind"] != KIND:
                raise SnapshotError(f"{where} holds {str(read['kind'])[:80]!r}, and no answers of AWS")
            if read["version"] != VERSION:
                raise SnapshotError(
                    f"{where} holds answers of AWS as version {read['version']!r}, and this tool reads {VERSION}",
                    "Read it with the tool that wrote it, or a newer one.",
                )
            self.of = _of(read["of"])
            self._answers = {_key_of(call): call for call in read["calls"]}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SnapshotError(f"{where} holds no answers of AWS that can be read: {error!r}") from error

    def ask(self, question: AwsOperation, parameters: Mapping[str, Any]) -> Json:
        """As `asking.AwsClient.ask`."""
        call = self._answers.get(_key(question, parameters))
        if call is None:
            raise AwsDenied(f"{self._where} does not hold the answer of {question.service}:{question.operation}")
        if "refused" in call:
            raise _raised(call["refused"])
        answer: Json = deepcopy(call["answer"])
        return answer


def _key(question: AwsOperation, parameters: Mapping[str, Any]) -> str:
    told = json.dumps(_plain(parameters), sort_keys=True)
    return f"{question.service} {question.operation} {told}"


def _key_of(call: Json) -> str:
    if not isinstance(call["parameters"], dict) or not isinstance(call.get("answer", {}), dict):
        raise ValueError("a call is none")
    if not isinstance(call.get("refused", {}), dict):
        raise ValueError("a refusal is none")
    if not {"answer", "refused"} & call.keys():
        raise ValueError("a call has no answer")
    return _key(AwsOperation(str(call["service"]), str(call["operation"])), call["parameters"])


def _refusal(error: AwsError) -> Json:
    kind = next(name for name, each in _REFUSALS.items() if isinstance(error, each))
    more = error.missing if isinstance(error, AwsDenied) else error.code if isinstance(error, AwsMissing) else ""
    return {"kind": kind, "message": error.message, "hint": error.hint, "more": more}


_REFUSALS: dict[str, type[AwsError]] = {
    "denied": AwsDenied,
    "missing": AwsMissing,
    "refused": AwsRefused,
    "throttled": AwsThrottled,
}


def _raised(refusal: Json) -> AwsError:
    message, hint, more = (str(refusal.get(name, "")) for name in ("message", "hint", "more"))
    if refusal.get("kind") == "missing":
        return AwsMissing(message, hint, more)
    if refusal.get("kind") in ("throttled", "refused"):
        return _REFUSALS[refusal["kind"]](message, hint)
    return AwsDenied(message, hint, more)


def _of(read: Any) -> RecordedOf:
    of = RecordedOf(**read)
    if not isinstance(of.observed_at, datetime):
        raise ValueError("nothing says when it was")
    for name, value in asdict(of).items():
        if name != "observed_at" and not isinstance(value, str):
            raise ValueError(f"{name} is no text")
    return of


def _plain(value: Any) -> Any:
    """`value` in JSON types: a time becomes an object with one marked key; a key like the mark gets another mark."""
    if isinstance(value, datetime):
        return {_TIME: value.astimezone(timezone.utc).isoformat()}
    if isinstance(value, Mapping):
        return {_MARK + key if key.startswith(_MARK) else key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _meant(read: Json) -> Any:
    if read.keys() == {_TIME}:
        return datetime.fromisoformat(read[_TIME])
    return {key.removeprefix(_MARK): each for key, each in read.items()}


# The fields of AWS answers that may be written down: an allow-list for each question.
#
# Source of the names: the modules that decode the answers (`aws.eks`, `aws.ec2` and the others); fields that they do
# not read are left out, such as user data, tags that name no tool and descriptions.


_TAGS = ("aws:autoscaling:groupName", "aws:ec2launchtemplate:id", "aws:ec2launchtemplate:version")
_HEALTH = "health issues code message resourceIds"
_OPTIONS = "MetadataOptions State HttpTokens HttpPutResponseHopLimit HttpEndpoint HttpProtocolIpv6 InstanceMetadataTags"
_TEMPLATE = "LaunchTemplate LaunchTemplateId LaunchTemplateName Version"

_FIELDS: Mapping[AwsOperation, str] = {
    questions.CALLER: "Account Arn",
    questions.CLUSTER: "cluster name arn version platformVersion status endpoint certificateAuthority data "
    f"upgradePolicy supportType computeConfig enabled resourcesVpcConfig vpcId subnetIds createdAt tags {_HEALTH}",
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
    f"scalingConfig desiredSize minSize maxSize capacityType instanceTypes diskSize tags {_HEALTH}",
    questions.POD_IDENTITIES: "associations associationId namespace serviceAccount",
    questions.POD_IDENTITY: "association roleArn",
    questions.INSIGHTS: "insights id name category kubernetesVersion insightStatus status reason lastRefreshTime "
    "lastTransitionTime",
    questions.INSIGHT: "insight recommendation categorySpecificSummary deprecationDetails usage replacedWith "
    "stopServingVersion clientStats userAgent numberOfRequestsLast30Days lastRequestTime addonCompatibilityDetails "
    "name compatibleVersions resources kubernetesResourceUri arn",
    questions.INSIGHTS_REFRESH: "status message endedAt",
    questions.INSTANCES: f"Reservations Instances InstanceId ImageId InstanceType Name LaunchTime Tags "
    f"IamInstanceProfile Arn {_OPTIONS}",
    questions.IMAGES: "Images ImageId Name ImdsSupport",
    questions.TEMPLATE_VERSIONS: "LaunchTemplateVersions LaunchTemplateId LaunchTemplateName VersionNumber "
    f"DefaultVersion LaunchTemplateData ImageId {_OPTIONS}",
    questions.METADATA_DEFAULTS: f"AccountLevel {_OPTIONS} HttpTokensEnforced",
    questions.SUBNETS: "Subnets SubnetId AvailabilityZone AvailableIpAddressCount CidrBlock",
    questions.PARAMETER: "Parameter Value",
    questions.QUOTA: "Quota Value UsageMetric MetricNamespace MetricName MetricDimensions Class Resource Service Type",
    questions.SCALING_GROUPS: "AutoScalingGroups AutoScalingGroupName MixedInstancesPolicy "
    f"LaunchTemplateSpecification Overrides LaunchConfigurationName {_TEMPLATE}",
    questions.LAUNCH_CONFIGURATIONS: f"LaunchConfigurations LaunchConfigurationName ImageId {_OPTIONS}",
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

_WHOLE: Mapping[AwsOperation, str] = {
    questions.ADDON_CONFIGURATION: "configurationSchema",
    questions.QUEUE_ATTRIBUTES: "Policy",
    questions.RULES: "EventPattern",
    questions.KEY_POLICY: "Policy",
    questions.ROLE_POLICY: "PolicyDocument",
    questions.POLICY_VERSION: "Document",
}
"""Fields that are kept with everything below them: schemas, policies and patterns, whose names are data."""

_VALUES = ("configurationValues", "ConfigurationValues")
_JUDGED_VALUES = frozenset(
    (
        *("replicaCount", "computeType", "enabled", "minReplicas", "maxReplicas", "eniConfig", "region"),
        *("cpu", "memory", "ephemeral-storage", "operator", "effect", "tolerationSeconds", "type"),
        *("topologyKey", "whenUnsatisfiable", "maxSkew", "weight", "maxUnavailable", "minAvailable"),
        *("loglevel", "logLevel", "name", "mode", "iptables", "ipvs", "scheduler"),
    )
)
"""Keys of configuration values whose texts are kept, in addition to the environment variables that are."""
_OF_TERMS = ("key", "value", "values")
_TERMS = frozenset(("operator", "effect"))
"""Beside these keys the values are those of a toleration or a selector, and kept; elsewhere they may be anything."""
_SECRET = re.compile(r"(?i)pass|pwd|secret|token|credential|key$|pin$|code$")
"""A number under such a key is a secret; any other number is kept, and so are booleans."""


class AwsAnswerCleaner:
    """Removes from AWS answers what may not be written down."""

    def __init__(self, keep: KeptAnnotations) -> None:
        self._keep = keep

    def __call__(self, question: AwsOperation, answer: Json) -> Json:
        """The parts of the answer that are read; nothing for a question whose answer is not decoded."""
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
        if key == "tags" and isinstance(value, Mapping):
            return {name: self._text(each) for name, each in value.items() if managed_by([(name, str(each))])}
        if key.startswith("Input") and value:  # only whether it is set is read
            return self._keep.digests.of(json.dumps(value, default=str))
        return self._below(value, named, whole)

    def _text(self, value: Any) -> Any:
        return self._keep.text(value) if isinstance(value, str) else value

    def _form(self, value: Any) -> Any:
        return self._keep.form(value) if isinstance(value, str) else value

    def _values(self, text: str) -> str:
        """Configuration values as JSON, from JSON or YAML; a text that is neither becomes a digest."""
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
