"""Answers that are errors: whether it is the server that fails, or only what is asked of it for one pod or node.

That it is one pod's or node's matter is told by what was answered of the others last. While the server fails nothing
more is asked for, for a time; the first answer after that decides whether it fails still, as a circuit breaker does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from math import inf

from kubectl_eksdoc.core.rules.api.statuses import Lost, Status

ANSWERS = 20
"""So many of the latest answers, and of the latest pods or nodes, are looked at; of answers half of it at least."""

ERRORS = 0.5
"""With a greater share of errors among both the server fails, until `ERRORS_S` after the last of them."""

ERRORS_S = 30.0


class Errors:
    """Mutable: of one kind of requests, which other kinds say nothing about."""

    def __init__(self) -> None:
        self._answers: deque[bool] = deque(maxlen=ANSWERS)  # whether each was an error
        self._subjects: dict[str, bool] = {}  # whether the last answer of each was, those answered last at the end
        self._last_s = -inf
        self._since_s: float | None = None
        self.said = ""

    def answered(self, subject: str, answer: Status | Lost, now_s: float) -> None:
        said = error_of(answer)
        if not said and self._since_s is not None and not self.failing(now_s):
            self._forget()
        self._answers.append(bool(said))
        self._subjects.pop(subject, None)
        self._subjects[subject] = bool(said)
        if len(self._subjects) > ANSWERS:
            del self._subjects[next(iter(self._subjects))]
        if said:
            self._last_s, self.said = now_s, said
        if not self._are_general():
            self._since_s = None
        elif self._since_s is None:
            self._since_s = now_s

    def failing(self, now_s: float) -> bool:
        """Whether nothing more should be asked for now."""
        return self._since_s is not None and now_s - self._last_s < ERRORS_S

    def fails_for(self, so_long_s: float, now_s: float) -> bool:
        """Whether it does, and whatever was tried since has failed."""
        return self._since_s is not None and self.failing(now_s) and now_s - self._since_s >= so_long_s

    def next_s(self, so_long_s: float, now_s: float) -> Iterator[float]:
        """When `failing` or `fails_for` may change though nothing is answered."""
        if self._since_s is not None and self.failing(now_s):
            times = (self._last_s + ERRORS_S, self._since_s + so_long_s)
            yield from (each for each in times if each > now_s)

    @property
    def counted(self) -> str:
        return f"{sum(self._answers)} of the last {len(self._answers)} answers are errors of the server"

    def _are_general(self) -> bool:
        """More than one pod or node has them, and most of those that were answered last."""
        if sum(self._answers) <= ERRORS * max(len(self._answers), ANSWERS / 2):
            return False
        failed = sum(self._subjects.values())
        return failed > 1 and failed > ERRORS * len(self._subjects)

    def _forget(self) -> None:
        self._answers.clear()
        self._subjects.clear()
        self._since_s = None


def error_of(answer: Status | Lost) -> str:
    """What it says where it is none of the pod or node that was asked for; "" where it is, or it was done. Credentials
    that are not accepted (401) are nobody's either."""
    if isinstance(answer, Lost):
        return answer.said or "no answer"
    if answer.code >= 500 or answer.code == 401:
        return answer.message or f"{answer.code} {answer.reason}".strip()
    return ""
