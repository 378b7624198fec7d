"""Objects are put into a cluster: the server is asked for all of them first, and then they are created in their order.

What is there already is never written over. Where it breaks off half-way, it is said what is there by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kubectl_eksdoc.errors import ClusterError, EksdocError, Forbidden, UsageError
from kubectl_eksdoc.model.api_objects import Doc, at
from kubectl_eksdoc.model.commands import shell
from kubectl_eksdoc.model.placing import NotPlaced, called


class PlacingGround(Protocol):
    """The cluster into which objects are put. Everything may raise Unauthorized or ConfigError."""

    def create(self, doc: Doc, dry: bool = False) -> NotPlaced | None:
        """None: it is there now, or would be. `dry`: the server only says whether it would."""
        ...

    def there(self, doc: Doc) -> Doc | None:
        """What has its name and kind; None where nothing has, or that cannot be told."""
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


def placed(docs: Sequence[Doc], ground: PlacingGround, tell: Callable[[str], object], away: str) -> None:
    """`tell` hears of each as it is there.

    Raises:
        Forbidden, ClusterError: one was not created; the error says what is there by now, and `away` with it.
        KeyboardInterrupt, Unauthorized: it was broken off; `tell` has heard the same before.
    """
    there: list[str] = []
    for doc in docs:
        try:
            answer = ground.create(doc)
        except (KeyboardInterrupt, EksdocError) as error:
            cut = isinstance(error, KeyboardInterrupt)
            tell(f"broken off. {_half_way([*there, *([_perhaps(doc)] if cut else [])], away)}")
            raise
        if answer is not None:
            half = _half_way([*there, *([_perhaps(doc)] if answer.maybe else [])], away)
            what = (
                f"it is unknown whether {called(doc)} was created" if answer.maybe else f"{called(doc)} was not created"
            )
            _refuse(f"{what}: {answer.why}", half, answer)
        there.append(called(doc))
        tell(f"{called(doc)} created")


def _perhaps(doc: Doc) -> str:
    return f"perhaps {called(doc)}"


def _half_way(there: Sequence[str], away: str) -> str:
    return f"There is by now: {', '.join(there)}. Take it away: {away}" if there else "Nothing was created."


def _refuse(message: str, hint: str, answer: NotPlaced) -> None:
    if answer.missing:
        raise Forbidden(message, hint, answer.missing)
    raise ClusterError(message, hint)


def _taken(taken: Sequence[Doc], ground: PlacingGround, ours: Callable[[Doc], bool], away: str) -> UsageError:
    names = ", ".join(map(called, taken))
    found = [ground.there(doc) for doc in taken]
    if all(each is not None and ours(each) for each in found):
        return UsageError(f"it is there already: {names}", f"Nothing was created. Take it away first: {away}")
    return UsageError(
        f"something of the same name is there already that is not of this tool: {names}",
        "Nothing was created, and nothing is written over. Choose another name, or look who made it.",
    )


def _comes_before(doc: Doc, docs: Sequence[Doc]) -> bool:
    """Whether what it names is one of them: a dry run leaves nothing behind that a binding could name."""
    named = at(doc, "roleRef", "kind"), at(doc, "roleRef", "name")
    return any((each["kind"], at(each, "metadata", "name")) == named for each in docs)
