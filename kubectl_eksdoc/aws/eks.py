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
from kubectl_eksdoc.yaml_events import reason

from .asking import (
    Json,
    VerifiedCluster,
    answered,
    at_once,
    found,
    issue,
    issues,
    known,
    moment,
    name_of,
    parts,
    text,
    texts,
)


def cluster_versions(of: VerifiedCluster) -> tuple[ClusterVersion, ...] | Unknown:
    """The Kubernetes versions that EKS supports, with their support dates."""

    def made(said: Json) -> tuple[ClusterVersion, ...]:
        return tuple(
            ClusterVersion(
                version=each.get("clusterVersion", ""),
                status=each.get("versionStatus") or each.get("status", "").replace("-", "_").upper(),
                default=bool(each.get("defaultVersion", False)),
                released=each.get("releaseDate"),
                standard_ends=each.get("endOfStandardSupportDate"),
                extended_ends=each.get("endOfExtendedSupportDate"),
            )
            for each in said.get("clusterVersions", ())
        )

    return known(of.aws, questions.CLUSTER_VERSIONS, {}, made)


def addon_names(of: VerifiedCluster) -> tuple[str, ...] | Unknown:
    """The names of the EKS add-ons, sorted."""
    wanted = {"clusterName": of.cluster.name}
    return known(of.aws, questions.ADDONS, wanted, lambda said: tuple(sorted(said["addons"])))


def addons(of: VerifiedCluster) -> tuple[Addon | Unknown, ...] | Unknown:
    """All EKS add-ons, by name; each one that may not be described is Unknown."""
    names = addon_names(of)
    if isinstance(names, Unknown):
        return names
    told = at_once(names, lambda name: addon(of, name))
    return tuple(each for _, each in told if not isinstance(each, Absent))  # it was deleted meanwhile


def addon(of: VerifiedCluster, name: str) -> Addon | Unknown | Absent:
    wanted = {"clusterName": of.cluster.name, "addonName": name}

    def made(answer: Json) -> Addon:
        said = answer["addon"]
        return Addon(
            name=said.get("addonName", ""),
            version=said.get("addonVersion", ""),
            status=said.get("status", ""),
            configuration=said.get("configurationValues", ""),
            role=said.get("serviceAccountRoleArn", ""),
            namespace=said.get("namespaceConfig", {}).get("namespace", ""),
            issues=issues(said),
            changed=said.get("modifiedAt"),
        )

    return found(of.aws, questions.ADDON, wanted, made)


def addon_versions(
    of: VerifiedCluster, name: str = "", kubernetes: str = ""
) -> tuple[AddonVersions, ...] | Unknown | Absent:
    """The versions of an add-on ("": of all), for a Kubernetes version ("": for any)."""
    wanted = {"addonName": name, "kubernetesVersion": kubernetes}

    def made(said: Json) -> tuple[AddonVersions, ...]:
        return tuple(
            AddonVersions(
                of_one.get("addonName", ""),
                of_one.get("type", ""),
                of_one.get("publisher", ""),
                tuple(
                    AddonVersion(
                        each.get("addonVersion", ""),
                        tuple(
                            CompatibleVersion(fit.get("clusterVersion", ""), bool(fit.get("defaultVersion", False)))
                            for fit in each.get("compatibilities", ())
                        ),
                    )
                    for each in of_one.get("addonVersions", ())
                ),
            )
            for of_one in said.get("addons", ())
        )

    return found(of.aws, questions.ADDON_VERSIONS, {key: value for key, value in wanted.items() if value}, made)


def versions_of(of: VerifiedCluster, name: str) -> AddonVersions | Absent | Unknown:
    """All versions of one add-on."""
    told = addon_versions(of, name)
    if isinstance(told, tuple):
        return told[0] if told else Unknown(f"EKS lists no versions of {name}")
    return told


def addon_configuration(of: VerifiedCluster, name: str, version: str) -> AddonConfiguration | Unknown | Absent:
    """The configuration schema of a version."""
    wanted = {"addonName": name, "addonVersion": version}

    def made(said: Json) -> AddonConfiguration:
        text = said.get("configurationSchema", "")
        none = Unknown(f"EKS publishes no configuration schema for {name} {version}")
        return AddonConfiguration(name, version, schema_of(text) if text else none)

    return found(of.aws, questions.ADDON_CONFIGURATION, wanted, made)


MOST_UPDATES = 5
"""Updates of an add-on that are described; EKS keeps those of a long time."""
MOST_SEARCHED = 25
"""Updates that are described where the latest has to be searched for."""


def updates_of_addons(of: VerifiedCluster) -> Mapping[str, UpdateHistory | Unknown | Absent] | Unknown:
    """The update history of every add-on, by its name."""
    names = addon_names(of)
    return names if isinstance(names, Unknown) else dict(at_once(names, lambda name: updates_of_addon(of, name)))


def updates_of_addon(of: VerifiedCluster, name: str, most: int = MOST_UPDATES) -> UpdateHistory | Unknown | Absent:
    """The `updates` of an add-on."""
    return updates(of, {"addonName": name}, most)


def updates(of: VerifiedCluster, what: Mapping[str, str], most: int) -> UpdateHistory | Unknown | Absent:
    """Updates of the cluster itself, or of what `target_filter` names: ``{"nodegroupName": "blue"}``. The latest first:
    the first `limit` that EKS lists, if these are in the order of time. EKS guarantees no order: where it is broken,
    the latest may be any of them, and up to `MAX_SEARCHED_UPDATES` are described."""
    wanted = {"name": of.cluster.name, **what}
    ids = found(of.aws, questions.UPDATES, wanted, lambda said: texts(said, "updateIds"))
    if isinstance(ids, (Unknown, Absent)):
        return ids
    told = at_once(ids[:most], lambda id: update(of, what, id))
    # An update without a start time tells nothing about the order.
    begun = [each.begun for _, each in told if isinstance(each, EksAddonUpdate) and each.begun is not None]
    if len(ids) > most and not all(earlier <= later for later, earlier in pairwise(begun)):
        told += at_once(ids[most:MOST_SEARCHED], lambda id: update(of, what, id))
    seen = [each for _, each in told if isinstance(each, EksAddonUpdate)]
    seen.sort(key=lambda each: (each.begun.timestamp() if each.begun is not None else 0.0, each.id), reverse=True)
    unknown = (each for _, each in told if isinstance(each, Unknown))
    return UpdateHistory((*seen, *unknown), max(0, len(ids) - len(told)))


def history(of: VerifiedCluster, what: Mapping[str, str], most: int) -> UpdateHistory | Unknown:
    """As `updates`, empty for a resource that does not exist."""
    told = updates(of, what, most)
    return UpdateHistory(()) if isinstance(told, Absent) else told


def update(of: VerifiedCluster, what: Mapping[str, str], ident: str) -> EksAddonUpdate | Unknown | Absent:
    return found(of.aws, questions.UPDATE, {"name": of.cluster.name, **what, "updateId": ident}, update_of)


def update_of(said: Json) -> EksAddonUpdate:
    update = said["update"]
    return EksAddonUpdate(
        id=text(update, "id"),
        type=text(update, "type"),
        status=text(update, "status"),
        parameters=tuple((text(each, "type"), text(each, "value")) for each in parts(update, "params")),
        begun=moment(update, "createdAt"),
        errors=tuple(issue(each, "errorCode", "errorMessage") for each in parts(update, "errors")),
    )


# The recommended AMI release, from the public parameters of Systems Manager.


_PARAMETERS = {kind: name for each in AMIS.values() for kind, name in each.parameters}


def parameter_of(ami_type: str, version: str) -> str:
    """The name of the parameter, "" where there is none: Windows, custom AMIs, unknown AMI types."""
    return _PARAMETERS.get(ami_type, "").format(version=version)


def release(of: VerifiedCluster, ami_type: str, version: str) -> str | Absent | Unknown:
    """The release as node groups name it: ``1.33.5-20251106``."""
    name = parameter_of(ami_type, version)
    if not name:
        return Unknown(f"no public parameter tells the releases of {ami_type or 'its AMI'}")
    told = found(of.aws, questions.PARAMETER, {"Name": name}, lambda said: name_of(said["Parameter"], "Value"))
    return Absent(f"Systems Manager has no parameter {name}") if isinstance(told, Absent) else told


# Updates of one add-on: start one, and follow it.


class AddonUpdates:
    """The `ports.AddonUpdateApi` of the add-on `name`."""

    def __init__(self, of: VerifiedCluster, name: str) -> None:
        self._of = of
        self._name = name

    def begin(self, call: UpdateCall) -> EksAddonUpdate:
        """As `ports.AddonUpdateApi.start_update`."""
        wanted = {
            "clusterName": self._of.cluster.name,
            "addonName": call.addon,
            "addonVersion": call.version,
            "resolveConflicts": call.mode,
            "clientRequestToken": call.token,
        }
        if call.values is not None:
            wanted["configurationValues"] = call.values
        try:
            return answered(self._of.aws, questions.UPDATE_ADDON, wanted, update_of)
        except AwsDenied as error:
            raise AwsDenied(error.message, f"Nothing was changed. {error.hint}", error.missing) from error
        except AwsRefused as error:
            if error.code not in _REFUSING:
                raise AwsError(error.message, error.hint) from error
            if error.code not in _WORDS:
                raise
            what, hint = _WORDS[error.code]
            said = error.message.partition(f"{error.code}: ")[2]
            message = f"{what.format(addon=call.addon, version=call.version)}: {said}"
            raise AwsRefused(message, f"Nothing was changed. {hint}", error.code) from error

    def update(self, ident: str) -> EksAddonUpdate | Unknown | Absent:
        """As `ports.AddonUpdateApi.read_update`."""
        return update(self._of, {"addonName": self._name}, ident)

    def addon(self) -> Addon | Unknown | Absent:
        """As `ports.AddonUpdateApi.read_addon`."""
        return addon(self._of, self._name)


_WORDS = {
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

_REFUSING = frozenset(
    (
        *_WORDS,
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


def target_group(of: VerifiedCluster, arn: str) -> TargetGroup | Unknown:
    """The targets of a target group, with their health.

    Raises:
        AwsError: nothing can be asked.
    """

    def made(said: Json) -> TargetGroup:
        targets = [
            TargetHealth(
                each["Target"].get("Id", ""),
                int(each["Target"].get("Port", 0)),
                each.get("TargetHealth", {}).get("State", ""),
                each.get("TargetHealth", {}).get("Reason", ""),
            )
            for each in said.get("TargetHealthDescriptions", ())
        ]
        return TargetGroup(arn, tuple(sorted(targets, key=lambda target: (target.id, target.port))))

    told = found(of.aws, questions.TARGET_HEALTH, {"TargetGroupArn": arn}, made)
    return Unknown(f"there is no such target group: {told.said}") if isinstance(told, Absent) else told


# Configuration values of add-ons and their schemas, parsed from the texts in EKS.
#
# Values are JSON or YAML (DescribeAddon's ``configurationValues``). YAML is read as its JSON would be: times stay text,
# all keys are text, tags create no objects, and aliases, with which a small text becomes a huge document, are rejected.
# Schemas are JSON (DescribeAddonConfiguration's ``configurationSchema``).


DEEPEST = 100
LONGEST = 1_000_000
"""Characters. Kubernetes objects and published schemas are much smaller than that."""

ONLY_DIGESTS = Unknown("a part of these configuration values is kept as digests only, as a snapshot keeps it")
_HINT = 'give an object such as {"env": {"ENABLE_POD_ENI": "true"}}, in JSON or in YAML'


class _NotReadable(ValueError):
    """The reason why a text cannot be read, a clause."""


def values_of(text: str) -> Doc:
    """Parse configuration values. An empty text is an error: it means that no values are set, while ``{}`` sets none.

    Raises:
        ValuesError: it is not an object in JSON or YAML, has a duplicate key, or uses an unsupported feature.
    """
    try:
        try:
            return _object(_json(text))
        except _NotReadable as error:
            if not isinstance(error.__cause__, json.JSONDecodeError):
                raise
            return _object(_yaml(text))
    except _NotReadable as error:
        raise ValuesError(f"these configuration values cannot be read: {error}", _HINT) from error


def kept_values(text: str) -> Doc | Unknown:
    """The parsed values of EKS or of a snapshot; {} for an empty text."""
    if not text.strip():
        return {}
    try:
        values = values_of(text)
    except ValuesError as error:
        return Unknown(error.message)
    return ONLY_DIGESTS if has_digest(values) else values


def schema_of(text: str) -> Doc | Unknown:
    """The JSON Schema, parsed but not checked."""
    return document_of(text, "the configuration schema")


def document_of(text: str, what: str) -> Doc | Unknown:
    """A JSON object, such as a policy or an event pattern; an error message contains its `name`."""
    try:
        return _object(_json(text))
    except _NotReadable as error:
        return Unknown(f"{what} cannot be read: {error}")


def _object(value: Any) -> Doc:
    if not isinstance(value, dict):
        kinds = {type(None): "nothing", bool: "true or false", str: "a text", list: "a list"}
        raise _NotReadable(f"it is no object but {kinds.get(type(value), 'a number')}")
    return value


def _json(text: str) -> Any:
    """
    Raises:
        _UnreadableDocument: caused by a JSONDecodeError where it is not JSON at all.
    """
    if len(text) > LONGEST:
        raise _NotReadable(f"it is longer than {LONGEST} characters")
    try:
        return _as_json(json.loads(text, object_pairs_hook=_once_each), DEEPEST)
    except _NotReadable:
        raise
    except (ValueError, RecursionError) as error:
        raise _NotReadable(f"it is no JSON: {error}") from error


def _once_each(pairs: list[tuple[str, Any]]) -> Doc:
    found: Doc = {}
    for key, value in pairs:
        if key in found:
            raise _NotReadable(f"the key {key!r} is in one object twice")
        found[key] = value
    return found


class _Loader(yaml.SafeLoader):
    """Without times, aliases and merges; rejects duplicate keys."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise _NotReadable("it has aliases, which are not read here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        return _once_each([(self._name(key), self.construct_object(value, deep=True)) for key, value in node.value])

    def _name(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _NotReadable("a key is no text")
        return str(node.value)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in resolvers if tag.rpartition(":")[2] not in ("timestamp", "merge", "value")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _yaml(text: str) -> Any:
    try:
        return _as_json(yaml.load(text, Loader=_Loader), DEEPEST)
    except _NotReadable:
        raise
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise _NotReadable(f"it is neither JSON nor YAML: {reason(error)}") from error


def _as_json(value: Any, deepest: int) -> Any:
    if deepest < 0:
        raise _NotReadable(f"it is deeper than {DEEPEST} levels")
    if isinstance(value, dict):
        return {key: _as_json(each, deepest - 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_json(each, deepest - 1) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotReadable(f"JSON has no number {value}")
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise _NotReadable(f"a {type(value).__name__} is not read here")
