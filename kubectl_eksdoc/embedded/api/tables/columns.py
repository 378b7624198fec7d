"""Columns of a table, and what prints one kind of object into them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubectl_eksdoc.model.api_objects import Doc

Cells = list[Any]
"""One row: strings, whole numbers, truth values, None for a value that is not there."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column definition; those of a `priority` above 0 are shown by ``-o wide`` alone."""

    name: str
    description: str
    type: str = "string"
    format: str = ""
    priority: int = 0

    def document(self) -> Doc:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def integer(name: str, description: str) -> Column:
    return Column(name, description, type="integer")


def boolean(name: str, description: str) -> Column:
    return Column(name, description, type="boolean")


def wide(name: str, description: str) -> Column:
    return Column(name, description, priority=1)


def no_conditions(_: Doc) -> list[Doc]:
    return []


@dataclass(frozen=True, slots=True)
class Printer:
    """How one kind is shown; `conditions` are those of a row, which say that a pod has run to its end."""

    columns: tuple[Column, ...]
    cells: Callable[[Doc, datetime], Cells]
    conditions: Callable[[Doc], list[Doc]] = no_conditions


NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a "
    "client to request the generation of an appropriate name automatically. Name is primarily intended for creation "
    "idempotence and configuration definition. Cannot be updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed "
    "to be set in happens-before order across separate operations. Clients may not set this value. It is represented "
    "in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: "
    "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)

NAME = Column("Name", NAME_DESCRIPTION, format="name")
AGE = Column("Age", CREATED_DESCRIPTION)
CONTAINERS = wide("Containers", "The names of the template's containers")
IMAGES = wide("Images", "The images of the template's containers")
SELECTOR = wide("Selector", "The labels by which the object finds its pods")
