"""Creation of Kubernetes objects: a server-side dry run of all of them first, then creation in order.

Existing objects are never overwritten. If the creation stops, the error names the objects that were created.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Protocol

from kubectl_eksdoc.changes.engine import ChangeKind, SentSteps, Step
from kubectl_eksdoc.errors import ClusterError, ClusterRefused, Drifted, EksdocError, Forbidden, UsageError
from kubectl_eksdoc.frozen import frozen
from kubectl_eksdoc.model.api_objects import Doc, nested_field
from kubectl_eksdoc.model.change_journal import ChangePart, PartOutcome
from kubectl_eksdoc.model.connection import shell
from kubectl_eksdoc.model.kinds import Absent, Unknown
from kubectl_eksdoc.model.placement import ObjectNotCreated, object_reference


class ObjectCreator(Protocol):
    """The cluster in which objects are created. Every method may raise Unauthorized or ConfigError."""

    def create(self, doc: Doc, dry: bool = False) -> ObjectNotCreated | None:
        """Create `doc`, or with `dry` only ask the server whether it would. None: created, or accepted."""
        ...

    def there(self, doc: Doc) -> Doc | Absent | Unknown:
        """The existing object with the name and kind of `doc`."""
        ...

    def remove(self, doc: Doc) -> ObjectNotCreated | None:
        """Delete it and all objects it owns, in the background; an object that is gone is fine. None: accepted."""
        ...


def check_creatable(
    docs: Sequence[Doc], object_creator: ObjectCreator, is_own: Callable[[Doc], bool], delete_command: str
) -> None:
    """Check with a server-side dry run that all objects can be created.

    `is_own` recognizes an object of the same command; `delete_command` is the command that deletes those.

    Raises:
        UsageError: an object with one of the names exists.
        Forbidden: a right is missing; `missing` names it.
        ClusterError: the server would reject one.
    """
    refusals = [(doc, answer) for doc in docs if (answer := object_creator.create(doc, dry=True)) is not None]
    refusals = [
        (doc, answer) for doc, answer in refusals if not (answer.lacks_dependency and _binds_to_one_of(doc, docs))
    ]
    if not refusals:
        return
    name_conflicts = [doc for doc, answer in refusals if answer.already_exists]
    if name_conflicts:
        raise _name_conflict_error(name_conflicts, object_creator, is_own, delete_command)
    missing_namespaces = {
        str(nested_field(doc, "metadata", "namespace")) for doc, answer in refusals if answer.lacks_dependency
    } - {"None"}
    if missing_namespaces and all(answer.lacks_dependency for _, answer in refusals):
        name = min(missing_namespaces)
        raise ClusterError(
            f"there is no namespace {name}",
            f"Nothing was created. Make it first: {shell('kubectl', 'create', 'namespace', name)}",
        )
    reasons = "; ".join(f"{object_reference(doc)}: {answer.why}" for doc, answer in refusals)
    _refuse(f"the API server would not take {reasons}", "Nothing was created.", refusals[0][1])


@frozen
class PlacementResult:
    """`left`: why not all objects were created, a clause; `created_text`: what was created so far, a sentence."""

    left: str = ""
    created_text: str = ""

    @property
    def whole(self) -> bool:
        return not self.left


class Placement(ChangeKind[PlacementResult]):
    """Creates each object, and never overwrites one. Mutable: the objects created so far."""

    def __init__(
        self,
        docs: Sequence[Doc],
        object_creator: ObjectCreator,
        report: Callable[[str], object],
        delete_command: str,
        resumed: bool = False,
    ) -> None:
        """`report` is called for each created object; `delete_command` deletes the objects. `resumed`: some may have
        been created by an earlier process."""
        self._docs, self._object_creator, self._report, self._delete_command, self._resumed = (
            docs,
            object_creator,
            report,
            delete_command,
            resumed,
        )
        self._created: list[str] = []

    def steps(self, sent_steps: SentSteps) -> Iterator[Step]:
        for doc in self._docs:
            created_text = self._created_text("")
            yield Step(
                object_reference(doc),
                partial(self._current_state, doc),
                partial(self._create, doc),
                drift_hint=created_text,
            )

    def _current_state(self, doc: Doc) -> ChangePart:
        part = (
            object_state(doc, self._object_creator)
            if self._resumed
            else ChangePart(object_reference(doc), PartOutcome.AS_BEFORE)
        )
        if part.became is PartOutcome.UNKNOWN:  # an existing object is never overwritten
            part = ChangePart(part.what, PartOutcome.AS_BEFORE)
        self._created += [part.what] if part.became is PartOutcome.DONE else []
        return part

    def _create(self, doc: Doc) -> Doc:
        """Create `doc`.

        Raises:
            Drifted: an object with its name was created since the check.
            Forbidden, ClusterError: it was not created; the error names the created objects and the delete command.
            KeyboardInterrupt, Unauthorized: the creation was interrupted; `report` was called with the same before.
        """
        name = object_reference(doc)
        try:
            answer = self._object_creator.create(doc)
        except (KeyboardInterrupt, EksdocError) as error:
            self._report(f"broken off. {self._created_text(name if isinstance(error, KeyboardInterrupt) else '')}")
            raise
        if answer is not None:
            created_text = self._created_text(name if answer.is_uncertain else "")
            if answer.already_exists:
                raise Drifted(f"something of the same name came since it was shown: {name}", created_text)
            problem = f"it is unknown whether {name} was created" if answer.is_uncertain else f"{name} was not created"
            _refuse(f"{problem}: {answer.why}", created_text, answer)
        self._created.append(name)
        self._report(f"{name} created")
        return {}

    def _created_text(self, maybe_created: str) -> str:
        created = [*self._created, *([f"perhaps {maybe_created}"] if maybe_created else [])]
        return (
            f"There is by now: {', '.join(created)}. Take it away: {self._delete_command}"
            if created
            else "Nothing was created."
        )

    def result(self, sent_steps: SentSteps) -> PlacementResult:
        return PlacementResult(
            "; ".join(filter(None, (sent_steps.incomplete_reason, *sent_steps.refusals.values()))),
            self._created_text(""),
        )


class Removal(Placement):
    """The rollback: deletes the objects that this change created, the last one first."""

    def steps(self, sent_steps: SentSteps) -> Iterator[Step]:
        for doc in reversed(self._docs):
            yield Step(
                object_reference(doc),
                partial(self._state_for_removal, doc),
                partial(self._remove, doc),
                is_independent=True,
            )

    def _state_for_removal(self, doc: Doc) -> ChangePart:
        part = object_state(doc, self._object_creator)
        state = {PartOutcome.DONE: PartOutcome.AS_BEFORE, PartOutcome.AS_BEFORE: PartOutcome.GONE}.get(
            part.became, part.became
        )
        return ChangePart(part.what, state, part.why)

    def _remove(self, doc: Doc) -> Doc:
        answer = self._object_creator.remove(doc)
        if answer is not None:
            _refuse(
                f"{object_reference(doc)} was not deleted: {answer.why}", f"Delete it: {self._delete_command}", answer
            )
        self._report(f"{object_reference(doc)} deleted")
        return {}


def object_state(doc: Doc, object_creator: ObjectCreator) -> ChangePart:
    """Whether the object with that name was created by this change."""
    existing, name = object_creator.there(doc), object_reference(doc)
    if isinstance(existing, Unknown):
        return ChangePart(name, PartOutcome.UNKNOWN, existing.why)
    if isinstance(existing, Absent):
        return ChangePart(name, PartOutcome.AS_BEFORE)
    labels, existing_labels = (
        nested_field(doc, "metadata", "labels") or {},
        nested_field(existing, "metadata", "labels") or {},
    )
    if labels.items() <= existing_labels.items():
        return ChangePart(name, PartOutcome.DONE)
    return ChangePart(name, PartOutcome.OTHER, "something of the same name that was not made for it")


def _refuse(message: str, hint: str, answer: ObjectNotCreated) -> None:
    if answer.missing:
        raise Forbidden(message, hint, answer.missing)
    raise (ClusterError if answer.is_uncertain else ClusterRefused)(message, hint)


def _name_conflict_error(
    conflicts: Sequence[Doc], object_creator: ObjectCreator, is_own: Callable[[Doc], bool], delete_command: str
) -> UsageError:
    names = ", ".join(map(object_reference, conflicts))
    existing = [object_creator.there(doc) for doc in conflicts]
    unreadable = [each for each in existing if isinstance(each, Unknown)]
    if unreadable:
        return UsageError(
            f"something of the same name is there already, and who made it is unknown: {names}: {unreadable[0].why}",
            "Nothing was created, and nothing is written over. Choose another name, or look who made it.",
        )
    if all(isinstance(each, dict) and is_own(each) for each in existing):
        return UsageError(f"it is there already: {names}", f"Nothing was created. Take it away first: {delete_command}")
    return UsageError(
        f"something of the same name is there already that is not of this tool: {names}",
        "Nothing was created, and nothing is written over. Choose another name, or look who made it.",
    )


def _binds_to_one_of(doc: Doc, docs: Sequence[Doc]) -> bool:
    """Whether `doc` is a binding to a role in `docs`: a dry run creates no role that the binding could name."""
    role_ref = nested_field(doc, "roleRef", "kind"), nested_field(doc, "roleRef", "name")
    return any((each["kind"], nested_field(each, "metadata", "name")) == role_ref for each in docs)
