"""Who gave a field the value that it had before an update, as far as revisions tell: EKS, or somebody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from kubectl_eksdoc.addon_diff.aftermath.timeline import AT_ONCE, Slot, tags
from kubectl_eksdoc.addon_diff.fields import value_at
from kubectl_eksdoc.addon_diff.merging import MISSING
from kubectl_eksdoc.kubernetes.api.ownership.trees import Path
from kubectl_eksdoc.kubernetes.api.schema import Schema
from kubectl_eksdoc.model.api_objects import Doc


class ValueWriter(Enum):
    EKS = "EKS"
    SOMEBODY = "somebody"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """`since`: when the value came, None if that is not known; `told` says how it is known, a clause."""

    writer: ValueWriter
    told: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class TemplateHistory:
    """What is known of the time before an update: `slots` up to the template that was in force when it began, and when
    each update that EKS tells of `begun`. `whole`: it tells of all that it lists."""

    slots: tuple[Slot, ...]
    begun: tuple[datetime, ...]
    whole: bool


FROM_THE_BEGINNING = "it was so from the beginning"


def in_object(template: Doc) -> Doc:
    """As it stands in its DaemonSet or Deployment, so that fields are called as they are there."""
    return {"spec": {"template": template}}


def origin_of(path: Path, past: TemplateHistory, schema: Schema) -> ValueOrigin:
    """By the revision in which the value came: with an update of the add-on, or with none."""
    came, before = _came(path, past.slots, schema)
    if came is None:
        return ValueOrigin(ValueWriter.UNKNOWN)
    if before is None:
        if came.number == 1:
            return ValueOrigin(ValueWriter.EKS, FROM_THE_BEGINNING, came.since)
        return ValueOrigin(ValueWriter.UNKNOWN)
    assert came.template is not None and before.template is not None, "of those that are kept"
    if tags(came.template.doc) != tags(before.template.doc):
        return ValueOrigin(ValueWriter.EKS, f"it came with other images, in revision {came.number}", came.since)
    if came.since is None or came.since != came.by:
        return ValueOrigin(ValueWriter.UNKNOWN)
    since = came.since
    if any(begun.replace(microsecond=0) <= since <= begun + AT_ONCE for begun in past.begun):
        return ValueOrigin(ValueWriter.EKS, f"it came with an earlier update, in revision {came.number}", since)
    if not past.whole and (not past.begun or since < min(past.begun)):
        return ValueOrigin(ValueWriter.UNKNOWN)
    return ValueOrigin(
        ValueWriter.SOMEBODY, f"it came in revision {came.number}, and no update that EKS tells of began then", since
    )


def had(path: Path, past: TemplateHistory, schema: Schema) -> bool:
    """Whether any revision of before had something there."""
    return any(_value(slot, path, schema) is not MISSING for slot in past.slots if slot.template is not None)


def last_other(path: Path, value: Any, past: TemplateHistory, schema: Schema) -> Any:
    """What stood there before `value` did, `MISSING` where no revision that is kept tells."""
    _, slot = _came(path, past.slots, schema)
    return MISSING if slot is None else _value(slot, path, schema)


def _came(path: Path, slots: Sequence[Slot], schema: Schema) -> tuple[Slot | None, Slot | None]:
    """The slot since which the value was as it was in the last one, and the one before that; None where a template on
    the way is kept no more, or there is none."""
    if not slots or slots[-1].template is None:
        return None, None
    came = slots[-1]
    wanted = _value(came, path, schema)
    for slot in reversed(slots[:-1]):
        if slot.template is None:
            return None, None
        if not _same(_value(slot, path, schema), wanted):
            return came, slot
        came = slot
    return came, None


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _value(slot: Slot, path: Path, schema: Schema) -> Any:
    assert slot.template is not None, "of a template that is kept"
    return value_at(in_object(slot.template.doc), path, schema.root)
