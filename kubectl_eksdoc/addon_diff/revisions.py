"""Pod template revisions of an add-on's workloads: the template in force before an update, and the one after it.

Revisions are numbered. A template that equals an earlier one reuses its revision object: the object gets the next
number and keeps its creation time. So numbers give the order, and a creation time belongs to a number only if the
number cannot be a reuse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.kubernetes.field_paths import field_step
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, read_entries
from kubectl_eksdoc.model.api_objects import Doc, nested_field, without_nulls
from kubectl_eksdoc.model.kinds import Confidence
from kubectl_eksdoc.simulator.store import parse_api_time

# Pod templates that a DaemonSet or Deployment has had, read from the objects in which its controller stores them.
#
# Sources: pkg/controller/daemon/update.go (getPatch, Snapshot), pkg/controller/history/controller_history.go,
# pkg/controller/deployment/util/deployment_util.go (SetNewReplicaSetAnnotations), Kubernetes v1.36. Both controllers
# reuse the object of an equal template and give it the next number; its creation time is that of the first use.


_REVISION, _REVISION_HISTORY = "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"
_HASH_LABELS = ("controller-revision-hash", "pod-template-hash")
_DEFAULT_LIMIT = 10
"""The default of ``revisionHistoryLimit``."""


@frozen
class Template:
    """`number` counts the template's changes, from 1. `numbered_at`: when it got each of its numbers, if it is
    recorded; None is unknown. `doc` is the template without fields that a controller adds, and without nulls."""

    number: int
    doc: Doc
    created: datetime | None = None
    numbered_at: Mapping[int, datetime | None] = field(default_factory=dict)


@frozen
class TemplateRevisions:
    """`templates` sorted by number; the last one is in force. `unreadable` are the names of objects that could not be
    decoded. `limit`: the number of revisions that are stored besides the one in force."""

    templates: tuple[Template, ...]
    unreadable: tuple[str, ...] = ()
    limit: int = _DEFAULT_LIMIT


def read_revisions(live: Doc, docs: Iterable[Doc]) -> TemplateRevisions:
    """Read the revisions of `live` from all ControllerRevisions or ReplicaSets of its namespace. Never raises, for any
    `docs`."""
    templates: dict[int, Template] = {}
    unreadable: list[str] = []
    for doc in docs:
        if not _is_controlled_by(doc, live):
            continue
        name = str(nested_field(doc, "metadata", "name") or "")
        template = _read_template(doc)
        if template is None or template.number in templates:
            unreadable.append(name)
        else:
            templates[template.number] = template
    limit = nested_field(live, "spec", "revisionHistoryLimit")
    return TemplateRevisions(
        tuple(templates[number] for number in sorted(templates)),
        tuple(sorted(unreadable)),
        limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else _DEFAULT_LIMIT,
    )


def live_template(live: Doc) -> Doc:
    """The current template of the object, comparable with stored ones."""
    template = nested_field(live, "spec", "template")
    return _normalized_template(template) if isinstance(template, dict) else {}


def _is_controlled_by(doc: Doc, live: Doc) -> bool:
    """The controller of `doc` is `live`; a deleted object with the same name is another controller."""
    owners = nested_field(doc, "metadata", "ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller"):
            uids = {owner.get("uid"), nested_field(live, "metadata", "uid")} - {None, ""}
            has_name = (owner.get("kind"), owner.get("name")) == (
                live.get("kind"),
                nested_field(live, "metadata", "name"),
            )
            return len(uids) < 2 and has_name
    return False


def _read_template(doc: Doc) -> Template | None:
    """None if the object has no valid template. A ReplicaSet records its earlier numbers; it got the first of them at
    its creation. A ControllerRevision changes only in its number, so the last write of that field is the time of its
    number."""
    number: Any
    created = _parse_time(nested_field(doc, "metadata", "creationTimestamp"))
    numbered_at: dict[int, datetime | None] = {}
    if doc.get("kind") == "ReplicaSet":
        number = _parse_number(nested_field(doc, "metadata", "annotations", _REVISION))
        template, history = (
            nested_field(doc, "spec", "template"),
            nested_field(doc, "metadata", "annotations", _REVISION_HISTORY),
        )
        numbers = [*map(_parse_number, history.split(","))] if isinstance(history, str) else []
        numbered_at = dict.fromkeys(each for each in (*numbers, number) if 0 < each <= number)
        numbered_at |= {min(numbered_at): created} if numbered_at else {}
    else:
        number, template = doc.get("revision"), nested_field(doc, "data", "spec", "template")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1 or not isinstance(template, dict):
        return None
    return Template(number, _normalized_template(template), created, numbered_at or {number: _numbered_at(doc)})


def _parse_number(text: object) -> int:
    """0 if the text is no number."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else 0


def _normalized_template(template: Doc) -> Doc:
    """Without ``$patch``, hash labels and nulls: a revision is stored as a patch, in which times are null."""
    plain: Doc = without_nulls({key: value for key, value in template.items() if key != "$patch"})
    labels = nested_field(plain, "metadata", "labels")
    if isinstance(labels, dict):
        own_labels = {key: value for key, value in labels.items() if key not in _HASH_LABELS}
        plain["metadata"] = {**plain["metadata"], "labels": own_labels}
    return plain


def _numbered_at(doc: Doc) -> datetime | None:
    """When the revision got its number, by its managedFields."""
    try:
        entries = read_entries(doc)
    except (MalformedEntries, AttributeError, TypeError):
        return None
    path = (field_step("revision"),)
    times = [_parse_time(entry.time) for entry in entries.values() if path in entry.fields]
    return max((each for each in times if each is not None), default=None)


def _parse_time(text: object) -> datetime | None:
    try:
        return parse_api_time(text) if isinstance(text, str) else None
    except ValueError:
        return None


WRITE_WINDOW = timedelta(minutes=15)
"""EKS writes an add-on's objects within this time after the start of its update; later changes have other causes. No
document states the time; updates of incident reports took minutes in total."""


@frozen
class TemplatePeriod:
    """The time in which template number `number` was in force. It began between `earliest_start` and `latest_start`,
    exactly then if they are equal; None is unknown. `template` is None if it is stored under a later number or no
    longer. `is_inferred`: the start is taken from a controller's record, not from the creation time."""

    number: int
    template: Template | None
    earliest_start: datetime | None = None
    latest_start: datetime | None = None
    is_inferred: bool = False


@frozen
class TemplateUpdateStep:
    """The update changed the template."""

    before: Template
    after: Template
    confidence: Confidence
    reason: str


@frozen
class UnchangedTemplate:
    """The update left the template as it was."""

    template: Template
    reason: str


@frozen
class UnknownRevision:
    reason: str
    missing: str = ""


def template_periods(templates: TemplateRevisions) -> tuple[TemplatePeriod, ...]:
    """From the first known number to the one in force."""
    stored = templates.templates
    if not stored:
        return ()
    lost_numbers = stored[0].number - 1 if len(stored) > templates.limit else 0
    # The n-th object to be created had at least number n, so an object that has number n now never had another one.
    by_creation = sorted((each.created.timestamp() if each.created else 0.0, each.number) for each in stored)
    used_once = {number for rank, (_, number) in enumerate(by_creation, lost_numbers + 1) if rank == number}
    by_number = {number: each for each in stored for number in each.numbered_at} | {
        each.number: each for each in stored
    }
    numbers = range(min((lost_numbers + 1, *by_number)), stored[-1].number + 1)
    periods = [_period(number, by_number.get(number), number in used_once) for number in numbers]
    # A period starts no earlier than the one before it and no later than the one after it.
    earliest: datetime | None = None
    for index, slot in enumerate(periods):
        if earliest is not None and (
            slot.earliest_start is None or (slot.earliest_start < earliest and slot.latest_start is None)
        ):
            periods[index] = replace(slot, earliest_start=earliest)
        earliest = periods[index].earliest_start or earliest
    latest: datetime | None = None
    for index in reversed(range(len(periods))):
        if periods[index].latest_start is None:
            periods[index] = replace(periods[index], latest_start=latest)
        latest = periods[index].latest_start or latest
    return tuple(periods)


def _period(number: int, template: Template | None, was_used_once: bool) -> TemplatePeriod:
    """`was_used_once`: the template never had another number."""
    if template is None:
        return TemplatePeriod(number, None)
    started = template.numbered_at[number] or (template.created if was_used_once else None)
    if started is None:
        return TemplatePeriod(number, template, template.created, None)
    return TemplatePeriod(number, template, started, started, is_inferred=started != template.created)


def template_step(
    periods: Sequence[TemplatePeriod],
    started: datetime,
    version: str,
    is_current: bool,
    next_started: datetime | None = None,
) -> TemplateUpdateStep | UnchangedTemplate | UnknownRevision:
    """The effect of the update that began at `started` on the template. `version`: the version that the update set, ""
    if it named none. `is_current`: the last period has the live object's template. `next_started`: start of the next
    update; this update had ended by then, because EKS runs one at a time."""
    if not periods:
        return UnknownRevision("no revision of it is kept")
    if not is_current:
        return UnknownRevision(
            "its newest revision is not its template: the controller has not come to it yet, or one is missing"
        )
    if not _is_in_order(periods):
        return UnknownRevision("the times of its revisions contradict their numbers")
    started_second = started.replace(microsecond=0)  # times of objects have seconds
    earlier = [slot for slot in periods if slot.latest_start is not None and slot.latest_start < started_second]
    later = [slot for slot in periods if slot.earliest_start is not None and slot.earliest_start >= started_second]
    uncertain = [slot for slot in periods if slot not in earlier and slot not in later]
    if uncertain:
        return _step_by_images(
            [*earlier[-1:], *uncertain, *_started_with_update(later[:1], started_second, next_started)],
            version,
            _REUSED_REASON,
        )
    if len(same_second := [slot for slot in later if slot.earliest_start == started_second]) > 1:
        return _step_by_images(
            [*earlier[-1:], *same_second], version, "its template changed more than once in that second"
        )
    if not earlier:
        if periods[0].number == 1:
            return UnknownRevision(
                "it was made by this update or after it, and what stood there before, if anything, is not kept"
            )
        return UnknownRevision("the revisions that are kept do not go back to before the update")
    last = earlier[-1]
    if last.template is None:
        return UnknownRevision(f"its revision {last.number}, in force before the update, is kept no more")
    following = _started_with_update(later[:1], started_second, next_started)
    if not following:
        late_template = next(
            (
                slot.template
                for slot in later[:1]
                if _is_before_next_update(slot, next_started) and slot.template is not None
            ),
            None,
        )
        if (
            late_template is not None
            and has_version(late_template.doc, version)
            and not has_version(last.template.doc, version)
        ):
            reason = f"its images are of {version} since then, though that was long after the update began"
            return TemplateUpdateStep(
                last.template, late_template, Confidence.LOW if last.is_inferred else Confidence.MEDIUM, reason
            )
        return UnchangedTemplate(last.template, _unchanged_reason(later[:1], started_second))
    (next_period,) = following
    if next_period.template is None:
        return UnknownRevision(f"its revision {next_period.number}, in force after the update, is kept no more")
    return _update_step(last.template, next_period.template, version, last.is_inferred or next_period.is_inferred)


def _is_in_order(periods: Sequence[TemplatePeriod]) -> bool:
    times = [slot.earliest_start for slot in periods if slot.earliest_start is not None]
    return times == sorted(times) and all(
        slot.earliest_start is None or slot.latest_start is None or slot.earliest_start <= slot.latest_start
        for slot in periods
    )


def _started_with_update(
    later: Sequence[TemplatePeriod], started: datetime, next_started: datetime | None
) -> list[TemplatePeriod]:
    return [
        slot
        for slot in later
        if slot.earliest_start is not None
        and slot.earliest_start - started <= WRITE_WINDOW
        and _is_before_next_update(slot, next_started)
    ]


def _is_before_next_update(period: TemplatePeriod, next_started: datetime | None) -> bool:
    return next_started is None or (
        period.earliest_start is not None and period.earliest_start < next_started.replace(microsecond=0)
    )


def _unchanged_reason(later: Sequence[TemplatePeriod], started: datetime) -> str:
    if not later or later[0].earliest_start is None:
        return "its template has not changed since the update began"
    minutes = int((later[0].earliest_start - started).total_seconds() // 60)
    return f"its template changed {minutes} minutes after the update began, and not with it"


def _update_step(before: Template, after: Template, version: str, is_inferred: bool) -> TemplateUpdateStep:
    if has_version(after.doc, version) and not has_version(before.doc, version):
        return TemplateUpdateStep(
            before, after, Confidence.HIGH, f"its images are of {version} since then, and were not before"
        )
    reason = (
        f"it is the first template after the update began, within {int(WRITE_WINDOW.total_seconds() // 60)} minutes"
    )
    has_other_images = version and not has_version(after.doc, version)
    return TemplateUpdateStep(
        before, after, Confidence.LOW if has_other_images or is_inferred else Confidence.MEDIUM, reason
    )


_REUSED_REASON = "nothing tells since when a revision of its template, which may have been used again, was in force"


def _step_by_images(
    periods: Sequence[TemplatePeriod], version: str, reason: str
) -> TemplateUpdateStep | UnknownRevision:
    """Select the step by image versions where times do not tell. `reason`: why they do not."""
    pairs = [
        (earlier.template, later.template)
        for earlier, later in pairwise(periods)
        if earlier.template is not None and later.template is not None
    ]
    matching = [pair for pair in pairs if has_version(pair[1].doc, version) and not has_version(pair[0].doc, version)]
    if len(matching) == 1 and all(slot.template is not None for slot in periods):
        before, after = matching[0]
        return TemplateUpdateStep(
            before, after, Confidence.MEDIUM, f"of those that may have come then, only it has images of {version}"
        )
    return UnknownRevision(reason)


def has_version(template: Doc, version: str) -> bool:
    """An image of the template has that version of the add-on. EKS's images have its tag, sometimes shortened."""
    expected_tags = {version, version.partition("-eksbuild")[0]} if version else set()
    return any(tag in expected_tags for tag in image_tags(template))


def image_tags(template: Doc) -> list[str]:
    """Tags of all images, as ``v1.19.5-eksbuild.1``; kube-proxy's tag is ``v1.32.3-minimal-eksbuild.7``."""
    all_tags = []
    for container_list in ("initContainers", "containers"):
        containers = nested_field(template, "spec", container_list)
        for container in containers if isinstance(containers, list) else ():
            image = container.get("image") if isinstance(container, dict) else None
            if isinstance(image, str):
                all_tags.append(image.rpartition("/")[2].partition("@")[0].partition(":")[2].replace("-minimal", ""))
    return all_tags
