"""Objects are put into a cluster: the server is asked for all of them first, and then they are created in their order.

What is there already is never written over. Where it breaks off half-way, it is said what is there by then.
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
    """The cluster into which objects are put. Everything may raise Unauthorized or ConfigError."""

    def create(self, doc: Doc, dry: bool = False) -> NotPlaced | None:
        """None: it is there now, or would be. `dry`: the server only says whether it would."""
        ...

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        """What has its name and kind."""
        ...

    def remove(self, doc: Doc) -> NotPlaced | None:
        """With all that it owns, in the background; one that is gone is fine. None: it was taken in."""
        ...


def tried(docs: Sequence[Doc], ground: PlacingGround, ours: Callable[[Doc], bool], away: str) -> None:
    """Whether the server would take all of them. `ours` tells an object that was made for the same; `away`: the command
    that takes those away.

    Raises:
        UsageError: something has one of the names already.
        Forbidden: a right is missing; `missing` names it.
        ClusterError: the server would not take one.
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
    """`left`: why not all of it was done, a clause; `there`: what is there by now, a sentence."""

    left: str = ""
    there: str = ""

    @property
    def whole(self) -> bool:
        return not self.left


class Placement(Kind[Placed]):
    """Each object is created, and never written over. Mutable: what is there by now."""

    def __init__(
        self, docs: Sequence[Doc], ground: PlacingGround, tell: Callable[[str], object], away: str, again: bool = False
    ) -> None:
        """`tell` hears of each as it is there; `away`: the command that takes them away. `again`: some may have been
        created before."""
        self._docs, self._ground, self._tell, self._away, self._again = docs, ground, tell, away, again
        self._there: list[str] = []

    def steps(self, sent: Sent) -> Iterator[Step]:
        for doc in self._docs:
            half = self._half_way("")
            yield Step(called(doc), partial(self._now, doc), partial(self._create, doc), drifted=half)

    def _now(self, doc: Doc) -> Part:
        part = of_object(doc, self._ground) if self._again else Part(called(doc), Became.AS_BEFORE)
        if part.became is Became.UNKNOWN:  # it is never written over
            part = Part(part.what, Became.AS_BEFORE)
        self._there += [part.what] if part.became is Became.DONE else []
        return part

    def _create(self, doc: Doc) -> Doc:
        """
        Raises:
            Drifted: something has its name since it was tried.
            Forbidden, ClusterError: it was not created; the error says what is there by now, and `away` with it.
            KeyboardInterrupt, Unauthorized: it was broken off; `tell` has heard the same before.
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
    """What reverts it: those that were made for the same are deleted, the last first."""

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
    """Whether what has its name is it."""
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
    """Whether what it names is one of them: a dry run leaves nothing behind that a binding could name."""
    named = at(doc, "roleRef", "kind"), at(doc, "roleRef", "name")
    return any((each["kind"], at(each, "metadata", "name")) == named for each in docs)
