"""The journal of a run in its two places, and how another machine goes on with a run: by what the cluster has of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from kubectl_eksdoc.core.model.journal import Begun, Entries, Entry, Noted, Phase
from kubectl_eksdoc.core.run.journal import Journaled, only_in, replay
from kubectl_eksdoc.core.run.scribe import Scribe
from kubectl_eksdoc.errors import JournalError, LockLost
from kubectl_eksdoc.flows.ports import DrainLock, JournalHere, JournalThere

ADOPTIONS = 3
"""So often a run is opened again when who led before was still writing."""


class RunJournal:
    """A `Journal`: here first, then in the cluster. The lock is taken before it is begun or adopted."""

    def __init__(self, open_here: Callable[[str], JournalHere], there: JournalThere, lock: DrainLock) -> None:
        """`open_here` gives this machine's journal of a run by its id."""
        self._open_here = open_here
        self._there = there
        self._lock = lock
        self._here: JournalHere | None = None
        self._owed: tuple[Entry, ...] = ()  # written here, and not surely there
        self.stands = False
        """Whether the run is there, and ours: from now on there is something to go on with."""

    def begin(self, begun: Begun) -> None:
        """
        Raises:
            UsageError: the journal's namespace is not there.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        self._lock.must_be_held()
        self._here = self._open_here(begun.run)
        self._here.append([begun])
        self._there.begin(begun)
        self.stands = True
        self._lock.must_be_held()

    def adopt_removed(self, run: str, at: datetime) -> Journaled:
        """As `adopt`, of a run whose journal somebody removed from the cluster: it is begun there anew with what this
        machine has of it, which may be nothing. Raises: as `begin`."""
        self._lock.must_be_held()
        entries = self._open_here(run).entries().entries
        begun = next((entry for entry in entries if isinstance(entry, Begun)), None)
        self._there.put_back(run, self._lock.holder, begun)
        return self.adopt(run, at)

    def adopt(self, run: str, at: datetime) -> Journaled:
        """What stands, after a note that we lead from now on. What one place has and the other has not is written to
        that, for a machine may have ended between the two.

        Raises:
            UsageError: there is no such run.
            JournalError, LockLost, Unauthorized, Forbidden: as `write`.
        """
        here = self._open_here(run)
        for _ in range(ADOPTIONS - 1):
            try:
                stands = self._taken_over(run, here, at)
                break
            except LockLost:
                if not self._lock.held():
                    raise
                # An act of theirs was under way; now they must see that they lost the lock.
        else:
            stands = self._taken_over(run, here, at)
        self._here, self._owed, self.stands = here, (), True
        self._lock.must_be_held()
        return stands

    def _taken_over(self, run: str, here: JournalHere, at: datetime) -> Journaled:
        self._lock.must_be_held()
        theirs, ours = self._there.open(run), here.entries()
        note = Scribe(replay(theirs, ours).next_number).note(Noted.ADOPTED, at, self._lock.holder)
        stands = replay(theirs, ours, Entries((note,)))
        self._there.adopt(self._lock.holder, [*only_in(ours, theirs), note], stands.phase)
        here.append([*only_in(theirs, ours), note])
        return stands

    def write(self, entries: Sequence[Entry]) -> None:
        self._lock.must_be_held()
        if self._here is None:
            raise JournalError("nothing can be written to a run that was neither begun nor adopted")
        new = [entry for entry in entries if entry not in self._owed]  # the others were to be written before
        self._here.append(new)
        self._owed += tuple(new)
        self._there.append(self._owed)  # some of them may be there already: copies do no harm
        self._owed = ()
        self._lock.must_be_held()

    def tell(self, phase: Phase, said: str = "") -> None:
        self._lock.must_be_held()
        self._there.tell(phase, said)
