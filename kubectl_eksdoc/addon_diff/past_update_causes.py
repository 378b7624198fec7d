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

from .expected import config_path_of
from .fields import MISSING, is_same_value, leaves, merge_values, value_at
from .manifests import Values, render_values
from .revisions import WRITE_WINDOW, TemplatePeriod, image_tags

# Writer of a field's value before an update, by the pod template revisions: EKS, or another client.


class ValueWriter(Enum):
    EKS = "EKS"
    OTHER_CLIENT = "somebody"
    UNKNOWN = "unknown"


@frozen
class ValueOrigin:
    """`since`: when the value was set, None if unknown; `explanation`: how the writer is known, a clause."""

    writer: ValueWriter
    explanation: str = ""
    since: datetime | None = None


@frozen
class TemplateHistory:
    """History before an update: `periods` up to the template in force at its start, and `update_starts` of the updates
    that EKS lists. `is_complete`: all listed updates were read."""

    periods: tuple[TemplatePeriod, ...]
    update_starts: tuple[datetime, ...]
    is_complete: bool


SINCE_CREATION = "it was so from the beginning"


def wrap_template(template: Doc) -> Doc:
    """The template inside its DaemonSet or Deployment, so that paths match those of the object."""
    return {"spec": {"template": template}}


def origin_of(path: Path, history: TemplateHistory, schema: Schema) -> ValueOrigin:
    """The writer, by the revision that set the value: with an add-on update, or without one."""
    first_period, previous_period = _first_period_with_value(path, history.periods, schema)
    if first_period is None:
        return ValueOrigin(ValueWriter.UNKNOWN)
    if previous_period is None:
        if first_period.number == 1:
            return ValueOrigin(ValueWriter.EKS, SINCE_CREATION, first_period.earliest_start)
        return ValueOrigin(ValueWriter.UNKNOWN)
    assert first_period.template is not None and previous_period.template is not None, "of those that are kept"
    if image_tags(first_period.template.doc) != image_tags(previous_period.template.doc):
        return ValueOrigin(
            ValueWriter.EKS,
            f"it came with other images, in revision {first_period.number}",
            first_period.earliest_start,
        )
    if first_period.earliest_start is None or first_period.earliest_start != first_period.latest_start:
        return ValueOrigin(ValueWriter.UNKNOWN)
    since = first_period.earliest_start
    if any(start.replace(microsecond=0) <= since <= start + WRITE_WINDOW for start in history.update_starts):
        return ValueOrigin(ValueWriter.EKS, f"it came with an earlier update, in revision {first_period.number}", since)
    if not history.is_complete and (not history.update_starts or since < min(history.update_starts)):
        return ValueOrigin(ValueWriter.UNKNOWN)
    return ValueOrigin(
        ValueWriter.OTHER_CLIENT,
        f"it came in revision {first_period.number}, and no update that EKS tells of began then",
        since,
    )


def had_value(path: Path, history: TemplateHistory, schema: Schema) -> bool:
    """An earlier revision has a value at the path."""
    return any(
        _value_in_period(slot, path, schema) is not MISSING for slot in history.periods if slot.template is not None
    )


def previous_value(path: Path, history: TemplateHistory, schema: Schema) -> Any:
    """The value before the last one, `MISSING` if no stored revision has it."""
    _, period = _first_period_with_value(path, history.periods, schema)
    return MISSING if period is None else _value_in_period(period, path, schema)


def _first_period_with_value(
    path: Path, periods: Sequence[TemplatePeriod], schema: Schema
) -> tuple[TemplatePeriod | None, TemplatePeriod | None]:
    """The first period that has the last period's value, and the period before it; None if a template between them is
    no longer stored, or there is none."""
    if not periods or periods[-1].template is None:
        return None, None
    first_period = periods[-1]
    last_value = _value_in_period(first_period, path, schema)
    for period in reversed(periods[:-1]):
        if period.template is None:
            return None, None
        if not is_same_value(_value_in_period(period, path, schema), last_value):
            return first_period, period
        first_period = period
    return first_period, None


def _value_in_period(period: TemplatePeriod, path: Path, schema: Schema) -> Any:
    assert period.template is not None, "of a template that is kept"
    return value_at(wrap_template(period.template.doc), path, schema.root)


class ChangeCause(str, Enum):
    """Why an update changed a field."""

    LOST = "lost"  # EKS replaced the value of another client
    VERSION = "version"  # EKS replaced its own value
    VALUES = "values"  # the configuration values of the update set it
    UNKNOWN = "unknown"


@frozen
class ChangeReason:
    cause: ChangeCause
    why: str
    sure: Confidence


@frozen
class ChangeContext:
    """Facts around the change of one object. `chart`: the default values of the old version; `values_before` and
    `values`: the configuration values before and after the update. `is_eks_version`: the old version is EKS's, without
    a custom image. `manifest`: the public manifest of the old version for the object. `succeeded_with_none`: the update
    had mode NONE and status Successful."""

    addon: str
    object_ref: ObjectName
    schema: Schema
    history: TemplateHistory
    chart: Doc | Unknown
    values_before: Doc | Unknown
    values: Doc | Unknown
    is_eks_version: bool = True
    manifest: Values = field(default_factory=dict)
    succeeded_with_none: bool = False

    def config_path(self, path: Path) -> ConfigPath:
        """Path of a field in the configuration values, () if it has none of its own."""
        return config_path_of(self.addon, self.object_ref, path, self.schema)


def cause_of(path: Path, before: Any, after: Any, context: ChangeContext) -> ChangeReason:
    """`before` and `after` are the values in the two templates, `MISSING` for none."""
    reason = _find_cause(path, before, after, context)
    if context.succeeded_with_none and reason.cause is ChangeCause.UNKNOWN and MISSING not in (before, after):
        # With NONE, too, emptied and removed fields are restored, and fields that EKS no longer applies are removed.
        return ChangeReason(
            ChangeCause.VERSION,
            "with NONE, EKS changes no value of a field that another manager owned",
            Confidence.HIGH,
        )
    return reason


def _find_cause(path: Path, before: Any, after: Any, context: ChangeContext) -> ChangeReason:
    origin = origin_of(path, context.history, context.schema)
    if is_declared(path, after, context, context.values):
        if before is MISSING or not is_declared(path, after, context, context.values_before):
            return ChangeReason(ChangeCause.VALUES, "the configuration values set it", Confidence.HIGH)
        confidence = Confidence.HIGH if origin.writer is ValueWriter.OTHER_CLIENT else Confidence.MEDIUM
        return ChangeReason(
            ChangeCause.LOST, "the configuration values had said otherwise before the update already", confidence
        )
    if path[-1] == "f:image" and _repository(before) == _repository(after) != "":
        if _registry(before) == _registry(after):
            return ChangeReason(ChangeCause.VERSION, "it is another tag of the same image", Confidence.HIGH)
        reason = "it came from another registry, and EKS takes its images from one in each region"
        return ChangeReason(ChangeCause.UNKNOWN, reason, Confidence.LOW)
    by_chart = _cause_by_chart(path, before, context)
    if before is MISSING:
        return _cause_of_added(path, origin, by_chart, context)
    if by_chart is None:
        by_origin = _cause_by_origin(origin, context)
        if (
            by_origin.cause is ChangeCause.UNKNOWN
            and context.is_eks_version
            and is_same_value(context.manifest.get(path, MISSING), before)
        ):
            return ChangeReason(
                ChangeCause.VERSION, "it was as the manifest of the version before has it", Confidence.MEDIUM
            )
        return by_origin
    if by_chart.cause is ChangeCause.LOST and origin.writer is ValueWriter.OTHER_CLIENT:
        return ChangeReason(ChangeCause.LOST, f"{by_chart.why}, and {origin.explanation}", Confidence.HIGH)
    if by_chart.cause is ChangeCause.LOST and origin.writer is ValueWriter.EKS and by_chart.sure is not Confidence.HIGH:
        # EKS had written a value that the chart does not set: the old configuration values may have, if they are
        # unknown.
        if isinstance(context.values_before, Unknown):
            return ChangeReason(
                ChangeCause.LOST,
                f"{origin.explanation}, by configuration values of that time, it seems",
                Confidence.LOW,
            )
        reason = f"{origin.explanation}, although neither the chart nor the configuration values set it"
        return ChangeReason(ChangeCause.UNKNOWN, reason, Confidence.LOW)
    if by_chart.cause is ChangeCause.VERSION and origin.writer is ValueWriter.OTHER_CLIENT:
        return ChangeReason(
            ChangeCause.LOST, f"{origin.explanation}, though it was what the chart sets", Confidence.LOW
        )
    return by_chart


def _cause_of_added(
    path: Path, origin: ValueOrigin, by_chart: ChangeReason | None, context: ChangeContext
) -> ChangeReason:
    """A new field resets no value, unless another client had removed the field."""
    if by_chart is not None and by_chart.cause is ChangeCause.LOST:
        confidence = Confidence.HIGH if origin.writer is ValueWriter.OTHER_CLIENT else Confidence.MEDIUM
        return ChangeReason(
            ChangeCause.LOST,
            "the chart of the previous version had set it, and another client had removed it",
            confidence,
        )
    if had_value(path, context.history, context.schema) and origin.writer is not ValueWriter.EKS:
        is_known = origin.writer is ValueWriter.OTHER_CLIENT
        reason = "an earlier revision had it, and another client had removed it"
        return (
            ChangeReason(ChangeCause.LOST, reason, Confidence.MEDIUM)
            if is_known
            else ChangeReason(ChangeCause.UNKNOWN, reason, Confidence.LOW)
        )
    return ChangeReason(ChangeCause.VERSION, "it is new", Confidence.HIGH)


def _cause_by_origin(origin: ValueOrigin, context: ChangeContext) -> ChangeReason:
    confidence = Confidence.MEDIUM if context.history.is_complete else Confidence.LOW
    if origin.writer is ValueWriter.OTHER_CLIENT:
        return ChangeReason(ChangeCause.LOST, origin.explanation, confidence)
    if (origin.explanation == SINCE_CREATION or origin.writer is ValueWriter.EKS) and not context.is_eks_version:
        reason = f"{origin.explanation}; its image was none of EKS's, and who brought that may have set the rest"
        return ChangeReason(ChangeCause.UNKNOWN, reason, Confidence.LOW)
    if origin.writer is ValueWriter.EKS:
        return ChangeReason(ChangeCause.VERSION, origin.explanation, confidence)
    return ChangeReason(
        ChangeCause.UNKNOWN,
        "no chart is known that says what EKS had there, nor a revision that says who",
        Confidence.LOW,
    )


def _cause_by_chart(path: Path, before: Any, context: ChangeContext) -> ChangeReason | None:
    """None if the known chart does not set the field."""
    if isinstance(context.chart, Unknown) or not context.config_path(path):
        return None
    values = {} if isinstance(context.values_before, Unknown) else context.values_before
    default_values, old_values = (_rendered_values(context, merge_values(context.chart, each)) for each in ({}, values))
    if path in old_values and is_same_value(old_values[path], before):
        if path in default_values and is_same_value(default_values[path], before):
            return ChangeReason(
                ChangeCause.VERSION, "it was as the chart of the version before sets it", Confidence.MEDIUM
            )
        return ChangeReason(
            ChangeCause.LOST, "the configuration values of before had set it, and those of now do not", Confidence.HIGH
        )
    if before is MISSING:
        return ChangeReason(ChangeCause.LOST, "", Confidence.MEDIUM) if path in old_values else None
    if path not in old_values and path[-1] != "f:value":
        return None  # a template may set a default where no value does
    default = "sets something else there" if path in old_values else "sets nothing there"
    return ChangeReason(ChangeCause.LOST, f"the chart of the version before {default}", Confidence.MEDIUM)


def is_declared(path: Path, after: Any, context: ChangeContext, values: Doc | Unknown) -> bool:
    """These configuration values set the field to `after`."""
    if isinstance(values, Unknown) or after is MISSING:
        return False
    config = context.config_path(path)
    value_paths = {leaf.path for leaf in leaves(values)}
    if not config or not any(config[: len(each)] == each for each in value_paths):
        return False
    rendered_values = _rendered_values(context, values)
    return path in rendered_values and is_same_value(rendered_values[path], after)


def _rendered_values(context: ChangeContext, values: Doc) -> Mapping[Path, Any]:
    """The values that the chart renders in this object, by field."""
    place = context.schema.root
    return {
        path: value_at(part.part, path, place)
        for part in render_values(context.addon, values)
        if part.object_ref == context.object_ref
        for path in fields_of(part.part, place)
        if not path[-1].startswith("k:")
    }


def base_value(path: Path, before: Any, context: ChangeContext) -> Any:
    """The value that EKS had applied before another client set the field to `before`; `MISSING` if unknown."""
    if not isinstance(context.chart, Unknown) and context.config_path(path):
        values = {} if isinstance(context.values_before, Unknown) else context.values_before
        return _rendered_values(context, merge_values(context.chart, values)).get(path, MISSING)
    earlier = previous_value(path, context.history, context.schema)
    return context.manifest.get(path, MISSING) if earlier is MISSING else earlier


def _repository(image: Any) -> str:
    """The image name without its registry, which may be another region's."""
    return image.rpartition("/")[2].partition("@")[0].partition(":")[0] if isinstance(image, str) else ""


def _registry(image: Any) -> str:
    return image.rpartition("/")[0] if isinstance(image, str) else ""
