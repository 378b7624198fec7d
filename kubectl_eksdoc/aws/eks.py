"""EKS API answers of a verified cluster as facts, and its updates. Source of the shapes: botocore 1.44.5,
eks/2017-11-01.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import yaml

from kubectl_eksdoc.amazon.amis import AMIS
from kubectl_eksdoc.errors import AwsDenied, AwsError, AwsRefused, ValuesError
from kubectl_eksdoc.kubernetes.redaction import has_digest
from kubectl_eksdoc.model import aws_operations as questions
from kubectl_eksdoc.model.addons import (
    Addon,
    AddonConfiguration,
    AddonVersion,
    AddonVersions,
    CompatibleVersion,
    EksAddonUpdate,
    UpdateCall,
    UpdateHistory,
)
from kubectl_eksdoc.model.api_objects import Doc
from kubectl_eksdoc.model.eks import ClusterVersion, TargetGroup, TargetHealth
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.yaml_events import error_text

from .asking import (
    Json,
    VerifiedCluster,
    ask_and_parse,
    ask_concurrently,
    ask_or_absent,
    ask_or_unknown,
    health_issue,
    health_issues,
    required_text,
    struct_list_field,
    text_field,
    text_list_field,
    time_field,
)


def cluster_versions(verified: VerifiedCluster) -> tuple[ClusterVersion, ...] | Unknown:
    """The Kubernetes versions that EKS supports, with their support dates."""

    def parse(response: Json) -> tuple[ClusterVersion, ...]:
        return tuple(
            ClusterVersion(
                version=each.get("clusterVersion", ""),
                status=each.get("versionStatus") or each.get("status", "").replace("-", "_").upper(),
                default=bool(each.get("defaultVersion", False)),
                released=each.get("releaseDate"),
                standard_ends=each.get("endOfStandardSupportDate"),
                extended_ends=each.get("endOfExtendedSupportDate"),
            )
            for each in response.get("clusterVersions", ())
        )

    return ask_or_unknown(verified.aws, questions.CLUSTER_VERSIONS, {}, parse)


def addon_names(verified: VerifiedCluster) -> tuple[str, ...] | Unknown:
    """The names of the EKS add-ons, sorted."""
    parameters = {"clusterName": verified.cluster.name}
    return ask_or_unknown(verified.aws, questions.ADDONS, parameters, lambda said: tuple(sorted(said["addons"])))


def addons(verified: VerifiedCluster) -> tuple[Addon | Unknown, ...] | Unknown:
    """All EKS add-ons, by name; each one that may not be described is Unknown."""
    names = addon_names(verified)
    if isinstance(names, Unknown):
        return names
    answers = ask_concurrently(names, lambda name: addon(verified, name))
    return tuple(each for _, each in answers if not isinstance(each, Absent))  # it was deleted meanwhile


def addon(verified: VerifiedCluster, name: str) -> Addon | Unknown | Absent:
    parameters = {"clusterName": verified.cluster.name, "addonName": name}

    def parse(response: Json) -> Addon:
        document = response["addon"]
        return Addon(
            name=document.get("addonName", ""),
            version=document.get("addonVersion", ""),
            status=document.get("status", ""),
            configuration=document.get("configurationValues", ""),
            role=document.get("serviceAccountRoleArn", ""),
            namespace=document.get("namespaceConfig", {}).get("namespace", ""),
            issues=health_issues(document),
            changed=document.get("modifiedAt"),
        )

    return ask_or_absent(verified.aws, questions.ADDON, parameters, parse)


def addon_versions(
    verified: VerifiedCluster, name: str = "", kubernetes: str = ""
) -> tuple[AddonVersions, ...] | Unknown | Absent:
    """The versions of an add-on ("": of all), for a Kubernetes version ("": for any)."""
    parameters = {"addonName": name, "kubernetesVersion": kubernetes}

    def parse(response: Json) -> tuple[AddonVersions, ...]:
        return tuple(
            AddonVersions(
                addon_document.get("addonName", ""),
                addon_document.get("type", ""),
                addon_document.get("publisher", ""),
                tuple(
                    AddonVersion(
                        each.get("addonVersion", ""),
                        tuple(
                            CompatibleVersion(fit.get("clusterVersion", ""), bool(fit.get("defaultVersion", False)))
                            for fit in each.get("compatibilities", ())
                        ),
                    )
                    for each in addon_document.get("addonVersions", ())
                ),
            )
            for addon_document in response.get("addons", ())
        )

    return ask_or_absent(
        verified.aws, questions.ADDON_VERSIONS, {key: value for key, value in parameters.items() if value}, parse
    )


def versions_of_addon(verified: VerifiedCluster, name: str) -> AddonVersions | Absent | Unknown:
    """All versions of one add-on."""
    answers = addon_versions(verified, name)
    if isinstance(answers, tuple):
        return answers[0] if answers else Unknown(f"EKS lists no versions of {name}")
    return answers


def addon_configuration(verified: VerifiedCluster, name: str, version: str) -> AddonConfiguration | Unknown | Absent:
    """The configuration schema of a version."""
    parameters = {"addonName": name, "addonVersion": version}

    def parse(response: Json) -> AddonConfiguration:
        schema_text = response.get("configurationSchema", "")
        no_schema = Unknown(f"EKS publishes no configuration schema for {name} {version}")
        return AddonConfiguration(name, version, parse_schema(schema_text) if schema_text else no_schema)

    return ask_or_absent(verified.aws, questions.ADDON_CONFIGURATION, parameters, parse)


MAX_UPDATES = 5
"""Updates of an add-on that are described; EKS keeps those of a long time."""
MAX_SEARCHED_UPDATES = 25
"""Updates that are described where the latest has to be searched for."""


def updates_of_addons(verified: VerifiedCluster) -> Mapping[str, UpdateHistory | Unknown | Absent] | Unknown:
    """The update history of every add-on, by its name."""
    names = addon_names(verified)
    return (
        names
        if isinstance(names, Unknown)
        else dict(ask_concurrently(names, lambda name: updates_of_addon(verified, name)))
    )


def updates_of_addon(
    verified: VerifiedCluster, name: str, limit: int = MAX_UPDATES
) -> UpdateHistory | Unknown | Absent:
    """The `updates` of an add-on."""
    return updates(verified, {"addonName": name}, limit)


def updates(
    verified: VerifiedCluster, target_filter: Mapping[str, str], limit: int
) -> UpdateHistory | Unknown | Absent:
    """Updates of the cluster itself, or of what `target_filter` names: ``{"nodegroupName": "blue"}``. The latest first:
    the first `limit` that EKS lists, if these are in the order of time. EKS guarantees no order: where it is broken,
    the latest may be any of them, and up to `MAX_SEARCHED_UPDATES` are described."""
    parameters = {"name": verified.cluster.name, **target_filter}
    ids = ask_or_absent(verified.aws, questions.UPDATES, parameters, lambda said: text_list_field(said, "updateIds"))
    if isinstance(ids, (Unknown, Absent)):
        return ids
    answers = ask_concurrently(ids[:limit], lambda id: describe_update(verified, target_filter, id))
    # An update without a start time tells nothing about the order.
    started_times = [each.begun for _, each in answers if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if len(ids) > limit and not all(earlier <= later for later, earlier in pairwise(started_times)):
        answers += ask_concurrently(
            ids[limit:MAX_SEARCHED_UPDATES], lambda id: describe_update(verified, target_filter, id)
        )
    known_updates = [each for _, each in answers if isinstance(each, EksAddonUpdate)]
    known_updates.sort(
        key=lambda each: (each.begun.timestamp() if each.begun is not None else 0.0, each.id), reverse=True
    )
    unknown_updates = (each for _, each in answers if isinstance(each, Unknown))
    return UpdateHistory((*known_updates, *unknown_updates), max(0, len(ids) - len(answers)))


def update_history(verified: VerifiedCluster, target_filter: Mapping[str, str], limit: int) -> UpdateHistory | Unknown:
    """As `updates`, empty for a resource that does not exist."""
    answer = updates(verified, target_filter, limit)
    return UpdateHistory(()) if isinstance(answer, Absent) else answer


def describe_update(
    verified: VerifiedCluster, target_filter: Mapping[str, str], update_id: str
) -> EksAddonUpdate | Unknown | Absent:
    return ask_or_absent(
        verified.aws,
        questions.UPDATE,
        {"name": verified.cluster.name, **target_filter, "updateId": update_id},
        parse_update,
    )


def parse_update(response: Json) -> EksAddonUpdate:
    document = response["update"]
    return EksAddonUpdate(
        id=text_field(document, "id"),
        type=text_field(document, "type"),
        status=text_field(document, "status"),
        parameters=tuple(
            (text_field(each, "type"), text_field(each, "value")) for each in struct_list_field(document, "params")
        ),
        begun=time_field(document, "createdAt"),
        errors=tuple(health_issue(each, "errorCode", "errorMessage") for each in struct_list_field(document, "errors")),
    )


# The recommended AMI release, from the public parameters of Systems Manager.


_PARAMETERS = {kind: name for each in AMIS.values() for kind, name in each.parameters}


def ami_parameter(ami_type: str, version: str) -> str:
    """The name of the parameter, "" where there is none: Windows, custom AMIs, unknown AMI types."""
    return _PARAMETERS.get(ami_type, "").format(version=version)


def recommended_release(verified: VerifiedCluster, ami_type: str, version: str) -> str | Absent | Unknown:
    """The release as node groups name it: ``1.33.5-20251106``."""
    name = ami_parameter(ami_type, version)
    if not name:
        return Unknown(f"no public parameter tells the releases of {ami_type or 'its AMI'}")
    answer = ask_or_absent(
        verified.aws, questions.PARAMETER, {"Name": name}, lambda said: required_text(said["Parameter"], "Value")
    )
    return Absent(f"Systems Manager has no parameter {name}") if isinstance(answer, Absent) else answer


# Updates of one add-on: start one, and follow it.


class AddonUpdates:
    """The `ports.AddonUpdateApi` of the add-on `name`."""

    def __init__(self, verified: VerifiedCluster, name: str) -> None:
        self._verified = verified
        self._name = name

    def start_update(self, call: UpdateCall) -> EksAddonUpdate:
        """As `ports.AddonUpdateApi.start_update`."""
        parameters = {
            "clusterName": self._verified.cluster.name,
            "addonName": call.addon,
            "addonVersion": call.version,
            "resolveConflicts": call.mode,
            "clientRequestToken": call.token,
        }
        if call.values is not None:
            parameters["configurationValues"] = call.values
        try:
            return ask_and_parse(self._verified.aws, questions.UPDATE_ADDON, parameters, parse_update)
        except AwsDenied as error:
            raise AwsDenied(error.message, f"Nothing was changed. {error.hint}", error.missing) from error
        except AwsRefused as error:
            if error.code not in _REFUSAL_CODES:
                raise AwsError(error.message, error.hint) from error
            if error.code not in _REFUSAL_TEXTS:
                raise
            message_format, hint = _REFUSAL_TEXTS[error.code]
            detail = error.message.partition(f"{error.code}: ")[2]
            message = f"{message_format.format(addon=call.addon, version=call.version)}: {detail}"
            raise AwsRefused(message, f"Nothing was changed. {hint}", error.code) from error

    def read_update(self, update_id: str) -> EksAddonUpdate | Unknown | Absent:
        """As `ports.AddonUpdateApi.read_update`."""
        return describe_update(self._verified, {"addonName": self._name}, update_id)

    def read_addon(self) -> Addon | Unknown | Absent:
        """As `ports.AddonUpdateApi.read_addon`."""
        return addon(self._verified, self._name)


_REFUSAL_TEXTS = {
    "ResourceInUseException": (
        "EKS takes no update of {addon} now: another one is in progress",
        "Wait until that has ended, and check the difference again.",
    ),
    "InvalidParameterException": (
        "EKS refuses this update of {addon} to {version}",
        "Check what it says about the version and the configuration values.",
    ),
    "InvalidRequestException": (
        "EKS refuses this update of {addon} to {version} as the cluster or the add-on is now",
        "Check the add-on: aws eks describe-addon.",
    ),
}

_REFUSAL_CODES = frozenset(
    (
        *_REFUSAL_TEXTS,
        "BadRequestException",
        "ClientException",
        "InvalidStateException",
        "NotFoundException",
        "SerializationException",
        "UnsupportedOperationException",
        "ValidationException",
    )
)
"""Codes of requests that EKS has not accepted. After one of its faults (ServerException, ServiceUnavailableException,
an unknown code), or after an unreadable response, the update may have started."""


# Health of a load balancer's target group. Source of the shapes: botocore 1.44.5, elbv2/2015-12-01.


def target_group(verified: VerifiedCluster, arn: str) -> TargetGroup | Unknown:
    """The targets of a target group, with their health.

    Raises:
        AwsError: nothing can be asked.
    """

    def parse(response: Json) -> TargetGroup:
        targets = [
            TargetHealth(
                each["Target"].get("Id", ""),
                int(each["Target"].get("Port", 0)),
                each.get("TargetHealth", {}).get("State", ""),
                each.get("TargetHealth", {}).get("Reason", ""),
            )
            for each in response.get("TargetHealthDescriptions", ())
        ]
        return TargetGroup(arn, tuple(sorted(targets, key=lambda target: (target.id, target.port))))

    answer = ask_or_absent(verified.aws, questions.TARGET_HEALTH, {"TargetGroupArn": arn}, parse)
    return Unknown(f"there is no such target group: {answer.said}") if isinstance(answer, Absent) else answer


# Configuration values of add-ons and their schemas, parsed from the texts in EKS.
#
# Values are JSON or YAML (DescribeAddon's ``configurationValues``). YAML is read as its JSON would be: times stay text,
# all keys are text, tags create no objects, and aliases, with which a small text becomes a huge document, are rejected.
# Schemas are JSON (DescribeAddonConfiguration's ``configurationSchema``).


MAX_DEPTH = 100
MAX_LENGTH = 1_000_000
"""Characters. Kubernetes objects and published schemas are much smaller than that."""

ONLY_DIGESTS = Unknown("a part of these configuration values is kept as digests only, as a snapshot keeps it")
_HINT = 'give an object such as {"env": {"ENABLE_POD_ENI": "true"}}, in JSON or in YAML'


class _UnreadableDocument(ValueError):
    """The reason why a text cannot be read, a clause."""


def parse_values(text: str) -> Doc:
    """Parse configuration values. An empty text is an error: it means that no values are set, while ``{}`` sets none.

    Raises:
        ValuesError: it is not an object in JSON or YAML, has a duplicate key, or uses an unsupported feature.
    """
    try:
        try:
            return _require_object(_parse_json(text))
        except _UnreadableDocument as error:
            if not isinstance(error.__cause__, json.JSONDecodeError):
                raise
            return _require_object(_parse_yaml(text))
    except _UnreadableDocument as error:
        raise ValuesError(f"these configuration values cannot be read: {error}", _HINT) from error


def values_or_unknown(text: str) -> Doc | Unknown:
    """The parsed values of EKS or of a snapshot; {} for an empty text."""
    if not text.strip():
        return {}
    try:
        values = parse_values(text)
    except ValuesError as error:
        return Unknown(error.message)
    return ONLY_DIGESTS if has_digest(values) else values


def parse_schema(text: str) -> Doc | Unknown:
    """The JSON Schema, parsed but not checked."""
    return parse_document(text, "the configuration schema")


def parse_document(text: str, name: str) -> Doc | Unknown:
    """A JSON object, such as a policy or an event pattern; an error message contains its `name`."""
    try:
        return _require_object(_parse_json(text))
    except _UnreadableDocument as error:
        return Unknown(f"{name} cannot be read: {error}")


def _require_object(value: Any) -> Doc:
    if not isinstance(value, dict):
        kinds = {type(None): "nothing", bool: "true or false", str: "a text", list: "a list"}
        raise _UnreadableDocument(f"it is no object but {kinds.get(type(value), 'a number')}")
    return value


def _parse_json(text: str) -> Any:
    """
    Raises:
        _UnreadableDocument: caused by a JSONDecodeError where it is not JSON at all.
    """
    if len(text) > MAX_LENGTH:
        raise _UnreadableDocument(f"it is longer than {MAX_LENGTH} characters")
    try:
        return _to_json(json.loads(text, object_pairs_hook=_unique_keys), MAX_DEPTH)
    except _UnreadableDocument:
        raise
    except (ValueError, RecursionError) as error:
        raise _UnreadableDocument(f"it is no JSON: {error}") from error


def _unique_keys(pairs: list[tuple[str, Any]]) -> Doc:
    document: Doc = {}
    for key, value in pairs:
        if key in document:
            raise _UnreadableDocument(f"the key {key!r} is in one object twice")
        document[key] = value
    return document


class _Loader(yaml.SafeLoader):
    """Without times, aliases and merges; rejects duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _UnreadableDocument("it has aliases, which are not read here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        return _unique_keys(
            [(self._key_text(key), self.construct_object(value, deep=True)) for key, value in node.value]
        )

    def _key_text(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _UnreadableDocument("a key is no text")
        return str(node.value)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag.rpartition(":")[2] not in ("timestamp", "merge", "value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _parse_yaml(text: str) -> Any:
    try:
        return _to_json(yaml.load(text, Loader=_Loader), MAX_DEPTH)
    except _UnreadableDocument:
        raise
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise _UnreadableDocument(f"it is neither JSON nor YAML: {error_text(error)}") from error


def _to_json(value: Any, levels_left: int) -> Any:
    if levels_left < 0:
        raise _UnreadableDocument(f"it is deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {key: _to_json(each, levels_left - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_to_json(each, levels_left - 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise _UnreadableDocument(f"JSON has no number {value}")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise _UnreadableDocument(f"a {type(value).__name__} is not read here")
