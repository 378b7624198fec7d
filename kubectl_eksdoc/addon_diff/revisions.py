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
from kubectl_eksdoc.kubernetes.managed_fields import MalformedEntries, read
from kubectl_eksdoc.model.api_objects import Doc, at, without_nulls
from kubectl_eksdoc.model.kinds import Confidence
from kubectl_eksdoc.simulator.store import moment

# Pod templates that a DaemonSet or Deployment has had, read from the objects in which its controller stores them.
#
# Sources: pkg/controller/daemon/update.go (getPatch, Snapshot), pkg/controller/history/controller_history.go,
# pkg/controller/deployment/util/deployment_util.go (SetNewReplicaSetAnnotations), Kubernetes v1.36. Both controllers
# reuse the object of an equal template and give it the next number; its creation time is that of the first use.


_NUMBER, _EARLIER = "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"
_HASHES = ("controller-revision-hash", "pod-template-hash")
_KEPT = 10
"""The default of ``revisionHistoryLimit``."""


@frozen
class Template:
    """`number` counts the template's changes, from 1. `numbered_at`: when it got each of its numbers, if it is
    recorded; None is unknown. `doc` is the template without fields that a controller adds, and without nulls."""

    number: int
    doc: Doc
    created: datetime | None = None
    came: Mapping[int, datetime | None] = field(default_factory=dict)


@frozen
class TemplateRevisions:
    """`templates` sorted by number; the last one is in force. `unreadable` are the names of objects that could not be
    decoded. `limit`: the number of revisions that are stored besides the one in force."""

    kept: tuple[Template, ...]
    unreadable: tuple[str, ...] = ()
    limit: int = _KEPT


def templates_of(live: Doc, docs: Iterable[Doc]) -> TemplateRevisions:
    """Read the revisions of `live` from all ControllerRevisions or ReplicaSets of its namespace. Never raises, for any
    `docs`."""
    kept: dict[int, Template] = {}
    unreadable: list[str] = []
    for doc in docs:
        if not _is_of(doc, live):
            continue
        name = str(at(doc, "metadata", "name") or "")
        found = _template(doc)
        if found is None or found.number in kept:
            unreadable.append(name)
        else:
            kept[found.number] = found
    limit = at(live, "spec", "revisionHistoryLimit")
    return TemplateRevisions(
        tuple(kept[number] for number in sorted(kept)),
        tuple(sorted(unreadable)),
        limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else _KEPT,
    )


def template_in(live: Doc) -> Doc:
    """The current template of the object, comparable with stored ones."""
    found = at(live, "spec", "template")
    return _plain(found) if isinstance(found, dict) else {}


def _is_of(doc: Doc, live: Doc) -> bool:
    """The controller of `doc` is `live`; a deleted object with the same name is another controller."""
    owners = at(doc, "metadata", "ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller"):
            uids = {owner.get("uid"), at(live, "metadata", "uid")} - {None, ""}
            named = (owner.get("kind"), owner.get("name")) == (live.get("kind"), at(live, "metadata", "name"))
            return len(uids) < 2 and named
    return False


def _template(doc: Doc) -> Template | None:
    """None if the object has no valid template. A ReplicaSet records its earlier numbers; it got the first of them at
    its creation. A ControllerRevision changes only in its number, so the last write of that field is the time of its
    number."""
    number: Any
    created = _moment(at(doc, "metadata", "creationTimestamp"))
    came: dict[int, datetime | None] = {}
    if doc.get("kind") == "ReplicaSet":
        number = _numeral(at(doc, "metadata", "annotations", _NUMBER))
        said, history = at(doc, "spec", "template"), at(doc, "metadata", "annotations", _EARLIER)
        numbers = [*map(_numeral, history.split(","))] if isinstance(history, str) else []
        came = dict.fromkeys(each for each in (*numbers, number) if 0 < each <= number)
        came |= {min(came): created} if came else {}
    else:
        number, said = doc.get("revision"), at(doc, "data", "spec", "template")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1 or not isinstance(said, dict):
        return None
    return Template(number, _plain(said), created, came or {number: _numbered(doc)})


def _numeral(text: object) -> int:
    """0 if the text is no number."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else 0


def _plain(template: Doc) -> Doc:
    """Without ``$patch``, hash labels and nulls: a revision is stored as a patch, in which times are null."""
    plain: Doc = without_nulls({key: value for key, value in template.items() if key != "$patch"})
    labels = at(plain, "metadata", "labels")
    if isinstance(labels, dict):
        own = {key: value for key, value in labels.items() if key not in _HASHES}
        plain["metadata"] = {**plain["metadata"], "labels": own}
    return plain


def _numbered(doc: Doc) -> datetime | None:
    """When the revision got its number, by its managedFields."""
    try:
        entries = read(doc)
    except (MalformedEntries, AttributeError, TypeError):
        return None
    path = (field_step("revision"),)
    times = [_moment(entry.time) for entry in entries.values() if path in entry.fields]
    return max((each for each in times if each is not None), default=None)


def _moment(text: object) -> datetime | None:
    try:
        return moment(text) if isinstance(text, str) else None
    except ValueError:
        return None


AT_ONCE = timedelta(minutes=15)
"""EKS writes an add-on's objects within this time after the start of its update; later changes have other causes. No
document states the time; updates of incident reports took minutes in total."""


@frozen
class Slot:
    """The time in which template number `number` was in force. It began between `earliest_start` and `latest_start`,
    exactly then if they are equal; None is unknown. `template` is None if it is stored under a later number or no
    longer. `is_inferred`: the start is taken from a controller's record, not from the creation time."""

    number: int
    template: Template | None
    since: datetime | None = None
    by: datetime | None = None
    believed: bool = False


@frozen
class TemplateUpdateStep:
    """The update changed the template."""

    before: Template
    after: Template
    sure: Confidence
    why: str


@frozen
class Untouched:
    """The update left the template as it was."""

    template: Template
    why: str


@frozen
class UnknownRevision:
    why: str
    missing: str = ""


def slots(templates: TemplateRevisions) -> tuple[Slot, ...]:
    """From the first known number to the one in force."""
    kept = templates.kept
    if not kept:
        return ()
    lost = kept[0].number - 1 if len(kept) > templates.limit else 0
    # The n-th object to be created had at least number n, so an object that has number n now never had another one.
    by_age = sorted((each.created.timestamp() if each.created else 0.0, each.number) for each in kept)
    once = {number for rank, (_, number) in enumerate(by_age, lost + 1) if rank == number}
    known = {number: each for each in kept for number in each.came} | {each.number: each for each in kept}
    numbers = range(min((lost + 1, *known)), kept[-1].number + 1)
    found = [_slot(number, known.get(number), number in once) for number in numbers]
    # A period starts no earlier than the one before it and no later than the one after it.
    since: datetime | None = None
    for place, slot in enumerate(found):
        if since is not None and (slot.since is None or (slot.since < since and slot.by is None)):
            found[place] = replace(slot, since=since)
        since = found[place].since or since
    by: datetime | None = None
    for place in reversed(range(len(found))):
        if found[place].by is None:
            found[place] = replace(found[place], by=by)
        by = found[place].by or by
    return tuple(found)


def _slot(number: int, template: Template | None, once: bool) -> Slot:
    """`was_used_once`: the template never had another number."""
    if template is None:
        return Slot(number, None)
    came = template.came[number] or (template.created if once else None)
    if came is None:
        return Slot(number, template, template.created, None)
    return Slot(number, template, came, came, believed=came != template.created)


def step_at(
    found: Sequence[Slot], begun: datetime, version: str, whole: bool, until: datetime | None = None
) -> TemplateUpdateStep | Untouched | UnknownRevision:
    """The effect of the update that began at `started` on the template. `version`: the version that the update set, ""
    if it named none. `is_current`: the last period has the live object's template. `next_started`: start of the next
    update; this update had ended by then, because EKS runs one at a time."""
    if not found:
        return UnknownRevision("no revision of it is kept")
    if not whole:
        return UnknownRevision(
            "its newest revision is not its template: the controller has not come to it yet, or one is missing"
        )
    if not _in_order(found):
        return UnknownRevision("the times of its revisions contradict their numbers")
    begin = begun.replace(microsecond=0)  # times of objects have seconds
    sooner = [slot for slot in found if slot.by is not None and slot.by < begin]
    later = [slot for slot in found if slot.since is not None and slot.since >= begin]
    open_ones = [slot for slot in found if slot not in sooner and slot not in later]
    if open_ones:
        return _of_open([*sooner[-1:], *open_ones, *_soon(later[:1], begin, until)], version, _USED_AGAIN)
    if len(same := [slot for slot in later if slot.since == begin]) > 1:
        return _of_open([*sooner[-1:], *same], version, "its template changed more than once in that second")
    if not sooner:
        if found[0].number == 1:
            return UnknownRevision(
                "it was made by this update or after it, and what stood there before, if anything, is not kept"
            )
        return UnknownRevision("the revisions that are kept do not go back to before the update")
    last = sooner[-1]
    if last.template is None:
        return UnknownRevision(f"its revision {last.number}, in force before the update, is kept no more")
    following = _soon(later[:1], begin, until)
    if not following:
        late = next((slot.template for slot in later[:1] if _ours(slot, until) and slot.template is not None), None)
        if late is not None and carries(late.doc, version) and not carries(last.template.doc, version):
            why = f"its images are of {version} since then, though that was long after the update began"
            return TemplateUpdateStep(last.template, late, Confidence.LOW if last.believed else Confidence.MEDIUM, why)
        return Untouched(last.template, _after_all(later[:1], begin))
    (new,) = following
    if new.template is None:
        return UnknownRevision(f"its revision {new.number}, in force after the update, is kept no more")
    return _step(last.template, new.template, version, last.believed or new.believed)


def _in_order(found: Sequence[Slot]) -> bool:
    times = [slot.since for slot in found if slot.since is not None]
    return times == sorted(times) and all(
        slot.since is None or slot.by is None or slot.since <= slot.by for slot in found
    )


def _soon(later: Sequence[Slot], begin: datetime, until: datetime | None) -> list[Slot]:
    return [slot for slot in later if slot.since is not None and slot.since - begin <= AT_ONCE and _ours(slot, until)]


def _ours(slot: Slot, until: datetime | None) -> bool:
    return until is None or (slot.since is not None and slot.since < until.replace(microsecond=0))


def _after_all(later: Sequence[Slot], begin: datetime) -> str:
    if not later or later[0].since is None:
        return "its template has not changed since the update began"
    minutes = int((later[0].since - begin).total_seconds() // 60)
    return f"its template changed {minutes} minutes after the update began, and not with it"


def _step(before: Template, after: Template, version: str, believed: bool) -> TemplateUpdateStep:
    if carries(after.doc, version) and not carries(before.doc, version):
        return TemplateUpdateStep(
            before, after, Confidence.HIGH, f"its images are of {version} since then, and were not before"
        )
    why = f"it is the first template after the update began, within {int(AT_ONCE.total_seconds() // 60)} minutes"
    odd = version and not carries(after.doc, version)
    return TemplateUpdateStep(before, after, Confidence.LOW if odd or believed else Confidence.MEDIUM, why)


_USED_AGAIN = "nothing tells since when a revision of its template, which may have been used again, was in force"


def _of_open(chain: Sequence[Slot], version: str, why: str) -> TemplateUpdateStep | UnknownRevision:
    """Select the step by image versions where times do not tell. `reason`: why they do not."""
    pairs = [
        (one.template, other.template)
        for one, other in pairwise(chain)
        if one.template is not None and other.template is not None
    ]
    fitting = [pair for pair in pairs if carries(pair[1].doc, version) and not carries(pair[0].doc, version)]
    if len(fitting) == 1 and all(slot.template is not None for slot in chain):
        before, after = fitting[0]
        return TemplateUpdateStep(
            before, after, Confidence.MEDIUM, f"of those that may have come then, only it has images of {version}"
        )
    return UnknownRevision(why)


def carries(template: Doc, version: str) -> bool:
    """An image of the template has that version of the add-on. EKS's images have its tag, sometimes shortened."""
    wanted = {version, version.partition("-eksbuild")[0]} if version else set()
    return any(tag in wanted for tag in tags(template))


def tags(template: Doc) -> list[str]:
    """Tags of all images, as ``v1.19.5-eksbuild.1``; kube-proxy's tag is ``v1.32.3-minimal-eksbuild.7``."""
    found = []
    for listed in ("initContainers", "containers"):
        containers = at(template, "spec", listed)
        for container in containers if isinstance(containers, list) else ():
            image = container.get("image") if isinstance(container, dict) else None
            if isinstance(image, str):
                found.append(image.rpartition("/")[2].partition("@")[0].partition(":")[2].replace("-minimal", ""))
    return found
