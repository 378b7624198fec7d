"""Why an update changed a field: the version's doing, the configuration values', or at the cost of somebody's value.

A field is lost where its value was not what EKS applied before: not what the chart of that version says, or set in a
revision that came with no update. Where neither chart nor revisions tell, it is not known.
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

# Who gave a field the value that it had before an update, as far as revisions tell: EKS, or somebody else.


class ValueWriter(Enum):
    EKS = "EKS"
    SOMEBODY = "somebody"
    UNKNOWN = "unknown"


@frozen
class ValueOrigin:
    """`since`: when the value came, None if that is not known; `told` says how it is known, a clause."""

    writer: ValueWriter
    told: str = ""
    since: datetime | None = None


@frozen
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


def last_other(path: Path, past: TemplateHistory, schema: Schema) -> Any:
    """What stood there before its value of now, `MISSING` where no revision that is kept tells."""
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
        if not same_value(_value(slot, path, schema), wanted):
            return came, slot
        came = slot
    return came, None


def _value(slot: Slot, path: Path, schema: Schema) -> Any:
    assert slot.template is not None, "of a template that is kept"
    return value_at(in_object(slot.template.doc), path, schema.root)


class Cause(str, Enum):
    """Why a field is other than it was before an update."""

    LOST = "lost"  # somebody's value gave way to EKS's
    VERSION = "version"  # EKS's own gave way to EKS's
    VALUES = "values"  # the configuration values of the update set it
    UNKNOWN = "unknown"


@frozen
class ChangeReason:
    """`why` is a clause."""

    cause: Cause
    why: str
    sure: Confidence


@frozen
class ChangeContext:
    """What surrounds one object's change. `chart`: what the version before the update sets by default; `values_before`
    and `values`: the configuration values that held before it and since. `of_eks`: that version is one of EKS's, and
    no image of somebody's own. `manifest`: what the public manifest of that version has there. `gently`: the update was
    Successful with NONE."""

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
        """Where a field stands in configuration values, () if nowhere by itself."""
        return config_of(self.addon, self.of, path, self.schema)


def cause_of(path: Path, before: Any, after: Any, around: ChangeContext) -> ChangeReason:
    """`before` and `after` are its values in the two templates, `MISSING` for nothing."""
    found = _cause(path, before, after, around)
    if around.gently and found.cause is Cause.UNKNOWN and MISSING not in (before, after):
        # What was emptied or removed comes back, and what EKS stops naming goes, with NONE too.
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
        # EKS had written what the chart does not say: configuration values of before did, if they are not known.
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
    """Nobody's value gives way where nothing was, unless somebody had taken it away."""
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
    """None where the chart that is known here has no say in the field."""
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
        return None  # a template may have a word of its own where the values have none
    default = "sets something else there" if path in made else "sets nothing there"
    return ChangeReason(Cause.LOST, f"the chart of the version before {default}", Confidence.MEDIUM)


def is_declared(path: Path, after: Any, around: ChangeContext, values: Doc | Unknown) -> bool:
    """Whether these configuration values say that `after` stands there."""
    if isinstance(values, Unknown) or after is MISSING:
        return False
    config = around.config(path)
    said = {leaf.path for leaf in leaves(values)}
    if not config or not any(config[: len(each)] == each for each in said):
        return False
    made = _made(around, values)
    return path in made and same_value(made[path], after)


def _made(around: ChangeContext, values: Doc) -> Mapping[Path, Any]:
    """What the chart makes of values in this object, by field."""
    place = around.schema.root
    return {
        path: value_at(part.part, path, place)
        for part in rendered(around.addon, values)
        if part.of == around.of
        for path in fields_of(part.part, place)
        if not path[-1].startswith("k:")
    }


def base_of(path: Path, before: Any, around: ChangeContext) -> Any:
    """What EKS had applied before somebody set the field to `before`; `MISSING` where that is not known."""
    if not isinstance(around.chart, Unknown) and around.config(path):
        values = {} if isinstance(around.values_before, Unknown) else around.values_before
        return _made(around, merged(around.chart, values)).get(path, MISSING)
    earlier = last_other(path, around.past, around.schema)
    return around.manifest.get(path, MISSING) if earlier is MISSING else earlier


def _repository(image: Any) -> str:
    """Without the registry, which may be another region's."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0] if isinstance(image, str) else ""


def _registry(image: Any) -> str:
    return image.rpartition("/")[0] if isinstance(image, str) else ""
