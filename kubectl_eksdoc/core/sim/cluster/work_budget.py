"""An end for controllers that work without one: so much may be created and changed in an hour of virtual time.

Validation leaves out the objects that are known to make them do so, as a template that its own selector does not take;
this is for what it does not know.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kubectl_eksdoc.core.model.api_objects import Doc, at
from kubectl_eksdoc.core.sim.cluster.agenda import Agenda
from kubectl_eksdoc.core.sim.cluster.store import Change, Item, Store, What
from kubectl_eksdoc.errors import UsageError

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Limits:
    """In an hour, whatever the size of the cluster, and (`_each`) for each object that it has at first."""

    created: int = 1_000
    created_each: int = 20
    changed: int = 50_000
    changed_each: int = 1_000


class WorkBudget:
    """Watches over what is in `store` already, as time passes on `agenda`. Mutable."""

    def __init__(self, store: Store, agenda: Agenda, limits: Limits = Limits()) -> None:
        objects = sum(map(store.count, store.resources()))
        self._agenda = agenda
        self._until_s = 0.0
        self._tallies = (
            _Tally("created", limits.created + limits.created_each * objects),
            _Tally("changed", limits.changed + limits.changed_each * objects),
        )
        store.listen(self._notice)
        agenda.before_each = self._check

    def _notice(self, change: Change) -> None:
        if self._agenda.seconds >= self._until_s:
            self._until_s = self._agenda.seconds + HOUR_S
            for tally in self._tallies:
                tally.begin()
        self._tallies[change.what is not What.ADDED].add(change.item)

    def _check(self) -> None:
        """
        Raises:
            UsageError: it is used up.
        """
        for tally in self._tallies:
            if tally.left < 0:
                (cause, count), *_ = tally.causes.most_common(1)
                raise UsageError(
                    f"the simulated cluster does not come to rest: objects of {cause} were {tally.done} {count:,} "
                    "times in an hour of virtual time",
                    f"Rehearse without {cause}: leave it out of the dump, or correct its spec.",
                )


class _Tally:
    """What was `done` to objects of each cause in this hour, and how much more may be. Mutable."""

    def __init__(self, done: str, most: int) -> None:
        self.done = done
        self._most = most
        self.begin()

    def begin(self) -> None:
        self.left = self._most
        self.causes: Counter[str] = Counter()

    def add(self, item: Item) -> None:
        self.left -= 1
        self.causes[_cause(item)] += 1


def _cause(item: Item) -> str:
    """The controller of an object, or the object itself."""
    namespace, name = item.key
    owners = at(item.doc, "metadata", "ownerReferences") or ()
    owner: Doc = next((each for each in owners if each.get("controller")), {})
    kind = owner.get("kind") or item.doc.get("kind") or item.resource
    return f"{kind} {f'{namespace}/' if namespace else ''}{owner.get('name') or name}"
