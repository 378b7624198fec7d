"""Fields: of configuration values and live objects, called as EKS calls them; what each does, and who uses that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import SchemaPlace
from kubectl_eksdoc.kubernetes.document_diff import Path, step_of
from kubectl_eksdoc.kubernetes.field_paths import field_step, keys_of, shown
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model import kinds
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName, same_json
from kubectl_eksdoc.model.cluster import Cluster
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.kinds import Resource, Unknown
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records
from kubectl_eksdoc.model.network import TargetGroupBinding
from kubectl_eksdoc.model.nodes import Pod

# Configuration values put together: objects merge, everything else, lists too, is taken as a whole.


@frozen
class MissingValue:
    """Nothing stands there, which is not null."""


MISSING = MissingValue()


@frozen
class Leaf:
    """A value that is no object, or an empty one; a list is one as a whole."""

    path: ConfigPath
    value: Any


def merged(below: Doc, above: Doc) -> Doc:
    """What `above` says holds, the rest of `below` stays."""
    made = dict(below)
    for key, value in above.items():
        old = made.get(key)
        made[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return made


def differences(before: Doc, after: Doc) -> tuple[ConfigPath, ...]:
    """The leaves that one of them has and the other has not, or not so."""
    old, new = ({leaf.path: leaf.value for leaf in leaves(each)} for each in (before, after))
    return tuple(sorted(path for path in old.keys() | new.keys() if not same_json(*_at(path, old, new))))


def _at(path: ConfigPath, old: dict[ConfigPath, Any], new: dict[ConfigPath, Any]) -> tuple[Any, Any]:
    return old.get(path, MISSING), new.get(path, MISSING)


def leaves(values: Doc) -> tuple[Leaf, ...]:
    """All that is said, sorted by path; () for ``{}``."""
    return tuple(sorted(_leaves((), values), key=lambda leaf: leaf.path))


def _leaves(path: ConfigPath, values: Doc) -> Iterator[Leaf]:
    for key, value in values.items():
        if isinstance(value, dict) and value:
            yield from _leaves((*path, key), value)
        else:
            yield Leaf((*path, key), value)


def same_value(one: object, other: object) -> bool:
    """Of JSON: true is not 1, though Python holds them equal."""
    return type(one) is type(other) and bool(one == other)


@frozen(order=True)
class AddonField:
    """A field of a live object; `path` in FieldsV1's steps."""

    of: ObjectName
    path: Path

    def __str__(self) -> str:
        """As EKS names it: ``DaemonSet.apps aws-node - .spec.template.spec.containers[name="aws-node"].image``."""
        return f"{self.of} - {self.said}"

    @property
    def said(self) -> str:
        """The same without its object."""
        return "".join(map(shown, self.path))

    @property
    def variable(self) -> str:
        """The name of the environment variable whose value it is, "" if it is none."""
        if len(self.path) < 3 or self.path[-3] != field_step("env") or not self.path[-2].startswith("k:"):
            return ""
        return str(keys_of(self.path[-2]).get("name", "")) if self.path[-1].startswith("f:value") else ""

    def printed(self, value: Any) -> Any:
        """As it may be printed: no secret of a variable, of an annotation, or in a Corefile."""
        return printed(value, self.variable or (self.path[-1].partition(":")[2] if self.path else ""))

    @property
    def container(self) -> str:
        """The one it is in, "" if it is in none."""
        for list_step, item in zip(self.path, self.path[1:], strict=False):
            if list_step in _CONTAINERS and item.startswith("k:"):
                return str(keys_of(item).get("name", ""))
        return ""

    @property
    def starts_first(self) -> bool:
        """It is of an init container."""
        return field_step("initContainers") in self.path


_CONTAINERS = (field_step("containers"), field_step("initContainers"))


def value_at(doc: Any, path: Path, place: SchemaPlace) -> Any:
    """What stands at `path`, `MISSING` where nothing does. Of items with the same key the last counts, as it does where
    a variable is set twice."""
    for step in path:
        if isinstance(doc, dict) and step.startswith("f:"):
            name = step[2:]
            if name not in doc:
                return MISSING
            doc, place = doc[name], place.under(name)
        elif isinstance(doc, list):
            doc = next((item for item in reversed(doc) if step_of(item, place) == step), MISSING)
            place = place.of_items()
        else:
            return MISSING
    return doc


def some_of(names: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


LONGEST = 60


def value_of(value: object, of: AddonField | None = None) -> str:
    """For a sentence, as it may be printed `of` its field; what is long is named by its kind."""
    value = value if of is None else of.printed(value)
    if value is MISSING:
        return "nothing"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    if len(text) > LONGEST or "\n" in text:
        return "a text" if isinstance(value, str) else "a document"
    return text


# What a field of an add-on does, and what it means when it changes.
#
# A field that is not in knowledge/field_effects.json is none without effect: it is one of which nothing is known here,
# and that is said.


class Users(Enum):
    """Who notices."""

    BRANCH_PODS = "pods with security groups of their own"
    EVERYBODY = "all pods"
    NEW_PODS = "pods that start afterwards"
    NODES = "nodes that come afterwards"


@frozen
class FieldEffect:
    """`fields`: names of variables, kinds with the last step of a path (``Deployment f:replicas``), or steps of any.
    `does`: what follows when their value is lost, a clause. `worst`: how bad that is where somebody uses it.
    `at_once`: as the update rolls over the nodes, and not later. `of`: the only value whose loss does it, "" for any.
    `probed`: what the kubelet's probes hear is changed; `strict_only`: nothing of it happens in standard mode.
    """

    fields: tuple[str, ...]
    does: str
    users: Users
    worst: Severity
    source: KnowledgeSource
    at_once: bool = True
    of: str = ""
    probed: bool = False
    strict_only: bool = False


_EFFECTS = {name: each for each in records(FieldEffect, "field_effects") for name in each.fields}


def effect_of(field: AddonField) -> FieldEffect | None:
    """None: nothing is known of it."""
    names = (field.variable, f"{field.of.kind} {field.path[-1]}", *field.path)
    return next((_EFFECTS[name] for name in names if name in _EFFECTS), None)


# Who uses what an add-on's fields switch: facts about the cluster as it is now.


BEHIND_BALANCERS = (kinds.SERVICES, kinds.TARGET_GROUP_BINDINGS)
USED_BY = (kinds.NODES, kinds.PODS, *BEHIND_BALANCERS, kinds.SECURITY_GROUP_POLICIES, kinds.ENI_CONFIGS)
"""What of a cluster is read as a whole, to tell it."""


@frozen
class FullestNode:
    """The node with the most pods of its own address; `room` is its allocatable number of pods."""

    node: str
    pods: int
    room: int


@frozen
class Usage:
    """`branched`: pods with a branch interface of their own that have not ended, sorted. `target_groups`: the bindings,
    by ``namespace/name``, of Services that select one of them. `policies`: SecurityGroupPolicies by
    ``namespace/name``; `eni_configs` by name. `fullest` is None in a cluster without nodes."""

    branched: tuple[Pod, ...] | Unknown
    target_groups: tuple[str, ...] | Unknown = ()
    fullest: FullestNode | Unknown | None = None
    policies: tuple[str, ...] | Unknown = ()
    eni_configs: tuple[str, ...] | Unknown = ()

    @property
    def branch_pods(self) -> tuple[str, ...] | Unknown:
        """By ``namespace/name``."""
        return self.branched if isinstance(self.branched, Unknown) else tuple(pod.key for pod in self.branched)

    @property
    def astray(self) -> tuple[Pod, ...]:
        """Those that are known to have started without their interface, and so have their node's security groups."""
        branched = () if isinstance(self.branched, Unknown) else self.branched
        return tuple(pod for pod in branched if pod.branch is not None and pod.branch.astray)


def usage(cluster: Cluster) -> Usage:
    """What was not read is unknown."""
    pods, nodes = cluster.read_of(kinds.PODS), cluster.read_of(kinds.NODES)
    if not pods.known:
        unread = Unknown(f"pods were not read: {pods.detail}", "list pods")
        return Usage(unread, unread, unread, *_custom(cluster))
    branched = tuple(pod for pod in cluster.pods if pod.branch is not None and not pod.finished)
    fullest = _fullest(cluster) if nodes.known else Unknown(f"nodes were not read: {nodes.detail}", "list nodes")
    bound = balanced(cluster)
    groups = bound if isinstance(bound, Unknown) else tuple(f"{each.namespace}/{each.name}" for each in bound)
    return Usage(branched, groups, fullest, *_custom(cluster))


def _custom(cluster: Cluster) -> tuple[tuple[str, ...] | Unknown, tuple[str, ...] | Unknown]:
    """SecurityGroupPolicies and ENIConfigs."""
    policies = tuple(sorted(f"{each.namespace}/{each.name}" for each in cluster.security_group_policies))
    configs = tuple(sorted(each.name for each in cluster.eni_configs))
    return (
        _unread(cluster, kinds.SECURITY_GROUP_POLICIES) or policies,
        _unread(cluster, kinds.ENI_CONFIGS) or configs,
    )


def _unread(cluster: Cluster, resource: Resource) -> Unknown | None:
    read = cluster.read_of(resource)
    name = resource.full_name
    return None if read.known else Unknown(f"{name} were not read: {read.detail}", f"list {name}")


def balanced(cluster: Cluster) -> tuple[TargetGroupBinding, ...] | Unknown:
    """Bindings, by namespace and name, of Services with pods that have security groups of their own."""
    unread = cluster.unread(kinds.PODS, *BEHIND_BALANCERS)
    if unread:
        why = "; ".join(f"{read.resource.full_name}: {read.detail}" for read in unread)
        return Unknown(why, f"list {unread[0].resource.full_name}")
    branched = [pod for pod in cluster.pods if pod.branch is not None and not pod.finished]
    serving = {
        service.key
        for service in cluster.services
        if service.selector
        and any(
            pod.namespace == service.namespace and service.selector.items() <= pod.labels.items() for pod in branched
        )
    }
    bound = (each for each in cluster.target_group_bindings if f"{each.namespace}/{each.service}" in serving)
    return tuple(sorted(bound, key=lambda each: (each.namespace, each.name)))


def _fullest(cluster: Cluster) -> FullestNode | None:
    """Pods of the host network count, too: without reading more of each pod they cannot be told from the others."""
    running = Counter(pod.node for pod in cluster.pods if not pod.finished)
    found = [FullestNode(node.name, running[node.name], node.pods_allocatable) for node in cluster.nodes]
    return max(found, key=lambda each: (each.pods, each.node), default=None)
