"""Creation of Kubernetes objects: a server-side dry run of all of them first, then creation in order.

Existing objects are never overwritten. If the creation stops, the error names the objects that were created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from kubectl_eksdoc.changes.engine import Kind, Sent, Step
from kubectl_eksdoc.errors import ClusterError, ClusterRefused, Drifted, EksdocError, Forbidden, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.change_journal import Became, Part
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.placing import NotPlaced, called


class PlacingGround(Protocol):
    """The cluster in which objects are created. Every method may raise Unauthorized or ConfigError."""

    def create(self, doc: Doc, dry: bool = False) -> NotPlaced | None:
        """Create `doc`, or with `dry` only ask the server whether it would. None: created, or accepted."""
        ...

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        """The existing object with the name and kind of `doc`."""
        ...

    def remove(self, doc: Doc) -> NotPlaced | None:
        """Delete it and all objects it owns, in the background; an object that is gone is fine. None: accepted."""
        ...


def tried(docs: Sequence[Doc], ground: PlacingGround, ours: Callable[[Doc], bool], away: str) -> None:
    """Check with a server-side dry run that all objects can be created.

    `is_own` recognizes an object of the same command; `delete_command` is the command that deletes those.

    Raises:
        UsageError: an object with one of the names exists.
        Forbidden: a right is missing; `missing` names it.
        ClusterError: the server would reject one.
    """
    refused = [(doc, answer) for doc in docs if (answer := ground.create(doc, dry=True)) is not None]
    refused = [(doc, answer) for doc, answer in refused if not (answer.lacking and _comes_before(doc, docs))]
    if not refused:
        return
    taken = [doc for doc, answer in refused if answer.taken]
    if taken:
        raise _taken(taken, ground, ours, away)
    homeless = {str(at(doc, "metadata", "namespace")) for doc, answer in refused if answer.lacking} - {"None"}
    if homeless and all(answer.lacking for _, answer in refused):
        name = min(homeless)
        raise ClusterError(
            f"there is no namespace {name}",
            f"Nothing was created. Make it first: {shell('kubectl', 'create', 'namespace', name)}",
        )
    said = "; ".join(f"{called(doc)}: {answer.why}" for doc, answer in refused)
    _refuse(f"the API server would not take {said}", "Nothing was created.", refused[0][1])


@frozen
class Placed:
    """`left`: why not all objects were created, a clause; `created_text`: what was created so far, a sentence."""

    left: str = ""
    there: str = ""

    @property
    def whole(self) -> bool:
        return not self.left


class Placement(Kind[Placed]):
    """Creates each object, and never overwrites one. Mutable: the objects created so far."""

    def __init__(
        self, docs: Sequence[Doc], ground: PlacingGround, tell: Callable[[str], object], away: str, again: bool = False
    ) -> None:
        """`report` is called for each created object; `delete_command` deletes the objects. `resumed`: some may have
        been created by an earlier process."""
        self._docs, self._ground, self._tell, self._away, self._again = docs, ground, tell, away, again
        self._there: list[str] = []

    def steps(self, sent: Sent) -> Iterator[Step]:
        for doc in self._docs:
            half = self._half_way("")
            yield Step(called(doc), partial(self._now, doc), partial(self._create, doc), drifted=half)

    def _now(self, doc: Doc) -> Part:
        part = of_object(doc, self._ground) if self._again else Part(called(doc), Became.AS_BEFORE)
        if part.became is Became.UNKNOWN:  # an existing object is never overwritten
            part = Part(part.what, Became.AS_BEFORE)
        self._there += [part.what] if part.became is Became.DONE else []
        return part

    def _create(self, doc: Doc) -> Doc:
        """Create `doc`.

        Raises:
            Drifted: an object with its name was created since the check.
            Forbidden, ClusterError: it was not created; the error names the created objects and the delete command.
            KeyboardInterrupt, Unauthorized: the creation was interrupted; `report` was called with the same before.
        """
        what = called(doc)
        try:
            answer = self._ground.create(doc)
        except (KeyboardInterrupt, EksdocError) as error:
            self._tell(f"broken off. {self._half_way(what if isinstance(error, KeyboardInterrupt) else '')}")
            raise
        if answer is not None:
            half = self._half_way(what if answer.maybe else "")
            if answer.taken:
                raise Drifted(f"something of the same name came since it was shown: {what}", half)
            said = f"it is unknown whether {what} was created" if answer.maybe else f"{what} was not created"
            _refuse(f"{said}: {answer.why}", half, answer)
        self._there.append(what)
        self._tell(f"{what} created")
        return {}

    def _half_way(self, perhaps: str) -> str:
        there = [*self._there, *([f"perhaps {perhaps}"] if perhaps else [])]
        return f"There is by now: {', '.join(there)}. Take it away: {self._away}" if there else "Nothing was created."

    def result(self, sent: Sent) -> Placed:
        return Placed("; ".join(filter(None, (sent.left, *sent.refused.values()))), self._half_way(""))


class Removal(Placement):
    """The rollback: deletes the objects that this change created, the last one first."""

    def steps(self, sent: Sent) -> Iterator[Step]:
        for doc in reversed(self._docs):
            yield Step(called(doc), partial(self._found, doc), partial(self._remove, doc), apart=True)

    def _found(self, doc: Doc) -> Part:
        part = of_object(doc, self._ground)
        now = {Became.DONE: Became.AS_BEFORE, Became.AS_BEFORE: Became.GONE}.get(part.became, part.became)
        return Part(part.what, now, part.why)

    def _remove(self, doc: Doc) -> Doc:
        answer = self._ground.remove(doc)
        if answer is not None:
            _refuse(f"{called(doc)} was not deleted: {answer.why}", f"Delete it: {self._away}", answer)
        self._tell(f"{called(doc)} deleted")
        return {}


def of_object(doc: Doc, ground: PlacingGround) -> Part:
    """Whether the object with that name was created by this change."""
    found, what = ground.there(doc), called(doc)
    if isinstance(found, Unknown):
        return Part(what, Became.UNKNOWN, found.why)
    if isinstance(found, Absent):
        return Part(what, Became.AS_BEFORE)
    labels, now = at(doc, "metadata", "labels") or {}, at(found, "metadata", "labels") or {}
    if labels.items() <= now.items():
        return Part(what, Became.DONE)
    return Part(what, Became.OTHER, "something of the same name that was not made for it")


def _refuse(message: str, hint: str, answer: NotPlaced) -> None:
    if answer.missing:
        raise Forbidden(message, hint, answer.missing)
    raise (ClusterError if answer.maybe else ClusterRefused)(message, hint)


def _taken(taken: Sequence[Doc], ground: PlacingGround, ours: Callable[[Doc], bool], away: str) -> UsageError:
    names = ", ".join(map(called, taken))
    found = [ground.there(doc) for doc in taken]
    unread = [each for each in found if isinstance(each, Unknown)]
    if unread:
        return UsageError(
            f"something of the same name is there already, and who made it is unknown: {names}: {unread[0].why}",
            "Nothing was created, and nothing is written over. Choose another name, or look who made it.",
        )
    if all(isinstance(each, dict) and ours(each) for each in found):
        return UsageError(f"it is there already: {names}", f"Nothing was created. Take it away first: {away}")
    return UsageError(
        f"something of the same name is there already that is not of this tool: {names}",
        "Nothing was created, and nothing is written over. Choose another name, or look who made it.",
    )


def _comes_before(doc: Doc, docs: Sequence[Doc]) -> bool:
    """Whether `doc` is a binding to a role in `docs`: a dry run creates no role that the binding could name."""
    named = at(doc, "roleRef", "kind"), at(doc, "roleRef", "name")
    return any((each["kind"], at(each, "metadata", "name")) == named for each in docs)
