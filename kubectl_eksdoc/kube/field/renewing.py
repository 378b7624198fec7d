"""A field that may be begun anew: with other connections, other threads, and everything listed from the beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from kubectl_eksdoc.core.model.acts import Act, ListAttachments, ListPods, Look
from kubectl_eksdoc.core.rules.api.statuses import Lost
from kubectl_eksdoc.core.rules.news import AllBudgets, AllNodes, AllPods, Answered, Attached, Away, Back, Found, News
from kubectl_eksdoc.errors import ClusterError, LockLost

_UNANSWERED = Lost("nobody knows what became of it: the connection to the cluster was begun anew")


class Live(Protocol):
    """The field itself, as `live.LiveField`: it answers with the very act that it was asked for."""

    def do(self, act: Act) -> None: ...
    def news(self, wait_s: float) -> Sequence[News]: ...
    def close(self) -> None: ...


class RenewableField:
    """The port `flows.ports.Field`. For one thread."""

    def __init__(self, begin: Callable[[], Live]) -> None:
        """`begin` gives another one each time. Raises: as it does."""
        self._begin = begin
        self._live = begin()
        self._under_way: dict[int, Act] = {}  # those without an answer, by their identity
        self._told: list[News] = []  # here, and not by the field itself
        self._away = False

    def do(self, act: Act) -> None:
        self._under_way[id(act)] = act
        self._live.do(act)

    def news(self, wait_s: float) -> Sequence[News]:
        """As the port has it."""
        told, self._told = self._told, []
        return [*told, *self._heard(0.0 if told else wait_s)]

    def renew(self) -> None:
        """As the port has it. Raises: as `begin`."""
        self._told += self._rest()
        self._live.close()
        under_way, self._under_way = self._under_way, {}
        if self._away:
            self._told.append(Back())  # the next one says itself how it fares
        self._away = False
        self._live = self._begin()
        for act in under_way.values():
            if isinstance(act, (Look, ListPods, ListAttachments)):
                self.do(act)
            else:
                self._told.append(Answered(act, _UNANSWERED))

    def close(self) -> None:
        self._live.close()

    def _heard(self, wait_s: float) -> Sequence[News]:
        told = self._live.news(wait_s)
        for news in told:
            match news:
                case Answered(act, _) | Found(act, _):
                    self._under_way.pop(id(act), None)
                case Attached():
                    self._under_way.pop(id(news.act), None)
                case Away():
                    self._away = True
                case Back():
                    self._away = False
        return told

    def _rest(self) -> Iterator[News]:
        """What was told, and is not heard yet; but no lists, which would be taken for those of the next one."""
        try:
            while told := self._heard(0.0):
                yield from (news for news in told if not isinstance(news, (AllNodes, AllPods, AllBudgets)))
        except (LockLost, ClusterError):  # why it is begun anew, or what the next one will meet as well
            return
