"""Fields of configuration values and live objects: their names in EKS's notation, their effects, and the affected
pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import SchemaPlace
from kubectl_eksdoc.kubernetes.document_diff import Path, item_step
from kubectl_eksdoc.kubernetes.field_paths import field_step, format_step, keys_of
from kubectl_eksdoc.kubernetes.redaction import redact_value
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, same_json
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.nodes import Pod

# Merge configuration values: objects are merged by key, all other values, including lists, are replaced.


@frozen
class MissingValue:
    """A field without a value, which differs from null."""


MISSING = MissingValue()


@frozen
class Leaf:
    """A value that is not an object, or an empty object; a list is one leaf."""

    path: ConfigPath
    value: Any


def merge_values(base: Doc, overrides: Doc) -> Doc:
    """`overrides` replace values of `base`, key by key."""
    result = dict(base)
    for key, value in overrides.items():
        old = result.get(key)
        result[key] = merge_values(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def changed_leaves(before: Doc, after: Doc) -> tuple[ConfigPath, ...]:
    """Paths of the leaves that only one of the documents has, or that differ."""
    old, new = ({leaf.path: leaf.value for leaf in leaves(each)} for each in (before, after))
    return tuple(sorted(path for path in old.keys() | new.keys() if not same_json(*_values_at(path, old, new))))


def _values_at(path: ConfigPath, old: dict[ConfigPath, Any], new: dict[ConfigPath, Any]) -> tuple[Any, Any]:
    return old.get(path, MISSING), new.get(path, MISSING)


def leaves(values: Doc) -> tuple[Leaf, ...]:
    """All leaves, sorted by path; () for ``{}``."""
    return tuple(sorted(_iterate_leaves((), values), key=lambda leaf: leaf.path))


def _iterate_leaves(path: ConfigPath, values: Doc) -> Iterator[Leaf]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _iterate_leaves((*path, key), value)
        else:
            yield Leaf((*path, key), value)


def is_same_value(first: object, second: object) -> bool:
    """Equality of JSON values: true is not 1, although Python compares them as equal."""
    return type(first) is type(second) and bool(first == second)


@frozen(order=True)
class AddonField:
    """A field of a live object; `path` consists of FieldsV1 steps."""

    of: ObjectName
    path: Path

    def __str__(self) -> str:
        """In EKS's notation: ``DaemonSet.apps aws-node - .spec.template.spec.containers[name="aws-node"].image``."""
        return f"{self.of} - {self.said}"

    @property
    def said(self) -> str:
        """The path in the same notation, without the object."""
        return "".join(map(format_step, self.path))

    @property
    def variable(self) -> str:
        """The name of the environment variable whose value the field is, "" for other fields."""
        if len(self.path) < 3 or self.path[-3] != field_step("env") or not self.path[-2].startswith("k:"):
            return ""
        return str(keys_of(self.path[-2]).get("name", "")) if self.path[-1].startswith("f:value") else ""

    def redacted(self, value: Any) -> Any:
        """The value without secrets of a variable, an annotation, or a Corefile."""
        return redact_value(value, self.variable or (self.path[-1].partition(":")[2] if self.path else ""))

    @property
    def container(self) -> str:
        """The name of the container that has the field, "" if there is none."""
        for list_step, item in zip(self.path, self.path[1:], strict=False):
            if list_step in _CONTAINERS and item.startswith("k:"):
                return str(keys_of(item).get("name", ""))
        return ""

    @property
    def is_in_init_container(self) -> bool:
        """The field is in an init container."""
        return field_step("initContainers") in self.path


_CONTAINERS = (field_step("containers"), field_step("initContainers"))


def value_at(doc: Any, path: Path, place: SchemaPlace) -> Any:
    """The value at `path`, `MISSING` if there is none. Of items with the same key the last counts, as it does for a
    variable that is set twice."""
    for step in path:
        if isinstance(doc, dict) and step.startswith("f:"):
            name = step[2:]
            if name not in doc:
                return MISSING
            doc, place = doc[name], place.under(name)
        elif isinstance(doc, list):
            doc = next((item for item in reversed(doc) if item_step(item, place) == step), MISSING)
            place = place.item_place()
        else:
            return MISSING
    return doc


def shorten(names: Sequence[str]) -> str:
    """The first three names, and the number of the others."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


MAX_TEXT_LENGTH = 60


def value_text(value: object, field: AddonField | None = None) -> str:
    """The value for a sentence, redacted by its field. A long value is replaced by its kind."""
    value = value if field is None else field.redacted(value)
    if value is MISSING:
        return "nothing"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if len(text) > MAX_TEXT_LENGTH or "\n" in text:
        return "a text" if isinstance(value, str) else "a document"
    return text


# Effects of an add-on's fields, and the severity of a change. The effect of a field that knowledge/field_effects.json
# does not list is unknown, and findings say so.


class AffectedUsers(Enum):
    """Pods or nodes that a change affects."""

    BRANCH_PODS = "pods with security groups of their own"
    EVERYBODY = "all pods"
    NEW_PODS = "pods that start afterwards"
    NODES = "nodes that come afterwards"


@frozen
class FieldEffect:
    """`fields`: names of variables, kinds with the last step of a path (``Deployment f:replicas``), or steps of any
    path. `does`: the consequence of losing the value, a clause. `worst`: the severity if it is in use. `at_once`: it
    happens during the rollout, not later. `of`: the only value whose loss has this effect, "" for any. `probed`:
    kubelet probes are affected; `strict_only`: there is no effect in standard mode."""

    fields: tuple[str, ...]
    does: str
    users: AffectedUsers
    worst: Severity
    source: KnowledgeSource
    at_once: bool = True
    of: str = ""
    probed: bool = False
    strict_only: bool = False


_EFFECTS = {name: each for each in records(FieldEffect, "field_effects") for name in each.fields}


def effect_of(field: AddonField) -> FieldEffect | None:
    """None if the effect is unknown."""
    keys = (field.variable, f"{field.of.kind} {field.path[-1]}", *field.path)
    return next((_EFFECTS[name] for name in keys if name in _EFFECTS), None)


# Users of the settings of an add-on's fields, by the current cluster.


LOAD_BALANCER_KINDS = (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)
USAGE_KINDS = (kinds.NODES, kinds.PODS, *LOAD_BALANCER_KINDS, kinds.SECURITY_GROUP_POLICIES, kinds.ENI_CONFIGS)
"""Kinds that are listed completely to find the users."""


@frozen
class FullestNode:
    """The node with the most pods; `room` is its allocatable number of pods."""

    node: str
    pods: int
    room: int


@frozen
class Usage:
    """`branched`: pods with their own branch interface that have not ended, sorted. `target_groups`:
    TargetGroupBindings of Services that select one of them, as ``namespace/name``. `policies`: SecurityGroupPolicies as
    ``namespace/name``; `eni_configs` by name. `fullest` is None in a cluster without nodes."""

    branched: tuple[Pod, ...] | Unknown
    target_groups: tuple[str, ...] | Unknown = ()
    fullest: FullestNode | Unknown | None = None
    policies: tuple[str, ...] | Unknown = ()
    eni_configs: tuple[str, ...] | Unknown = ()

    @property
    def branch_pods(self) -> tuple[str, ...] | Unknown:
        """As ``namespace/name``."""
        return self.branched if isinstance(self.branched, Unknown) else tuple(pod.key for pod in self.branched)

    @property
    def astray(self) -> tuple[Pod, ...]:
        """Pods that started without their branch interface, and so have the security groups of their node."""
        branched = () if isinstance(self.branched, Unknown) else self.branched
        return tuple(pod for pod in branched if pod.branch is not None and pod.branch.uses_node_address)


def read_usage(cluster: Cluster) -> Usage:
    """The usage of the cluster; facts that were not read are unknown."""
    pods, nodes = cluster.read_of(kinds.PODS), cluster.read_of(kinds.NODES)
    if not pods.known:
        not_read = Unknown(f"pods were not read: {pods.detail}", "list pods")
        return Usage(not_read, not_read, not_read, *_custom_resource_names(cluster))
    branched = tuple(pod for pod in cluster.pods if pod.branch is not None and not pod.finished)
    fullest = _fullest_node(cluster) if nodes.known else Unknown(f"nodes were not read: {nodes.detail}", "list nodes")
    bindings = affected_bindings(cluster)
    groups = bindings if isinstance(bindings, Unknown) else tuple(f"{each.namespace}/{each.name}" for each in bindings)
    return Usage(branched, groups, fullest, *_custom_resource_names(cluster))


def _custom_resource_names(cluster: Cluster) -> tuple[tuple[str, ...] | Unknown, tuple[str, ...] | Unknown]:
    """Names of SecurityGroupPolicies and ENIConfigs."""
    policies = tuple(sorted(f"{each.namespace}/{each.name}" for each in cluster.security_group_policies))
    configs = tuple(sorted(each.name for each in cluster.eni_configs))
    return (
        _reason_unread(cluster, kinds.SECURITY_GROUP_POLICIES) or policies,
        _reason_unread(cluster, kinds.ENI_CONFIGS) or configs,
    )


def _reason_unread(cluster: Cluster, resource: Resource) -> Unknown | None:
    read = cluster.read_of(resource)
    name = resource.full_name
    return None if read.known else Unknown(f"{name} were not read: {read.detail}", f"list {name}")


def affected_bindings(cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """TargetGroupBindings of Services that select pods with their own security groups, sorted by namespace and name."""
    unreadable = cluster.not_read(kinds.PODS, *LOAD_BALANCER_KINDS)
    if unreadable:
        reason = "; ".join(f"{read.resource.full_name}: {read.detail}" for read in unreadable)
        return Unknown(reason, f"list {unreadable[0].resource.full_name}")
    branch_pods = [pod for pod in cluster.pods if pod.branch is not None and not pod.finished]
    service_keys = {
        service.key
        for service in cluster.services
        if service.selector
        and any(
            pod.namespace == service.namespace and service.selector.items() <= pod.labels.items() for pod in branch_pods
        )
    }
    bindings = (each for each in cluster.target_group_bindings if f"{each.namespace}/{each.service}" in service_keys)
    return tuple(sorted(bindings, key=lambda each: (each.namespace, each.name)))


def _fullest_node(cluster: Cluster) -> FullestNode | None:
    """Pods of the host network are counted, too: the facts of a pod do not distinguish them."""
    running = Counter(pod.node for pod in cluster.pods if not pod.finished)
    nodes = [FullestNode(node.name, running[node.name], node.pods_allocatable) for node in cluster.nodes]
    return max(nodes, key=lambda each: (each.pods, each.node), default=None)
