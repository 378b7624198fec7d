"""The pod templates that a DaemonSet or Deployment has had, out of the objects in which its controller keeps them.

Sources: pkg/controller/daemon/update.go (getPatch, Snapshot), pkg/controller/history/controller_history.go,
pkg/controller/deployment/util/deployment_util.go (SetNewReplicaSetAnnotations), Kubernetes v1.36. Both controllers use
the object of an equal template again and give it the next number; its creation is then that of the first time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kubectl_eksdoc.kubernetes.api.ownership.entries import MalformedEntries, read
from kubectl_eksdoc.kubernetes.api.ownership.steps import field_step
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.simulator.store import moment

_NUMBER, _EARLIER = "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history"
_HASHES = ("controller-revision-hash", "pod-template-hash")
_KEPT = 10
"""The default of ``revisionHistoryLimit``."""


@dataclass(frozen=True, slots=True)
class Template:
    """`number` counts the changes of the template, from 1; `earlier` are numbers that it had before, where that is
    noted. `numbered`: when it got its number, as far as managedFields tell. `pods_hash`: what its pods are labelled
    with; `doc` is the template without what a controller adds and without nulls."""

    number: int
    name: str
    doc: Doc
    created: datetime | None = None
    numbered: datetime | None = None
    earlier: tuple[int, ...] = ()
    pods_hash: str = ""


@dataclass(frozen=True, slots=True)
class TemplateRevisions:
    """`kept` by their numbers; the last is the one in force. `unreadable` are names of objects that could not be
    understood. `noted`: all earlier numbers are. `limit`: so many that are not in force are kept."""

    kept: tuple[Template, ...]
    unreadable: tuple[str, ...] = ()
    noted: bool = False
    limit: int = _KEPT

    def number(self, number: int) -> Template | None:
        return next((each for each in self.kept if each.number == number), None)


def templates_of(live: Doc, docs: Iterable[Doc]) -> TemplateRevisions:
    """Out of all ControllerRevisions, or ReplicaSets, of its namespace. Never raises, whatever `docs` are."""
    kept: dict[int, Template] = {}
    unreadable: list[str] = []
    for doc in docs:
        if not _is_of(doc, live):
            continue
        name = str(at(doc, "metadata", "name") or "")
        found = _template(doc, name)
        if found is None or found.number in kept:
            unreadable.append(name)
        else:
            kept[found.number] = found
    limit = at(live, "spec", "revisionHistoryLimit")
    return TemplateRevisions(
        tuple(kept[number] for number in sorted(kept)),
        tuple(sorted(unreadable)),
        live.get("kind") == "Deployment",
        limit if isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0 else _KEPT,
    )


def template_in(live: Doc) -> Doc:
    """That of the object as it is now, to be compared with those that are kept."""
    found = at(live, "spec", "template")
    return _plain(found) if isinstance(found, dict) else {}


def _is_of(doc: Doc, live: Doc) -> bool:
    """Its controller is `live`; one of the same name that was deleted is another."""
    owners = at(doc, "metadata", "ownerReferences")
    for owner in owners if isinstance(owners, list) else ():
        if isinstance(owner, dict) and owner.get("controller"):
            uids = {owner.get("uid"), at(live, "metadata", "uid")} - {None, ""}
            named = (owner.get("kind"), owner.get("name")) == (live.get("kind"), at(live, "metadata", "name"))
            return len(uids) < 2 and named
    return False


def _template(doc: Doc, name: str) -> Template | None:
    """None where it is none."""
    number: Any
    if doc.get("kind") == "ReplicaSet":
        number = _numeral(at(doc, "metadata", "annotations", _NUMBER))
        said, history = at(doc, "spec", "template"), at(doc, "metadata", "annotations", _EARLIER)
        earlier = [_numeral(each) for each in history.split(",")] if isinstance(history, str) and history else []
    else:
        number, said, earlier = doc.get("revision"), at(doc, "data", "spec", "template"), []
    if not isinstance(number, int) or isinstance(number, bool) or number < 1 or not isinstance(said, dict):
        return None
    labels = at(doc, "metadata", "labels")
    hashes = [labels.get(each) for each in _HASHES] if isinstance(labels, dict) else []
    return Template(
        number,
        name,
        _plain(said),
        _moment(at(doc, "metadata", "creationTimestamp")),
        _numbered(doc),
        tuple(sorted(each for each in earlier if each and each < number)),
        next((each for each in hashes if isinstance(each, str)), ""),
    )


def _numeral(text: object) -> int:
    """0 for what is none."""
    return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 10 else 0


def _plain(template: Doc) -> Doc:
    """Without ``$patch``, hashes of controllers and nulls: a revision is kept as a patch, in which times are null."""
    plain: Doc = _without_nulls({key: value for key, value in template.items() if key != "$patch"})
    labels = at(plain, "metadata", "labels")
    if isinstance(labels, dict):
        own = {key: value for key, value in labels.items() if key not in _HASHES}
        plain["metadata"] = {**plain["metadata"], "labels": own}
    return plain


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


def _numbered(doc: Doc) -> datetime | None:
    """A ControllerRevision never changes but for its number, so whoever owns that wrote it last at that time."""
    if doc.get("kind") != "ControllerRevision":
        return None  # a ReplicaSet is written at every scaling
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
