"""The fields of live objects, called as EKS calls them in its conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kubectl_eksdoc.addon_diff.merging import MISSING
from kubectl_eksdoc.kubernetes.api.ownership.items import step_of
from kubectl_eksdoc.kubernetes.api.ownership.steps import field_step, keys_of, shown
from kubectl_eksdoc.kubernetes.api.ownership.trees import Path
from kubectl_eksdoc.kubernetes.api.places import SchemaPlace
from kubectl_eksdoc.kubernetes.keeping import printed
from kubectl_eksdoc.model.api_objects import ObjectName


@dataclass(frozen=True, slots=True, order=True)
class AddonField:
    """A field of a live object; `path` in FieldsV1's steps."""

    of: ObjectName
    path: Path

    def __str__(self) -> str:
        """As EKS names it: ``DaemonSet.apps aws-node - .spec.template.spec.containers[name="aws-node"].image``."""
        return f"{self.of} - {''.join(shown(step) for step in self.path)}"

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
            found = [item for item in doc if step_of(item, place) == step]
            if not found:
                return MISSING
            doc, place = found[-1], place.of_items()
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
