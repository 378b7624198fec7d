"""Same-name holds: budgets that count a pod as evicted which has come back under its name. They pass by themselves."""

from __future__ import annotations

from kubectl_eksdoc.core.model.durations import in_words
from kubectl_eksdoc.core.run.board import Board
from kubectl_eksdoc.core.run.moments import Happened
from kubectl_eksdoc.core.run.seen import Seen


def held_by_name(seen: Seen, budget: str, now_s: float) -> str:
    """Why the budget has no room, as a clause; "" where that is not it."""
    holds = seen.holds(budget, now_s)
    known = seen.budgets.get(budget)
    if not holds or known is None or known.status.allowed > 0:
        return ""
    last = holds[-1]
    left_s = (last.until - seen.first.observed_at).total_seconds() - now_s
    names = ", ".join(hold.pod for hold in holds)
    return (
        f"budget {budget} counts {names} as evicted, which came back under the same name (disruptedPods): until "
        f"{last.until:%H:%M:%S}Z, for {in_words(round(left_s))} more; only time helps"
    )


class SameNames:
    """Mutable. Tells of each hold once."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._told: set[tuple[str, str]] = set()  # budget, and when the hold ends

    def look(self, budget: str, now_s: float) -> None:
        """Pods wait for this budget."""
        seen = self._board.seen
        why = held_by_name(seen, budget, now_s)
        if not why:
            return
        key = (budget, f"{seen.holds(budget, now_s)[-1].until}")
        if key not in self._told:
            self._told.add(key)
            self._board.tell(now_s, Happened.HELD_BY_NAME, budget, why=why)
