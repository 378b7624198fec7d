"""Causes of field changes in a past update: the new version, the configuration values, or a reset user value.

A field is lost if its old value was not EKS's: it differs from the chart of the old version, or a revision without an
update set it. If neither chart nor revisions tell, the cause is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from enum import Enum
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.api.types import Schema
from kubectl_eksdoc.kubernetes.document_diff import Path, fields_of
from kubectl_eksdoc.model.addons import ConfigPath
from kubectl_eksdoc.model.api_objects import Doc, ObjectName
from kubectl_eksdoc.model.kinds import Confidence, Unknown

from .expected import config_of
from .fields import MISSING, leaves, merged, same_value, value_at
from .manifests import Values, rendered
from .revisions import AT_ONCE, Slot, tags

# Writer of a field's value before an update, by the pod template revisions: EKS, or another client.


class ValueWriter(Enum):
    EKS = "EKS"
    SOMEBODY = "somebody"
    UNKNOWN = "unknown"


@frozen
class ValueOrigin:
    """`since`: when the value was set, None if unknown; `explanation`: how the writer is known, a clause."""

    writer: ValueWriter
    told: str = ""
    since: datetime | None = None


@frozen
class TemplateHistory:
    """History before an update: `periods` up to the template in force at its start, and `update_starts` of the updates
    that EKS lists. `is_complete`: all listed updates were read."""

    slots: tuple[Slot, ...]
    begun: tuple[datetime, ...]
    whole: bool


FROM_THE_BEGINNING = "it was so from the beginning"


def in_object(template: Doc) -> Doc:
    """The template inside its DaemonSet or Deployment, so that paths match those of the object."""
    return {"spec": {"template": template}}


def origin_of(path: Path, past: TemplateHistory, schema: Schema) -> ValueOrigin:
    """The writer, by the revision that set the value: with an add-on update, or without one."""
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
    """An earlier revision has a value at the path."""
    return any(_value(slot, path, schema) is not MISSING for slot in past.slots if slot.template is not None)


def last_other(path: Path, past: TemplateHistory, schema: Schema) -> Any:
    """The value before the last one, `MISSING` if no stored revision has it."""
    _, slot = _came(path, past.slots, schema)
    return MISSING if slot is None else _value(slot, path, schema)


def _came(path: Path, slots: Sequence[Slot], schema: Schema) -> tuple[Slot | None, Slot | None]:
    """The first period that has the last period's value, and the period before it; None if a template between them is
    no longer stored, or there is none."""
    if not slots or slots[-1].template is None:
        return None, None
    came = slots[-1]
    wanted = _value(came, path, schema)
    for slot in reversed(slots[:-1]):
        if slot.template is None:
            return None, None
        if not same_value(_value(slot, path, schema), wanted):
            return came, slot
        came = slot
    return came, None


def _value(slot: Slot, path: Path, schema: Schema) -> Any:
    assert slot.template is not None, "of a template that is kept"
    return value_at(in_object(slot.template.doc), path, schema.root)


class Cause(str, Enum):
    """Why an update changed a field."""

    LOST = "lost"  # EKS replaced the value of another client
    VERSION = "version"  # EKS replaced its own value
    VALUES = "values"  # the configuration values of the update set it
    UNKNOWN = "unknown"


@frozen
class ChangeReason:
    cause: Cause
    why: str
    sure: Confidence


@frozen
class ChangeContext:
    """Facts around the change of one object. `chart`: the default values of the old version; `values_before` and
    `values`: the configuration values before and after the update. `is_eks_version`: the old version is EKS's, without
    a custom image. `manifest`: the public manifest of the old version for the object. `succeeded_with_none`: the update
    had mode NONE and status Successful."""

    addon: str
    of: ObjectName
    schema: Schema
    past: TemplateHistory
    chart: Doc | Unknown
    values_before: Doc | Unknown
    values: Doc | Unknown
    of_eks: bool = True
    manifest: Values = field(default_factory=dict)
    gently: bool = False

    def config(self, path: Path) -> ConfigPath:
        """Path of a field in the configuration values, () if it has none of its own."""
        return config_of(self.addon, self.of, path, self.schema)


def cause_of(path: Path, before: Any, after: Any, around: ChangeContext) -> ChangeReason:
    """`before` and `after` are the values in the two templates, `MISSING` for none."""
    found = _cause(path, before, after, around)
    if around.gently and found.cause is Cause.UNKNOWN and MISSING not in (before, after):
        # With NONE, too, emptied and removed fields are restored, and fields that EKS no longer applies are removed.
        return ChangeReason(
            Cause.VERSION, "with NONE, EKS changes no value of a field that another manager owned", Confidence.HIGH
        )
    return found


def _cause(path: Path, before: Any, after: Any, around: ChangeContext) -> ChangeReason:
    origin = origin_of(path, around.past, around.schema)
    if is_declared(path, after, around, around.values):
        if before is MISSING or not is_declared(path, after, around, around.values_before):
            return ChangeReason(Cause.VALUES, "the configuration values set it", Confidence.HIGH)
        sure = Confidence.HIGH if origin.writer is ValueWriter.SOMEBODY else Confidence.MEDIUM
        return ChangeReason(Cause.LOST, "the configuration values had said otherwise before the update already", sure)
    if path[-1] == "f:image" and _repository(before) == _repository(after) != "":
        if _registry(before) == _registry(after):
            return ChangeReason(Cause.VERSION, "it is another tag of the same image", Confidence.HIGH)
        why = "it came from another registry, and EKS takes its images from one in each region"
        return ChangeReason(Cause.UNKNOWN, why, Confidence.LOW)
    chart = _by_chart(path, before, around)
    if before is MISSING:
        return _added(path, origin, chart, around)
    if chart is None:
        found = _by_origin(origin, around)
        if found.cause is Cause.UNKNOWN and around.of_eks and same_value(around.manifest.get(path, MISSING), before):
            return ChangeReason(Cause.VERSION, "it was as the manifest of the version before has it", Confidence.MEDIUM)
        return found
    if chart.cause is Cause.LOST and origin.writer is ValueWriter.SOMEBODY:
        return ChangeReason(Cause.LOST, f"{chart.why}, and {origin.told}", Confidence.HIGH)
    if chart.cause is Cause.LOST and origin.writer is ValueWriter.EKS and chart.sure is not Confidence.HIGH:
        # EKS had written a value that the chart does not set: the old configuration values may have, if they are
        # unknown.
        if isinstance(around.values_before, Unknown):
            return ChangeReason(
                Cause.LOST, f"{origin.told}, by configuration values of that time, it seems", Confidence.LOW
            )
        why = f"{origin.told}, although neither the chart nor the configuration values set it"
        return ChangeReason(Cause.UNKNOWN, why, Confidence.LOW)
    if chart.cause is Cause.VERSION and origin.writer is ValueWriter.SOMEBODY:
        return ChangeReason(Cause.LOST, f"{origin.told}, though it was what the chart sets", Confidence.LOW)
    return chart


def _added(path: Path, origin: ValueOrigin, chart: ChangeReason | None, around: ChangeContext) -> ChangeReason:
    """A new field resets no value, unless another client had removed the field."""
    if chart is not None and chart.cause is Cause.LOST:
        sure = Confidence.HIGH if origin.writer is ValueWriter.SOMEBODY else Confidence.MEDIUM
        return ChangeReason(
            Cause.LOST, "the chart of the previous version had set it, and another client had removed it", sure
        )
    if had(path, around.past, around.schema) and origin.writer is not ValueWriter.EKS:
        known = origin.writer is ValueWriter.SOMEBODY
        why = "an earlier revision had it, and another client had removed it"
        return (
            ChangeReason(Cause.LOST, why, Confidence.MEDIUM)
            if known
            else ChangeReason(Cause.UNKNOWN, why, Confidence.LOW)
        )
    return ChangeReason(Cause.VERSION, "it is new", Confidence.HIGH)


def _by_origin(origin: ValueOrigin, around: ChangeContext) -> ChangeReason:
    sure = Confidence.MEDIUM if around.past.whole else Confidence.LOW
    if origin.writer is ValueWriter.SOMEBODY:
        return ChangeReason(Cause.LOST, origin.told, sure)
    if (origin.told == FROM_THE_BEGINNING or origin.writer is ValueWriter.EKS) and not around.of_eks:
        why = f"{origin.told}; its image was none of EKS's, and who brought that may have set the rest"
        return ChangeReason(Cause.UNKNOWN, why, Confidence.LOW)
    if origin.writer is ValueWriter.EKS:
        return ChangeReason(Cause.VERSION, origin.told, sure)
    return ChangeReason(
        Cause.UNKNOWN, "no chart is known that says what EKS had there, nor a revision that says who", Confidence.LOW
    )


def _by_chart(path: Path, before: Any, around: ChangeContext) -> ChangeReason | None:
    """None if the known chart does not set the field."""
    if isinstance(around.chart, Unknown) or not around.config(path):
        return None
    values = {} if isinstance(around.values_before, Unknown) else around.values_before
    plain, made = (_made(around, merged(around.chart, each)) for each in ({}, values))
    if path in made and same_value(made[path], before):
        if path in plain and same_value(plain[path], before):
            return ChangeReason(Cause.VERSION, "it was as the chart of the version before sets it", Confidence.MEDIUM)
        return ChangeReason(
            Cause.LOST, "the configuration values of before had set it, and those of now do not", Confidence.HIGH
        )
    if before is MISSING:
        return ChangeReason(Cause.LOST, "", Confidence.MEDIUM) if path in made else None
    if path not in made and path[-1] != "f:value":
        return None  # a template may set a default where no value does
    default = "sets something else there" if path in made else "sets nothing there"
    return ChangeReason(Cause.LOST, f"the chart of the version before {default}", Confidence.MEDIUM)


def is_declared(path: Path, after: Any, around: ChangeContext, values: Doc | Unknown) -> bool:
    """These configuration values set the field to `after`."""
    if isinstance(values, Unknown) or after is MISSING:
        return False
    config = around.config(path)
    said = {leaf.path for leaf in leaves(values)}
    if not config or not any(config[: len(each)] == each for each in said):
        return False
    made = _made(around, values)
    return path in made and same_value(made[path], after)


def _made(around: ChangeContext, values: Doc) -> Mapping[Path, Any]:
    """The values that the chart renders in this object, by field."""
    place = around.schema.root
    return {
        path: value_at(part.part, path, place)
        for part in rendered(around.addon, values)
        if part.of == around.of
        for path in fields_of(part.part, place)
        if not path[-1].startswith("k:")
    }


def base_of(path: Path, before: Any, around: ChangeContext) -> Any:
    """The value that EKS had applied before another client set the field to `before`; `MISSING` if unknown."""
    if not isinstance(around.chart, Unknown) and around.config(path):
        values = {} if isinstance(around.values_before, Unknown) else around.values_before
        return _made(around, merged(around.chart, values)).get(path, MISSING)
    earlier = last_other(path, around.past, around.schema)
    return around.manifest.get(path, MISSING) if earlier is MISSING else earlier


def _repository(image: Any) -> str:
    """The image name without its registry, which may be another region's."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0] if isinstance(image, str) else ""


def _registry(image: Any) -> str:
    return image.rpartition("/")[0] if isinstance(image, str) else ""
