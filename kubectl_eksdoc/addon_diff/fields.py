"""The fields of live objects, called as EKS calls them in its conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

from kubectl_eksdoc.addon_diff.merging import MISSING
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import SchemaPlace
from kubectl_eksdoc.kubernetes.document_diff import Path, step_of
from kubectl_eksdoc.kubernetes.field_paths import field_step, keys_of, shown
from kubectl_eksdoc.kubernetes.redaction import printed
from kubectl_eksdoc.model.api_objects import ObjectName
from kubectl_eksdoc.model.findings import Severity
from kubectl_eksdoc.model.knowledge import KnowledgeSource, records


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
